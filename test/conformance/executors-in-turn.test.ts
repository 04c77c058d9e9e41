// WHAT A WORKER LEAVES, another goes on with; what several start at once is started once.

import { inProcessExecutor } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { gate, until } from "../support/until.js";
import { entriesOf, kindsOf, never, rejection, stop, uniqueName } from "./executor/bench.js";
import { terminal } from "./executor/bodies.js";
import { onOneDatabase } from "./executor/together.js";

const db = onOneDatabase();
const soon = () => new Date(Date.now() + 3_600_000);

describe("from one worker to the next", () => {
  test("SHD-1: a worker that closes lets its step finish; the next one goes on after it, at once", async () => {
    const bench = db.bench();
    const hold = gate();
    const saga = bench.saga([
      bench.step("S1", {
        run: async () => {
          await hold.promise;
          return { kept: 1 };
        },
      }),
      bench.step("S2", { run: ({ kept }) => ({ seen: kept }) }),
    ]);
    const [one, two] = [await db.worker([saga]), await db.starter([saga])];
    const { id } = await two.start(saga, {});
    await until("S1 runs", () => bench.outside.count("S1") === 1);
    const closing = one.close({ grace: "10s" });
    await db.worker([saga]);
    hold.open();
    await closing;
    const closedAt = Date.now();
    expect(await (await db.client.find(id))!.outcome({ timeout: "20s" })).toEqual({
      status: "completed",
      output: { kept: 1, seen: 1 },
    });
    expect(Date.now() - closedAt).toBeLessThan(3_000);
    expect(bench.outside.order()).toEqual(["S1", "S2"]);
  });

  test("PSN-3: a step that is handed over is no used attempt: it is begun again under its key, as often as it takes", async () => {
    const bench = db.bench();
    let closings = 0;
    const saga = bench.saga([
      bench.step("S1", { grace: 0, retry: { maxAttempts: 2 }, run: () => (closings < 4 ? never() : { done: 1 }) }),
    ]);
    const { id } = await (await db.starter([saga])).start(saga, {});
    for (; closings < 4; closings += 1) {
      const before = bench.outside.count("S1");
      const next = await db.worker([saga]);
      await until(
        "S1 runs",
        () => bench.outside.count("S1") > before || (closings > 0 && bench.outside.count("S1") > closings),
      );
      await next.close({ grace: 0 });
    }
    await db.worker([saga]);
    expect((await (await db.client.find(id))!.outcome({ timeout: "20s" })).status).toBe("completed");
    expect(new Set(bench.outside.calls.map(({ key }) => key))).toEqual(new Set([`${id}/S1`]));
    expect((await entriesOf(db.client, id)).filter(({ kind }) => kind === "handed_over").length).toBeGreaterThanOrEqual(
      4,
    );
  });

  test("maxAttempts 1 is never begun twice: handed over, the step fails in doubt and is compensated", async () => {
    const bench = db.bench();
    const saga = bench.saga([bench.step("S1", { grace: 0, timeout: 300, retry: { maxAttempts: 1 }, run: never })]);
    const one = await db.worker([saga]);
    const { id } = await one.start(saga, {});
    await until("S1 runs", () => bench.outside.count("S1") === 1);
    await one.close({ grace: 0 });
    await db.worker([saga]);
    const outcome = await (await db.client.find(id))!.outcome({ timeout: "20s" });
    expect(outcome).toMatchObject({ status: "failed", error: { step: "S1" } });
    expect(bench.outside.order()).toEqual(["S1", "C1"]);
  });

  test("SER-1, SER-3: what was recorded is the same for the next worker", async () => {
    const bench = db.bench();
    const seen: any[] = [];
    const output = {
      none: undefined,
      at: new Date(7),
      big: 2n ** 70n,
      map: new Map([["a", new Set([1])]]),
      bytes: Buffer.from("hi"),
    };
    const saga = bench.saga([
      bench.step("S1", { run: () => output }),
      bench.step("S2", { grace: 0, run: (context) => (seen.push(context) === 1 ? never() : undefined) }),
    ]);
    const one = await db.worker([saga]);
    const { id } = await one.start(saga, {});
    await until("S2 runs", () => seen.length === 1);
    await one.close({ grace: 0 });
    await db.worker([saga]);
    expect((await (await db.client.find(id))!.outcome({ timeout: "20s" })).status).toBe("completed");
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[1]).toEqual(output);
    expect(bench.outside.count("S1")).toBe(1);
  });
});

describe("starts", () => {
  test("IDM-3: fifty at once through five executors: one run, created once, run once", async () => {
    const bench = db.bench();
    const saga = bench.saga([bench.step("S1")]);
    const executors = await Promise.all(Array.from({ length: 5 }, () => db.worker([saga])));
    const id = uniqueName("order");
    const runs = await Promise.all(
      Array.from({ length: 50 }, (_, n) => executors[n % 5]!.start(saga, { n: 1 }, { id })),
    );
    expect(runs.filter(({ created }) => created)).toHaveLength(1);
    await Promise.all(runs.map((run) => run.outcome({ timeout: "20s" })));
    expect(bench.outside.count("S1")).toBe(1);
  });

  test("in the caller's transaction: the run exists if and only if that commits", async () => {
    const bench = db.bench();
    const saga = bench.saga([bench.step("S1")]);
    const executor = await bench.executor([saga]);
    const tx = await db.database.connect();
    await tx.query("begin");
    const undone = await executor.start(saga, {}, { tx });
    expect(await executor.get(undone.id)).toBeUndefined();
    await tx.query("rollback");
    expect(await executor.get(undone.id)).toBeUndefined();
    await tx.query("begin");
    const kept = await executor.start(saga, {}, { tx });
    await tx.query("commit");
    expect((await kept.outcome({ timeout: "20s" })).status).toBe("completed");
    expect(bench.outside.calls.map(({ runId }) => runId)).toEqual([kept.id]);
  });

  test("TEN-1: another tenant's run is as good as none, for every verb", async () => {
    const bench = db.bench();
    const saga = bench.saga([bench.step("S1")]);
    const [a, b] = [await db.starter([saga], { tenant: "a" }), await db.starter([saga], { tenant: "b" })];
    const id = uniqueName("order");
    await a.start(saga, { of: "a" }, { id, startAt: soon() });
    for (const stranger of [b, db.client]) {
      expect(await stranger.get(id)).toBeUndefined();
      expect(await stranger.find(id)).toBeUndefined();
      expect(await stop(stranger, id)).toEqual({ verdict: "not_found" });
      const notFound = { code: "run.not_found" };
      expect(await rejection(stranger.history(id))).toMatchObject(notFound);
      expect(await rejection(stranger.retry(id, { by: "x" }))).toMatchObject(notFound);
      expect(await rejection(stranger.resolve(id, { step: "S1", as: "done", by: "x" }))).toMatchObject(notFound);
      expect((await stranger.list({ saga: saga.name })).runs).toEqual([]);
    }
    expect((await b.start(saga, { of: "b" }, { id, startAt: soon() })).created).toBe(true);
    expect((await a.get(id))!.input).toEqual({ of: "a" });
    expect(await kindsOf(a, id)).toEqual([]);
  });
});

describe("a transactional step", () => {
  test("keeps its SQL with its entry, and neither when it fails; its compensation works the same way", async () => {
    const table = uniqueName("ledger").replaceAll("-", "_");
    await db.database.query(`create table ${table} (run text, line text)`);
    const bench = db.bench();
    const insert = (tx: any, runId: string, line: string) =>
      tx.query(`insert into ${table} values ($1, $2)`, [runId, line]);
    const saga = bench.saga([
      bench.step("S1", {
        transaction: true,
        run: async ({ fail }: any, { tx, runId, attempt }: any) => {
          await insert(tx, runId, `do ${attempt}`);
          if (attempt === 1) throw new Error("after the insert");
          return { failing: fail };
        },
        undo: (_: unknown, { tx, runId }: any) => insert(tx, runId, "undo"),
      }),
      bench.step("S2", { run: ({ failing }) => failing && terminal()() }),
    ]);
    const executor = await bench.executor([saga]);
    const lines = async (input: object) => {
      const run = await executor.start(saga, input);
      const { status } = await run.outcome({ timeout: "20s" });
      const rows = await db.database.query(`select line from ${table} where run = $1 order by ctid`, [run.id]);
      return [status, ...rows.map(({ line }) => line)];
    };
    expect(await lines({})).toEqual(["completed", "do 2"]);
    expect(await lines({ fail: true })).toEqual(["failed", "do 2", "undo"]);
  });

  test("in process it is refused when the saga is registered", () => {
    const bench = db.bench();
    const saga = bench.saga([bench.step("S1", { transaction: true })]);
    expect(() => inProcessExecutor({ sagas: [saga] })).toThrow(/step "S1" .* transactional/);
  });
});
