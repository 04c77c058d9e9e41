// POLICIES AROUND ATTEMPTS: real breakers and bulkheads, that runs share (design 1.6, 2.1).

import { bulkhead, ConsecutiveBreaker, circuitBreaker, handleAll } from "cockatiel";
import { describe, expect, test } from "vitest";
import { gate, until } from "../../support/until.js";
import { Bench, entriesOf, type MakeExecutor } from "./bench.js";

export function policies(make: MakeExecutor): void {
  describe("a policy", () => {
    test("an open circuit breaker uses up no attempt, and the step goes on when it closes", async () => {
      const bench = new Bench(make);
      const policy = circuitBreaker(handleAll, { halfOpenAfter: 60_000, breaker: new ConsecutiveBreaker(2) });
      const saga = bench.saga([
        bench.step("S1", {
          policy,
          retry: { maxAttempts: 3, firstDelay: 5, factor: 1 },
          run: (_, { attempt }) => {
            if (attempt < 3) throw Object.assign(new Error("down"), { status: 503 });
          },
        }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      const failures = async () =>
        (await entriesOf(executor, run.id)).filter((entry) => entry.kind === "attempt_failed");
      await until("attempts were refused", async () => (await failures()).length > 4);
      expect(bench.outside.count("S1")).toBe(2);
      expect(
        (await failures()).map(({ counted, attempts, error }) => [counted, attempts, error.code]).slice(1, 4),
      ).toEqual([
        [true, 2, undefined],
        [false, 2, "step.never_called"],
        [false, 2, "step.never_called"],
      ]);
      // Isolated and released again, a circuit is closed.
      policy.isolate().dispose();
      expect((await run.outcome()).status).toBe("completed");
      expect(bench.outside.count("S1")).toBe(3);
    });

    test("a bulkhead lets through what it lets through; what it refuses was never called and is tried again", async () => {
      const bench = new Bench(make);
      let [now, most] = [0, 0];
      const policy = bulkhead(2, 1);
      const saga = bench.saga([
        bench.step("S1", {
          policy,
          retry: { maxAttempts: 1, firstDelay: 2, factor: 1 },
          run: async () => {
            now += 1;
            most = Math.max(most, now);
            await new Promise((resolve) => setTimeout(resolve, 5));
            now -= 1;
          },
        }),
      ]);
      const executor = await bench.executor([saga]);
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, async () => (await executor.start(saga, {})).outcome({ timeout: "20s" })),
      );
      expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => "completed"));
      expect(most).toBe(2);
      expect(bench.outside.count("S1")).toBe(8);
    });

    test("what queues up in a bulkhead until its timeout was never called, and is not called later", async () => {
      const bench = new Bench(make);
      const policy = bulkhead(1, 10);
      const hold = gate();
      const saga = bench.saga([
        bench.step("S1", {
          policy,
          timeout: 20,
          grace: 0,
          retry: { maxAttempts: 1, firstDelay: 5, maxDelay: 20 },
          run: () => undefined,
        }),
      ]);
      const busy = policy.execute(() => hold.promise);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until(
        "it was refused twice",
        async () => (await entriesOf(executor, run.id)).filter((entry) => entry.kind === "attempt_failed").length >= 2,
      );
      expect(bench.outside.count("S1")).toBe(0);
      hold.open();
      await busy;
      expect((await run.outcome()).status).toBe("completed");
      expect(bench.outside.count("S1")).toBe(1);
    });
  });
}
