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
  /** A JSON object. */
  readonly attributes?: string;
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
const listStatement = (wanted: { status: boolean; attention: boolean; attributes: boolean }): Statement => {
  const status = wanted.status ? "and r.status = any($3::text[])" : "and $3::text[] is null";
  // Lets the planner use the small index of what needs a person, among a million ended runs.
  const attention = wanted.attention ? "and r.status in ('compensation_failed', 'forward_incomplete', 'in_doubt')" : "";
  const attributes = wanted.attributes ? "r.attributes @> $5::jsonb" : "$5::jsonb is null";
  // Few runs have what is asked for, as a rule. By the order of ids alone the planner would read all of them to find these.
  const order = wanted.attributes ? "r.id + 0" : "r.id";
  return (schema) => `
  select r.id::text as key, r.run_id::text as run_id, r.saga::text as saga, r.version::text as version,
    r.shape_hash::text as shape_hash, s.shape::text as shape, r.status::text as status,
    ${millis("r.created_at")} as created_at, ${millis("r.due_at")} as due_at, ${millis("r.ended_at")} as ended_at,
    ${millis("r.cancel_requested_at")} as cancel_requested_at, ${millis("r.cancel_refused_at")} as cancel_refused_at,
    r.owner_worker::text as owner_worker, r.owed::text as owed, r.attributes::text as attributes
  from ${schema}.runs r left join ${schema}.shapes s on s.hash = r.shape_hash
  where r.tenant = $1::text and r.id < $2::bigint ${status} ${attention}
    and ($4::text is null or r.saga = $4::text) and ${attributes}
  order by ${order} desc limit $6::integer`;
};

const statements = [false, true].map((attributes) => ({
  all: listStatement({ status: false, attention: false, attributes }),
  byStatus: listStatement({ status: true, attention: false, attributes }),
  attention: listStatement({ status: true, attention: true, attributes }),
}));

const needsPerson = new Set(["compensation_failed", "forward_incomplete", "in_doubt"]);
const greatestKey = "9223372036854775807";

export async function listRuns(runner: Runner, filter: RunFilter): Promise<readonly RunSummaryRow[]> {
  const { status } = filter;
  const { all, byStatus, attention } = statements[filter.attributes === undefined ? 0 : 1]!;
  const ofStatus = status?.every((each) => needsPerson.has(each)) ? attention : byStatus;
  const rows = await runner.run(status === undefined ? all : ofStatus, [
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
    ...present("attributes", optionalText(row, "attributes")),
    ...present("endedAt", optionalNumber(row, "ended_at")),
    ...present("cancelRequestedAt", optionalNumber(row, "cancel_requested_at")),
    ...present("cancelRefusedAt", optionalNumber(row, "cancel_refused_at")),
    ...present("ownerWorker", optionalText(row, "owner_worker")),
  };
}
