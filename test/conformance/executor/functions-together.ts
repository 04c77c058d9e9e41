// CALLS BESIDE EACH OTHER in a durable function: `d.all`, and what becomes of the others when one fails (design 2.3).

import { isSuspension } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { gate } from "../../support/until.js";
import { aborted, entriesOf, errorOf, type MakeExecutor } from "./bench.js";
import { terminal } from "./bodies.js";
import { FunctionBench } from "./function-bench.js";

export function functionsTogether(make: MakeExecutor): void {
  describe("calls of a durable function beside each other", () => {
    test("run at once, and give a list for a list and an object for an object", async () => {
      const bench = new FunctionBench(make);
      const both = gate();
      let begun = 0;
      const meet = async () => {
        begun += 1;
        if (begun === 2) both.open();
        await both.promise;
        return begun;
      };
      const saga = bench.function(async (_, d) => {
        const list = await d.all([bench.calls(d, "S1", meet), bench.calls(d, "S2", meet), 7]);
        const named = await d.all({ a: bench.calls(d, "S3"), b: d.sleep("nap", 10) });
        return { list, named };
      });
      const { outcome } = await bench.run(saga);
      expect(outcome).toEqual({
        status: "completed",
        output: { list: [2, 2, 7], named: { a: { from: "S3" }, b: undefined } },
      });
    });

    test("are done once each, in whatever order they end, and are given in that order again", async () => {
      const bench = new FunctionBench(make);
      const second = gate();
      const orders: string[][] = [];
      const saga = bench.function(async (_, d) => {
        const order: string[] = [];
        orders.push(order);
        const noting = async (name: string, body: () => unknown) => {
          await bench.calls(d, name, body);
          order.push(name);
        };
        await d.all([noting("S1", () => second.promise), noting("S2", () => setTimeout(second.open, 20) && {})]);
        await d.sleep("long", 1_200);
        return order;
      });
      const { outcome } = await bench.run(saga);
      expect(outcome).toEqual({ status: "completed", output: ["S2", "S1"] });
      expect(orders).toEqual([
        ["S2", "S1"],
        ["S2", "S1"],
      ]);
      expect(bench.outside.order()).toEqual(["S1", "S2"]);
    });

    test("when one fails for good, the others are aborted and awaited, and the first failure may be caught", async () => {
      const bench = new FunctionBench(make);
      const begun = gate();
      const reasons: string[] = [];
      const saga = bench.function(async (_, d) => {
        try {
          await d.all([
            bench.calls(d, "S1", async ({ signal }) => {
              begun.open();
              reasons.push((await aborted(signal)).reason);
              return { released: true };
            }),
            d.all([d.sleep("long", "1h"), d.sleep("longer", "2h")]),
            bench.calls(d, "S2", async () => {
              await begun.promise;
              terminal("no stock")();
            }),
          ]);
        } catch (error) {
          return (error as Error).message;
        }
      });
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome).toEqual({ status: "completed", output: "no stock" });
      expect(reasons).toEqual(["sibling_failed"]);
      const ends = (await entriesOf(executor, id)).filter(({ kind }) => kind === "step_failed");
      expect(ends).toMatchObject([
        { step: "S2", doubt: "definite" },
        { step: "long", doubt: "definite", because: "S2" },
        { step: "longer", doubt: "definite", because: "S2" },
      ]);
    });

    test("one that was aborted and may have happened can't be caught: the run turns back, because of the first failure", async () => {
      const bench = new FunctionBench(make);
      const begun = gate();
      const saga = bench.function(async (_, d) => {
        const both = [
          bench.call(d, "S1", async ({ signal }) => {
            begun.open();
            throw await aborted(signal);
          }),
          bench.call(d, "S2", async () => {
            await begun.promise;
            terminal("no stock")();
          }),
        ];
        await d.all(both).catch((error) => (isSuspension(error) ? Promise.reject(error) : bench.call(d, "S3")));
      });
      const { outcome } = await bench.run(saga, {}, { logger: bench.logger });
      expect(bench.warnings).toEqual([]);
      expect(outcome.status).toBe("failed");
      expect(errorOf(outcome)).toMatchObject({ step: "S2", cause: { message: "no stock" } });
      expect(bench.outside.order()).toEqual(["S1", "S2", "C1"]);
    });

    test("a function that returns before its calls end lets steps end first, and waits for no timer and no signal", async () => {
      const bench = new FunctionBench(make);
      const saga = bench.function((_, d) =>
        Promise.race([bench.calls(d, "S1"), d.sleep("long", "1h"), d.waitForSignal("word"), bench.calls(d, "S2")]),
      );
      const { outcome } = await bench.run(saga);
      expect(outcome.status).toBe("completed");
      expect(bench.outside.order().sort()).toEqual(["S1", "S2"]);
    });
  });
}
