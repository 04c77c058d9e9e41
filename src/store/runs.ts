// THE ROWS OF RUNS: starting one idempotently, finding it by its public id, listing. Claims and ends are other files'.

import {
  clockOr,
  instant,
  millis,
  numberOf,
  optionalText,
  type Runner,
  type SqlRow,
  type SqlValue,
  type Statement,
  storableMillis,
  textOf,
} from "./sql.js";

/** A stored value: text in a format that only the codec reads. */
export interface StoredText {
  readonly format: string;
  readonly text: string;
}

export interface NewRun {
  readonly tenant: string;
  readonly runId: string;
  readonly saga: string;
  readonly version: number;
  readonly shapeHash: string;
  readonly input: StoredText;
  readonly inputDigest: string;
  /** Milliseconds since the epoch; undefined: now, by the database's clock. */
  readonly startAt?: number;
  /** A head start in seconds. */
  readonly priority: number;
  /** A JSON object that runs can be found by. */
  readonly attributes?: string;
  /** The internal id of the run whose child this is. */
  readonly parent?: string;
  /** Shares places with the saga's and tenant's other runs of the same text. */
  readonly lane?: string;
  /** With `lane`. */
  readonly places?: number;
}

/** What a start recorded; never changes. */
export interface RunRow {
  /** The internal id: decimal digits, may be beyond 2^53, never reused. */
  readonly key: string;
  readonly tenant: string;
  readonly runId: string;
  readonly saga: string;
  readonly version: number;
  readonly shapeHash: string;
  /** The shape's text, where the statement joined it. */
  readonly shape?: string;
  readonly input: StoredText;
  readonly inputDigest: string;
  readonly priority: number;
  /** A JSON object. */
  readonly attributes?: string;
  /** The internal id of the run whose child this is. */
  readonly parent?: string;
  readonly lane?: string;
  readonly createdAt: number;
  readonly startAt: number;
}

/** The first row of a run that begins with its start. */
export interface FirstRow {
  readonly worker: string;
  readonly token: string;
  readonly nonce: string;
  readonly format: string;
  readonly payload: string;
}

/** The columns of a {@link RunRow}, of the table or alias `runs`. */
export const runColumns = (runs: string): string => `${runs}.id::text as key, ${runs}.tenant::text as tenant,
  ${runs}.run_id::text as run_id, ${runs}.saga::text as saga, ${runs}.version::text as version,
  ${runs}.shape_hash::text as shape_hash, ${runs}.input::text as input, ${runs}.input_format::text as input_format,
  ${runs}.input_digest::text as input_digest, ${runs}.priority::text as priority, ${runs}.attributes::text as attributes,
  ${runs}.parent::text as parent, ${runs}.lane::text as lane,
  ${millis(`${runs}.created_at`)} as created_at, ${millis(`${runs}.start_at`)} as start_at`;

export function readRun(row: SqlRow): RunRow {
  const shape = optionalText(row, "shape");
  const attributes = optionalText(row, "attributes");
  const parent = optionalText(row, "parent");
  const lane = optionalText(row, "lane");
  return {
    key: textOf(row, "key"),
    tenant: textOf(row, "tenant"),
    runId: textOf(row, "run_id"),
    saga: textOf(row, "saga"),
    version: numberOf(row, "version"),
    shapeHash: textOf(row, "shape_hash"),
    input: { format: textOf(row, "input_format"), text: textOf(row, "input") },
    inputDigest: textOf(row, "input_digest"),
    priority: numberOf(row, "priority"),
    createdAt: numberOf(row, "created_at"),
    startAt: numberOf(row, "start_at"),
    ...(shape === undefined ? {} : { shape }),
    ...(attributes === undefined ? {} : { attributes }),
    ...(parent === undefined ? {} : { parent }),
    ...(lane === undefined ? {} : { lane }),
  };
}

const startColumns = `r.id, r.tenant, r.run_id, r.saga, r.version, r.shape_hash, r.input, r.input_format, r.input_digest,
  r.priority, r.attributes, r.parent, r.lane, r.created_at, r.start_at`;

export const newRunColumns = `tenant, run_id, saga, version, shape_hash, input, input_format, input_digest, attributes, priority,
  start_at, created_at, due_at, rank, lane, places`;

/** Of a run that nobody took up yet, from `s.start_at` and `t.now`: what shares places queues for one. */
export const stateOfNew = (lane: string): string =>
  `case when s.start_at > t.now then 1 when ${lane} is null then 0 else 5 end`;

/** Parameters 1 to 14. `start_at` and `created_at` are one reading of the clock where no start is given. */
const newRunSource = `select $1::text, $2::text, $3::text, $4::integer, $5::text, $6::text, $7::text, $8::text, $9::jsonb,
    $10::integer, s.start_at, t.now, s.start_at, s.start_at - $10::integer * interval '1 second', $13::text,
    $14::integer`;

const newRunTimes = `from (select ${clockOr("$12")} as now) t,
    lateral (select coalesce(${instant("$11")}, t.now) as start_at) s`;

/**
 * One run per (tenant, id), whoever starts it: of racing starts one inserts, and the others wait for its commit and get no
 * row back. Their next statement reads the winner's (READ COMMITTED).
 */
const insertRun: Statement = (schema) => `
  insert into ${schema}.runs as r (${newRunColumns}, status, state, parent)
  ${newRunSource}, 'pending', ${stateOfNew("$13::text")}, $15::bigint
  ${newRunTimes}
  on conflict (tenant, run_id) do nothing
  returning ${runColumns("r")}`;

/**
 * A run and its `taken_up` in one statement: a racing claim never sees it unowned, and a crash leaves both or none. The
 * number is 1 because nobody else can know the run yet.
 */
const insertOwnedRun: Statement = (schema) => `
  with r as (
    insert into ${schema}.runs as r (${newRunColumns}, status, state, owner, owner_worker)
    ${newRunSource}, 'running', 2, $15::text, $16::bigint
    ${newRunTimes}
    on conflict (tenant, run_id) do nothing
    returning ${startColumns}
  ), j as (
    insert into ${schema}.journal (run, number, kind, format, payload, writer, nonce, at)
    select r.id, 1, 'taken_up', $17::text, $18::text, $15::text, $19::text, r.created_at from r
    returning run
  )
  select ${runColumns("r")} from r join j on j.run = r.id`;

const findRun: Statement = (schema) => `
  select ${runColumns("r")}, s.shape::text as shape
  from ${schema}.runs r left join ${schema}.shapes s on s.hash = r.shape_hash
  where r.tenant = $1::text and r.run_id = $2::text`;

function startValues(run: NewRun, now: number | null): SqlValue[] {
  return [
    run.tenant,
    run.runId,
    run.saga,
    run.version,
    run.shapeHash,
    run.input.text,
    run.input.format,
    run.inputDigest,
    run.attributes ?? null,
    run.priority,
    run.startAt === undefined ? null : storableMillis(run.startAt),
    now,
    run.lane ?? null,
    run.places ?? null,
  ];
}

/**
 * Records a run unless its id exists: then the existing one comes back, whatever it is of (comparing is the caller's).
 * Safe to run twice. `created` is told by the caller's own try: after a lost answer a retry finds the run there.
 */
export async function startRun(
  runner: Runner,
  run: NewRun,
  now: number | null,
): Promise<{ readonly run: RunRow; readonly created: boolean }> {
  const [added] = await runner.run(insertRun, [...startValues(run, now), run.parent ?? null]);
  if (added !== undefined) return { run: readRun(added), created: true };
  const existing = await findRunById(runner, run.tenant, run.runId);
  // Between the two statements it was pruned, or the transaction that inserted it was undone after all.
  return existing === undefined ? startRun(runner, run, now) : { run: existing, created: false };
}

/** {@link startRun}, taken up at once: the run and its first row are written together. */
export async function startOwnedRun(
  runner: Runner,
  run: NewRun,
  first: FirstRow,
  now: number | null,
): Promise<{ readonly run: RunRow; readonly created: boolean }> {
  const { token, worker, format, payload, nonce } = first;
  const [added] = await runner.run(insertOwnedRun, [...startValues(run, now), token, worker, format, payload, nonce]);
  if (added !== undefined) return { run: readRun(added), created: true };
  const existing = await findRunById(runner, run.tenant, run.runId);
  return existing === undefined ? startOwnedRun(runner, run, first, now) : { run: existing, created: false };
}

const findRunOfKey: Statement = (schema) => `
  select ${runColumns("r")}, s.shape::text as shape
  from ${schema}.runs r left join ${schema}.shapes s on s.hash = r.shape_hash
  where r.id = $1::bigint`;

/** By the internal id, whatever tenant it is of. */
export async function findRunByKey(runner: Runner, key: string): Promise<RunRow | undefined> {
  const [row] = await runner.run(findRunOfKey, [key]);
  return row && readRun(row);
}

export async function findRunById(runner: Runner, tenant: string, runId: string): Promise<RunRow | undefined> {
  const [row] = await runner.run(findRun, [tenant, runId]);
  return row && readRun(row);
}

const findRuns: Statement = (schema) => `
  select ${runColumns("r")}, s.shape::text as shape
  from ${schema}.runs r left join ${schema}.shapes s on s.hash = r.shape_hash
  where r.tenant = $1::text and r.run_id = any($2::text[])`;

/** Those of a tenant's runs that exist. */
export async function findRunsById(
  runner: Runner,
  tenant: string,
  runIds: readonly string[],
): Promise<readonly RunRow[]> {
  return (await runner.run(findRuns, [tenant, runIds])).map(readRun);
}

const addShape: Statement = (schema) => `
  insert into ${schema}.shapes (hash, shape) values ($1::text, $2::text) on conflict (hash) do nothing`;

/** Keeps a shape's text under its hash, once. */
export async function keepShape(runner: Runner, hash: string, shape: string): Promise<void> {
  await runner.run(addShape, [hash, shape]);
}

const awaitRun: Statement = (schema) => `
  update ${schema}.runs set awaited = true where id = $1::bigint and not awaited and state <> 3`;

/** From now on the end of the run is announced. Look at the run after this, not before: it may just have ended. */
export async function markAwaited(runner: Runner, key: string): Promise<void> {
  await runner.run(awaitRun, [key]);
}

const endedRuns: Statement = (schema) => `
  select run_id::text as run_id from ${schema}.runs where tenant = $1::text and run_id = any($2::text[]) and state = 3`;

/** Which of these have ended, by public id. What a waiter asks who may have missed the announcement. */
export async function endedAmong(
  runner: Runner,
  tenant: string,
  runIds: readonly string[],
): Promise<readonly string[]> {
  return (await runner.run(endedRuns, [tenant, runIds])).map((row) => textOf(row, "run_id"));
}

const presentRuns: Statement = (schema) => `select id::text as key from ${schema}.runs where id = any($1::bigint[])`;

/** Which of these runs are there, by internal id: those whose starts were committed. */
export async function presentAmong(runner: Runner, keys: readonly string[]): Promise<readonly string[]> {
  return (await runner.run(presentRuns, [keys])).map((row) => textOf(row, "key"));
}
