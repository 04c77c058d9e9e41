// A child's end and its parent's row, on a real Postgres: the parent is woken by the statement that ends the child, whatever
// else happens to either at that moment (design 1.3, 3.2).

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { farFuture } from "../../src/core/entry.js";
import { PgJournal } from "../../src/journal/pg-journal.js";
import { Batcher } from "../../src/store/batcher.js";
import { promoteDue } from "../../src/store/claims.js";
import type { Database } from "../../src/store/db.js";
import { type AppendedRow, appendRow, appendRows, type NewRow } from "../../src/store/entries.js";
import type { Notice } from "../../src/store/notify.js";
import { change, newRow, type TestStore, testStore } from "./store.js";

let store: TestStore;
let other: Database;
beforeAll(async () => {
  store = await testStore();
  other = store.open();
});
afterAll(() => store.close());

const fast = { lockTimeoutMs: 0, now: null };
const owner = "parent's token";
const worker = "7";

/** A row that gives the run to its owner, who drives it. */
const takenUp = (run: string, token = owner, more: object = {}) =>
  newRow({
    run,
    number: 1,
    writer: token,
    change: change({ claim: "owned", owner: token, ownerWorker: worker, ...more }),
  });

/** A row by which its owner gives it up until somebody else writes, or its child ends. */
const parked = (run: string, number = 2, more: object = {}) =>
  newRow({ run, number, writer: owner, change: change({ status: "waiting", dueAt: farFuture, ...more }) });

/** A row that ends the child, and wakes the parent. */
const finished = (run: string, parent: string, number = 2) =>
  newRow({ run, number, writer: "child's", change: change({ status: "completed", claim: "ended", parent }) });

/** A parent that is driven, and children of it that are. */
async function family(children = 1): Promise<{ readonly parent: string; readonly children: readonly string[] }> {
  const parent = await store.run();
  const keys: string[] = [];
  for (let index = 0; index < children; index += 1) keys.push(await store.run({ parent }));
  await appendRows(store.database, [takenUp(parent), ...keys.map((key) => takenUp(key, "child's"))], fast);
  return { parent, children: keys };
}

const rowOf = async (key: string) =>
  (
    await store.fresh.query(
      "select state, child_ended, poke, owner_worker::text as worker, due_at <= clock_timestamp() as due from rubicon.runs where id = $1",
      [key],
    )
  )[0]!;

const woken = { state: 0, child_ended: true, due: true };

/** How a row is offered: alone by a statement of its own, or among others. */
const alone = async (database: Database, row: NewRow): Promise<AppendedRow> => (await appendRow(database, row, fast))!;
const inBatch = async (database: Database, row: NewRow): Promise<AppendedRow> => {
  const bystander = newRow({ run: await store.run(), number: 1, change: change() });
  return (await appendRows(database, [bystander, row], fast)).get(row.nonce)!;
};
const ways = [
  ["alone", alone],
  ["in a batch", inBatch],
] as const;

describe("a child's end", () => {
  test("against its parent's parking, 200 times: the parent is never left parked", async () => {
    const seen = { driven: 0, parked: 0 };
    for (let repetition = 0; repetition < 200; repetition += 1) {
      const { parent, children } = await family();
      const [, park] = ways[repetition % 2]!;
      const [, finish] = ways[(repetition >> 1) % 2]!;
      // Either may be first at the row: whoever is sent later now and then is, too.
      const races = [() => park(store.database, parked(parent)), () => finish(other, finished(children[0]!, parent))];
      if (repetition % 3 === 0) races.reverse();
      const appended = await Promise.all(races.map((race) => race()));
      const told = appended.find((row) => row.woken !== undefined)!.woken!;
      expect(told.run).toBe(parent);
      seen[told.worker === undefined ? "parked" : "driven"] += 1;
      expect(await rowOf(parent)).toMatchObject({ ...woken, worker: null });
    }
    // A race that one side always wins is none.
    expect(seen.driven).toBeGreaterThan(0);
    expect(seen.parked).toBeGreaterThan(0);
  });

  test.each(ways)("wakes a parked parent, %s: it is due, and workers are to be told", async (_how, append) => {
    const { parent, children } = await family();
    await alone(store.database, parked(parent));
    expect(await rowOf(parent)).toMatchObject({ state: 1, child_ended: false });
    const row = await append(store.database, finished(children[0]!, parent));
    expect(row.woken).toEqual({ run: parent });
    expect(await rowOf(parent)).toMatchObject(woken);
  });

  test.each(ways)("tells a driven parent's worker, %s, and whoever parks it finds it due", async (_how, append) => {
    const { parent, children } = await family();
    const row = await append(store.database, finished(children[0]!, parent));
    expect(row.woken).toEqual({ run: parent, worker });
    expect(await rowOf(parent)).toMatchObject({ state: 2, child_ended: true, poke: 1, worker });
    const park = await append(store.database, parked(parent));
    expect(park.claimable).toBe(true);
    expect(await rowOf(parent)).toMatchObject(woken);
  });

  test.each([
    ["parks", (parent: string) => parked(parent), woken],
    ["goes on", (parent: string) => takenUp(parent, owner), { state: 2, child_ended: true, poke: 1, worker }],
  ] as const)("in one batch with its parent, which %s: both changes are in", async (how, rowFor, expected) => {
    for (const parentFirst of [true, false]) {
      const { parent, children } = await family();
      const own = { ...rowFor(parent), number: 2 };
      const end = finished(children[0]!, parent);
      const appended = await appendRows(store.database, parentFirst ? [own, end] : [end, own], fast);
      expect(appended.size).toBe(2);
      expect(await rowOf(parent)).toMatchObject(expected);
      expect(await rowOf(children[0]!)).toMatchObject({ state: 3 });
      // Somebody is told: the workers that it may be taken up, or the one that drives it.
      if (how === "parks") expect(appended.get(own.nonce)!.claimable).toBe(true);
      else expect(appended.get(own.nonce)!.poked).toBe(worker);
    }
  });

  test("whose parent's row lost its number in the same batch wakes it all the same", async () => {
    const { parent, children } = await family();
    await alone(store.database, parked(parent));
    const loser = parked(parent, 2);
    const end = finished(children[0]!, parent);
    const appended = await appendRows(store.database, [loser, end], fast);
    expect([...appended.keys()]).toEqual([end.nonce]);
    expect(await rowOf(parent)).toMatchObject(woken);
  });

  test("that lost its number wakes nobody", async () => {
    const { parent, children } = await family();
    await alone(store.database, parked(parent));
    for (const [, append] of ways) {
      expect(await append(store.database, finished(children[0]!, parent, 1))).toBeUndefined();
      expect(await rowOf(parent)).toMatchObject({ state: 1, child_ended: false, due: false });
    }
  });

  test("is seen once: whoever takes the parent up may park it again for the next child", async () => {
    const { parent, children } = await family(2);
    await alone(store.database, parked(parent));
    await alone(store.database, finished(children[0]!, parent));
    await alone(store.database, { ...takenUp(parent, "the next owner's"), number: 3 });
    expect(await rowOf(parent)).toMatchObject({ state: 2, child_ended: false });
    await alone(store.database, parked(parent, 4));
    expect(await rowOf(parent)).toMatchObject({ state: 1, child_ended: false });
    await alone(store.database, finished(children[1]!, parent));
    expect(await rowOf(parent)).toMatchObject(woken);
  });

  test("PSN-1: a parent that is a suspect keeps its delay, before and after, and is claimed when that is over", async () => {
    const dueAt = Date.now() + 30_000;
    for (const endsFirst of [true, false]) {
      const { parent, children } = await family();
      const steps = [finished(children[0]!, parent), parked(parent, 2, { dueAt, crashes: 2 })];
      for (const row of endsFirst ? steps : steps.toReversed()) await alone(store.database, row);
      expect(await rowOf(parent)).toMatchObject({ state: 1, child_ended: true, due: false });
      const due = "select (extract(epoch from due_at) * 1000)::float8 as at from rubicon.runs where id = $1";
      expect((await store.fresh.query(due, [parent]))[0]!.at).toBe(dueAt);
      await promoteDue(store.database, 1_000, dueAt + 1);
      expect(await rowOf(parent)).toMatchObject({ state: 4 });
    }
  });

  test("costs no statement more than any other end", async () => {
    const { parent, children } = await family(2);
    const single = await store.run();
    await alone(store.database, takenUp(single, "child's"));
    let sent = 0;
    const counting: Pick<Database, "run"> = {
      run: (statement, values) => {
        sent += 1;
        return store.database.run(statement, values);
      },
    };
    const costOf = async (work: () => Promise<unknown>) => {
      sent = 0;
      await work();
      return sent;
    };
    const { parent: _parent, ...childless } = finished(single, parent).change!;
    const plain = { ...finished(single, parent), change: childless };
    expect(await costOf(() => appendRow(counting, plain, fast))).toBe(1);
    expect(await costOf(() => appendRow(counting, finished(children[0]!, parent), fast))).toBe(1);
    expect(await costOf(() => appendRows(counting, [finished(children[1]!, parent)], fast))).toBe(1);
  });
});

/** One try: a deadlock is told, not tried again. */
const oneTry = (database: Database) => ({ run: database.once.bind(database) as Database["run"] });

describe("many children", () => {
  test("of one parent end at once while it appends: nothing deadlocks, and each is in", async () => {
    const runners = [store.database, other, store.open(), store.open()].map(oneTry);
    for (let round = 0; round < 10; round += 1) {
      const { parent, children } = await family(17);
      const [late, ...others] = children;
      const ends = others.map((key) => finished(key, parent));
      // In batches whose order is anybody's, alone, and the parent itself in between.
      const batches = [ends.slice(0, 5).toReversed(), ends.slice(5, 10), ends.slice(10, 12)];
      const works = [
        ...batches.map((rows, index) => appendRows(runners[index]!, rows, fast).then((map) => map.size)),
        ...ends.slice(12).map((row, index) => appendRow(runners[index]!, row, fast).then((it) => (it ? 1 : 0))),
        // The parent goes on, and is parked in one batch with the end of one more.
        appendRow(runners[3]!, { ...takenUp(parent), number: 2 }, fast)
          .then(() => appendRows(runners[2]!, [parked(parent, 3), finished(late!, parent)], fast))
          .then((map) => map.size - 1),
      ];
      const counts = await Promise.all(works);
      expect(counts.reduce((sum: number, each) => sum + each, 0)).toBe(17);
      expect(await rowOf(parent)).toMatchObject(woken);
      for (const key of children) expect(await rowOf(key)).toMatchObject({ state: 3 });
    }
  });

  test("of several parents end in batches of any order, their ends offered twice, while the parents append: nothing deadlocks", async () => {
    const runners = [store.database, other, store.open(), store.open()].map(oneTry);
    for (let round = 0; round < 40; round += 1) {
      const families = await Promise.all(Array.from({ length: 6 }, () => family(2)));
      const [firsts, seconds] = [0, 1].map((index) =>
        families.map(({ parent, children }) => finished(children[index]!, parent)),
      );
      const again = firsts!.map((row) => ({ ...row, nonce: `${row.nonce} again` }));
      const parks = families.map(({ parent }) => parked(parent));
      const works = [
        appendRows(runners[0]!, [...firsts!, ...parks.slice(3)], fast).then((map) => map.size),
        appendRows(runners[1]!, seconds!.toReversed(), fast).then((map) => map.size),
        ...again.map((row) => appendRow(runners[2]!, row, fast).then((it) => (it ? 1 : 0))),
        ...parks.slice(0, 3).map((row) => appendRow(runners[3]!, row, fast).then((it) => (it ? 1 : 0))),
      ];
      const counts = await Promise.all(works);
      expect(counts.reduce((sum: number, each) => sum + each, 0)).toBe(18);
      for (const { parent } of families) expect(await rowOf(parent)).toMatchObject(woken);
    }
  });
});

describe("the journal", () => {
  test("tells workers of a parent that was parked when its child had just ended: no poll is waited for", async () => {
    const notices: Notice[] = [];
    const batcher = new Batcher(store.database);
    onTestFinished(() => batcher.close());
    const announce = (notice: Notice) => void notices.push(notice);
    const journal = new PgJournal({ database: store.database, announce }, batcher);
    const shape = { steps: [{ name: "S1", kind: "compensatable", undone: false, transactional: false }] } as const;
    const start = (runId: string, parent?: string) =>
      journal.start({
        runId,
        saga: "saga",
        version: 1,
        shape,
        input: { format: "devalue", text: "-1" },
        inputDigest: "digest",
        priority: 0,
        ...(parent === undefined ? {} : { parent }),
      });
    const { header: parent } = await start("told-parent");
    const { header: kid } = await start("told-parent/kid", parent.key);
    const token = "told's token";
    const live = { crashes: 0, owed: [] } as const;
    const append = async (header: typeof parent, number: number, entries: any[], projection: any) =>
      journal.append({ header, number, nonce: `${header.runId} ${number}`, writer: token, entries, projection });
    const takenUp = { kind: "taken_up", worker, token, crash: false };
    await append(parent, 1, [takenUp], { ...live, status: "running", claim: "owned", dueAt: 0, owner: token });
    await append(kid, 1, [{ kind: "finished", status: "completed" }], {
      ...live,
      ...{ status: "completed", claim: "ended", dueAt: 0 },
    });
    expect(notices).toContainEqual({ kind: "poked", key: parent.key, worker });
    notices.length = 0;
    await append(parent, 2, [{ kind: "parked", until: farFuture }], {
      ...live,
      ...{ status: "waiting", claim: "free", dueAt: farFuture },
    });
    expect(notices).toEqual([{ kind: "ready" }]);
  });
});
