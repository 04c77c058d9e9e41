// ASKING THE OUTSIDE WORLD whether a step happened, instead of running it again (design 1.5).

import { describe, expect, test } from "vitest";
import { Bench, entriesOf, kindsOf, type MakeExecutor, never } from "./bench.js";
import { terminal } from "./bodies.js";

export function reconciling(make: MakeExecutor): void {
  describe("reconcile, going forward", () => {
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
            terminal("declined")();
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
  });

  describe("reconcile, rolling back", () => {
    const inDoubt = { timeout: 10, grace: 0, retry: { maxAttempts: 1 } };

    test("what did not happen, and will not, is not compensated", async () => {
      const bench = new Bench(make);
      const asked: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          ...inDoubt,
          run: never,
          reconcile: (context: unknown, tools: any) => {
            asked.push({ context, key: tools.key });
            return { happened: false };
          },
        }),
      ]);
      const { id, outcome } = await bench.run(saga, { n: 1 });
      expect(outcome.status).toBe("failed");
      expect(bench.outside.order()).toEqual(["S1"]);
      expect(asked).toEqual([{ context: { n: 1 }, key: `${id}/S1` }]);
    });

    test("what happened is compensated as done, with its output", async () => {
      const bench = new Bench(make);
      const undos: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          ...inDoubt,
          run: never,
          reconcile: () => ({ happened: true, output: { found: 1 } }),
          undo: (_, { outcome, output }) => void undos.push([outcome, output]),
        }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("failed");
      expect(undos).toEqual([["done", { found: 1 }]]);
      expect(await kindsOf(executor, id)).toEqual([
        "step_failed",
        "rollback_started",
        "step_completed",
        "step_compensated",
        "finished",
      ]);
    });

    test("what can't be told within 8 asks is compensated in doubt", async () => {
      const bench = new Bench(make);
      let asks = 0;
      const undos: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          ...inDoubt,
          retry: { maxAttempts: 1, firstDelay: 1, factor: 1 },
          run: never,
          reconcile: () => {
            asks += 1;
            if (asks % 2 === 0) throw new Error("the registry is down");
          },
          undo: (_, { outcome }) => void undos.push(outcome),
        }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("failed");
      expect(asks).toBe(8);
      expect(undos).toEqual(["in_doubt"]);
      const answers = (await entriesOf(executor, id)).filter((entry) => entry.kind === "reconciled");
      expect(answers.map(({ answer, asks: told, error }) => [answer, told, error?.message])).toEqual(
        [1, 2, 3, 4, 5, 6, 7, 8].map((n) => ["cannot_tell", n, n % 2 === 0 ? "the registry is down" : undefined]),
      );
    });
  });
}
