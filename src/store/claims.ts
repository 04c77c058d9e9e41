// WHICH RUNS A WORKER TAKES UP: due ones become ready, ready ones are claimed by what the worker can run. Each claim writes
// its `taken_up` in the same statement: every taking up is a fact (design 1.3, 3.1).

import type { Database } from "./db.js";
import { type RunRow, readRun, runColumns } from "./runs.js";
import { clockOr, micros, millis, numberOf, optionalNumber, type Runner, type Statement, textOf } from "./sql.js";
import { classifySqlError, storeError } from "./sql-error.js";

/** What a worker can run, and how far its claims of it have come. */
export interface ClaimGroup {
  readonly saga: string;
  readonly version: number;
  readonly shapeHash: string;
  /** Whose runs; absent: everybody's. Either all groups of a claim have one, or none. */
  readonly tenant?: string;
  /** Ranks below this are not looked at: microseconds since the epoch, as {@link ClaimedRun.rank}. See `ClaimBounds`. */
  readonly fromRank?: string;
}

/** What is written for one run of a claim: made before it is known which runs there are. */
export interface TakingUpRow {
  readonly token: string;
  readonly nonce: string;
  readonly payload: string;
}

export interface ClaimOptions {
  /** The worker's id. */
  readonly worker: string;
  readonly groups: readonly ClaimGroup[];
  /** One a run at most: as many as the worker has free slots. */
  readonly offers: readonly TakingUpRow[];
  /** Of the payloads. */
  readonly format: string;
  /** Claims runs that may have taken their workers down, instead of the others. Offer one. */
  readonly suspects: boolean;
  readonly now: number | null;
}

export interface ClaimedRun {
  readonly run: RunRow;
  readonly token: string;
  readonly nonce: string;
  readonly payload: string;
  /** The number that the claim took; 1: nothing happened to the run before, and its journal need not be read. */
  readonly number: number;
  readonly at: number;
  /** Microseconds since the epoch, decimal digits. */
  readonly rank: string;
}

/**
 * SKIP LOCKED: racing workers promote different rows. The clock is read once, before: compared with a volatile function, every
 * scheduled row would be looked at. The outer select sees the rows as they were, so what is due now is left out of it: a row
 * that is locked, and so not promoted, is looked at again at the next poll and not at once. By an array of ids, which is taken
 * to be short: of a join the planner, which knows no limit, thinks that a tenth of all that wait is due, and reads the table.
 */
const promote: Statement = (schema) => `
  with t as materialized (select ${clockOr("$2")} as now),
  due as materialized (
    select id from ${schema}.runs where state = 1 and due_at <= (select now from t)
    order by due_at limit $1::integer for update skip locked
  ), p as (
    update ${schema}.runs r set
      state = case when r.lane is not null and not r.placed then 5 when r.crashes >= 2 then 4 else 0 end
    where r.id = any(array(select id from due)) returning r.state
  )
  select (select count(*) from p)::text as promoted,
    (exists (select 1 from p where state = 4) or exists (select 1 from ${schema}.runs where state = 4))::text as suspects,
    (exists (select 1 from p where state = 5) or exists (select 1 from ${schema}.runs where state = 5))::text as queued,
    (select ${millis("min(due_at)")} from ${schema}.runs where state = 1 and due_at > (select now from t)) as due_at`;

/** What a look for work found, before anything is claimed. */
export interface DueRuns {
  /** How many scheduled runs became claimable. */
  readonly promoted: number;
  /** Whether any run that may have taken its workers down is to be claimed, of whatever saga. */
  readonly suspects: boolean;
  /** Whether any run waits for a place in its lane, of whatever saga. */
  readonly queued: boolean;
  /** When the next scheduled run is due: milliseconds since the epoch; absent when none is. */
  readonly nextDueAt?: number;
}

/** Makes scheduled runs whose time has come claimable, `limit` at most, and tells when to come again. */
export async function promoteDue(runner: Runner, limit: number, now: number | null): Promise<DueRuns> {
  const [row] = await runner.run(promote, [limit, now]);
  const nextDueAt = optionalNumber(row!, "due_at");
  return {
    promoted: numberOf(row!, "promoted"),
    suspects: textOf(row!, "suspects") === "true",
    queued: textOf(row!, "queued") === "true",
    ...(nextDueAt === undefined ? {} : { nextDueAt }),
  };
}

/**
 * Per group an index probe, so that a flood of one saga costs the others nothing; of the candidates the first of each group
 * come first, then by rank. Rows are locked, skipping those that another claim holds; then each `taken_up` takes the number
 * after the last; then only those runs change hands whose number was won. A racing cancel or signal that took the number
 * meanwhile leaves the run as it was, to be claimed again. A worker that was declared dead claims nothing.
 */
const claim = (state: 0 | 4, ofTenants: boolean): Statement => {
  const payload = "f.payload";
  const fromRank = "coalesce(to_timestamp(g.from_rank::double precision / 1000000), '-infinity')";
  const probe = (schema: string, condition: string, order = "r.rank") => `
        select r.id, r.rank from ${schema}.runs r
        where r.state = ${state} and r.saga = g.saga and r.version = g.version and r.shape_hash = g.shape_hash
          and ${condition}
        order by ${order} limit 2 * $6::integer + $12::integer`;
  // Runs of tenants have an index of their own, so that no tenant's backlog is read to find another's run: written as a range,
  // for with an equality the planner would find everybody's index as good. Runs of no tenant are among everybody's.
  const oneTenant = `(r.tenant, r.rank) >= (g.tenant, ${fromRank}) and r.tenant <= g.tenant and r.tenant <> ''`;
  const probes = (schema: string) =>
    ofTenants
      ? `(${probe(schema, `${oneTenant} and g.tenant <> ''`, "r.tenant, r.rank")})
        union all (${probe(schema, `r.rank >= ${fromRank} and r.tenant = '' and g.tenant = ''`)})`
      : probe(schema, `r.rank >= ${fromRank}`);
  return (schema) => `
  with t as materialized (select set_config('lock_timeout', '50ms', true)),
  g as materialized (
    select * from unnest($1::text[], $2::integer[], $3::text[], $4::bigint[], $13::text[])
      as g(saga, version, shape_hash, from_rank, tenant)
    where exists (select 1 from ${schema}.workers w where w.id = $5::bigint and w.dead_at is null)
  ), c as materialized (
    select y.id, y.rank, y.place from g cross join lateral (
      select x.id, x.rank, row_number() over (order by x.rank) as place from (${probes(schema)}) x
    ) y
  ), l as materialized (
    select r.id from t, (select id, rank, place from c order by place, rank limit 2 * $6::integer + $12::integer) x
    join ${schema}.runs r on r.id = x.id
    where r.state = ${state} order by x.place, x.rank limit $6::integer offset $12::integer for update of r skip locked
  ), n as materialized (
    select l.id, row_number() over (order by l.id) as place, coalesce(
      (select j.number from ${schema}.journal j where j.run = l.id order by j.number desc limit 1), 0) + 1 as number
    from l
  ), f as materialized (
    select * from unnest($7::text[], $8::text[], $9::text[]) with ordinality as f(token, nonce, payload, place)
  ), i as (
    insert into ${schema}.journal (run, number, kind, format, payload, writer, nonce, at)
    select n.id, n.number, 'taken_up', $10::text, ${payload}, f.token, f.nonce, ${clockOr("$11")}
    from n join f on f.place = n.place order by n.id
    on conflict do nothing
    returning run, number, nonce, writer, payload, at
  ), u as (
    update ${schema}.runs r set state = 2, owner = i.writer, owner_worker = $5::bigint, poke = 0, child_ended = false,
      status = case when r.status in ('pending', 'waiting') then 'running' else r.status end
    from i where r.id = i.run
    returning ${runColumns("r")}, ${micros("r.rank")} as rank, i.writer::text as token, i.nonce::text as nonce,
      i.number::text as number, i.payload::text as payload, ${millis("i.at")} as at
  )
  select key, tenant, run_id, saga, version, shape_hash, input, input_format, input_digest, priority, attributes, parent, lane,
    created_at, start_at, rank, token, nonce, number, payload, at from u order by rank::bigint`;
};

const statements = {
  anybodys: { ready: claim(0, false), suspects: claim(4, false) },
  tenants: { ready: claim(0, true), suspects: claim(4, true) },
};

/**
 * Takes up as many runs as there are offers. One try of one statement: a claim whose answer is lost is found by the beat,
 * which names all runs of the worker. Runs whose journal is blocked by an open transaction are left. A claim that failed half
 * way through one by one loses nothing: the beat names what it took.
 */
export async function claimRuns(
  database: Pick<Database, "once">,
  options: ClaimOptions,
): Promise<readonly ClaimedRun[]> {
  if (options.groups.length === 0 || options.offers.length === 0) return [];
  try {
    return await claimOnce(database, options, 0);
  } catch (error) {
    if (!classifySqlError(error)?.lockTimeout) throw storeError(error, "runs could not be claimed");
    return claimOneByOne(database, options);
  }
}

/** One locked journal fails the whole statement; so each run gets one of its own, and the locked ones are passed by. */
async function claimOneByOne(database: Pick<Database, "once">, options: ClaimOptions): Promise<readonly ClaimedRun[]> {
  const claimed: ClaimedRun[] = [];
  let passed = 0;
  for (const offer of options.offers) {
    try {
      const [run] = await claimOnce(database, { ...options, offers: [offer] }, passed);
      if (run === undefined) break;
      claimed.push(run);
    } catch (error) {
      if (!classifySqlError(error)?.lockTimeout) throw storeError(error, "runs could not be claimed");
      passed += 1;
    }
  }
  return claimed;
}

async function claimOnce(
  database: Pick<Database, "once">,
  options: ClaimOptions,
  passed: number,
): Promise<readonly ClaimedRun[]> {
  const { groups, offers, worker, format, suspects, now } = options;
  const ofTenants = groups.some((group) => group.tenant !== undefined);
  const statement = statements[ofTenants ? "tenants" : "anybodys"][suspects ? "suspects" : "ready"];
  const rows = await database.once(statement, [
    groups.map((group) => group.saga),
    groups.map((group) => group.version),
    groups.map((group) => group.shapeHash),
    groups.map((group) => group.fromRank ?? null),
    worker,
    offers.length,
    offers.map((offer) => offer.token),
    offers.map((offer) => offer.nonce),
    offers.map((offer) => offer.payload),
    format,
    now,
    passed,
    groups.map((group) => group.tenant ?? null),
  ]);
  return rows.map((row) => ({
    run: readRun(row),
    token: textOf(row, "token"),
    nonce: textOf(row, "nonce"),
    payload: textOf(row, "payload"),
    number: numberOf(row, "number"),
    at: numberOf(row, "at"),
    rank: textOf(row, "rank"),
  }));
}
