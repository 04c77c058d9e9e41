// HOW AN EXECUTOR STOPS: it takes no more work, lets what runs finish within the grace, then aborts it and hands it over.

import { describe, expect, test } from "vitest";
import { gate, until } from "../../support/until.js";
import { aborted, Bench, longestDelays, type MakeExecutor, rejection } from "./bench.js";

export function closing(make: MakeExecutor): void {
  describe("closing", () => {
    test("SHD-1: what runs finishes within the grace, and is not begun twice; what follows is not begun", async () => {
      const bench = new Bench(make);
      const hold = gate();
      let signal: AbortSignal | undefined;
      const saga = bench.saga([
        bench.step("S1", {
          run: async (_, tools) => {
            signal = tools.signal;
            await hold.promise;
          },
        }),
        bench.step("S2"),
      ]);
      const executor = await bench.executor([saga]);
      await executor.start(saga, {});
      await until("S1 runs", () => bench.outside.count("S1") === 1);
      const closed = executor.close({ grace: "10s" });
      hold.open();
      await closed;
      expect(signal!.aborted).toBe(false);
      expect(bench.outside.order()).toEqual(["S1"]);
    });

    test("after the grace it is aborted, for shutdown, and nothing more is begun", async () => {
      const bench = new Bench(make);
      let reason: any;
      const saga = bench.saga([
        bench.step("S1", {
          run: async (_, { signal }) => {
            reason = await aborted(signal);
            throw reason;
          },
        }),
      ]);
      const executor = await bench.executor([saga]);
      await executor.start(saga, {});
      await until("S1 runs", () => bench.outside.count("S1") === 1);
      await executor.close({ grace: 20 });
      expect(reason).toMatchObject({ reason: "shutdown" });
      expect(bench.outside.order()).toEqual(["S1"]);
    });

    test("a start after it is refused, and so is one that was still being checked", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const slow = {
        "~standard": { version: 1, vendor: "test", validate: (value: unknown) => hold.promise.then(() => ({ value })) },
      };
      const saga = bench.saga([bench.step("S1")], { input: slow });
      const executor = await bench.executor([saga]);
      const early = rejection(executor.start(saga, {}));
      const closed = executor.close();
      expect(await rejection(executor.start(saga, {}))).toMatchObject({ code: "executor.closed" });
      expect(await rejection(executor.execute(saga, {}))).toMatchObject({ code: "executor.closed" });
      hold.open();
      expect(await early).toMatchObject({ code: "executor.closed" });
      await closed;
      expect(bench.outside.calls).toEqual([]);
    });

    test("closing twice is closing once; a wrong grace rejects and closes nothing", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      expect(await rejection(executor.close({ grace: "soon" } as never))).toMatchObject({ code: "options.invalid" });
      await executor.execute(saga, {});
      await Promise.all([executor.close(), executor.close({ grace: 0 })]);
      await executor.close();
    });

    test("ERR-13: no handlers are installed in the process, while it is open or after", async () => {
      const events = ["SIGTERM", "SIGINT", "uncaughtException", "unhandledRejection", "beforeExit"];
      const listeners = () => events.map((event) => process.listenerCount(event));
      const before = listeners();
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      await executor.execute(saga, {});
      expect(listeners()).toEqual(before);
      await executor.close();
      expect(listeners()).toEqual(before);
    });

    test("await using closes it", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      let kept: Awaited<ReturnType<MakeExecutor>>;
      {
        await using executor = await make({ sagas: [saga] });
        kept = executor;
        await executor.execute(saga, {});
      }
      expect(await rejection(kept.start(saga, {}))).toMatchObject({ code: "executor.closed" });
    });

    test("who waits for a run that has not ended is told, and not left hanging", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {}, { startAt: new Date(Date.now() + 3_600_000) });
      const wait = rejection(run.outcome());
      await executor.close();
      expect(await wait).toMatchObject({ code: "executor.closed" });
    });

    test("who waits for a run that ends within the grace gets its outcome", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const saga = bench.saga([bench.step("S1", { run: () => hold.promise })]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("S1 runs", () => bench.outside.count("S1") === 1);
      const wait = run.outcome();
      const closed = executor.close();
      hold.open();
      expect((await wait).status).toBe("completed");
      await closed;
    });

    test("it does not wait for a run that sleeps between two attempts", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          retry: { firstDelay: 999, factor: 1 },
          run: () => {
            throw new Error("down");
          },
        }),
      ]);
      const executor = await bench.executor([saga], longestDelays);
      const run = await executor.start(saga, {});
      await until("S1 has failed", async () => (await executor.get(run.id))?.lastError !== undefined);
      const askedAt = Date.now();
      await executor.close({ grace: "10s" });
      expect(Date.now() - askedAt).toBeLessThan(700);
      expect(bench.outside.count("S1")).toBe(1);
    });
  });
}
