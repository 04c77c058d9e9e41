// THE ROWS OF WORKERS: registering, beating, who is alive. The lease is the worker's, one small update a beat, however many
// runs it drives (design 3.3). Taking runs from a dead one is `recovery`'s.

import { clockOr, millis, numberOf, optionalText, type Runner, type Statement, textOf } from "./sql.js";

export interface NewWorker {
  readonly host: string;
  readonly pid: number;
  /** JSON: what it can run. */
  readonly registered: string;
  readonly leaseMs: number;
  readonly now: number | null;
}

const interval = (parameter: string): string => `${parameter}::double precision * interval '1 millisecond'`;

const insertWorker: Statement = (schema) => `
  insert into ${schema}.workers (host, pid, registered, started_at, beat_at, lease_until)
  select $1::text, $2::integer, $3::text, t.now, t.now, t.now + ${interval("$4")}
  from (select ${clockOr("$5")} as now) t
  returning id::text as id`;

/** A new worker, with a lease from now. The id is never reused; a try whose answer was lost leaves a row that dies by itself. */
export async function registerWorker(runner: Runner, worker: NewWorker): Promise<string> {
  const { host, pid, registered, leaseMs, now } = worker;
  const [row] = await runner.run(insertWorker, [host, pid, registered, leaseMs, now]);
  return textOf(row!, "id");
}

/** A run that the table says is the worker's. */
export interface OwnedRun {
  readonly key: string;
  readonly runId: string;
  readonly token: string;
  /** How often others wrote to it since it was taken up: when it grows, its journal has news. */
  readonly pokes: number;
}

/**
 * Refused on a row marked dead: no row comes back. Touches no indexed column, so it is a heap-only update. Names the runs
 * too, so that a claim whose answer was lost, and whatever others wrote, is noticed without a further statement.
 */
const updateBeat: Statement = (schema) => `
  with b as (
    update ${schema}.workers set beat_at = t.now, lease_until = t.now + ${interval("$2")}, suspected_at = null
    from (select ${clockOr("$3")} as now) t
    where id = $1::bigint and dead_at is null
    returning id, beat_at
  )
  select ${millis("b.beat_at")} as at, r.id::text as key, r.run_id::text as run_id, r.owner::text as token,
    r.poke::text as pokes
  from b left join ${schema}.runs r on r.owner_worker = b.id and r.state = 2`;

export interface Beat {
  /** Milliseconds since the epoch, database time. */
  readonly at: number;
  readonly owned: readonly OwnedRun[];
}

/** Renews the lease. Undefined: the worker was declared dead, and has to go on under a new id. */
export async function beatWorker(
  runner: Runner,
  { worker, leaseMs, now }: { readonly worker: string; readonly leaseMs: number; readonly now: number | null },
): Promise<Beat | undefined> {
  const rows = await runner.run(updateBeat, [worker, leaseMs, now]);
  if (rows.length === 0) return undefined;
  const owned = rows.filter((row) => row.key !== null);
  return {
    at: numberOf(rows[0]!, "at"),
    owned: owned.map((row) => ({
      key: textOf(row, "key"),
      runId: textOf(row, "run_id"),
      token: textOf(row, "token"),
      pokes: numberOf(row, "pokes"),
    })),
  };
}

/** Of the advisory locks of a schema's workers. A hash: two schemas that fall together only share suspicions. */
export const lockClass = (schema: string): string =>
  `hashtext('rubicon-saga worker ${schema.replaceAll("'", "''").replaceAll("\\", "/")}')`;

/** The second half of the lock's key. Identities beyond 2^31 wrap; two that fall together are never alive at once. */
export const lockKey = (worker: string): string => `(${worker} % 2147483647)::integer`;

const takeLock: Statement = (schema) =>
  `select pg_try_advisory_lock(${lockClass(schema)}, ${lockKey("$1::bigint")})::text as locked`;

const registerLock: Statement = (schema) => `
  with cleared as (update ${schema}.workers set suspected_at = null where id = $1::bigint and dead_at is null returning id)
  insert into ${schema}.worker_locks (worker, server) select id, pg_postmaster_start_time() from cleared
  on conflict (worker) do update set server = excluded.server
  returning worker::text as worker`;

/**
 * Takes the worker's lock on this very connection, then says so in the table: a lock that was never held must not look free.
 * `lost`: the worker was declared dead. `busy`: its old connection still holds the lock; try again soon. Not behind a pooler.
 */
export async function holdWorkerLock(session: Runner, worker: string): Promise<"held" | "busy" | "lost"> {
  const [row] = await session.run(takeLock, [worker]);
  if (row?.locked !== "true") return "busy";
  const registered = await session.run(registerLock, [worker]);
  return registered.length === 0 ? "lost" : "held";
}

const retire: Statement = (schema) => `
  with gone as (update ${schema}.workers set dead_at = ${clockOr("$2")} where id = $1::bigint and dead_at is null returning id)
  delete from ${schema}.worker_locks where worker = $1::bigint returning worker::text as worker`;

/** The worker stops for good. Runs that it still has are taken from it like a dead one's. */
export async function retireWorker(runner: Runner, worker: string, now: number | null): Promise<void> {
  await runner.run(retire, [worker, now]);
}

const aliveWorkers: Statement = (schema) => `
  select id::text as id, host::text as host, pid::text as pid, registered::text as registered, ${millis("beat_at")} as beat_at
  from ${schema}.workers where dead_at is null and lease_until > ${clockOr("$1")} order by id`;

export interface LiveWorker {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** JSON, as it was registered. */
  readonly registered: string;
  readonly beatAt: number;
}

export async function liveWorkers(runner: Runner, now: number | null): Promise<readonly LiveWorker[]> {
  const rows = await runner.run(aliveWorkers, [now]);
  return rows.map((row) => ({
    id: textOf(row, "id"),
    host: textOf(row, "host"),
    pid: numberOf(row, "pid"),
    registered: optionalText(row, "registered") ?? "[]",
    beatAt: numberOf(row, "beat_at"),
  }));
}

const forget: Statement = (schema) => `
  delete from ${schema}.workers w where w.dead_at < ${clockOr("$1")} - interval '1 hour'
    and not exists (select 1 from ${schema}.runs r where r.owner_worker = w.id and r.state = 2)
  returning w.id::text as id`;

/** Removes the rows of workers that died over an hour ago and have no run left. */
export async function forgetDeadWorkers(runner: Runner, now: number | null): Promise<number> {
  return (await runner.run(forget, [now])).length;
}
