// DURABLE FUNCTIONS: what they do once, what they are given again, how they end (design 2.3).

import { describe, expect, test } from "vitest";
import { errorOf, kindsOf, type MakeExecutor, stop } from "./bench.js";
import { terminal } from "./bodies.js";
import { FunctionBench } from "./function-bench.js";

export function functions(make: MakeExecutor): void {
  describe("a durable function", () => {
    test("does its steps in the order in which it asks for them, sleeps between them, and gives what it returns", async () => {
      const bench = new FunctionBench(make);
      const saga = bench.function(async (input, d) => {
        const a = await bench.call(d, "S1", () => ({ n: input.n + 1 }));
        await d.sleep("nap", 20);
        const b = await bench.call(d, "S2", () => a.n + 1);
        return { a, b };
      });
      const { executor, id, outcome } = await bench.run(saga, { n: 1 });
      expect(outcome).toEqual({ status: "completed", output: { a: { n: 2 }, b: 3 } });
      expect(bench.outside.order()).toEqual(["S1", "S2"]);
      expect(await kindsOf(executor, id)).toEqual([
        ...["declared", "step_completed"],
        ...["declared", "timer_started", "timer_fired"],
        ...["declared", "step_completed"],
        "finished",
      ]);
    });

    test("that sleeps long is run again from the top: what was recorded is not done again", async () => {
      const bench = new FunctionBench(make);
      let begun = 0;
      const saga = bench.function(async (_, d) => {
        begun += 1;
        const a = await bench.call(d, "S1");
        await d.sleep("long", 1_200);
        return { a, b: await bench.call(d, "S2") };
      });
      const { outcome } = await bench.run(saga);
      expect(outcome).toEqual({ status: "completed", output: { a: { from: "S1" }, b: { from: "S2" } } });
      expect(begun).toBe(2);
      expect(bench.outside.order()).toEqual(["S1", "S2"]);
    });

    test("that throws is undone in reverse order of completion, and fails with what it threw", async () => {
      const bench = new FunctionBench(make);
      const saga = bench.function(async (_, d) => {
        await bench.call(d, "S1");
        await bench.call(d, "S2");
        throw new Error("the end");
      });
      const { outcome } = await bench.run(saga);
      expect(outcome.status).toBe("failed");
      const error = errorOf(outcome);
      expect(error.cause).toMatchObject({ message: "the end" });
      expect(error.step).toBeUndefined();
      expect(error.message).toMatch(/failed: the end; everything was undone/);
      expect(bench.outside.order()).toEqual(["S1", "S2", "C2", "C1"]);
    });

    test("that lets a step's failure through fails at that step", async () => {
      const bench = new FunctionBench(make);
      const saga = bench.function(async (_, d) => {
        await bench.call(d, "S1");
        await bench.call(d, "S2", terminal("no stock"));
      });
      const { outcome } = await bench.run(saga);
      expect(outcome.status).toBe("failed");
      expect(errorOf(outcome)).toMatchObject({ step: "S2", cause: { message: "no stock" } });
      expect(bench.outside.order()).toEqual(["S1", "S2", "C1"]);
    });

    test("is stopped while it sleeps: what it did is undone, by what it says when it is run again", async () => {
      const bench = new FunctionBench(make);
      const saga = bench.function(async (_, d) => {
        const a = await bench.call(d, "S1");
        await d.step(
          "S2",
          bench.does("S2"),
          bench.undoes("S2", ({ output }) => bench.outside.calls.push({ ...a, ...output } as never)),
        );
        await d.sleep("long", "1h");
      });
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await expect.poll(async () => (await executor.get(run.id))?.status).toBe("waiting");
      expect((await stop(executor, run.id)).verdict).toBe("cancelling");
      expect((await run.outcome()).status).toBe("cancelled");
      expect(bench.outside.calls.map(({ step, direction }) => `${step} ${direction}`)).toEqual([
        ...["S1 forward", "S2 forward", "S2 compensate"],
        "undefined undefined",
        "S1 compensate",
      ]);
    });
  });
}
