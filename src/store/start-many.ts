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

/**
 * In the order given, which has to be that of their ids: then two such statements wait for each other's ids, never in a circle.
 * One whose id a racing start holds waits for its commit, and gets no row back.
 */
const insertRuns: Statement = (schema) => `
  with t as materialized (select ${clockOr("$7")} as now),
  o as materialized (
    select * from unnest($8::text[], $9::text[], $10::text[], $11::text[], $12::text[]) with ordinality
      as o(run_id, input, input_format, input_digest, attributes, position)
  )
  insert into ${schema}.runs as r (${newRunColumns}, status, state)
  select $1::text, o.run_id, $2::text, $3::integer, $4::text, o.input, o.input_format, o.input_digest, o.attributes::jsonb,
    $5::integer, s.start_at, t.now, s.start_at, s.start_at - $5::integer * interval '1 second', 'pending', ${stateOfNew}
  from t, lateral (select coalesce(${instant("$6")}, t.now) as start_at) s, o
  order by o.position
  on conflict (tenant, run_id) do nothing
  returning r.id::text as key, r.run_id::text as run_id, ${millis("r.created_at")} as created_at,
    ${millis("r.start_at")} as start_at`;

/**
 * Records those whose ids are free; of the others what exists comes back, whatever it is of. By public id. One that is in
 * neither was removed, or its start undone, between the two statements: offer it again.
 */
export async function startRuns(
  runner: Runner,
  runs: readonly NewRun[],
  now: number | null,
): Promise<{ readonly created: ReadonlyMap<string, RunRow>; readonly existing: ReadonlyMap<string, RunRow> }> {
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
