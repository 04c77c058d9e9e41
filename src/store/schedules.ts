// THE ROWS OF SCHEDULES. Every write takes the row's next revision: of two who read the same row, one changes it and the
// other finds nothing to change. A firing's runs are inserted in the transaction that moves the row on.

import type { Database } from "./db.js";
import { type NewRun, type StoredText, startRun } from "./runs.js";
import {
  clockOr,
  instant,
  millis,
  numberOf,
  optionalNumber,
  optionalText,
  type Runner,
  type SqlRow,
  type Statement,
  storableMillis,
  textOf,
} from "./sql.js";

/** What is put; instants are milliseconds since the epoch. */
export interface NewScheduleRow {
  readonly tenant: string;
  readonly id: string;
  readonly saga: string;
  readonly version: number;
  readonly shapeHash: string;
  readonly input: StoredText;
  readonly inputDigest: string;
  readonly lane?: string;
  /** With `lane`. */
  readonly places?: number;
  readonly cron?: string;
  readonly timeZone?: string;
  readonly everyMs?: number;
  readonly missed: string;
  readonly overlap: string;
  /** For a new one, and for one that had another timing. */
  readonly nextAt: number;
}

export interface ScheduleRow extends Omit<NewScheduleRow, "nextAt"> {
  readonly paused: boolean;
  readonly nextAt?: number;
  readonly lastAt?: number;
  readonly lastRunId?: string;
  readonly skippedAt?: number;
  readonly skippedWhy?: string;
  readonly live: readonly string[];
  readonly revision: number;
  readonly createdAt: number;
  readonly changedAt: number;
}

const columns = `s.tenant::text as tenant, s.id::text as id, s.saga::text as saga, s.version::text as version,
  s.shape_hash::text as shape_hash, s.input::text as input, s.input_format::text as input_format,
  s.input_digest::text as input_digest, s.lane::text as lane, s.places::text as places, s.cron::text as cron, s.time_zone::text as time_zone,
  s.every_ms::text as every_ms, s.missed::text as missed, s.overlap::text as overlap, s.paused::text as paused,
  ${millis("s.next_due_at")} as next_due_at, ${millis("s.last_due_at")} as last_due_at,
  s.last_run_id::text as last_run_id, ${millis("s.skipped_due_at")} as skipped_due_at,
  s.skipped_why::text as skipped_why, s.live::text as live, s.revision::text as revision,
  ${millis("s.created_at")} as created_at, ${millis("s.changed_at")} as changed_at`;

function readSchedule(row: SqlRow): ScheduleRow {
  const present = <Name extends string, Value>(name: Name, value: Value | undefined) =>
    (value === undefined ? {} : { [name]: value }) as { readonly [Key in Name]?: Value };
  return {
    tenant: textOf(row, "tenant"),
    id: textOf(row, "id"),
    saga: textOf(row, "saga"),
    version: numberOf(row, "version"),
    shapeHash: textOf(row, "shape_hash"),
    input: { format: textOf(row, "input_format"), text: textOf(row, "input") },
    inputDigest: textOf(row, "input_digest"),
    ...present("lane", optionalText(row, "lane")),
    ...present("places", optionalNumber(row, "places")),
    ...present("cron", optionalText(row, "cron")),
    ...present("timeZone", optionalText(row, "time_zone")),
    ...present("everyMs", optionalNumber(row, "every_ms")),
    missed: textOf(row, "missed"),
    overlap: textOf(row, "overlap"),
    paused: textOf(row, "paused") === "true",
    ...present("nextAt", optionalNumber(row, "next_due_at")),
    ...present("lastAt", optionalNumber(row, "last_due_at")),
    ...present("lastRunId", optionalText(row, "last_run_id")),
    ...present("skippedAt", optionalNumber(row, "skipped_due_at")),
    ...present("skippedWhy", optionalText(row, "skipped_why")),
    live: JSON.parse(textOf(row, "live")),
    revision: numberOf(row, "revision"),
    createdAt: numberOf(row, "created_at"),
    changedAt: numberOf(row, "changed_at"),
  };
}

const sameTiming = `(s.cron, s.time_zone, s.every_ms) is not distinct from (excluded.cron, excluded.time_zone, excluded.every_ms)`;

/**
 * Written only where something differs, so that workers that start together, all with the same declaration, move nothing.
 * The input is compared by its digest: a codec may make another text of the same value. A firing that is due already stays
 * so, unless the timing itself is another: a deploy at three o'clock does not lose the firing of three o'clock.
 */
const putStatement: Statement = (schema) => `
  insert into ${schema}.schedules as s (tenant, id, saga, version, shape_hash, input, input_format, input_digest,
    cron, time_zone, every_ms, missed, overlap, next_due_at, created_at, changed_at, lane, places)
  select $1::text, $2::text, $3::text, $4::integer, $5::text, $6::text, $7::text, $8::text,
    $9::text, $10::text, $11::bigint, $12::text, $13::text, ${instant("$14")}, t.now, t.now, $16::text, $17::integer
  from (select ${clockOr("$15")} as now) t
  on conflict (tenant, id) do update set saga = excluded.saga, version = excluded.version,
    shape_hash = excluded.shape_hash, input = excluded.input, input_format = excluded.input_format,
    input_digest = excluded.input_digest, lane = excluded.lane, places = excluded.places, cron = excluded.cron, time_zone = excluded.time_zone,
    every_ms = excluded.every_ms, missed = excluded.missed, overlap = excluded.overlap,
    next_due_at = case when ${sameTiming} then s.next_due_at else excluded.next_due_at end,
    changed_at = excluded.changed_at, revision = s.revision + 1
  where (s.saga, s.version, s.shape_hash, s.input_digest, s.missed, s.overlap, s.lane, s.places) is distinct from
      (excluded.saga, excluded.version, excluded.shape_hash, excluded.input_digest, excluded.missed, excluded.overlap,
        excluded.lane, excluded.places)
    or not ${sameTiming}
  returning ${columns}`;

const findStatement: Statement = (schema) => `
  select ${columns} from ${schema}.schedules s where s.tenant = $1::text and s.id = $2::text`;

const listStatement: Statement = (schema) => `
  select ${columns} from ${schema}.schedules s where s.tenant = $1::text order by s.id collate "C"`;

const removeStatement: Statement = (schema) => `
  delete from ${schema}.schedules where tenant = $1::text and id = $2::text returning id::text as id`;

const nowStatement: Statement = () => `select ${millis(clockOr("$1"))} as now`;

/**
 * The schedules that are due next, whatever tenant they are of, due or not, with the clock by which they are. One probe of
 * the index, and one row back when there is none: a null id.
 */
const nextStatement: Statement = (schema) => `
  select ${millis("t.now")} as now, s.* from (select ${clockOr("$1")} as now) t
  left join lateral (
    select ${columns} from ${schema}.schedules s where not s.paused and s.next_due_at is not null
    order by s.next_due_at limit $2::integer
  ) s on true`;

/** Refused, with no row back, where somebody else wrote since the row was read. A racing worker waits for the winner's end. */
const moveStatement: Statement = (schema) => `
  update ${schema}.schedules s set paused = $4::boolean, next_due_at = ${instant("$5")}, last_due_at = ${instant("$6")},
    last_run_id = $7::text, skipped_due_at = ${instant("$8")}, skipped_why = $9::text, live = $10::text,
    revision = s.revision + 1
  where s.tenant = $1::text and s.id = $2::text and s.revision = $3::bigint
  returning s.revision::text as revision`;

const liveStatement: Statement = (schema) => `
  select run_id::text as run_id from ${schema}.runs where tenant = $1::text and run_id = any($2::text[]) and state <> 3`;

/** Safe to run twice: what a lost answer wrote is what a second try finds. */
export async function putSchedule(runner: Runner, row: NewScheduleRow, now: number | null): Promise<ScheduleRow> {
  const { tenant, id, saga, version, shapeHash, input, inputDigest, cron, timeZone, everyMs, missed, overlap } = row;
  const [written] = await runner.run(putStatement, [
    ...[tenant, id, saga, version, shapeHash, input.text, input.format, inputDigest],
    ...[cron ?? null, timeZone ?? null, everyMs ?? null, missed, overlap, storableMillis(row.nextAt), now],
    ...[row.lane ?? null, row.places ?? null],
  ]);
  if (written !== undefined) return readSchedule(written);
  // Nothing differed; or it was removed between the two statements, and is then put anew.
  return (await findSchedule(runner, tenant, id)) ?? putSchedule(runner, row, now);
}

export async function findSchedule(runner: Runner, tenant: string, id: string): Promise<ScheduleRow | undefined> {
  const [row] = await runner.run(findStatement, [tenant, id]);
  return row && readSchedule(row);
}

export async function listSchedules(runner: Runner, tenant: string): Promise<readonly ScheduleRow[]> {
  return (await runner.run(listStatement, [tenant])).map(readSchedule);
}

/** Whether there was one. A second try after a lost answer says no. */
export async function removeSchedule(runner: Runner, tenant: string, id: string): Promise<boolean> {
  return (await runner.run(removeStatement, [tenant, id])).length > 0;
}

/** Milliseconds since the epoch, as the database has it. */
export async function readClock(runner: Runner, now: number | null): Promise<number> {
  return numberOf((await runner.run(nowStatement, [now]))[0]!, "now");
}

/** The `limit` schedules that are due next, the first one first, and the database's time. */
export async function nextSchedules(
  runner: Runner,
  limit: number,
  now: number | null,
): Promise<{ readonly now: number; readonly schedules: readonly ScheduleRow[] }> {
  const rows = await runner.run(nextStatement, [now, limit]);
  const schedules = rows.filter((row) => row.id !== null).map(readSchedule);
  return { now: numberOf(rows[0]!, "now"), schedules: schedules.sort((a, b) => a.nextAt! - b.nextAt!) };
}

/** Which of these runs have not ended, by public id. */
export async function liveAmong(runner: Runner, tenant: string, runIds: readonly string[]): Promise<readonly string[]> {
  return (await runner.run(liveStatement, [tenant, runIds])).map((row) => textOf(row, "run_id"));
}

/**
 * Moves a schedule on from how it was read, and starts runs of its target, in one transaction. False: somebody else wrote to
 * it, and nothing was done. A run whose id is taken is taken for started. CRASH: before the commit nothing happened, and
 * whoever looks next does it; after it all did. One try: whether a commit whose answer was lost went through is told by the
 * row.
 */
export async function moveSchedule(
  database: Database,
  row: ScheduleRow,
  { start, now }: { readonly start: readonly string[]; readonly now: number | null },
): Promise<boolean> {
  const { tenant, saga, version, shapeHash, input, inputDigest, lane, places } = row;
  const shared = lane === undefined ? {} : { lane, places: places! };
  return database.transaction(async (connection) => {
    if (!(await updateRow(connection, row))) return false;
    const run: Omit<NewRun, "runId"> = { tenant, saga, version, shapeHash, input, inputDigest, ...shared, priority: 0 };
    for (const runId of start) await startRun(connection, { ...run, runId }, now);
    return true;
  });
}

async function updateRow(runner: Runner, row: ScheduleRow): Promise<boolean> {
  const { tenant, id, revision, paused, nextAt, lastAt, lastRunId, skippedAt, skippedWhy, live } = row;
  const at = (millisOf: number | undefined) => (millisOf === undefined ? null : storableMillis(millisOf));
  const written = await runner.run(moveStatement, [
    ...[tenant, id, revision, paused, at(nextAt), at(lastAt), lastRunId ?? null],
    ...[at(skippedAt), skippedWhy ?? null, JSON.stringify(live)],
  ]);
  return written.length > 0;
}
