// Places in lanes on a real Postgres: never more than the limit, whoever gives them out, and what looking for them costs
// (design 1.9, 3.1).

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ClaimGroup, claimRuns, promoteDue } from "../../src/store/claims.js";
import type { Database } from "../../src/store/db.js";
import { appendRow } from "../../src/store/entries.js";
import { admitQueued, type LaneGroup, seeLanes } from "../../src/store/lanes.js";
import type { NewRun } from "../../src/store/runs.js";
import { registerWorker } from "../../src/store/workers.js";
import { Admitting } from "../../src/worker/admitting.js";
import { buffersOf } from "./buffers.js";
import { change, newRow, type TestStore, testStore } from "./store.js";

let store: TestStore;
let worker: string;
beforeAll(async () => {
  store = await testStore();
});
beforeEach(async () => {
  await store.fresh.query("truncate rubicon.runs, rubicon.journal, rubicon.workers");
  worker = await registerWorker(store.database, { host: "h", pid: 1, registered: "[]", leaseMs: 30_000, now: null });
});
afterAll(() => store.close());

const group = (given: Partial<LaneGroup> = {}): LaneGroup => ({
  saga: "saga",
  version: 1,
  shapeHash: "shape",
  limit: 1,
  ...given,
});
const fast = { lockTimeoutMs: 0, now: null };

let made = 0;
async function claim(count: number, groups: readonly ClaimGroup[] = [group()]): Promise<string[]> {
  const offers = Array.from({ length: count }, () => {
    made += 1;
    return { token: `token-${made}`, nonce: `claim-${made}`, payload: "[]" };
  });
  const claimed = await claimRuns(store.database, {
    worker,
    groups,
    offers,
    format: "test",
    suspects: false,
    now: null,
  });
  return claimed.map(({ run }) => run.key);
}

/** Sees all lanes and gives out their places. */
async function admit(groups: readonly LaneGroup[] = [group()], most = 100, database: Database = store.database) {
  const lanes = (await seeLanes(database, groups, 1_000)).filter(({ free }) => free);
  return lanes.length === 0 ? { given: 0, contended: 0 } : admitQueued(database, { groups, lanes, most });
}

const stateOf = async (key: string) =>
  (await store.fresh.query("select state, placed from rubicon.runs where id = $1", [key]))[0];

const end = (run: string, number = 2) =>
  appendRow(store.database, newRow({ run, number, change: change({ claim: "ended", status: "completed" }) }), fast);

/** Rows in one statement; `values` is SQL for the columns that differ, of the number n. */
const insertMany = (
  count: number,
  values: { readonly lane: string; readonly state: number; readonly placed?: boolean },
) =>
  store.fresh.query(`insert into rubicon.runs (run_id, saga, version, shape_hash, input, input_format, input_digest, start_at, created_at, status, state, due_at, rank, lane, placed)
    select 'run-' || gen_random_uuid(), 'saga', 1, 'shape', '', '', '', now(), now(), 'pending', ${values.state}, now(), now(), ${values.lane}, ${values.placed ?? false} from generate_series(1, ${count}) n`);

describe("a run of a lane", () => {
  test("is not claimable before it has a place, and keeps that over parking, handing over and crashes, to its end", async () => {
    const [first, second] = [await store.run({ lane: "c-1" }), await store.run({ lane: "c-1" })];
    expect(await stateOf(first)).toEqual({ state: 5, placed: false });
    expect(await claim(5)).toEqual([]);
    expect(await admit()).toEqual({ given: 1, contended: 0 });
    expect(await claim(5)).toEqual([first]);
    const later = change({ claim: "free", status: "waiting", dueAt: Date.now() + 3_600_000 });
    await appendRow(store.database, newRow({ run: first, number: 2, change: later }), fast);
    expect(await admit()).toEqual({ given: 0, contended: 0 });
    await appendRow(store.database, newRow({ run: first, number: 3, change: change({ crashes: 2 }) }), fast);
    expect(await stateOf(first)).toEqual({ state: 4, placed: true });
    expect(await admit()).toEqual({ given: 0, contended: 0 });
    await end(first, 4);
    expect(await admit()).toEqual({ given: 1, contended: 0 });
    expect(await claim(5)).toEqual([second]);
  });

  test("that starts later queues when it is due, and one that is stopped before it had a place leaves none behind", async () => {
    const startAt = Date.now() + 3_600_000;
    const key = await store.run({ lane: "c-1", startAt });
    expect(await stateOf(key)).toEqual({ state: 1, placed: false });
    expect(await promoteDue(store.database, 10, startAt)).toMatchObject({ promoted: 1, queued: true });
    expect(await stateOf(key)).toEqual({ state: 5, placed: false });
    await end(key, 1);
    const next = await store.run({ lane: "c-1" });
    await admit();
    expect(await claim(5)).toEqual([next]);
  });

  test("that is reopened after its end queues anew", async () => {
    const key = await store.run({ lane: "c-1" });
    await admit();
    await claim(1);
    await end(key);
    const next = await store.run({ lane: "c-1" });
    await admit();
    await appendRow(store.database, newRow({ run: key, number: 3, change: change({ claim: "free" }) }), fast);
    expect(await stateOf(key)).toEqual({ state: 5, placed: false });
    expect(await claim(5)).toEqual([next]);
    await end(next);
    await admit();
    expect(await claim(5)).toEqual([key]);
  });

  test("shares places with the same saga and tenant only, over all its versions", async () => {
    const other: Partial<NewRun>[] = [{}, { tenant: "a" }, { lane: "c-2" }, { saga: "other" }];
    const apart = await Promise.all(other.map((given) => store.run({ lane: "c-1", ...given })));
    const newer = await store.run({ lane: "c-1", version: 2 });
    const groups = [group(), group({ saga: "other" }), group({ version: 2 })];
    await admit(groups);
    expect((await claim(9, groups)).sort()).toEqual([...apart].sort());
    await end(apart[0]!);
    await admit(groups);
    expect(await claim(9, groups)).toEqual([newer]);
  });

  test("of several versions gets what is left once, also when both are looked at together", async () => {
    for (const version of [1, 2, 1, 2]) await store.run({ lane: "c-1", version });
    const groups = [group({ limit: 3 }), group({ version: 2, limit: 3 })];
    expect(await admit(groups)).toEqual({ given: 3, contended: 0 });
  });

  test("has the places that its start said, where the worker's own definition says nothing", async () => {
    for (let index = 0; index < 4; index += 1) await store.run({ lane: "c-1", places: 2 });
    const { limit: _, ...saysNothing } = group();
    expect(await admit([saysNothing])).toEqual({ given: 2, contended: 0 });
    expect(await admit([group({ limit: 3 })])).toEqual({ given: 1, contended: 0 });
  });

  test("is let in by who can run it, for tenants that it serves, and no more than were asked for", async () => {
    for (const tenant of ["a", "b", "c"]) await store.run({ tenant, lane: "x" });
    expect(await admit([group({ version: 7 })])).toEqual({ given: 0, contended: 0 });
    expect(await admit([group({ tenant: "b" })])).toEqual({ given: 1, contended: 0 });
    expect(await admit([group()], 1)).toEqual({ given: 1, contended: 0 });
    expect(await admit([group()], 100)).toEqual({ given: 1, contended: 0 });
  });
});

describe("races", () => {
  test("two that give out places at once never exceed a lane's limit, and leave none unused", async () => {
    const [a, b] = [store.open(), store.open()];
    for (let round = 0; round < 200; round += 1) {
      const lane = `c-${round}`;
      for (let index = 0; index < 4; index += 1) await store.run({ lane });
      const groups = [group({ limit: 2 })];
      await Promise.all([admit(groups, 100, a), admit(groups, 100, b)]);
      const placed = async () =>
        Number(
          (await store.fresh.query("select count(*) as n from rubicon.runs where placed and lane = $1", [lane]))[0]!.n,
        );
      expect(await placed()).toBeLessThanOrEqual(2);
      // Who found the lane locked looks again.
      await admit(groups);
      expect(await placed()).toBe(2);
      await store.fresh.query("truncate rubicon.runs");
    }
  });

  test("two that let in different versions of a saga at once do not each give out the last place", async () => {
    const [a, b] = [store.open(), store.open()];
    let contended = 0;
    for (let round = 0; round < 200; round += 1) {
      await store.run({ lane: "c" });
      await store.run({ lane: "c", version: 2 });
      const given = await Promise.all([admit([group()], 100, a), admit([group({ version: 2 })], 100, b)]);
      expect(given[0].given + given[1].given).toBeLessThanOrEqual(1);
      contended += given[0].contended + given[1].contended;
      await store.fresh.query("truncate rubicon.runs");
    }
    // They did meet.
    expect(contended).toBeGreaterThan(0);
  });

  test("giving out and ending at once: never more than the limit, and the next look finds what is free", async () => {
    const [a, b] = [store.open(), store.open()];
    const groups = [group()];
    for (let round = 0; round < 200; round += 1) {
      const keys = [await store.run({ lane: "c" }), await store.run({ lane: "c" }), await store.run({ lane: "c" })];
      await admit(groups);
      await Promise.all([end(keys[0]!, 1), admit(groups, 100, a), admit(groups, 100, b)]);
      await admit(groups);
      const rows = await store.fresh.query("select placed, state from rubicon.runs order by id");
      expect(rows.filter(({ placed, state }) => placed && state !== 3)).toHaveLength(1);
      await store.fresh.query("truncate rubicon.runs, rubicon.journal");
    }
  });

  test("a queued run that is being stopped is passed over, not waited for", async () => {
    const [first, second] = [await store.run({ lane: "c" }), await store.run({ lane: "c" })];
    const holder = await store.fresh.connect();
    await holder.query("begin");
    await holder.query("select id from rubicon.runs where id = $1 for update", [first]);
    expect((await admit([group({ limit: 2 })])).given).toBe(1);
    expect(await claim(5)).toEqual([second]);
    await holder.query("rollback");
    await holder.end();
  });
});

describe("the price of a look", () => {
  const seeing = (groups: readonly LaneGroup[], most = 200) =>
    buffersOf(store, (runner) => seeLanes(runner, groups, most));

  test("is that of the lanes it sees, not of what is queued in them", async () => {
    await insertMany(10_000, { lane: "'busy'", state: 5 });
    await insertMany(1, { lane: "'busy'", state: 0, placed: true });
    await insertMany(20_000, { lane: "'busy'", state: 3, placed: true });
    await insertMany(3, { lane: "'quiet-' || n", state: 5 });
    await store.fresh.query("vacuum analyze rubicon.runs");
    expect((await seeLanes(store.database, [group()], 200)).map(({ lane, free }) => [lane, free])).toEqual([
      ["busy", false],
      ["quiet-1", true],
      ["quiet-2", true],
      ["quiet-3", true],
    ]);
    expect(await seeing([group()])).toBeLessThan(60);
    expect(await seeing([group({ tenant: "nobody" })])).toBeLessThan(20);
    const claimOther = (runner: { run: any }) =>
      claimRuns(
        { once: runner.run },
        {
          worker,
          groups: [group(), group({ saga: "other" })],
          offers: [{ token: "t", nonce: "n", payload: "[]" }],
          format: "test",
          suspects: false,
          now: null,
        },
      );
    expect(await buffersOf(store, claimOther)).toBeLessThan(100);
    expect(await buffersOf(store, (runner) => promoteDue(runner, 100, null).catch(() => {}))).toBeLessThan(50);
  });

  test("giving out costs what is given, however many are queued", async () => {
    await insertMany(10_000, { lane: "'busy'", state: 5 });
    await store.fresh.query("vacuum analyze rubicon.runs");
    const lanes = (await seeLanes(store.database, [group({ limit: 5 })], 200))!;
    let buffers = 0;
    await store.database.transaction(async () => {
      buffers = await buffersOf(store, async (runner) => {
        // Explained, no lock comes back; so the second statement is called with the lane that there is.
        const connection = {
          run: async (statement: any, values: any) => {
            await runner.run(statement, values);
            return [{ position: "1", given: "5" }];
          },
        };
        const database = { transaction: (work: any) => work(connection) };
        await admitQueued(database, { groups: [group({ limit: 5 })], lanes, most: 100 });
      });
    });
    expect(buffers).toBeLessThan(250);
  });

  test("of very many lanes is spread over several looks, none left out", async () => {
    await insertMany(1_000, { lane: "'lane-' || n", state: 0, placed: true });
    await insertMany(1_000, { lane: "'lane-' || n", state: 5 });
    const late = await store.run({ lane: "zz" });
    await store.fresh.query("vacuum analyze rubicon.runs");
    expect(await seeing([group()])).toBeLessThan(200 * 12);
    const definition = { concurrency: { limit: 1 } } as never;
    const admitting = new Admitting(store.database, [{ ...group(), definition }]);
    const looks = [];
    do looks.push(await admitting.turn(10));
    while (looks.at(-1)!.more);
    expect(looks.map(({ admitted }) => admitted)).toEqual([0, 0, 0, 0, 0, 1]);
    expect(await stateOf(late)).toEqual({ state: 0, placed: true });
    expect((await admitting.turn(10)).more).toBe(true);
  });
});
