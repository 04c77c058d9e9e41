// HOW LONG A SAGA MAY TAKE: maxDuration, before the pivot (design 1.9).

import { describe, expect, test } from "vitest";
import { gate, until } from "../../support/until.js";
import { aborted, Bench, entriesOf, errorOf, type MakeExecutor, stop } from "./bench.js";

export function deadlines(make: MakeExecutor): void {
  describe("maxDuration", () => {
    test("passed before the pivot, the running step is aborted, all is undone, and the run ends timed_out", async () => {
      const bench = new Bench(make);
      let reason: any;
      const saga = bench.saga(
        [
          bench.step("S1"),
          bench.step("S2", {
            run: async (_, { signal }) => {
              reason = await aborted(signal);
              throw reason;
            },
          }),
          bench.pivot("P"),
        ],
        { maxDuration: 800 },
      );
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("timed_out");
      expect(errorOf(outcome)).toMatchObject({ code: "run.timed_out", owed: [] });
      expect(reason.reason).toBe("deadline");
      expect(bench.outside.order()).toEqual(["S1", "S2", "C2", "C1"]);
      expect(await executor.get(id)).toMatchObject({ status: "timed_out", cause: "deadline" });
      const failure = (await entriesOf(executor, id)).find((entry) => entry.kind === "attempt_failed");
      expect(failure).toMatchObject({ counted: false });
    });

    test("it loses to a last step that returned", async () => {
      const bench = new Bench(make);
      const saga = bench.saga(
        [bench.step("S1", { run: (_, { signal }) => aborted(signal).then(() => ({ late: 1 })) })],
        {
          maxDuration: 500,
        },
      );
      expect((await bench.run(saga)).outcome).toEqual({ status: "completed", output: { late: 1 } });
    });

    test("it wakes a run that waits for its next attempt", async () => {
      const bench = new Bench(make);
      const saga = bench.saga(
        [
          bench.step("S1", {
            retry: { firstDelay: "1h" },
            run: () => {
              throw new Error("down");
            },
          }),
        ],
        { maxDuration: 1_300 },
      );
      expect((await bench.run(saga)).outcome.status).toBe("timed_out");
      expect(bench.outside.order()).toEqual(["S1", "C1"]);
    });

    test("it counts from startAt, and is passed when a start lies too far back: no step runs", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")], { maxDuration: "1m" });
      const executor = await bench.executor([saga]);
      const late = await executor.start(saga, {}, { startAt: new Date(Date.now() - 120_000) });
      expect((await late.outcome()).status).toBe("timed_out");
      expect(bench.outside.calls).toEqual([]);
      const soon = await executor.start(saga, {}, { startAt: new Date(Date.now() - 20_000) });
      expect((await soon.outcome()).status).toBe("completed");
    });

    test("an ask that comes after it is told so: rolling_back, for the deadline", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const saga = bench.saga(
        [
          bench.step("S1", { undo: () => hold.promise }),
          bench.step("S2", { grace: 0, run: () => new Promise(() => {}) }),
        ],
        { maxDuration: 800 },
      );
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("C1 runs", () => bench.outside.count("S1", "compensate") === 1);
      expect(await stop(executor, run.id)).toEqual({ verdict: "rolling_back", cause: "deadline" });
      hold.open();
      expect((await run.outcome()).status).toBe("timed_out");
    });

    test("an ask that came first beats it", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const saga = bench.saga([bench.step("S1", { grace: 5_000, run: () => hold.promise })], { maxDuration: 800 });
      const executor = await bench.executor([saga]);
      const startedAt = Date.now();
      const run = await executor.start(saga, {});
      await until("S1 runs", () => bench.outside.count("S1") === 1);
      expect(await stop(executor, run.id)).toMatchObject({ verdict: "cancelling" });
      await until("the deadline has passed", () => Date.now() > startedAt + 900);
      hold.open();
      expect((await run.outcome()).status).toBe("cancelled");
    });
  });
}
