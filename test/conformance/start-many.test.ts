// MANY STARTS ON POSTGRES: in the caller's transaction, in races, and what they cost.

import { durableExecutor } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { rejection, uniqueName } from "./executor/bench.js";
import { onOneDatabase } from "./executor/together.js";

const db = onOneDatabase();
const later = () => new Date(Date.now() + 3_600_000);

describe("startMany in the caller's transaction", () => {
  test("the runs exist if and only if that commits, and run soon after", async () => {
    const bench = db.bench();
    const saga = bench.saga([bench.step("S1")]);
    const executor = await bench.executor([saga], { worker: { poll: "1h" } } as object);
    const tx = await db.database.connect();
    await tx.query("begin");
    const [undone] = await executor.startMany(saga, [{ n: 1 }], { tx });
    await tx.query("rollback");
    expect(await executor.get(undone!.id)).toBeUndefined();
    await tx.query("begin");
    const kept = await executor.startMany(saga, [{ n: 2 }, { n: 3 }], { tx });
    await tx.query("commit");
    for (const run of kept) expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
    expect(bench.outside.count("S1")).toBe(2);
  });

  test("a conflict writes nothing and leaves the transaction usable", async () => {
    const bench = db.bench();
    const saga = bench.saga([bench.step("S1")]);
    const executor = await db.starter([saga]);
    const id = uniqueName("order");
    await executor.start(saga, { n: 1 }, { id, startAt: later() });
    const tx = await db.database.connect();
    await tx.query("begin");
    const own = uniqueName("own");
    const inputs = [{ n: 0 }, { n: 9 }];
    const ids = (_: unknown, index: number) => [own, id][index]!;
    expect(await rejection(executor.startMany(saga, inputs, { tx, id: ids }))).toMatchObject({ code: "run.conflict" });
    const after = await executor.startMany(saga, [{ n: 1 }], { tx, startAt: later() });
    await tx.query("commit");
    expect(await executor.get(own)).toBeUndefined();
    expect(await executor.get(after[0]!.id)).toMatchObject({ status: "pending" });
  });

  test("costs a statement for a thousand runs, and one more where some of their ids exist", async () => {
    const bench = db.bench();
    const saga = bench.saga([bench.step("S1")]);
    const executor = await db.starter([saga]);
    const client = await db.database.connect();
    const statements: string[] = [];
    const tx = {
      query: (text: string, values: any[]) => {
        statements.push(text.trim().split(/\s+/).slice(0, 2).join(" "));
        return client.query(text, values);
      },
    };
    const name = uniqueName("order");
    const inputs = Array.from({ length: 2_500 }, (_, n) => ({ n }));
    const id = (input: { n: number }) => `${name}-${input.n}`;
    await client.query("begin");
    await executor.startMany(saga, inputs, { tx, id, startAt: later() });
    expect(statements).toEqual(["savepoint rubicon_start_many", ...Array(3).fill("with t"), "release savepoint"]);
    await client.query("commit");
    statements.length = 0;
    await client.query("begin");
    const again = await executor.startMany(saga, inputs, { tx, id });
    await client.query("commit");
    expect(again.every(({ created }) => !created)).toBe(true);
    expect(again.map((run) => run.id)).toEqual(inputs.map(id));
    expect(statements.filter((text) => text.startsWith("select"))).toHaveLength(3);
    expect(statements).toHaveLength(8);
  });
});

describe("racing startMany calls", () => {
  test("IDM-3: over the same ids in opposite orders: none deadlocks, each run is created once", async () => {
    const bench = db.bench();
    const saga = bench.saga([bench.step("S1")]);
    const [a, b] = [await db.starter([saga]), await db.starter([saga])];
    const inputs = Array.from({ length: 12 }, (_, n) => ({ n }));
    // On transactions of one's own a deadlock is not tried again, and is seen.
    const clients = [await db.database.connect(), await db.database.connect()] as const;
    const starting = async (which: 0 | 1, ...[executor, given, options]: [typeof a, typeof inputs, object]) => {
      const tx = clients[which];
      await tx.query("begin");
      const runs = await executor.startMany(saga, given, { ...options, tx });
      await tx.query("commit");
      return runs;
    };
    for (let round = 0; round < 200; round += 1) {
      const name = uniqueName("order");
      const id = (input: { n: number }) => `${name}-${input.n}`;
      const options = { id, startAt: later() };
      const [one, other] = await Promise.all([
        starting(0, a, inputs, options),
        starting(1, b, [...inputs].reverse(), options),
      ]);
      const created = [...one, ...other].filter((run) => run.created).map((run) => run.id);
      expect(created.sort()).toEqual(inputs.map(id).sort());
    }
  });

  test("IDM-1: where each has an input that the other's contradicts, one of them has all its runs and the other none", async () => {
    const bench = db.bench();
    const saga = bench.saga([bench.step("S1")]);
    const [a, b] = [await db.starter([saga]), await db.starter([saga])];
    for (let round = 0; round < 200; round += 1) {
      const name = uniqueName("order");
      const start = (executor: typeof a, who: string, contested: number) =>
        executor.startMany(
          saga,
          [1, 2, 3].map((n) => ({ n, who: n === contested ? who : "both" })),
          {
            id: ({ n }: { n: number }) => (n === contested ? `${name}-2` : `${name}-${who}-${n}`),
            startAt: later(),
          },
        );
      const [one, other] = await Promise.allSettled([start(a, "a", 1), start(b, "b", 3)]);
      expect([one.status, other.status].sort()).toEqual(["fulfilled", "rejected"]);
      const { runs } = await db.client.list({ saga: saga.name, limit: 3 });
      const winner = one.status === "fulfilled" ? "a" : "b";
      expect(runs.map(({ id }) => id).sort()).toEqual(
        [
          `${name}-2`,
          ...[1, 2, 3].filter((n) => n !== (winner === "a" ? 1 : 3)).map((n) => `${name}-${winner}-${n}`),
        ].sort(),
      );
      expect((await db.client.list({ saga: saga.name, limit: 1_000 })).runs).toHaveLength(3 * Math.min(round + 1, 333));
    }
  });
});

test("twenty thousand runs of one call are listed in the order of their inputs", async () => {
  const bench = db.bench();
  const saga = bench.saga([bench.step("S1")]);
  const executor = await durableExecutor({ sagas: [saga], database: db.database.url, worker: false });
  const runs = await executor.startMany(saga, Array(20_000).fill({}), { startAt: later() });
  expect(new Set(runs.map(({ id }) => id)).size).toBe(20_000);
  const page = await executor.list({ saga: saga.name, limit: 1_000 });
  expect(page.runs.map(({ id }) => id)).toEqual(
    runs
      .slice(-1_000)
      .map(({ id }) => id)
      .reverse(),
  );
  await executor.close();
});
