// THE POINT OF NO RETURN: before it everything can be undone, after it nothing is; in doubt it is never guessed.

import { isSagaError, type RunTools } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { until } from "../../support/until.js";
import { Bench, entriesOf, errorOf, kindsOf, type MakeExecutor, never } from "./bench.js";
import { terminal } from "./bodies.js";

export function pivoting(make: MakeExecutor): void {
  describe("the pivot", () => {
    test("that definitely did not happen rolls everything back", async () => {
      const bench = new Bench(make);
      const { outcome, executor, id } = await bench.run(
        bench.saga([bench.step("S1"), bench.pivot("P", { run: terminal("declined") }), bench.forward("S3")]),
      );
      expect(outcome).toMatchObject({ status: "failed", error: { step: "P", cause: { message: "declined" } } });
      expect(bench.outside.order()).toEqual(["S1", "P", "C1"]);
      expect(await kindsOf(executor, id)).toEqual([
        "step_completed",
        "pivot_entered",
        "step_failed",
        "rollback_started",
        "step_compensated",
        "finished",
      ]);
    });

    test("PIV-1: a step after it that fails for good is an operator's: nothing is undone, and retry finishes it", async () => {
      const bench = new Bench(make);
      let mended = false;
      const saga = bench.saga([
        bench.step("S1"),
        bench.pivot("P", { run: () => ({ charged: 1 }) }),
        bench.forward("S3", { run: () => (mended ? { shipped: 1 } : terminal("declined")()) }),
        bench.forward("S4"),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("forward_incomplete");
      expect(isSagaError(errorOf(outcome), "run.forward_incomplete")).toBe(true);
      expect(errorOf(outcome)).toMatchObject({ step: "S3", cause: { message: "declined" }, owed: [] });
      expect(await executor.get(id)).toMatchObject({ status: "forward_incomplete", step: "S3", owed: [] });
      mended = true;
      await executor.retry(id, { by: "ana" });
      const again = await executor.find(id);
      expect(await again!.outcome()).toEqual({ status: "completed", output: { charged: 1, shipped: 1 } });
      expect(bench.outside.order()).toEqual(["S1", "P", "S3", "S3", "S4"]);
    });

    test("a step after it is tried again without limit", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.pivot("P"),
        bench.forward("S2", {
          retry: { firstDelay: 1, factor: 1 },
          run: (_, { attempt }) => {
            if (attempt <= 12) throw new Error("down");
          },
        }),
      ]);
      expect((await bench.run(saga)).outcome.status).toBe("completed");
      expect(bench.outside.count("S2")).toBe(13);
    });

    test("a retryable error of a pivot without reconcile is tried again under the same key, without limit", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1"),
        bench.pivot("P", {
          retry: { firstDelay: 1, factor: 1 },
          run: (_, { attempt }) => {
            if (attempt <= 10) throw new Error("connection lost");
          },
        }),
      ]);
      const { id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("completed");
      expect(bench.outside.count("P")).toBe(11);
      expect(new Set(bench.outside.calls.filter((call) => call.step === "P").map((call) => call.key))).toEqual(
        new Set([`${id}/P`]),
      );
      expect(bench.outside.count("S1", "compensate")).toBe(0);
    });

    test("in doubt, a later definite error does not clear the doubt: without reconcile the run ends in_doubt, nothing undone", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1"),
        bench.pivot("P", {
          run: (_, { attempt }) => {
            if (attempt === 1) throw new Error("connection lost");
            terminal("declined")();
          },
        }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("in_doubt");
      expect(isSagaError(errorOf(outcome), "run.in_doubt")).toBe(true);
      expect(errorOf(outcome)).toMatchObject({ step: "P", owed: [] });
      expect(bench.outside.order()).toEqual(["S1", "P", "P"]);
      expect(await executor.get(id)).toMatchObject({ status: "in_doubt", step: "P" });
      expect((await executor.list({ saga: saga.name })).runs).toMatchObject([{ status: "in_doubt", owed: [] }]);
    });

    test("a budget that is used up in doubt: the run ends in_doubt at once", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1"),
        bench.pivot("P", { retry: { maxAttempts: 1 }, timeout: 10, grace: 0, run: never }),
      ]);
      expect((await bench.run(saga)).outcome.status).toBe("in_doubt");
      expect(bench.outside.order()).toEqual(["S1", "P"]);
    });

    test("after the pivot, maxDuration does nothing", async () => {
      const bench = new Bench(make);
      let signal: AbortSignal | undefined;
      const startedAt = Date.now();
      const late = (_: unknown, tools: RunTools) => {
        ({ signal } = tools);
        return until("it is long past", () => Date.now() > startedAt + 1_000).then(() => undefined);
      };
      const saga = bench.saga([bench.step("S1"), bench.pivot("P"), bench.forward("S3", { run: late })], {
        maxDuration: 800,
      });
      expect((await bench.run(saga)).outcome.status).toBe("completed");
      expect(signal!.aborted).toBe(false);
    });

    test("maxAttempts: 1 on a step after the pivot: never begun twice, forward_incomplete in doubt", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.pivot("P"),
        bench.forward("S2", {
          retry: { maxAttempts: 1 },
          run: () => {
            throw new Error("connection lost");
          },
        }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("forward_incomplete");
      expect(bench.outside.count("S2")).toBe(1);
      await until("it says so", async () =>
        (await entriesOf(executor, id)).some((entry) => entry.kind === "step_failed" && entry.doubt === "in_doubt"),
      );
    });
  });
}
