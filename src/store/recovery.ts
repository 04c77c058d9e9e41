// TAKING THE RUNS OF A DEAD WORKER: who looks dead, and one transaction that makes sure of it and hands the runs over
// (design 3.3). What is written into each journal is decided by the caller.

import type { Connection } from "./connection.js";
import type { Database } from "./db.js";
import { type AppendedRow, appendRow, appendRows, type NewRow } from "./entries.js";
import { rowsOfRuns, type StoredRow } from "./journal-rows.js";
import { type RunRow, readRun, runColumns } from "./runs.js";
import { clockOr, numberOf, type Runner, type Statement, textOf } from "./sql.js";
import { classifySqlError } from "./sql-error.js";
import { lockClass, lockKey } from "./workers.js";

/** A free lock is a suspicion; it has to be free in two looks this far apart, without a beat in between. */
const suspicion = "interval '500 milliseconds'";
const lockTimeoutMs = 50;

const deadByLock = (worker: string, now: string): string =>
  `(${worker}.suspected_at <= ${now} - ${suspicion} and ${worker}.beat_at < ${worker}.suspected_at)`;

const silentMs = (worker: string, now: string): string =>
  `floor(extract(epoch from ${now} - ${worker}.beat_at) * 1000)::bigint::text`;

const looksDead = (worker: string, now: string): string =>
  `(${worker}.lease_until < ${now} or coalesce(${deadByLock(worker, now)}, false))`;

/**
 * Notes whose lock is free, and names who looks dead: by lock, by lease, or by an earlier verdict with runs left. A lock counts
 * only if it was registered with this very start of the server: a restart frees them all, a crash restart empties the table.
 * Another look that holds a worker's row is not waited for.
 */
const lookForDead: Statement = (schema) => `
  with t as materialized (select ${clockOr("$2")} as now),
  held as materialized (
    select l.objid from pg_locks l
    where l.locktype = 'advisory' and l.granted and l.objsubid = 2 and l.classid = ${lockClass(schema)}::oid
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
  ), look as materialized (
    select w.id, coalesce(${deadByLock("w", "t.now")}, false) as dead, w.suspected_at is not null as suspected,
      exists (select 1 from ${schema}.worker_locks k where k.worker = w.id and k.server = pg_postmaster_start_time())
        and ${lockKey("w.id")}::oid not in (select objid from held) as unlocked
    from ${schema}.workers w, t where w.dead_at is null and w.id <> $1::bigint
  ), changed as materialized (
    select w.id from ${schema}.workers w join look on look.id = w.id
    where look.unlocked <> look.suspected order by w.id for update of w skip locked
  ), noted as (
    update ${schema}.workers w set suspected_at = case when look.unlocked then t.now end
    from look, t where w.id = look.id and w.id in (select id from changed)
    returning w.id
  )
  select l.id::text as id, ${silentMs("w", "t.now")} as silent_ms,
    case when l.dead and l.unlocked then 'lock' when w.lease_until < t.now then 'lease' else 'suspected' end as why
  from look l, t, ${schema}.workers w where w.id = l.id and (w.lease_until < t.now or l.unlocked)
  union all
  select w.id::text, ${silentMs("w", "t.now")}, 'declared' from t, ${schema}.workers w
  where w.dead_at is not null and exists (select 1 from ${schema}.runs r where r.owner_worker = w.id and r.state = 2)`;

/** A worker that looks dead to others. */
export interface Silent {
  readonly id: string;
  /**
   * `suspected`: its lock is free, which one look alone does not prove anything by; look again in half a second. `lock`: it
   * was free in two looks. `lease`: it ran out. `declared`: somebody declared it dead before, and it has runs left.
   */
  readonly why: "suspected" | "lock" | "lease" | "declared";
  /** Milliseconds since its last beat. */
  readonly silentMs: number;
}

/** Who looks dead. Asked twice, half a second apart, it finds a killed process long before its lease ends. */
export async function findSilentWorkers(
  runner: Runner,
  { worker, now }: { readonly worker: string; readonly now: number | null },
): Promise<readonly Silent[]> {
  const rows = await runner.run(lookForDead, [worker, now]);
  return rows.map((row) => ({
    id: textOf(row, "id"),
    why: textOf(row, "why") as Silent["why"],
    silentMs: numberOf(row, "silent_ms"),
  }));
}

const examine: Statement = (schema) => `
  select (w.dead_at is not null)::text as declared, (w.lease_until < t.now)::text as expired,
    ${looksDead("w", "t.now")}::text as dead
  from ${schema}.workers w, (select ${clockOr("$2")} as now) t where w.id = $1::bigint for update of w`;

const tryDeadLock: Statement = (schema) =>
  `select pg_try_advisory_xact_lock(${lockClass(schema)}, ${lockKey("$1::bigint")})::text as locked`;

const declareDead: Statement = (schema) => `
  update ${schema}.workers set dead_at = ${clockOr("$2")} where id = $1::bigint and dead_at is null returning id::text as id`;

/** In id order, and none that somebody else holds: their number is being taken this moment. */
const runsOfDead: Statement = (schema) => `
  select ${runColumns("r")}, (select s.shape::text from ${schema}.shapes s where s.hash = r.shape_hash) as shape
  from ${schema}.runs r
  where r.owner_worker = $1::bigint and r.state = 2 and r.id <> all($3::bigint[])
  order by r.id limit $2::integer for update of r skip locked`;

export interface TakeOverOptions {
  readonly dead: string;
  /** As many as the taker has free slots; the rest are taken the same way later. */
  readonly limit: number;
  /** Keys of runs to leave: what could not be read before. */
  readonly except: readonly string[];
  readonly now: number | null;
  /** What to write into a run's journal, at the number after its last row; undefined or a throw leaves the run as it is. */
  readonly decide: (run: RunRow, rows: readonly StoredRow[]) => NewRow | undefined;
}

export interface TakenRun {
  readonly run: RunRow;
  readonly rows: readonly StoredRow[];
  readonly written: NewRow;
  readonly appended: AppendedRow;
}

export interface TakeOver {
  /** The worker is declared dead, now or earlier. False: it beat meanwhile, and nothing was written. */
  readonly dead: boolean;
  readonly taken: readonly TakenRun[];
  /** Runs that `decide` would not touch, with what it threw. */
  readonly refused: readonly { readonly key: string; readonly runId: string; readonly error: unknown }[];
}

/**
 * One transaction: the worker's row is locked, so that it can't beat; its lock is taken, so that it can't come back; its runs
 * are locked before anything is inserted. A run whose number was taken meanwhile keeps its dead owner and is found again.
 * CRASH: before the commit nothing has happened; after it the taker's beat finds the runs as its own.
 *
 * One try; throws what `pg` threw.
 */
export function takeOverRuns(database: Database, options: TakeOverOptions): Promise<TakeOver> {
  return database.transaction(async (connection) => {
    if (!(await makeSure(connection, options))) return { dead: false, taken: [], refused: [] };
    const { dead, limit, except, decide } = options;
    const runs = (await connection.run(runsOfDead, [dead, limit, except])).map(readRun);
    const keys = runs.map((run) => run.key);
    const journals = keys.length === 0 ? new Map<string, StoredRow[]>() : await rowsOfRuns(connection, keys);
    const decided: Omit<TakenRun, "appended">[] = [];
    const refused: { key: string; runId: string; error: unknown }[] = [];
    for (const run of runs) {
      const rows = journals.get(run.key) ?? [];
      try {
        const written = decide(run, rows);
        if (written !== undefined) decided.push({ run, rows, written });
      } catch (error) {
        refused.push({ key: run.key, runId: run.runId, error });
      }
    }
    const appended = await appendAll(
      connection,
      decided.map(({ written }) => written),
      options.now,
    );
    const taken = decided.flatMap((each) => {
      const row = appended.get(each.written.nonce);
      return row === undefined ? [] : [{ ...each, appended: row }];
    });
    return { dead: true, taken, refused };
  });
}

/** The verdict is reached anew under the row's lock: a beat that was faster saves the worker. */
async function makeSure(connection: Connection, { dead, now }: TakeOverOptions): Promise<boolean> {
  const [worker] = await connection.run(examine, [dead, now]);
  if (worker === undefined || worker.declared === "true") return worker !== undefined;
  if (worker.dead !== "true") return false;
  if (worker.expired !== "true") {
    const [lock] = await connection.run(tryDeadLock, [dead]);
    if (lock?.locked !== "true") return false;
  }
  await connection.run(declareDead, [dead, now]);
  return true;
}

/** Together; or one by one, when one of them is locked or bad, so that it spoils nobody else's recovery. */
async function appendAll(
  connection: Connection,
  rows: readonly NewRow[],
  now: number | null,
): Promise<ReadonlyMap<string, AppendedRow>> {
  const options = { lockTimeoutMs, now };
  const together = await attempt(connection, async () =>
    rows.length === 0 ? new Map() : appendRows(connection, rows, options),
  );
  if (together !== undefined) return together;
  const appended = new Map<string, AppendedRow>();
  for (const row of rows) {
    const one = await attempt(connection, () => appendRow(connection, row, options));
    if (one !== undefined) appended.set(one.nonce, one);
  }
  return appended;
}

async function attempt<T>(connection: Connection, work: () => Promise<T>): Promise<T | undefined> {
  await connection.control("savepoint attempt");
  try {
    const result = await work();
    await connection.control("release savepoint attempt");
    return result;
  } catch (error) {
    if (classifySqlError(error)?.broken !== false) throw error;
    await connection.control("rollback to savepoint attempt");
    return undefined;
  }
}
