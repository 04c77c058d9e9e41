// RUNS WITHIN A DURABLE FUNCTION: `d.child`, sagas and functions (design 2.3).

import { describe, expect, test } from "vitest";
import { until } from "../../support/until.js";
import { errorOf, type MakeExecutor, rejection, stop } from "./bench.js";
import { terminal } from "./bodies.js";
import { FunctionBench } from "./function-bench.js";

export function childrenOfFunctions(make: MakeExecutor): void {
  describe("the children of a durable function", () => {
    test("give it their output: sagas, and functions that have children of their own", async () => {
      const bench = new FunctionBench(make);
      const list = bench.saga([bench.step("S1", { run: ({ n }) => ({ twice: 2 * n }) })]);
      const inner = bench.function(async ({ n }, d) => ({ inner: await d.child("list", list, { n }) }));
      const saga = bench.function(async (_, d) => d.child("inner", inner, { n: 4 }));
      const executor = await bench.executor([saga, inner, list]);
      expect(await executor.execute(saga, {})).toEqual({ inner: { twice: 8 } });
    });

    test("are undone when it turns back, in their place", async () => {
      const bench = new FunctionBench(make);
      const inner = bench.function(async (_, d) => {
        await bench.call(d, "S2");
        await bench.call(d, "S3");
      });
      const saga = bench.function(async (_, d) => {
        await bench.call(d, "S1");
        await d.child("inner", inner, {});
        await bench.call(d, "S4", terminal("no stock"));
      });
      const executor = await bench.executor([saga, inner]);
      const run = await executor.start(saga, {});
      expect((await run.outcome()).status).toBe("failed");
      expect(bench.outside.order()).toEqual(["S1", "S2", "S3", "S4", "C3", "C2", "C1"]);
    });

    test("that fail with everything undone are a failure that it may catch", async () => {
      const bench = new FunctionBench(make);
      const inner = bench.function((_, d) => bench.call(d, "S1", terminal("no stock")));
      const saga = bench.function(async (_, d) => {
        const error = await rejection(d.child("inner", inner, {}));
        return [error.code, error.cause.message];
      });
      const executor = await bench.executor([saga, inner]);
      expect(await executor.execute(saga, {})).toEqual(["child.failed", "no stock"]);
    });

    test("are stopped with it while it waits for them", async () => {
      const bench = new FunctionBench(make);
      const inner = bench.function(async (_, d) => {
        await bench.call(d, "S2");
        await d.sleep("long", "1h");
      });
      const saga = bench.function(async (_, d) => {
        await bench.call(d, "S1");
        await d.child("inner", inner, {});
      });
      const executor = await bench.executor([saga, inner]);
      const run = await executor.start(saga, {});
      await until("the child sleeps", async () => (await executor.get(`${run.id}/inner`))?.status === "waiting");
      await stop(executor, run.id);
      expect((await run.outcome()).status).toBe("cancelled");
      expect(bench.outside.order()).toEqual(["S1", "S2", "C2", "C1"]);
    });

    test("pass no pivot: a list that has one is refused at the call, a function at its pivot, and undone", async () => {
      const bench = new FunctionBench(make);
      const list = bench.saga([bench.pivot("P1")]);
      const inner = bench.function(async (_, d) => {
        await bench.call(d, "S1");
        await d.pivot("P2", bench.does("P2"));
      });
      const saga = bench.function(async (_, d) => {
        const refused = await rejection(d.child("list", list, {}));
        const failed = await rejection(d.child("inner", inner, {}));
        return [refused.code, failed.cause.code];
      });
      const executor = await bench.executor([saga, inner, list]);
      expect(await executor.execute(saga, {})).toEqual(["function.call_refused", "function.call_refused"]);
      expect(bench.outside.order()).toEqual(["S1", "C1"]);
    });

    test("may have a pivot in a list once its own is passed", async () => {
      const bench = new FunctionBench(make);
      const list = bench.saga([bench.pivot("P2")]);
      const saga = bench.function(async (_, d) => {
        await d.pivot("P1", bench.does("P1"));
        await d.child("list", list, {});
      });
      const executor = await bench.executor([saga, list]);
      await executor.execute(saga, {});
      expect(bench.outside.order()).toEqual(["P1", "P2"]);
    });

    test("that end in a way that is nobody's to undo leave it in doubt: it turns back, and owes them", async () => {
      const bench = new FunctionBench(make);
      const inner = bench.function(async (_, d) => {
        await d.step("S2", bench.does("S2"), bench.undoes("S2", terminal("stuck")));
        throw new Error("the end");
      });
      const saga = bench.function(async (_, d) => {
        await bench.call(d, "S1");
        await d.child("inner", inner, {}).catch(() => {});
      });
      const executor = await bench.executor([saga, inner]);
      const outcome = await (await executor.start(saga, {})).outcome();
      expect(outcome.status).toBe("compensation_failed");
      expect(errorOf(outcome)).toMatchObject({ owed: ["inner"] });
      expect(bench.outside.order()).toEqual(["S1", "S2", "C2", "C1"]);
    });
  });

  describe("a durable function that waits for a signal", () => {
    test("SIG-1: is parked, woken by it, and gets what was sent, also what was sent before it waited", async () => {
      const bench = new FunctionBench(make);
      const saga = bench.function(async (_, d) => {
        const first = await d.waitForSignal("first", { signal: "paid", within: "1h" });
        await bench.calls(d, "S1");
        const second = await d.waitForSignal("second", { signal: "paid", within: "1h" });
        return { first, second };
      });
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("it waits", async () => (await executor.get(run.id))!.status === "waiting");
      for (const n of [1, 2]) expect(await executor.signal(run.id, "paid", { n })).toEqual({ verdict: "received" });
      expect(await run.outcome({ timeout: "20s" })).toEqual({
        status: "completed",
        output: { first: { received: true, payload: { n: 1 } }, second: { received: true, payload: { n: 2 } } },
      });
      expect(bench.outside.order()).toEqual(["S1"]);
    });
  });
}
