// HOW MANY RUNS OF A SAGA GO AT ONCE (design 1.9): a place from the first taking up to the end.

import { child } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { gate, until } from "../../support/until.js";
import { Bench, type MakeExecutor, rejection, stop, uniqueName } from "./bench.js";
import { terminal } from "./bodies.js";

/** Counts who is between the first step and the last one. */
class Inside {
  now = 0;
  most = 0;
  enter(): void {
    this.now += 1;
    this.most = Math.max(this.most, this.now);
  }
  leave(): void {
    this.now -= 1;
  }
}

const soon = () => new Promise<void>((resolve) => setImmediate(resolve));

export function concurrency(make: MakeExecutor): void {
  describe("a saga that limits how many of its runs go at once", () => {
    const counting = (bench: Bench, inside: Inside, concurrency: object) =>
      bench.saga(
        [
          bench.step("S1", { run: () => soon().then(() => inside.enter()) }),
          bench.step("S2", { run: () => soon() }),
          bench.step("S3", { run: () => soon().then(() => inside.leave()) }),
        ],
        { concurrency },
      );

    test.each([1, 3])("never has more than its limit between first and last step: %i", async (limit) => {
      const bench = new Bench(make);
      const inside = new Inside();
      const saga = counting(bench, inside, { limit });
      const executor = await bench.executor([saga]);
      const runs = await executor.startMany(saga, Array(25).fill({}));
      for (const run of runs) expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
      expect(inside.most).toBe(limit);
      expect(bench.outside.count("S3")).toBe(25);
    });

    test("with a key: per key, and a backlog of one delays no other", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const saga = bench.saga([bench.step("S1", { run: ({ of }) => (of === "busy" ? hold.promise : undefined) })], {
        concurrency: { limit: 1, key: ({ of }: { of: string }) => of },
      });
      const executor = await bench.executor([saga]);
      const busy = await executor.startMany(saga, Array(50).fill({ of: "busy" }));
      await until("the first runs", () => bench.outside.count("S1") === 1);
      const quiet = await executor.startMany(
        saga,
        ["a", "b", "c"].map((of) => ({ of })),
      );
      for (const run of quiet) expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
      expect(bench.outside.count("S1")).toBe(4);
      hold.open();
      for (const run of busy) expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
    });

    test("takes them by due time less the head start", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const order: string[] = [];
      const saga = bench.saga(
        [
          bench.step("S1", {
            run: async ({ of }) => {
              order.push(of);
              if (of === "first") await hold.promise;
            },
          }),
        ],
        { concurrency: { limit: 1 } },
      );
      const other = bench.saga([bench.step("S9")]);
      const executor = await bench.executor([saga, other]);
      const at = Date.now();
      const start = async (of: string, startAt: number, priority = 0) =>
        executor.start(saga, { of }, { startAt: new Date(startAt), priority });
      const first = await start("first", at);
      await until("the first runs", () => order.length === 1);
      const runs = [
        first,
        await start("third", at - 1_000),
        await start("fourth", at - 500),
        await start("second", at, 60),
      ];
      // By the time that this has run, the others have queued.
      await executor.execute(other, {}, { timeout: "20s" });
      hold.open();
      for (const run of runs) await run.outcome({ timeout: "20s" });
      expect(order).toEqual(["first", "second", "third", "fourth"]);
    });

    test("a run that waits to be tried again keeps its place; the next begins when it has ended", async () => {
      const bench = new Bench(make);
      const mended = { yes: false };
      const retry = { firstDelay: "1h", maxDelay: "1h" } as const;
      const saga = bench.saga([bench.step("S1", { retry, run: ({ n }) => n === 1 && !mended.yes && fails() })], {
        concurrency: { limit: 1 },
        output: () => ({}),
      });
      const executor = await bench.executor([saga]);
      const first = await executor.start(saga, { n: 1 });
      await until("it waits", async () => (await executor.get(first.id))?.status === "waiting");
      const second = await executor.start(saga, { n: 2 });
      const unlimited = bench.saga([bench.step("S9")]);
      const other = await bench.executor([saga, unlimited]);
      await other.execute(unlimited, {}, { timeout: "20s" });
      expect(await executor.get(second.id)).toMatchObject({
        status: "pending",
        waiting: "for its turn, or for a worker",
      });
      expect(bench.outside.count("S1", "forward", second.id)).toBe(0);
      mended.yes = true;
      await executor.retry(first.id, { by: "ana" });
      expect((await first.outcome({ timeout: "20s" })).status).not.toBe("waiting");
      expect((await second.outcome({ timeout: "20s" })).status).toBe("failed");
    });

    test("a place is free again however its run ends: rolled back, stopped while it waited for one, stopped while it ran", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const saga = bench.saga(
        [
          bench.step("S1", {
            run: async ({ does }, { signal }) => {
              if (does === "fail") terminal()();
              if (does === "hang")
                await new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
              if (does === "hold") await hold.promise;
            },
          }),
        ],
        { concurrency: { limit: 1 } },
      );
      const executor = await bench.executor([saga]);
      const holding = await executor.start(saga, { does: "hold" });
      await until("it runs", () => bench.outside.count("S1") === 1);
      const queued = await executor.start(saga, { does: "hang" });
      expect(await stop(executor, queued.id)).toMatchObject({ verdict: "cancelled" });
      const failing = await executor.start(saga, { does: "fail" });
      hold.open();
      expect((await holding.outcome({ timeout: "20s" })).status).toBe("completed");
      expect((await failing.outcome({ timeout: "20s" })).status).toBe("failed");
      const hanging = await executor.start(saga, { does: "hang" });
      await until("it hangs", () => bench.outside.count("S1", "forward", hanging.id) === 1);
      expect(await stop(executor, hanging.id)).toMatchObject({ verdict: "cancelling" });
      expect((await hanging.outcome({ timeout: "20s" })).status).toBe("cancelled");
      expect((await (await executor.start(saga, {})).outcome({ timeout: "20s" })).status).toBe("completed");
      expect(bench.outside.count("S1", "forward", queued.id)).toBe(0);
    });

    test("a run that an operator reopens queues for a place anew", async () => {
      const bench = new Bench(make);
      const hold = gate();
      let mended = false;
      const saga = bench.saga(
        [
          bench.pivot("P", { run: ({ does }) => (does === "hold" ? hold.promise : undefined) }),
          bench.forward("S2", { run: ({ does }) => (does === "fail" && !mended ? terminal()() : undefined) }),
        ],
        { concurrency: { limit: 1 } },
      );
      const executor = await bench.executor([saga]);
      const reopened = await executor.start(saga, { does: "fail" });
      expect((await reopened.outcome({ timeout: "20s" })).status).toBe("forward_incomplete");
      const holding = await executor.start(saga, { does: "hold" });
      await until("it runs", () => bench.outside.count("P", "forward", holding.id) === 1);
      mended = true;
      await executor.retry(reopened.id, { by: "ana" });
      const other = bench.saga([bench.step("S9")]);
      await (await bench.executor([saga, other])).execute(other, {}, { timeout: "20s" });
      expect(bench.outside.count("S2", "forward", reopened.id)).toBe(1);
      hold.open();
      expect((await holding.outcome({ timeout: "20s" })).status).toBe("completed");
      expect((await (await executor.find(reopened.id))!.outcome({ timeout: "20s" })).status).toBe("completed");
    });

    test("`execute` takes its turn too, and a start for later queues when it is due", async () => {
      const bench = new Bench(make);
      const inside = new Inside();
      const saga = counting(bench, inside, { limit: 1 });
      const executor = await bench.executor([saga]);
      const later = await executor.start(saga, {}, { startAt: new Date(Date.now() + 60) });
      await Promise.all(Array.from({ length: 8 }, () => executor.execute(saga, {}, { timeout: "20s" })));
      await later.outcome({ timeout: "20s" });
      expect(inside.most).toBe(1);
      expect(bench.outside.count("S1")).toBe(9);
    });

    test("a key that is none is refused with the input, and nothing is written", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")], { concurrency: { limit: 1, key: ({ key }: any) => key.of } });
      const executor = await bench.executor([saga]);
      for (const of of [undefined, 7, "", "x".repeat(201), "a\0"]) {
        const error = await rejection(executor.start(saga, { key: { of } }));
        expect(error).toMatchObject({ code: "input.invalid" });
        expect(error.message).toContain("concurrency.key has to give");
      }
      const error = await rejection(executor.startMany(saga, [{ key: { of: "fine" } }, {}]));
      expect(error).toMatchObject({ code: "input.invalid", faults: [{ at: "inputs[1]" }] });
      expect(error.message).toContain("concurrency.key threw");
      expect((await executor.list({ saga: saga.name })).runs).toEqual([]);
    });

    test("the key gets the parsed input as it is stored, and can change nothing of it", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1", { run: ({ n }) => ({ seen: n }) })], {
        name: uniqueName("meddling"),
        concurrency: {
          limit: 1,
          key: (input: { n: number }) => {
            input.n = 99;
            return "all";
          },
        },
      });
      const executor = await bench.executor([saga]);
      expect(await executor.execute(saga, { n: 1 }, { timeout: "20s" })).toEqual({ seen: 1 });
    });

    test("counts the runs that parents and schedules start of it with the others", async () => {
      const bench = new Bench(make);
      const inside = new Inside();
      const saga = counting(bench, inside, { limit: 2 });
      const parent = bench.saga([(child as any)({ name: "kid", saga, input: () => ({}) })]);
      const executor = await bench.executor([saga, parent]);
      const id = uniqueName("often");
      await executor.schedules.put({ id, target: saga, input: {}, every: "1h" });
      const runs = [
        ...(await executor.startMany(parent, Array(8).fill({}))),
        ...(await executor.startMany(saga, Array(4).fill({}))),
        ...(await Promise.all([1, 2, 3, 4].map(() => executor.schedules.trigger(id)))),
      ];
      await Promise.all(runs.map((run) => run.outcome({ timeout: "20s" })));
      await executor.schedules.remove(id);
      expect([inside.now, inside.most]).toEqual([0, 2]);
    });
  });
}

function fails(): never {
  throw new Error("connection lost");
}
