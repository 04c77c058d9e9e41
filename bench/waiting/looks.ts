// WHAT THE WORKER'S LOOKS FOR WORK COST against the table as it is: the real statements, explained in a transaction that is
// undone, and the worker's own as the server counted them.

import pg from "pg";
import { takeUp } from "../../src/core/take-up.js";
import { writeEntries } from "../../src/journal/entries-text.js";
import { shapeHash } from "../../src/journal/pg-journal.js";
import { entriesFormat } from "../../src/journal/pg-rows.js";
import { systemChance } from "../../src/platform/ids.js";
import { claimRuns, promoteDue } from "../../src/store/claims.js";
import type { Runner } from "../../src/store/sql.js";
import { explained } from "../../test/support/explained.js";
import type { FreshDatabase } from "../../test/support/postgres.js";
import { sagas } from "./sagas.js";

/** A look for work: due runs are made ready, ready ones are claimed. */
export interface Look {
  /** How many runs were due, and so taken. */
  readonly taken: number;
  readonly promote: { readonly buffers: number; readonly ms: number };
  readonly claim: { readonly buffers: number; readonly ms: number };
}

/** As a worker does it with half of its usual slots free. */
const offered = 50;
const promoted = 500;
/** How often each look is tried. */
const tried = 3;

/**
 * A look that finds nothing, one that finds a run, one that finds as many as it offers to take. What is due is made so inside
 * the transaction: the worker sees nothing of it, and takes nothing away.
 */
export async function explainLooks(url: string): Promise<readonly Look[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query("begin");
    const looks: Look[] = [];
    for (const due of [0, 1, offered]) looks.push(await explainOften(client, due));
    await client.query("rollback");
    return looks;
  } finally {
    await client.end();
  }
}

/** Pages as the first try reads them: those after it find its traces. The median of the times: one is a matter of luck. */
async function explainOften(client: pg.Client, due: number): Promise<Look> {
  const tries: Look[] = [];
  for (let n = 0; n < tried; n += 1) tries.push(await explainLook(client, due));
  const [first] = tries;
  const medianMs = (part: "promote" | "claim") =>
    tries.map((look) => look[part].ms).sort((a, b) => a - b)[Math.floor(tried / 2)]!;
  return {
    taken: due,
    promote: { buffers: first!.promote.buffers, ms: medianMs("promote") },
    claim: { buffers: first!.claim.buffers, ms: medianMs("claim") },
  };
}

async function explainLook(client: pg.Client, due: number): Promise<Look> {
  await client.query("savepoint look");
  await client.query(
    `update rubicon.runs set due_at = now(), rank = now()
     where id in (select id from rubicon.runs where state = 1 order by id limit $1)`,
    [due],
  );
  const promote = await explained(client, (runner) => promoteDue(runner, promoted, null).catch(noRows));
  const claim = await explained(client, async (runner) => claimAll(runner, await liveWorker(client)));
  const { rows } = await client.query("select count(*)::integer as taken from rubicon.runs where state = 2");
  await client.query("rollback to savepoint look");
  if (rows[0].taken !== due) throw new Error(`a look took ${rows[0].taken} runs, and ${due} were due`);
  return { taken: due, promote, claim };
}

/** Explained, it gives no row to read. */
function noRows(error: unknown): void {
  if (!(error instanceof TypeError)) throw error;
}

async function liveWorker(client: pg.Client): Promise<string> {
  const { rows } = await client.query("select id::text as id from rubicon.workers where dead_at is null limit 1");
  return rows[0].id;
}

function claimAll(runner: Runner, worker: string): Promise<unknown> {
  const offers = Array.from({ length: offered }, () => {
    const token = systemChance.id();
    return { token, nonce: systemChance.id(), payload: writeEntries(takeUp({ worker, token })) };
  });
  const groups = sagas.map(({ name, version, shape }) => ({ saga: name, version, shapeHash: shapeHash(shape) }));
  const once = runner.run;
  return claimRuns({ once }, { worker, groups, offers, format: entriesFormat, suspects: false, now: null });
}

/** What one of the worker's own statements cost on average, with whatever plan its connections came to use. */
export interface Counted {
  readonly calls: number;
  readonly buffers: number;
  readonly ms: number;
}

/** From now on. Costs nothing but the counting. */
export async function resetCounts(database: FreshDatabase): Promise<void> {
  await database.query("create extension if not exists pg_stat_statements");
  await database.query("select pg_stat_statements_reset()");
}

/** Since the last reset. */
export async function countedLooks(
  database: FreshDatabase,
): Promise<{ readonly promote: Counted; readonly claim: Counted }> {
  const rows = await database.query<{ query: string; calls: number; ms: number; buffers: number }>(
    `select s.query, s.calls::integer as calls, s.total_exec_time as ms,
       (s.shared_blks_hit + s.shared_blks_read)::integer as buffers
     from pg_stat_statements s join pg_database d on d.oid = s.dbid
     where d.datname = current_database() and s.query not like 'explain%' and s.query not like 'prepare%'`,
  );
  const countOf = (pattern: RegExp): Counted => {
    const found = rows.filter(({ query }) => pattern.test(query));
    const sum = (of: "calls" | "ms" | "buffers") => found.reduce((total, row) => total + row[of], 0);
    const calls = sum("calls");
    return { calls, buffers: sum("buffers") / Math.max(1, calls), ms: sum("ms") / Math.max(1, calls) };
  };
  return { promote: countOf(/select id from due/), claim: countOf(/as g\(saga, version, shape_hash, from_rank/) };
}
