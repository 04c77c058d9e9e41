// WHAT AN ASK TO STOP DOES to what runs or waits, and that no end contradicts the verdict that was given (design 1.7).

import { TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { gate, until } from "../../support/until.js";
import { aborted, Bench, entriesOf, kindsOf, longestDelays, type MakeExecutor, never, stop } from "./bench.js";

export function stoppingWhatRuns(make: MakeExecutor): void {
  describe("stopping what runs", () => {
    test("CXL-8: it is heard of within a second, and is no failed attempt of the retry policy", async () => {
      const bench = new Bench(make);
      let count = 0;
      const saga = bench.saga([
        bench.step("S1", {
          run: async (_, { signal }) => {
            for (; count < 400 && !signal.aborted; count += 1) await new Promise((resolve) => setTimeout(resolve, 5));
            signal.throwIfAborted();
          },
        }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("it has begun", () => count > 3);
      const askedAt = Date.now();
      await stop(executor, run.id);
      expect((await run.outcome()).status).toBe("cancelled");
      expect(Date.now() - askedAt).toBeLessThan(1_000);
      expect(count).toBeLessThan(300);
      const failure = (await entriesOf(executor, run.id)).find((entry) => entry.kind === "attempt_failed");
      expect(failure).toMatchObject({ counted: false, attempts: 0, doubt: true, error: { name: "StepAborted" } });
    });

    test("a step that completes after the ask is recorded, then compensated with its output", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const undos: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          run: async () => {
            await hold.promise;
            return { reserved: 1 };
          },
          undo: (_, { outcome, output }) => void undos.push([outcome, output]),
        }),
        bench.step("S2"),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("S1 runs", () => bench.outside.count("S1") === 1);
      await stop(executor, run.id);
      hold.open();
      expect((await run.outcome()).status).toBe("cancelled");
      expect(undos).toEqual([["done", { reserved: 1 }]]);
      expect(await kindsOf(executor, run.id)).toEqual([
        "cancel_requested",
        "step_completed",
        "rollback_started",
        "step_compensated",
        "finished",
      ]);
    });

    test("CXL-9: a body that ignores its signal is given up after its grace, named in the log, and its late result dropped", async () => {
      const bench = new Bench(make);
      const [hold, late] = [gate<object>(), gate()];
      const warnings: any[] = [];
      const logger = { debug() {}, info() {}, warn: (fields: object) => void warnings.push(fields), error() {} };
      const saga = bench.saga([
        bench.step("S1", {
          grace: 20,
          run: async () => {
            const output = await hold.promise;
            setTimeout(late.open, 10);
            return output;
          },
        }),
      ]);
      const healthy = bench.saga([bench.step("S2")]);
      const executor = await bench.executor([saga, healthy], { logger });
      const run = await executor.start(saga, {});
      await until("S1 runs", () => bench.outside.count("S1") === 1);
      await stop(executor, run.id);
      expect((await run.outcome()).status).toBe("cancelled");
      expect(bench.outside.order()).toEqual(["S1", "C1"]);
      expect(warnings).toContainEqual(expect.objectContaining({ runId: run.id, step: "S1" }));
      const before = await executor.history(run.id);
      hold.open({ late: true });
      await late.promise;
      expect(await executor.history(run.id)).toEqual(before);
      expect((await (await executor.start(healthy, {})).outcome()).status).toBe("completed");
    });

    test("CXL-10: a compensation's signal is not aborted, by the ask or by asking again", async () => {
      const bench = new Bench(make);
      const hold = gate();
      let signal: AbortSignal | undefined;
      const saga = bench.saga([
        bench.step("S1", {
          undo: async (_, tools) => {
            signal = tools.signal;
            await hold.promise;
            tools.signal.throwIfAborted();
          },
        }),
        bench.step("S2", { run: (_, tools) => aborted(tools.signal).then((reason) => Promise.reject(reason)) }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("S2 runs", () => bench.outside.count("S2") === 1);
      const first = await stop(executor, run.id);
      await until("C1 runs", () => signal !== undefined);
      expect(signal!.aborted).toBe(false);
      const second = await stop(executor, run.id);
      expect(second).toEqual({ verdict: "cancelling", requestedAt: first.requestedAt });
      hold.open();
      expect((await run.outcome()).status).toBe("cancelled");
      expect(signal!.aborted).toBe(false);
      expect(bench.outside.count("S1", "compensate")).toBe(1);
    });

    test("CXL-11: asked five times at once and once after the end: one rollback, one instant, one cause", async () => {
      const bench = new Bench(make);
      const answered = gate();
      const saga = bench.saga([
        bench.step("S1"),
        bench.step("S2", { undo: () => answered.promise }),
        bench.step("S3", { run: (_, { signal }) => aborted(signal).then((reason) => Promise.reject(reason)) }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("S3 runs", () => bench.outside.count("S3") === 1);
      const answers = await Promise.all(["a", "b", "c", "d", "e"].map((by) => executor.requestCancel(run.id, { by })));
      for (const answer of answers) {
        expect(answer.verdict).toBe("cancelling");
        expect(answer.requestedAt).toEqual(answers[0]!.requestedAt);
      }
      answered.open();
      expect((await run.outcome()).status).toBe("cancelled");
      const before = await executor.history(run.id);
      expect(await stop(executor, run.id)).toEqual({ verdict: "finished", status: "cancelled" });
      expect(await executor.history(run.id)).toEqual(before);
      const kinds = await kindsOf(executor, run.id);
      expect(kinds.filter((kind) => kind === "rollback_started")).toHaveLength(1);
      expect(kinds.filter((kind) => kind === "cancel_requested")).toHaveLength(5);
      expect(bench.outside.order()).toEqual(["S1", "S2", "S3", "C3", "C2", "C1"]);
    });

    test("CMP-3: a run that waits for its next attempt is woken by the ask; the attempt is not made", async () => {
      const bench = new Bench(make);
      const outcomes: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1"),
        bench.step("S2", {
          retry: { firstDelay: "1h" },
          run: () => {
            throw new Error("connection lost");
          },
          undo: (_, { outcome }) => void outcomes.push(outcome),
        }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("it waits", async () => (await executor.get(run.id))?.status === "waiting");
      expect(await stop(executor, run.id)).toMatchObject({ verdict: "cancelling" });
      expect((await run.outcome()).status).toBe("cancelled");
      expect(bench.outside.order()).toEqual(["S1", "S2", "C2", "C1"]);
      expect(outcomes).toEqual(["in_doubt"]);
    });

    test("CXL-5: a run that waits for a day with nothing to undo is cancelled at once", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          retry: { firstDelay: "24h", maxDelay: "24h" },
          run: () => {
            throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
          },
        }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("it waits", async () => (await executor.get(run.id))?.status === "waiting");
      expect(await stop(executor, run.id)).toMatchObject({ verdict: "cancelled" });
      expect((await run.outcome()).status).toBe("cancelled");
      expect(bench.outside.order()).toEqual(["S1"]);
    });

    test("a short wait between two attempts is cut short as well", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          retry: { firstDelay: 999, factor: 1 },
          run: () => {
            throw new Error("connection lost");
          },
        }),
      ]);
      const executor = await bench.executor([saga], longestDelays);
      const run = await executor.start(saga, {});
      await until("S1 has failed", async () => (await kindsOf(executor, run.id)).includes("attempt_failed"));
      await stop(executor, run.id);
      expect((await run.outcome()).status).toBe("cancelled");
      expect(bench.outside.order()).toEqual(["S1", "C1"]);
    });

    test("an ask beats a failure that comes after it: it ends cancelled", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const saga = bench.saga([
        bench.step("S1"),
        bench.step("S2", {
          run: async () => {
            await hold.promise;
            throw new TerminalError("declined");
          },
        }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("S2 runs", () => bench.outside.count("S2") === 1);
      expect(await stop(executor, run.id)).toMatchObject({ verdict: "cancelling" });
      hold.open();
      expect((await run.outcome()).status).toBe("cancelled");
      expect(bench.outside.order()).toEqual(["S1", "S2", "C1"]);
    });

    test("a compensation that fails for good: cancelling ends compensation_failed, its error naming who asked's cause", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          undo: () => {
            throw new TerminalError("can't");
          },
        }),
        bench.step("S2", { grace: 0, run: never }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("S2 runs", () => bench.outside.count("S2") === 1);
      await stop(executor, run.id);
      const outcome = await run.outcome();
      expect(outcome).toMatchObject({ status: "compensation_failed", error: { owed: ["S1"] } });
      expect(await executor.get(run.id)).toMatchObject({ cause: "cancel" });
    });
  });
}
