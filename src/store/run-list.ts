// LISTING RUNS, newest first, from their rows alone: no journal is read.

import {
  millis,
  numberOf,
  optionalNumber,
  optionalText,
  type Runner,
  type SqlRow,
  type Statement,
  textOf,
} from "./sql.js";

export interface RunFilter {
  readonly tenant: string;
  readonly status?: readonly string[];
  readonly saga?: string;
  /** A JSON object: runs whose attributes contain it. */
  readonly attributes?: string;
  readonly limit: number;
  /** The key of the last run seen: older ones follow. */
  readonly before?: string;
}

/** A run as its row shows it. */
export interface RunSummaryRow {
  readonly key: string;
  readonly runId: string;
  readonly saga: string;
  readonly version: number;
  readonly shapeHash: string;
  readonly shape?: string;
  readonly status: string;
  readonly createdAt: number;
  readonly dueAt: number;
  readonly endedAt?: number;
  readonly cancelRequestedAt?: number;
  readonly cancelRefusedAt?: number;
  readonly ownerWorker?: string;
  readonly owed: readonly string[];
}

/**
 * Newest first by internal id: a total order that no clock or equal stamp can disturb, so that a cursor skips and repeats
 * nothing while runs are inserted (LSE-10). Null filters are planned away: each call is planned with its values.
 */
const listStatement = (wanted: { status: boolean; attention: boolean }): Statement => {
  const status = wanted.status ? "and r.status = any($3::text[])" : "and $3::text[] is null";
  // Lets the planner use the small index of what needs a person, among a million ended runs.
  const attention = wanted.attention ? "and r.status in ('compensation_failed', 'forward_incomplete', 'in_doubt')" : "";
  return (schema) => `
  select r.id::text as key, r.run_id::text as run_id, r.saga::text as saga, r.version::text as version,
    r.shape_hash::text as shape_hash, s.shape::text as shape, r.status::text as status,
    ${millis("r.created_at")} as created_at, ${millis("r.due_at")} as due_at, ${millis("r.ended_at")} as ended_at,
    ${millis("r.cancel_requested_at")} as cancel_requested_at, ${millis("r.cancel_refused_at")} as cancel_refused_at,
    r.owner_worker::text as owner_worker, r.owed::text as owed
  from ${schema}.runs r left join ${schema}.shapes s on s.hash = r.shape_hash
  where r.tenant = $1::text and r.id < $2::bigint ${status} ${attention}
    and ($4::text is null or r.saga = $4::text) and ($5::jsonb is null or r.attributes @> $5::jsonb)
  order by r.id desc limit $6::integer`;
};

const listAll = listStatement({ status: false, attention: false });
const listByStatus = listStatement({ status: true, attention: false });
const listAttention = listStatement({ status: true, attention: true });

const needsPerson = new Set(["compensation_failed", "forward_incomplete", "in_doubt"]);
const greatestKey = "9223372036854775807";

export async function listRuns(runner: Runner, filter: RunFilter): Promise<readonly RunSummaryRow[]> {
  const { status } = filter;
  const byStatus = status?.every((each) => needsPerson.has(each)) ? listAttention : listByStatus;
  const rows = await runner.run(status === undefined ? listAll : byStatus, [
    filter.tenant,
    filter.before ?? greatestKey,
    status ?? null,
    filter.saga ?? null,
    filter.attributes ?? null,
    filter.limit,
  ]);
  return rows.map(readSummary);
}

function readSummary(row: SqlRow): RunSummaryRow {
  const present = <Name extends string, Value>(name: Name, value: Value | undefined) =>
    (value === undefined ? {} : { [name]: value }) as { readonly [Key in Name]?: Value };
  return {
    key: textOf(row, "key"),
    runId: textOf(row, "run_id"),
    saga: textOf(row, "saga"),
    version: numberOf(row, "version"),
    shapeHash: textOf(row, "shape_hash"),
    status: textOf(row, "status"),
    createdAt: numberOf(row, "created_at"),
    dueAt: numberOf(row, "due_at"),
    owed: JSON.parse(optionalText(row, "owed") ?? "[]"),
    ...present("shape", optionalText(row, "shape")),
    ...present("endedAt", optionalNumber(row, "ended_at")),
    ...present("cancelRequestedAt", optionalNumber(row, "cancel_requested_at")),
    ...present("cancelRefusedAt", optionalNumber(row, "cancel_refused_at")),
    ...present("ownerWorker", optionalText(row, "owner_worker")),
  };
}
