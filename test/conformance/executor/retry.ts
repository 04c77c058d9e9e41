// TRYING AGAIN, when a person says so: with a fresh budget, and only where something is to be tried (design 1.4).

import { describe, expect, test } from "vitest";
import { until } from "../../support/until.js";
import { Bench, entriesOf, kindsOf, longestDelays, type MakeExecutor, never, rejection } from "./bench.js";
import { down, terminal } from "./bodies.js";

const by = "ana@shop.example";
export function retryingByHand(make: MakeExecutor): void {
  describe("retry", () => {
    test("a run in backoff is tried now, with a fresh budget", async () => {
      const bench = new Bench(make);
      let mended = false;
      const saga = bench.saga([
        bench.step("S1", { retry: { firstDelay: "1h", maxAttempts: 2 }, run: () => (mended ? undefined : down()) }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("it waits", async () => (await executor.get(run.id))?.status === "waiting");
      await executor.retry(run.id, { by });
      await until("it was tried", () => bench.outside.count("S1") === 2);
      await until("it waits again", async () => (await executor.get(run.id))?.status === "waiting");
      mended = true;
      await executor.retry(run.id, { by });
      expect((await run.outcome()).status).toBe("completed");
      expect(bench.outside.count("S1")).toBe(3);
      expect(await entriesOf(executor, run.id)).toContainEqual({ kind: "retried", by });
    });

    test("a wait under a second is cut short, too", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          retry: { firstDelay: 999, factor: 1 },
          run: (_, { attempt }) => {
            if (attempt === 1 && bench.outside.count("S1") === 1) down();
          },
        }),
      ]);
      const executor = await bench.executor([saga], longestDelays);
      const run = await executor.start(saga, {});
      await until("S1 has failed", async () => (await kindsOf(executor, run.id)).includes("attempt_failed"));
      await executor.retry(run.id, { by });
      expect((await run.outcome()).status).toBe("completed");
      const [first, second] = bench.outside.calls;
      expect(second!.at - first!.at).toBeLessThan(900);
    });

    test("a compensation that failed for good is tried again, and the run ends by its cause", async () => {
      const bench = new Bench(make);
      let mended = false;
      const saga = bench.saga([
        bench.step("S1"),
        bench.step("S2", { undo: () => (mended ? undefined : terminal()()) }),
        bench.step("S3", { run: terminal("no stock") }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("compensation_failed");
      mended = true;
      await executor.retry(id, { by });
      const handle = (await executor.find(id))!;
      expect(await handle.outcome()).toMatchObject({
        status: "failed",
        error: { step: "S3", cause: { message: "no stock" } },
      });
      expect(bench.outside.order()).toEqual(["S1", "S2", "S3", "C2", "C1", "C2"]);
    });

    test("a pivot in doubt: it is asked about first, then tried under the same key", async () => {
      const bench = new Bench(make);
      let asked = 0;
      const saga = bench.saga([
        bench.step("S1"),
        bench.pivot("P", {
          retry: { firstDelay: 1, factor: 1 },
          run: (_, { attempt }) => (bench.outside.count("P") === 1 ? down() : { attempt }),
          reconcile: () => {
            asked += 1;
            return asked <= 8 ? undefined : { happened: false };
          },
        }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("in_doubt");
      await executor.retry(id, { by });
      expect(await (await executor.find(id))!.outcome()).toEqual({ status: "completed", output: { attempt: 1 } });
      expect(asked).toBe(9);
      expect(new Set(bench.outside.calls.filter(({ step }) => step === "P").map(({ key }) => key)).size).toBe(1);
      expect(bench.outside.count("S1", "compensate")).toBe(0);
    });

    test.each(["completed", "failed", "cancelled", "timed_out"])(
      "on a run that ended %s it is refused: nothing is written",
      async (status) => {
        const bench = new Bench(make);
        const saga = bench.saga(
          [
            bench.step("S1", {
              run: status === "failed" ? terminal() : status === "timed_out" ? never : () => undefined,
              grace: 0,
            }),
          ],
          status === "timed_out" ? { maxDuration: 20 } : {},
        );
        const executor = await bench.executor([saga]);
        const startAt = new Date(status === "cancelled" ? Date.now() + 3_600_000 : Date.now());
        const run = await executor.start(saga, {}, { startAt });
        if (status === "cancelled") await executor.requestCancel(run.id, { by });
        expect((await run.outcome()).status).toBe(status);
        const before = await executor.history(run.id);
        expect(await rejection(executor.retry(run.id, { by }))).toMatchObject({ code: "retry.not_applicable" });
        expect(await executor.history(run.id)).toEqual(before);
      },
    );

    test("on a run of which nothing has failed it is refused", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {}, { startAt: new Date(Date.now() + 3_600_000) });
      expect(await rejection(executor.retry(run.id, { by }))).toMatchObject({ code: "retry.not_applicable" });
      expect(await rejection(executor.retry(run.id, {} as never))).toMatchObject({ code: "options.invalid" });
    });
  });
}
