// HOW OFTEN, WHEN AND HOW LONG: budgets, delays, timeouts (design 1.6).

import { isSagaError, RetryableError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { gate, until } from "../../support/until.js";
import { aborted, Bench, entriesOf, errorOf, type MakeExecutor, never } from "./bench.js";

const throwing = (error: unknown) => ({
  run: () => {
    throw error;
  },
});

export function attempts(make: MakeExecutor): void {
  describe("how often and when", () => {
    test.each([1, 3, 12])("ERR-8, SER-6: maxAttempts %i means exactly so many executions", async (maxAttempts) => {
      const bench = new Bench(make);
      const retry = { maxAttempts, firstDelay: 1, factor: 1 };
      await bench.run(bench.saga([bench.step("S1", { retry, ...throwing(new Error("down")) })]));
      expect(bench.outside.calls.filter((call) => call.direction === "forward").map((call) => call.attempt)).toEqual(
        Array.from({ length: maxAttempts }, (_, index) => index + 1),
      );
    });

    test("by default a step before the pivot is executed 8 times", async () => {
      const bench = new Bench(make);
      await bench.run(bench.saga([bench.step("S1", throwing(new Error("down")))]));
      expect(bench.outside.count("S1")).toBe(8);
    });

    test("Retry-After is honoured, and jitter never undercuts it", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          run: (_, { attempt }) => {
            if (attempt === 1) throw new RetryableError("busy", { retryAfter: 120 });
          },
        }),
      ]);
      expect((await bench.run(saga)).outcome.status).toBe("completed");
      const [first, second] = bench.outside.calls;
      // By the journal's clock; this one may differ from it by a few milliseconds.
      expect(second!.at - first!.at).toBeGreaterThanOrEqual(100);
    });

    test("more than a day counts as a day, and the run is parked meanwhile", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step(
          "S1",
          throwing(Object.assign(new Error("busy"), { status: 429, headers: { "retry-after": "999999999" } })),
        ),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("it is parked", async () => (await executor.get(run.id))?.status === "waiting");
      const { nextAttemptAt, waiting, attempts, step } = (await executor.get(run.id))!;
      expect(nextAttemptAt!.getTime() - Date.now()).toBeGreaterThan(23.9 * 3_600_000);
      expect(nextAttemptAt!.getTime() - Date.now()).toBeLessThanOrEqual(24 * 3_600_000);
      expect({ waiting, attempts, step }).toEqual({ waiting: 'to try step "S1" again', attempts: 1, step: "S1" });
    });

    test("a wait of a second or more parks the run, which then goes on by itself", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          run: (_, { attempt }) => {
            if (attempt === 1) throw new RetryableError("busy", { retryAfter: 1_050 });
          },
        }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("completed");
      expect((await entriesOf(executor, id)).map(({ kind }) => kind)).toEqual([
        "taken_up",
        "attempt_failed",
        "parked",
        "taken_up",
        "step_completed",
        "finished",
      ]);
    });
  });

  describe("timeouts", () => {
    test("the signal aborts at the timeout, with a StepAborted of that reason", async () => {
      const bench = new Bench(make);
      let reason: any;
      const { outcome, executions, undone } = await bench.fail(undefined, {
        timeout: 15,
        retry: { maxAttempts: 1 },
        run: async (_: unknown, { signal }: any) => {
          reason = await aborted(signal);
          throw reason;
        },
      });
      expect(isSagaError(reason, "step.aborted")).toBe(true);
      expect(reason).toMatchObject({ reason: "timeout", step: "S1" });
      expect(errorOf(outcome).cause).toMatchObject({ name: "StepTimeoutError", code: "step.timeout", timeoutMs: 15 });
      expect([executions, undone]).toEqual([1, "in_doubt"]);
    });

    test("what returns within the grace counts", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          timeout: 10,
          grace: 5_000,
          run: (_, { signal }) => aborted(signal).then(() => ({ late: 1 })),
        }),
      ]);
      expect((await bench.run(saga)).outcome).toEqual({ status: "completed", output: { late: 1 } });
    });

    test("ERR-11: what comes after the grace is dropped: the second attempt's result counts", async () => {
      const bench = new Bench(make);
      const late = gate<object>();
      const seen: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          timeout: 15,
          grace: 0,
          run: (_, { attempt }) => (attempt === 1 ? late.promise : { value: "ok" }),
        }),
        bench.step("S2", {
          run: async ({ value }) => {
            late.open({ value: "late" });
            await new Promise((resolve) => setTimeout(resolve, 5));
            seen.push(value);
          },
        }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome).toEqual({ status: "completed", output: { value: "ok" } });
      expect(seen).toEqual(["ok"]);
      expect(bench.outside.order()).toEqual(["S1", "S1", "S2"]);
      const failed = (await entriesOf(executor, id)).filter((entry) => entry.kind === "attempt_failed");
      expect(failed).toMatchObject([{ error: { code: "step.timeout" }, counted: true, doubt: true, attempts: 1 }]);
    });

    test("LSE-5: each attempt that times out is recorded as one and uses up one, then the saga rolls back", async () => {
      const bench = new Bench(make);
      const { executions, undone, outcome } = await bench.fail(undefined, { timeout: 10, grace: 0, run: never });
      expect([outcome.status, executions, undone]).toEqual(["failed", 2, "in_doubt"]);
    });

    test("ERR-13: a late rejection of an abandoned body reaches nobody", async () => {
      const unhandled: unknown[] = [];
      const note = (reason: unknown) => void unhandled.push(reason);
      process.on("unhandledRejection", note);
      try {
        const bench = new Bench(make);
        const late = gate<never>();
        await bench.fail(undefined, { timeout: 5, grace: 0, retry: { maxAttempts: 1 }, run: () => late.promise });
        late.fail(new Error("much too late"));
        await new Promise((resolve) => setTimeout(resolve, 20));
        expect(unhandled).toEqual([]);
      } finally {
        process.off("unhandledRejection", note);
      }
    });

    test("Infinity is no timeout; 40 days work without overflow", async () => {
      const warnings: Error[] = [];
      const note = (warning: Error) => void warnings.push(warning);
      process.on("warning", note);
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          timeout: Number.POSITIVE_INFINITY,
          run: () => new Promise((resolve) => setTimeout(resolve, 20)),
        }),
        bench.step("S2", { timeout: "40d", run: () => new Promise((resolve) => setTimeout(resolve, 20)) }),
      ]);
      expect((await bench.run(saga)).outcome.status).toBe("completed");
      process.off("warning", note);
      expect(bench.outside.order()).toEqual(["S1", "S2"]);
      expect(warnings.filter(({ name }) => name === "TimeoutOverflowWarning")).toEqual([]);
    });
  });
}
