// A RUN IN THE CALLER'S HAND: waiting for its end, for as long as the caller likes (design 2.2).

import { isSagaError, TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { gate, until } from "../../support/until.js";
import { Bench, type MakeExecutor, rejection, stop } from "./bench.js";

export function handles(make: MakeExecutor): void {
  describe("a handle", () => {
    test("is not thenable and can't be changed", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      expect("then" in run).toBe(false);
      expect(Object.isFrozen(run)).toBe(true);
      expect(await Promise.resolve(run)).toBe(run);
      await run.outcome();
    });

    test("outcome never throws for an outcome; result returns the output or throws the error", async () => {
      const bench = new Bench(make);
      const good = bench.saga([bench.step("S1", { run: () => ({ a: 1 }) })]);
      const bad = bench.saga([
        bench.step("S1", {
          run: () => {
            throw new TerminalError("no");
          },
        }),
      ]);
      const executor = await bench.executor([good, bad]);
      const [done, failed] = [await executor.start(good, {}), await executor.start(bad, {})];
      expect(await done.outcome()).toEqual({ status: "completed", output: { a: 1 } });
      expect(await done.result()).toEqual({ a: 1 });
      const outcome = await failed.outcome();
      expect(outcome.status).toBe("failed");
      expect(isSagaError(await rejection(failed.result()), "run.failed")).toBe(true);
      expect(isSagaError(await rejection(executor.execute(bad, {})), "run.failed")).toBe(true);
    });

    test("find: a handle of a run that exists, or undefined", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1", { run: () => ({ a: 1 }) })]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      const found = await executor.find(run.id);
      expect([found?.id, found?.created]).toEqual([run.id, false]);
      expect(await found?.result()).toEqual({ a: 1 });
      for (const id of ["nobody", "", "\0", undefined as never]) expect(await executor.find(id)).toBeUndefined();
    });

    test("many wait for one run, and each is woken", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const saga = bench.saga([bench.step("S1", { run: () => hold.promise })]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      const waits = Array.from({ length: 20 }, () => run.outcome());
      await until("S1 runs", () => bench.outside.count("S1") === 1);
      hold.open();
      expect((await Promise.all(waits)).every(({ status }) => status === "completed")).toBe(true);
    });

    test("a wait that times out rejects, and the run goes on", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const saga = bench.saga([bench.step("S1", { run: () => hold.promise })]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      expect(await rejection(run.outcome({ timeout: 20 }))).toMatchObject({ code: "run.wait_timeout" });
      expect(await rejection(run.result({ timeout: "20ms" }))).toMatchObject({ code: "run.wait_timeout" });
      expect(await rejection(executor.execute(saga, {}, { id: run.id, timeout: 20 }))).toMatchObject({
        code: "run.wait_timeout",
      });
      hold.open();
      expect((await run.outcome({ timeout: Number.POSITIVE_INFINITY })).status).toBe("completed");
    });

    test("a wait that is aborted rejects with the signal's reason, and leaves no listener", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const saga = bench.saga([bench.step("S1", { run: () => hold.promise })]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      const reason = new Error("the user left");
      const controller = new AbortController();
      const wait = rejection(run.outcome({ signal: controller.signal }));
      controller.abort(reason);
      expect(await wait).toBe(reason);
      expect(await rejection(run.outcome({ signal: controller.signal }))).toBe(reason);
      hold.open();
      expect((await run.outcome()).status).toBe("completed");
    });

    test("an execute whose caller has left already starts nothing", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const reason = new Error("the user left");
      expect(await rejection(executor.execute(saga, {}, { signal: AbortSignal.abort(reason) }))).toBe(reason);
      expect((await executor.list({ saga: saga.name })).runs).toEqual([]);
    });

    test("wrong ways to wait are refused", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      for (const wrong of [{ timeout: "soon" }, { timeout: -1 }, { signal: {} }, { timeOut: 5 }])
        expect(await rejection(run.outcome(wrong as never))).toMatchObject({ code: "options.invalid" });
    });

    test("a waiter is woken by the end that an operator brings", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {}, { startAt: new Date(Date.now() + 3_600_000) });
      const wait = run.outcome();
      await stop(executor, run.id);
      expect((await wait).status).toBe("cancelled");
    });
  });
}
