// WHAT STATEMENTS COST AMONG MANY RUNS once the table is vacuumed and analysed: the planner then has other plans to choose
// from, and knows no values. Counted in pages, never timed.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { claimRuns, promoteDue } from "../../src/store/claims.js";
import { appendRow, appendRows } from "../../src/store/entries.js";
import { registerWorker } from "../../src/store/workers.js";
import { buffersOf } from "./buffers.js";
import { change, newRow, type TestStore, testStore } from "./store.js";

let store: TestStore;
beforeAll(async () => {
  store = await testStore();
});
beforeEach(async () => {
  await store.fresh.query("truncate rubicon.runs, rubicon.journal, rubicon.workers");
});
afterAll(() => store.close());

/** Of one saga, 500 characters of input each, the first `due` of them due; the table is vacuumed and analysed. */
async function many({ count = 20_000, state, due }: { count?: number; state: number; due: number }): Promise<void> {
  await store.fresh.query(
    `insert into rubicon.runs (run_id, saga, version, shape_hash, input, input_format, input_digest, start_at, created_at,
       status, state, due_at, rank)
     select 'run-' || n, 'saga', 1, 'shape', repeat('x', 500), '', '', now(), now(), 'waiting', $2::smallint, d.at, d.at
     from generate_series(1, $1::integer) n,
       lateral (select now() + case when n <= $3::integer then interval '-1 second' else interval '30 days' end) d(at)`,
    [count, state, due],
  );
  await store.fresh.query("vacuum analyze rubicon.runs");
}

const buffersOfPromoting = (limit: number) =>
  // Explained, it gives no row to read.
  buffersOf(store, (runner) => promoteDue(runner, limit, null).catch(() => {}));

describe("of 20,000 runs", () => {
  test("that wait, making the due ones ready costs those, however many more it would take", async () => {
    await many({ state: 1, due: 20 });
    expect(await buffersOfPromoting(1)).toBeLessThan(200);
    expect(await buffersOfPromoting(500)).toBeLessThan(200 + 20 * 25);
    expect((await promoteDue(store.database, 500, null)).promoted).toBe(20);
  });

  test("that are ready, a claim costs those that it takes", async () => {
    await many({ state: 0, due: 20_000 });
    const registered = { host: "h", pid: 1, registered: "[]", leaseMs: 30_000, now: null };
    const worker = await registerWorker(store.database, registered);
    const offers = Array.from({ length: 20 }, (_, n) => ({ token: `token-${n}`, nonce: `nonce-${n}`, payload: "[]" }));
    const groups = [{ saga: "saga", version: 1, shapeHash: "shape" }];
    const claiming = { worker, groups, offers, format: "test", suspects: false, now: null };
    const buffers = await buffersOf(store, (runner) => claimRuns({ once: runner.run }, claiming));
    expect(buffers).toBeLessThan(200 + 20 * 45);
    expect(await claimRuns(store.database, claiming)).toHaveLength(20);
  });

  test("an append costs the run that it changes, and a batch the few", async () => {
    await many({ state: 1, due: 0 });
    const found = await store.fresh.query("select id::text as key from rubicon.runs order by id limit 20");
    const rows = found.map(({ key }) => newRow({ run: key, number: 1, change: change() }));
    const fast = { lockTimeoutMs: 0, now: null };
    expect(await buffersOf(store, (runner) => appendRow(runner, rows[0]!, fast))).toBeLessThan(100);
    expect(await buffersOf(store, (runner) => appendRows(runner, rows, fast))).toBeLessThan(200 + 20 * 45);
  });
});
