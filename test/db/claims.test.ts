// Claiming on a real Postgres: who gets a run, in which order, and that each taking up is a row of its journal (design 1.3,
// 3.1, 3.3).

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ClaimBounds } from "../../src/store/claim-bounds.js";
import { type ClaimGroup, type ClaimOptions, claimRuns, promoteDue } from "../../src/store/claims.js";
import type { Database } from "../../src/store/db.js";
import { appendRow } from "../../src/store/entries.js";
import { rowsAfter } from "../../src/store/journal-rows.js";
import { beatWorker, registerWorker, retireWorker } from "../../src/store/workers.js";
import { buffersOf } from "./buffers.js";
import { change, lockWaiters, newRow, type TestStore, testStore } from "./store.js";

let store: TestStore;
let worker: string;
beforeAll(async () => {
  store = await testStore();
});
beforeEach(async () => {
  await store.fresh.query("truncate rubicon.runs, rubicon.journal, rubicon.workers");
  worker = await register();
});
afterAll(() => store.close());

const register = () =>
  registerWorker(store.database, { host: "h", pid: 1, registered: "[]", leaseMs: 30_000, now: null });
const group = (given: Partial<ClaimGroup> = {}): ClaimGroup => ({
  saga: "saga",
  version: 1,
  shapeHash: "shape",
  ...given,
});
const fast = { lockTimeoutMs: 0, now: null };

let made = 0;
function claiming(count: number, given: Partial<ClaimOptions> = {}): ClaimOptions {
  const offers = Array.from({ length: count }, () => {
    made += 1;
    return { token: `token-${made}`, nonce: `claim-${made}`, payload: `["${made}"]` };
  });
  return { worker, groups: [group()], offers, format: "test", suspects: false, now: null, ...given };
}
const claim = (count: number, given: Partial<ClaimOptions> = {}, database: Database = store.database) =>
  claimRuns(database, claiming(count, given));
const runRow = async (key: string) =>
  (
    await store.fresh.query(
      "select state, status, owner, owner_worker::text as worker, poke from rubicon.runs where id = $1",
      [key],
    )
  )[0];

test("a claim writes its taken_up and the owner in one statement, each run with a token of its own", async () => {
  const keys = [await store.run(), await store.run()];
  const claimed = await claim(5);
  expect(claimed.map(({ run }) => run.key)).toEqual(keys);
  expect(new Set(claimed.map(({ token }) => token)).size).toBe(2);
  for (const each of claimed) {
    expect(each.number).toBe(1);
    expect(await runRow(each.run.key)).toEqual({ state: 2, status: "running", owner: each.token, worker, poke: 0 });
    expect(await rowsAfter(store.database, each.run.key, 0)).toEqual([
      { number: 1, format: "test", payload: each.payload, nonce: each.nonce, at: each.at },
    ]);
  }
});

test("racing workers share the ready runs: each is claimed once", async () => {
  const keys = await Promise.all(Array.from({ length: 120 }, () => store.run()));
  const databases = Array.from({ length: 6 }, () => store.open());
  const claims = databases.flatMap((database) => [1, 2, 3, 4].map(() => claim(10, {}, database)));
  const claimed = (await Promise.all(claims)).flat();
  let left = await claim(200);
  while (left.length > 0) {
    claimed.push(...left);
    left = await claim(200);
  }
  expect(claimed.map(({ run }) => run.key).sort()).toEqual(keys.sort());
});

test("a claim and a cancel that race for a number: one of them has it, and the row agrees with the journal", async () => {
  for (let round = 0; round < 60; round += 1) {
    const key = await store.run();
    const ended = newRow({ run: key, number: 1, change: change({ claim: "ended", status: "cancelled" }) });
    const [claimed, cancelled] = await Promise.all([claim(1), appendRow(store.database, ended, fast)]);
    expect(claimed.length + (cancelled === undefined ? 0 : 1)).toBe(1);
    expect((await runRow(key))?.state).toBe(cancelled === undefined ? 2 : 3);
    expect(await rowsAfter(store.database, key, 0)).toHaveLength(1);
    if (claimed.length === 0) expect(await claim(1)).toEqual([]);
  }
});

test("a claim whose number was taken after it looked leaves the run to be claimed again", async () => {
  const key = await store.run();
  const holder = await store.fresh.connect();
  await holder.query("begin");
  await holder.query(
    `insert into rubicon.journal (run, number, kind, format, payload, writer, nonce, at) values (${key}, 1, 'x', 'x', 'x', 'x', 'x', now())`,
  );
  const waiting = claim(1);
  await lockWaiters(await store.fresh.connect(), 1);
  await holder.query("commit");
  const first = await waiting;
  // It lost number 1, or gave up waiting and took number 2: never number 1.
  expect(first.map(({ number }) => number)).not.toContain(1);
  const again = first.length === 0 ? await claim(1) : first;
  expect(again.map(({ number }) => number)).toEqual([2]);
});

test("an open transaction that holds one run's next number spoils no other run's claim", async () => {
  const keys = await Promise.all(Array.from({ length: 5 }, () => store.run()));
  const holder = await store.fresh.connect();
  await holder.query("begin");
  await holder.query(
    `insert into rubicon.journal (run, number, kind, format, payload, writer, nonce, at) values (${keys[1]}, 1, 'x', 'x', 'x', 'x', 'x', now())`,
  );
  const claimed = await claim(5);
  expect(claimed.map(({ run }) => run.key).sort()).toEqual(keys.filter((key) => key !== keys[1]).sort());
  await holder.query("rollback");
});

test("only what the worker can run is claimed: saga, version and shape", async () => {
  const known = await store.run();
  await store.run({ saga: "other" });
  await store.run({ version: 2 });
  await store.run({ shapeHash: "another" });
  expect((await claim(10)).map(({ run }) => run.key)).toEqual([known]);
});

test("FAIR-1: a flood of one saga delays no other saga's runs", async () => {
  for (let index = 0; index < 50; index += 1) await store.run({ saga: "noisy" });
  const quiet = await store.run({ saga: "quiet" });
  const claimed = await claim(2, { groups: [group({ saga: "noisy" }), group({ saga: "quiet" })] });
  expect(claimed.map(({ run }) => run.key)).toContain(quiet);
});

test("priority is a head start in seconds, and order is by due time otherwise", async () => {
  const late = await store.run({ startAt: 3_000_000 });
  const early = await store.run({ startAt: 1_000_000 });
  const urgent = await store.run({ startAt: 2_000_000, priority: 1_500 });
  const order: string[] = [];
  for (let index = 0; index < 3; index += 1) order.push((await claim(1))[0]!.run.key);
  expect(order).toEqual([urgent, early, late]);
});

describe("what is not due", () => {
  test("a run that starts later is claimed when its time has come, and not before", async () => {
    const startAt = Date.now() + 3_600_000;
    const key = await store.run({ startAt });
    expect((await runRow(key))?.state).toBe(1);
    expect(await promoteDue(store.database, 100, null)).toEqual({
      promoted: 0,
      suspects: false,
      queued: false,
      nextDueAt: startAt,
    });
    expect(await claim(1)).toEqual([]);
    expect(await promoteDue(store.database, 100, startAt)).toEqual({ promoted: 1, suspects: false, queued: false });
    expect((await claim(1)).map(({ run }) => run.key)).toEqual([key]);
  });

  test("racing promotions promote each run once", async () => {
    for (let index = 0; index < 40; index += 1) await store.run({ startAt: Date.now() + 1_000_000 });
    const soon = Date.now() + 2_000_000;
    const promoted = await Promise.all(Array.from({ length: 4 }, () => promoteDue(store.open(), 25, soon)));
    const rest = await promoteDue(store.database, 100, soon);
    expect(promoted.reduce((sum, each) => sum + each.promoted, rest.promoted)).toBe(40);
  });
});

describe("suspects", () => {
  test("a run that crashed its workers twice is claimed apart from the others", async () => {
    const key = await store.run();
    await appendRow(store.database, newRow({ run: key, number: 1, change: change({ crashes: 2 }) }), fast);
    expect((await runRow(key))?.state).toBe(4);
    expect(await claim(10)).toEqual([]);
    expect((await claim(1, { suspects: true })).map(({ run }) => run.key)).toEqual([key]);
  });

  test("parked for a while, it comes back as a suspect", async () => {
    const key = await store.run();
    const dueAt = Date.now() + 60_000;
    await appendRow(store.database, newRow({ run: key, number: 1, change: change({ crashes: 2, dueAt }) }), fast);
    expect((await runRow(key))?.state).toBe(1);
    await promoteDue(store.database, 1, dueAt + 1);
    expect((await runRow(key))?.state).toBe(4);
  });
});

test("a rollback that is taken up again is still a rollback", async () => {
  const key = await store.run();
  await appendRow(store.database, newRow({ run: key, number: 1, change: change({ status: "compensating" }) }), fast);
  const [claimed] = await claim(1);
  expect(claimed?.number).toBe(2);
  expect((await runRow(key))?.status).toBe("compensating");
});

test("a claim whose answer was lost is named by the worker's next beat", async () => {
  const key = await store.run();
  await claim(1);
  const beat = await beatWorker(store.database, { worker, leaseMs: 30_000, now: null });
  expect(beat?.owned).toEqual([{ key, runId: expect.any(String), token: expect.stringMatching(/^token-/), pokes: 0 }]);
});

test("a worker that was declared dead claims nothing", async () => {
  await store.run();
  await retireWorker(store.database, worker, null);
  expect(await claim(1)).toEqual([]);
});

describe("a claim for some tenants", () => {
  const of = (...tenants: string[]) => ({ groups: tenants.map((tenant) => group({ tenant })) });

  test("takes their runs and no others; the empty one means runs of none", async () => {
    const [a, b, none] = [
      await store.run({ tenant: "a" }),
      await store.run({ tenant: "b" }),
      await store.run({ tenant: "" }),
    ];
    expect((await claim(5, of("a"))).map(({ run }) => [run.key, run.tenant])).toEqual([[a, "a"]]);
    expect((await claim(5, of("", "c"))).map(({ run }) => run.key)).toEqual([none]);
    expect((await claim(5)).map(({ run }) => run.key)).toEqual([b]);
  });

  test("takes a suspect of theirs only", async () => {
    const keys = [await store.run({ tenant: "a" }), await store.run({ tenant: "b" })];
    for (const key of keys)
      await appendRow(store.database, newRow({ run: key, number: 1, change: change({ crashes: 2 }) }), fast);
    expect((await claim(1, { ...of("b"), suspects: true })).map(({ run }) => run.key)).toEqual([keys[1]]);
    expect(await claim(1, { ...of("b"), suspects: true })).toEqual([]);
  });

  test("FAIR-1: one of them delays no other by its flood", async () => {
    for (let index = 0; index < 50; index += 1) await store.run({ tenant: "noisy" });
    const quiet = await store.run({ tenant: "quiet" });
    expect((await claim(2, of("noisy", "quiet"))).map(({ run }) => run.key)).toContain(quiet);
  });
});

describe("a claim's price", () => {
  test("for some tenants, is not that of another tenant's backlog, nor of what theirs have ended", async () => {
    await store.fresh.query(`insert into rubicon.runs (tenant, run_id, saga, version, shape_hash, input, input_format, input_digest, start_at, created_at, status, state, due_at, rank)
      select 'quiet', 'ended-' || n, 'saga', 1, 'shape', '', '', '', now(), now(), 'completed', 3, now(), now() from generate_series(1, 20000) n`);
    await store.fresh.query(`insert into rubicon.runs (tenant, run_id, saga, version, shape_hash, input, input_format, input_digest, start_at, created_at, status, state, due_at, rank)
      select 'noisy', 'noisy-' || n, 'saga', 1, 'shape', '', '', '', now(), now(), 'pending', 0, now(), now() - interval '1 hour' from generate_series(1, 10000) n`);
    for (let index = 0; index < 20; index += 1) await store.run({ tenant: "quiet" });
    await store.fresh.query("vacuum analyze rubicon.runs");
    const priceFor = (tenant: string) =>
      buffersOf(store, (runner) => claimRuns({ once: runner.run }, claiming(20, { groups: [group({ tenant })] })));
    expect(await priceFor("nobody")).toBeLessThan(50);
    expect(await priceFor("quiet")).toBeLessThan(50 + 20 * 45);
  });

  test("is that of the rows it takes: ended runs, runs not due and other sagas' cost nothing", async () => {
    await store.fresh.query(`insert into rubicon.runs (run_id, saga, version, shape_hash, input, input_format, input_digest, start_at, created_at, status, state, due_at, rank)
      select 'ended-' || n, 'saga', 1, 'shape', '', '', '', now(), now(), 'completed', 3, now(), now() from generate_series(1, 20000) n`);
    await store.fresh.query(`insert into rubicon.runs (run_id, saga, version, shape_hash, input, input_format, input_digest, start_at, created_at, status, state, due_at, rank)
      select 'later-' || n, 'saga', 1, 'shape', '', '', '', now(), now(), 'pending', 1, now() + interval '1 day', now() + interval '1 day' from generate_series(1, 20000) n`);
    for (let index = 0; index < 100; index += 1) await store.run();
    await store.fresh.query("vacuum analyze rubicon.runs");
    const groups = Array.from({ length: 20 }, (_, index) => group(index === 7 ? {} : { saga: `saga-${index}` }));
    const nothing = groups.filter((_, index) => index !== 7);
    expect(
      await buffersOf(store, (runner) => claimRuns({ once: runner.run }, claiming(20, { groups: nothing }))),
    ).toBeLessThan(200);
    // Explained, it gives no row to read.
    expect(await buffersOf(store, (runner) => promoteDue(runner, 100, null).catch(() => {}))).toBeLessThan(50);
    expect(await buffersOf(store, (runner) => claimRuns({ once: runner.run }, claiming(20, { groups })))).toBeLessThan(
      200 + 20 * 45,
    );
  });

  test("a look begins near the last claimed rank, never beyond it, and from the very beginning every few seconds", () => {
    const bounds = new ClaimBounds();
    const plain = [group()];
    expect(bounds.applyTo(plain, 0)).toEqual(plain);
    expect(bounds.applyTo(plain, 10)).toEqual(plain);
    bounds.claimed(group(), "9007199254740993000");
    bounds.claimed(group(), "1000");
    expect(bounds.applyTo(plain, 20)).toEqual([group({ fromRank: "9007199254730993000" })]);
    expect(bounds.applyTo(plain, 3_000)).toEqual(plain);
    expect(bounds.applyTo(plain, 3_010)).toEqual([group({ fromRank: "9007199254730993000" })]);
  });

  test("a bound taken from a claimed run finds that run's neighbours to the microsecond", async () => {
    for (let index = 0; index < 30; index += 1) await store.run();
    const [first] = await claim(1);
    const rest = await claim(100, { groups: [group({ fromRank: first!.rank })] });
    expect(rest).toHaveLength(29);
  });
});
