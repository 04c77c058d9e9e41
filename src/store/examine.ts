// WHAT A LOOK AT THE WHOLE SCHEMA TELLS: workers dead and alive, runs that nobody takes up, whole journals. For people;
// nothing here is asked on the path of a run.

import {
  clockOr,
  millis,
  numberOf,
  optionalNumber,
  optionalText,
  type Runner,
  type SqlRow,
  type Statement,
  textOf,
} from "./sql.js";

export interface ServerFacts {
  /** `15.18`. */
  readonly version: string;
  readonly role: string;
  readonly database: string;
  readonly readOnly: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whether the role may create a schema, or objects in this one: what `migrate` needs. */
  readonly mayMigrate: boolean;
}

const serverFacts: Statement = () => `
  select current_setting('server_version')::text as version, current_user::text as role, current_database()::text as database,
    (pg_is_in_recovery() or current_setting('transaction_read_only') = 'on')::text as read_only, ${millis("clock_timestamp()")} as now,
    coalesce((select has_schema_privilege(oid, 'create') from pg_namespace where nspname = $1::text),
      has_database_privilege(current_database(), 'create'))::text as may_migrate`;

export async function readServerFacts(runner: Runner, schemaName: string): Promise<ServerFacts> {
  const [row] = await runner.run(serverFacts, [schemaName]);
  return {
    version: textOf(row!, "version").split(" ")[0]!,
    role: textOf(row!, "role"),
    database: textOf(row!, "database"),
    readOnly: textOf(row!, "read_only") === "true",
    now: numberOf(row!, "now"),
    mayMigrate: textOf(row!, "may_migrate") === "true",
  };
}

export interface WorkerFacts {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** JSON, as it was registered. */
  readonly registered: string;
  readonly startedAt: number;
  readonly beatAt: number;
  readonly leaseUntil: number;
  /** When it was declared dead, or retired. */
  readonly deadAt?: number;
  /** Runs that it drives, or that are still to be taken from it. */
  readonly runs: number;
}

const newestWorkers: Statement = (schema) => `
  select w.id::text as id, w.host::text as host, w.pid::text as pid, w.registered::text as registered,
    ${millis("w.started_at")} as started_at, ${millis("w.beat_at")} as beat_at, ${millis("w.lease_until")} as lease_until,
    ${millis("w.dead_at")} as dead_at,
    (select count(*) from ${schema}.runs r where r.owner_worker = w.id and r.state = 2)::text as runs
  from ${schema}.workers w order by w.id desc limit $1::integer`;

/** The newest first. */
export async function readWorkers(runner: Runner, limit: number): Promise<readonly WorkerFacts[]> {
  const rows = await runner.run(newestWorkers, [limit]);
  return rows.map((row) => {
    const deadAt = optionalNumber(row, "dead_at");
    return {
      id: textOf(row, "id"),
      host: textOf(row, "host"),
      pid: numberOf(row, "pid"),
      registered: optionalText(row, "registered") ?? "[]",
      startedAt: numberOf(row, "started_at"),
      beatAt: numberOf(row, "beat_at"),
      leaseUntil: numberOf(row, "lease_until"),
      runs: numberOf(row, "runs"),
      ...(deadAt === undefined ? {} : { deadAt }),
    };
  });
}

export interface OverdueFacts {
  /** At most the limit that was given, and then there may be more. */
  readonly count: number;
  /** The run that has been due for longest, and since when. */
  readonly oldest?: { readonly runId: string; readonly dueAt: number };
}

/** Claimable rows are few where all is well; where they are not, the limit ends the count. Uses the indexes of the claims. */
const overdueRuns: Statement = (schema) => `
  select r.run_id::text as run_id, ${millis("r.due_at")} as due_at from (
    select run_id, due_at from ${schema}.runs
    where state in (0, 1, 4) and due_at < ${clockOr("$3")} - $1::double precision * interval '1 millisecond'
    limit $2::integer
  ) r order by r.due_at`;

/** Runs that have been due for longer than `afterMs`, and that no worker drives. */
export async function readOverdue(
  runner: Runner,
  { afterMs, limit, now }: { readonly afterMs: number; readonly limit: number; readonly now: number | null },
): Promise<OverdueFacts> {
  const rows = await runner.run(overdueRuns, [afterMs, limit, now]);
  const [first] = rows;
  if (first === undefined) return { count: 0 };
  return { count: rows.length, oldest: { runId: textOf(first, "run_id"), dueAt: numberOf(first, "due_at") } };
}

export interface WholeRow {
  readonly number: number;
  readonly format: string;
  readonly payload: string;
  readonly nonce: string;
  readonly at: number;
}

/** A journal with nothing left out, and the shape that it is judged by. */
export interface WholeJournal {
  readonly runId: string;
  readonly tenant: string;
  /** JSON; undefined when the shape's row is gone. */
  readonly shape?: string;
  readonly rows: readonly WholeRow[];
}

const newestRuns: Statement = (schema) => `
  select r.id::text as key, r.run_id::text as run_id, r.tenant::text as tenant, s.shape::text as shape
  from ${schema}.runs r left join ${schema}.shapes s on s.hash = r.shape_hash order by r.id desc limit $1::integer`;

const wholeRows: Statement = (schema) => `
  select j.run::text as run, j.number::text as number, j.format::text as format, j.payload::text as payload,
    j.nonce::text as nonce, ${millis("j.at")} as at
  from ${schema}.journal j where j.run = any($1::bigint[]) order by j.run, j.number`;

/** The journals of the newest runs, of all tenants: also the failed attempts that a later one makes superfluous. */
export async function readWholeJournals(runner: Runner, limit: number): Promise<readonly WholeJournal[]> {
  const runs = await runner.run(newestRuns, [limit]);
  const rows = await runner.run(wholeRows, [runs.map((run) => textOf(run, "key"))]);
  const byRun = new Map<string, WholeRow[]>(runs.map((run) => [textOf(run, "key"), []]));
  for (const row of rows) byRun.get(textOf(row, "run"))?.push(readWholeRow(row));
  return runs.map((run) => {
    const shape = optionalText(run, "shape");
    return {
      runId: textOf(run, "run_id"),
      tenant: textOf(run, "tenant"),
      rows: byRun.get(textOf(run, "key"))!,
      ...(shape === undefined ? {} : { shape }),
    };
  });
}

function readWholeRow(row: SqlRow): WholeRow {
  return {
    number: numberOf(row, "number"),
    format: textOf(row, "format"),
    payload: textOf(row, "payload"),
    nonce: textOf(row, "nonce"),
    at: numberOf(row, "at"),
  };
}
