// THE POINT OF NO RETURN: before it everything can be undone, after it nothing is; in doubt it is never guessed.

import { isSagaError, type RunTools, TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { until } from "../../support/until.js";
import { Bench, entriesOf, errorOf, kindsOf, type MakeExecutor, never } from "./bench.js";

const terminal = () => {
  throw new TerminalError("declined");
};

export function pivoting(make: MakeExecutor): void {
  describe("the pivot", () => {
    test("that definitely did not happen rolls everything back", async () => {
      const bench = new Bench(make);
      const { outcome, executor, id } = await bench.run(
        bench.saga([bench.step("S1"), bench.pivot("P", { run: terminal }), bench.forward("S3")]),
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
        bench.forward("S3", { run: () => (mended ? { shipped: 1 } : terminal()) }),
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
            terminal();
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

    test("in doubt, reconcile is asked instead of the body; it happened: the saga goes forward with that output", async () => {
      const bench = new Bench(make);
      const asked: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", { run: () => ({ a: 1 }) }),
        bench.pivot("P", {
          run: () => {
            throw new Error("connection lost");
          },
          reconcile: (context: unknown, { key, attempt }: any) => {
            asked.push({ context, key, attempt });
            return { happened: true, output: { chargeId: "c1" } };
          },
        }),
        bench.forward("S3"),
      ]);
      const { id, outcome } = await bench.run(saga);
      expect(outcome).toEqual({ status: "completed", output: { a: 1, chargeId: "c1" } });
      expect(bench.outside.order()).toEqual(["S1", "P", "S3"]);
      expect(asked).toEqual([{ context: { a: 1 }, key: `${id}/P`, attempt: 1 }]);
    });

    test("in doubt, it did not happen: the doubt is cleared, and the body runs again", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1"),
        bench.pivot("P", {
          run: (_, { attempt }) => {
            if (attempt === 1) throw new Error("connection lost");
            terminal();
          },
          reconcile: () => ({ happened: false }),
        }),
      ]);
      const { outcome } = await bench.run(saga);
      expect(outcome).toMatchObject({ status: "failed", error: { step: "P" } });
      expect(bench.outside.order()).toEqual(["S1", "P", "P", "C1"]);
    });

    test("a terminal error in doubt asks reconcile first; it did not happen: rolled back", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1"),
        bench.pivot("P", {
          run: () => {
            throw new TypeError("undefined is not a function");
          },
          reconcile: () => ({ happened: false }),
        }),
      ]);
      const { outcome } = await bench.run(saga);
      expect(outcome).toMatchObject({ status: "failed", error: { step: "P", cause: { name: "TypeError" } } });
      expect(bench.outside.order()).toEqual(["S1", "P", "C1"]);
    });

    test.each([
      ["can't tell", () => undefined],
      [
        "throws",
        () => {
          throw new Error("the registry is down");
        },
      ],
      ["answers nonsense", () => ({ happened: "perhaps" })],
    ])("reconcile that %s is asked 8 times, the body never again, and the run ends in_doubt", async (_, reconcile) => {
      const bench = new Bench(make);
      let asks = 0;
      const saga = bench.saga([
        bench.step("S1"),
        bench.pivot("P", {
          retry: { firstDelay: 1, factor: 1 },
          run: () => {
            throw new Error("connection lost");
          },
          reconcile: () => {
            asks += 1;
            return reconcile();
          },
        }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("in_doubt");
      expect(asks).toBe(8);
      expect(bench.outside.order()).toEqual(["S1", "P"]);
      expect((await entriesOf(executor, id)).filter((entry) => entry.kind === "reconciled")).toHaveLength(8);
    });

    test("reconcile runs like an attempt: a hang is cut off by the step's timeout, and counts as an ask", async () => {
      const bench = new Bench(make);
      let asks = 0;
      const saga = bench.saga([
        bench.pivot("P", {
          timeout: 15,
          grace: 0,
          retry: { firstDelay: 1 },
          run: () => {
            throw new Error("connection lost");
          },
          reconcile: () => {
            asks += 1;
            return asks === 1 ? never() : { happened: true, output: { late: true } };
          },
        }),
      ]);
      expect((await bench.run(saga)).outcome).toEqual({ status: "completed", output: { late: true } });
      expect(asks).toBe(2);
    });

    test("reconcile's output is parsed and checked like the step's own", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.pivot("P", {
          retry: { firstDelay: 1, factor: 1 },
          run: () => {
            throw new Error("connection lost");
          },
          reconcile: () => ({ happened: true, output: "a string" }),
        }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("in_doubt");
      const answers = (await entriesOf(executor, id)).filter((entry) => entry.kind === "reconciled");
      expect(answers[0]).toMatchObject({ answer: "cannot_tell", error: { code: "output.invalid" } });
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

    test("a step after the pivot in doubt is asked about, too", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.pivot("P"),
        bench.forward("S2", {
          run: () => {
            throw new Error("connection lost");
          },
          reconcile: () => ({ happened: true, output: { shipped: 1 } }),
        }),
      ]);
      expect((await bench.run(saga)).outcome).toEqual({ status: "completed", output: { shipped: 1 } });
      expect(bench.outside.count("S2")).toBe(1);
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
