// HOW A DURABLE FUNCTION FAILS: what it may catch and what it may not, before the pivot, at it and after it (design 1.1, 2.3).

import { describe, expect, test } from "vitest";
import { gate } from "../../support/until.js";
import { aborted, entriesOf, errorOf, kindsOf, type MakeExecutor, stop } from "./bench.js";
import { failingAtFirst, terminal } from "./bodies.js";
import { FunctionBench, inDoubt } from "./function-bench.js";

const unknown = () => {
  throw new Error("who knows");
};

export function failingFunctions(make: MakeExecutor): void {
  describe("a durable function that fails", () => {
    test("catches a failure that did not happen and takes another way, on the first pass and on later ones", async () => {
      const bench = new FunctionBench(make);
      const caught: any[] = [];
      const saga = bench.function(async (_, d) => {
        try {
          await bench.call(d, "S1", terminal("no stock"));
        } catch (error) {
          caught.push(error);
          await bench.call(d, "S2");
        }
        await d.sleep("long", 1_200);
        return bench.call(d, "S3");
      });
      const { outcome } = await bench.run(saga);
      expect(outcome).toMatchObject({ status: "completed", output: { from: "S3" } });
      expect(bench.outside.order()).toEqual(["S1", "S2", "S3"]);
      expect(caught.map(({ message }) => message)).toEqual(["no stock", "no stock"]);
    });

    test("is tried again at a step that may work another time, under one key, and is told of none of it", async () => {
      const bench = new FunctionBench(make);
      const saga = bench.function((_, d) => bench.call(d, "S1", failingAtFirst(2)));
      const { outcome } = await bench.run(saga);
      expect(outcome.status).toBe("completed");
      expect(bench.outside.calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
      expect(new Set(bench.outside.calls.map(({ key }) => key)).size).toBe(1);
    });

    test("can't catch a failure in doubt: the run turns back, and undoes that step as one that may have happened", async () => {
      const bench = new FunctionBench(make);
      const seen: unknown[] = [];
      const caught: unknown[] = [];
      const saga = bench.function(async (_, d) => {
        await bench.call(d, "S1");
        try {
          const undoes = bench.undoes("S2", ({ outcome }) => seen.push(outcome));
          await d.step("S2", bench.does("S2", unknown), { ...undoes, ...inDoubt });
        } catch (error) {
          caught.push(error);
          throw error;
        }
      });
      const { outcome } = await bench.run(saga);
      expect(outcome.status).toBe("failed");
      expect(errorOf(outcome)).toMatchObject({ step: "S2", cause: { message: "who knows" } });
      expect(bench.outside.order()).toEqual(["S1", "S2", "C2", "C1"]);
      expect(seen).toEqual(["in_doubt"]);
      expect(caught).toMatchObject([{ code: "function.suspended" }]);
    });

    test("undoes what is in doubt first, then the rest in reverse order of completion, whatever was asked for first", async () => {
      const bench = new FunctionBench(make);
      const first = gate();
      const saga = bench.function(async (_, d) => {
        await d.all([bench.call(d, "S1", () => first.promise), bench.call(d, "S2").finally(() => first.open())]);
        await bench.call(d, "S3", unknown, inDoubt);
      });
      await bench.run(saga);
      expect(bench.outside.order().slice(3)).toEqual(["C3", "C1", "C2"]);
    });

    test("whose compensation fails for good ends compensation_failed, and an operator's retry tries it again", async () => {
      const bench = new FunctionBench(make);
      let broken = true;
      const saga = bench.function(async (_, d) => {
        await bench.call(d, "S1");
        const undoing = bench.undoes("S2", () => broken && terminal("stuck")());
        await d.step("S2", bench.does("S2"), undoing);
        throw new Error("the end");
      });
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("compensation_failed");
      expect(errorOf(outcome)).toMatchObject({ owed: ["S2"] });
      broken = false;
      await executor.retry(id, { by: "ana" });
      await expect.poll(async () => (await executor.get(id))?.status).toBe("failed");
      expect(bench.outside.order()).toEqual(["S1", "S2", "C2", "C1", "C2"]);
    });
  });

  describe("a durable function and its pivot", () => {
    test("is stopped before it: what runs is aborted, and undone with the rest", async () => {
      const bench = new FunctionBench(make);
      const begun = gate();
      const saga = bench.function(async (_, d) => {
        await bench.call(d, "S1");
        await bench.call(d, "S2", async ({ signal }) => {
          begun.open();
          throw await aborted(signal);
        });
        await d.pivot("P", bench.does("P"));
      });
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await begun.promise;
      expect((await stop(executor, run.id)).verdict).toBe("cancelling");
      expect((await run.outcome()).status).toBe("cancelled");
      expect(bench.outside.order()).toEqual(["S1", "S2", "C2", "C1"]);
    });

    test("refuses a stop once it is entered, by its name, and goes on to the end", async () => {
      const bench = new FunctionBench(make);
      const begun = gate();
      const paid = gate();
      const saga = bench.function(async (_, d) => {
        await bench.call(d, "S1");
        await d.pivot("charge-card", async () => {
          begun.open();
          await paid.promise;
        });
        return bench.calls(d, "S2");
      });
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await begun.promise;
      expect(await stop(executor, run.id)).toMatchObject({ verdict: "refused", pivot: "charge-card" });
      paid.open();
      expect((await run.outcome()).status).toBe("completed");
      expect(await kindsOf(executor, run.id)).toEqual([
        ...["declared", "step_completed", "declared", "pivot_entered", "cancel_refused", "step_completed"],
        ...["declared", "step_completed", "finished"],
      ]);
    });

    test("rolls back when the pivot is known not to have happened, which it can't catch", async () => {
      const bench = new FunctionBench(make);
      const saga = bench.function(async (_, d) => {
        await bench.call(d, "S1");
        await d.pivot("P", bench.does("P", terminal("declined"))).catch(() => bench.call(d, "S2"));
      });
      const { outcome } = await bench.run(saga);
      expect(outcome.status).toBe("failed");
      expect(errorOf(outcome)).toMatchObject({ step: "P", cause: { message: "declined" } });
      expect(bench.outside.order()).toEqual(["S1", "P", "C1"]);
    });

    test("ends in_doubt where nobody can tell of the pivot; an operator who knows lets it go on, or turn back", async () => {
      for (const as of ["done", "not_done"] as const) {
        const bench = new FunctionBench(make);
        const saga = bench.function(async (_, d) => {
          await bench.call(d, "S1");
          const charge = await d.pivot("P", bench.does("P", unknown), inDoubt);
          return { charge, after: await bench.calls(d, "S2") };
        });
        const { executor, id, outcome } = await bench.run(saga);
        expect(outcome.status).toBe("in_doubt");
        const output = as === "done" ? { output: { chargeId: "ch-1" } } : {};
        await executor.resolve(id, { step: "P", as, by: "ana", ...output });
        const after = await (await executor.start(saga, {}, { id })).outcome({ timeout: "10s" });
        if (as === "not_done") expect(bench.outside.order()).toEqual(["S1", "P", "C1"]);
        else
          expect(after).toEqual({
            status: "completed",
            output: { charge: { chargeId: "ch-1" }, after: { from: "S2" } },
          });
        expect(after.status).toBe(as === "done" ? "completed" : "failed");
      }
    });

    test("ends forward_incomplete when it fails after it; a retry tries the failed step again, and no other", async () => {
      const bench = new FunctionBench(make);
      let broken = true;
      const saga = bench.function(async (_, d) => {
        const way = await bench.call(d, "S1", terminal("closed")).catch(() => "around");
        await d.pivot("P", bench.does("P"));
        await bench.calls(d, "S2", () => (broken ? terminal("no carrier")() : {}));
        return way;
      });
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("forward_incomplete");
      expect(errorOf(outcome)).toMatchObject({ step: "S2", cause: { message: "no carrier" } });
      broken = false;
      await executor.retry(id, { by: "ana" });
      await expect.poll(async () => (await executor.get(id))?.status).toBe("completed");
      expect((await executor.get(id))?.output).toBe("around");
      expect(bench.outside.order()).toEqual(["S1", "P", "S2", "S2"]);
    });

    test("that threw after it is an operator's too: nothing is undone", async () => {
      const bench = new FunctionBench(make);
      const saga = bench.function(async (_, d) => {
        await bench.call(d, "S1");
        await d.pivot("P", bench.does("P"));
        throw new Error("a bug");
      });
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("forward_incomplete");
      expect(errorOf(outcome).cause).toMatchObject({ message: "a bug" });
      expect(bench.outside.order()).toEqual(["S1", "P"]);
      expect((await entriesOf(executor, id)).at(-2)).toMatchObject({ kind: "function_failed" });
    });

    test("that threw while it was under way waits for it: the pivot is never turned from on a guess", async () => {
      const bench = new FunctionBench(make);
      const begun = gate();
      const paid = gate();
      const saga = bench.function(async (_, d) => {
        await bench.call(d, "S1");
        const pivot = d.pivot("P", async (tools) => {
          bench.outside.did("P", tools);
          begun.open();
          await paid.promise;
        });
        await Promise.race([pivot, begun.promise]);
        throw new Error("impatient");
      });
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await begun.promise;
      paid.open();
      expect((await run.outcome()).status).toBe("forward_incomplete");
      expect(bench.outside.order()).toEqual(["S1", "P"]);
    });

    test("that has no time left before it is undone, and ends timed_out", async () => {
      const bench = new FunctionBench(make);
      const saga = bench.function(
        async (_, d) => {
          await bench.call(d, "S1");
          await bench.call(d, "S2", async ({ signal }) => {
            throw await aborted(signal);
          });
          await d.pivot("P", bench.does("P"));
        },
        { maxDuration: "150ms" },
      );
      const { outcome } = await bench.run(saga);
      expect(outcome.status).toBe("timed_out");
      expect(bench.outside.order()).toEqual(["S1", "S2", "C2", "C1"]);
    });
  });
}
