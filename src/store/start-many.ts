// MANY RUNS STARTED IN ONE STATEMENT: each unless its id exists. All of one saga, and told the same of when and how urgently
// they start.

import { findRunsById, type NewRun, newRunColumns, type RunRow, stateOfNew } from "./runs.js";
import {
  clockOr,
  instant,
  millis,
  numberOf,
  type Runner,
  type SqlRow,
  type Statement,
  storableMillis,
  textOf,
} from "./sql.js";

const mostRuns = 1_000;
/** Characters of inputs in one statement. */
const mostText = 16_000_000;

/** In the order given. One whose id a racing start holds waits for its commit, and gets no row back. */
const insertRuns: Statement = (schema) => `
  with t as materialized (select ${clockOr("$7")} as now),
  o as materialized (
    select * from unnest($8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::integer[]) with ordinality
      as o(run_id, input, input_format, input_digest, attributes, lane, places, position)
  )
  insert into ${schema}.runs as r (${newRunColumns}, status, state)
  select $1::text, o.run_id, $2::text, $3::integer, $4::text, o.input, o.input_format, o.input_digest, o.attributes::jsonb,
    $5::integer, s.start_at, t.now, s.start_at, s.start_at - $5::integer * interval '1 second', o.lane, o.places, 'pending',
    ${stateOfNew("o.lane")}
  from t, lateral (select coalesce(${instant("$6")}, t.now) as start_at) s, o
  order by o.position
  on conflict (tenant, run_id) do nothing
  returning r.id::text as key, r.run_id::text as run_id, ${millis("r.created_at")} as created_at,
    ${millis("r.start_at")} as start_at`;

/** By public id. */
export interface StartedRuns {
  readonly created: ReadonlyMap<string, RunRow>;
  /** What existed, whatever it is of. */
  readonly existing: ReadonlyMap<string, RunRow>;
}

/**
 * Records those whose ids are free. Inside a transaction, in batches, all in the order of their ids: two that race for some
 * of them wait for each other, never in a circle.
 */
export async function startRuns(runner: Runner, runs: readonly NewRun[], now: number | null): Promise<StartedRuns> {
  const created = new Map<string, RunRow>();
  const existing = new Map<string, RunRow>();
  let left = [...runs].sort((a, b) => (a.runId < b.runId ? -1 : a.runId > b.runId ? 1 : 0));
  while (left.length > 0) {
    for (const batch of batchesOf(left)) {
      const started = await startBatch(runner, batch, now);
      for (const [runId, run] of started.created) created.set(runId, run);
      for (const [runId, run] of started.existing) existing.set(runId, run);
    }
    // What is in neither was removed, or its start undone, between the two statements of its batch.
    left = left.filter(({ runId }) => !created.has(runId) && !existing.has(runId));
  }
  return { created, existing };
}

function batchesOf(runs: readonly NewRun[]): NewRun[][] {
  const batches: NewRun[][] = [];
  let text = Number.POSITIVE_INFINITY;
  for (const run of runs) {
    text += run.input.text.length;
    if (text > mostText || batches.at(-1)!.length === mostRuns) {
      batches.push([]);
      text = run.input.text.length;
    }
    batches.at(-1)!.push(run);
  }
  return batches;
}

async function startBatch(runner: Runner, runs: readonly NewRun[], now: number | null): Promise<StartedRuns> {
  const { tenant, saga, version, shapeHash, priority, startAt } = runs[0]!;
  const rows = await runner.run(insertRuns, [
    tenant,
    saga,
    version,
    shapeHash,
    priority,
    startAt === undefined ? null : storableMillis(startAt),
    now,
    runs.map(({ runId }) => runId),
    runs.map(({ input }) => input.text),
    runs.map(({ input }) => input.format),
    runs.map(({ inputDigest }) => inputDigest),
    runs.map(({ attributes }) => attributes ?? null),
    runs.map(({ lane }) => lane ?? null),
    runs.map(({ places }) => places ?? null),
  ]);
  const added = new Map(rows.map((row) => [textOf(row, "run_id"), row]));
  const created = new Map<string, RunRow>();
  for (const run of runs) {
    const row = added.get(run.runId);
    if (row !== undefined && !created.has(run.runId)) created.set(run.runId, startedRow(run, row));
  }
  const others = runs.filter(({ runId }) => !created.has(runId)).map(({ runId }) => runId);
  const found = others.length === 0 ? [] : await findRunsById(runner, tenant, others);
  return { created, existing: new Map(found.map((run) => [run.runId, run])) };
}

function startedRow({ startAt: _, ...run }: NewRun, row: SqlRow): RunRow {
  const [createdAt, startAt] = [numberOf(row, "created_at"), numberOf(row, "start_at")];
  return { ...run, key: textOf(row, "key"), createdAt, startAt };
}

/** What `work` wrote is undone when it throws; the caller's transaction stays usable. */
export async function inSavepoint<T>(runner: Runner, work: () => Promise<T>): Promise<T> {
  await runner.run(() => "savepoint rubicon_start_many", []);
  try {
    const done = await work();
    await runner.run(() => "release savepoint rubicon_start_many", []);
    return done;
  } catch (error) {
    // What the caller has to know is why.
    await runner.run(() => "rollback to savepoint rubicon_start_many", []).catch(() => {});
    throw error;
  }
}
