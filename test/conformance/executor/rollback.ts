// HOW A SAGA TURNS BACK: what is undone, in which order, and what is owed when that fails (design 1.8).

import { isSagaError, TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { gate, until } from "../../support/until.js";
import { Bench, errorOf, kindsOf, type MakeExecutor, never } from "./bench.js";
import { failingAtFirst, terminal } from "./bodies.js";

export function rollback(make: MakeExecutor): void {
  describe("rolling back", () => {
    test("CMP-5: a compensation that fails is tried again before the next one begins, and the run reads as compensating, with its error and its next attempt", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1"),
        bench.step("S2", { undo: failingAtFirst(2), compensationRetry: { firstDelay: 300, factor: 1 } }),
        bench.step("S3", { run: terminal("no stock") }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until(
        "C2 has failed once",
        async () =>
          (await executor.get(run.id))?.lastError !== undefined && bench.outside.count("S2", "compensate") === 1,
      );
      const view = (await executor.get(run.id))!;
      expect(view).toMatchObject({
        status: "compensating",
        cause: "failure",
        step: "S2",
        direction: "compensate",
        attempts: 1,
        owed: ["S2", "S1"],
        error: { message: "no stock" },
        lastError: { message: "not yet" },
      });
      expect(view.nextAttemptAt).toBeInstanceOf(Date);
      expect(view.waiting).toEqual(expect.any(String));
      expect((await run.outcome()).status).toBe("failed");
      expect(bench.outside.order()).toEqual(["S1", "S2", "S3", "C2", "C2", "C2", "C1"]);
    });

    test("CMP-6: a compensation that fails for good does not stop the others; the run tells what is owed and both errors", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1"),
        bench.step("S2", {
          undo: () => {
            throw new TerminalError("can't be released");
          },
        }),
        bench.step("S3"),
        bench.step("S4", { run: terminal("no stock") }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("compensation_failed");
      expect(bench.outside.order()).toEqual(["S1", "S2", "S3", "S4", "C3", "C2", "C1"]);
      const error = errorOf(outcome);
      expect(isSagaError(error, "run.compensation_failed")).toBe(true);
      expect(error).toMatchObject({ step: "S4", cause: { message: "no stock" }, owed: ["S2"] });
      expect(error.compensationErrors).toMatchObject([{ step: "S2", error: { message: "can't be released" } }]);
      const handle = await executor.find(id);
      await expect(handle!.result()).rejects.toMatchObject({ code: "run.compensation_failed" });
      expect(await executor.get(id)).toMatchObject({ status: "compensation_failed", owed: ["S2"], cause: "failure" });
      expect((await executor.list({ status: "compensation_failed", saga: saga.name })).runs).toMatchObject([
        { id, owed: ["S2"] },
      ]);
    });

    test("CMP-7: a compensation's failure starts no second rollback, and the run stays where it ended", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          undo: () => {
            throw new TerminalError("no");
          },
        }),
        bench.step("S2"),
        bench.step("S3", { run: terminal("no stock") }),
      ]);
      const other = bench.saga([bench.step("S9")]);
      const executor = await bench.executor([saga, other]);
      const run = await executor.start(saga, {});
      const { id } = run;
      const outcome = await run.outcome();
      expect(outcome.status).toBe("compensation_failed");
      expect(bench.outside.order(id)).toEqual(["S1", "S2", "S3", "C2", "C1"]);
      const rows = (await executor.history(id)).length;
      // Another run from beginning to end: time enough for anybody who was still about it.
      await executor.execute(other, {});
      expect(await executor.history(id)).toHaveLength(rows);
    });

    test("CMP-8: counters are kept per step and direction", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", { undo: failingAtFirst(2) }),
        bench.step("S2", {
          compensate: undefined,
          nothingToUndo: true,
          run: () => {
            throw new Error("down");
          },
        }),
      ]);
      const retry = { maxAttempts: 3, firstDelay: 1 };
      const { outcome } = await bench.run(saga, {}, { retry, compensationRetry: retry });
      expect(outcome.status).toBe("failed");
      expect(bench.outside.order()).toEqual(["S1", "S2", "S2", "S2", "C1", "C1", "C1"]);
    });

    test("a compensation's own budget, used up, ends it: compensation_failed", async () => {
      const bench = new Bench(make);
      const undo = () => {
        throw new Error("still down");
      };
      const saga = bench.saga([
        bench.step("S1", { undo, compensationRetry: { maxAttempts: 2, firstDelay: 1 } }),
        bench.step("S2", { run: terminal("no stock") }),
      ]);
      const { outcome } = await bench.run(saga);
      expect(outcome).toMatchObject({ status: "compensation_failed", error: { owed: ["S1"] } });
      expect(bench.outside.count("S1", "compensate")).toBe(2);
    });

    test("CMP-10's opt-out: a step with nothing to undo is not compensated, in doubt or not", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1"),
        bench.step("S2", {
          compensate: undefined,
          nothingToUndo: true,
          timeout: 20,
          grace: 0,
          retry: { maxAttempts: 1 },
          run: never,
        }),
      ]);
      expect((await bench.run(saga)).outcome.status).toBe("failed");
      expect(bench.outside.order()).toEqual(["S1", "S2", "C1"]);
    });

    test("CMP-11: a step that definitely did not happen is not compensated, nor is one that never began", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", { run: terminal("invalid order") }),
        bench.step("S2"),
        bench.step("S3"),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome).toMatchObject({ status: "failed", error: { step: "S1", cause: { message: "invalid order" } } });
      expect(bench.outside.order()).toEqual(["S1"]);
      expect(await kindsOf(executor, id)).toEqual(["step_failed", "rollback_started", "finished"]);
    });

    test("CMP-12: compensations run one after the other, last step first, and steps without one are passed over", async () => {
      const bench = new Bench(make);
      const moments: string[] = [];
      const undo = (name: string) => ({
        undo: async () => {
          moments.push(`${name} begins`);
          await new Promise((resolve) => setTimeout(resolve, 10));
          moments.push(`${name} ends`);
        },
      });
      const saga = bench.saga([
        bench.step("S1", undo("C1")),
        bench.step("S2", { compensate: undefined, nothingToUndo: true }),
        bench.step("S3", undo("C3")),
        bench.step("S4", undo("C4")),
        bench.step("S5", { run: terminal("no stock") }),
      ]);
      expect((await bench.run(saga)).outcome.status).toBe("failed");
      expect(moments).toEqual(["C4 begins", "C4 ends", "C3 begins", "C3 ends", "C1 begins", "C1 ends"]);
    });

    test("CMP-15: the caller gets the failed step, its message, its code and its cause", async () => {
      const bench = new Bench(make);
      const run = () => {
        throw new TerminalError("no stock", { code: "E42", cause: new Error("db"), data: { sku: "x" } });
      };
      const { executor, id, outcome } = await bench.run(bench.saga([bench.step("S1"), bench.step("S2", { run })]));
      const expected = {
        code: "run.failed",
        step: "S2",
        runId: id,
        cause: {
          name: "TerminalError",
          message: "no stock",
          code: "E42",
          data: { sku: "x" },
          cause: { message: "db" },
        },
      };
      expect(errorOf(outcome)).toMatchObject(expected);
      const again = await executor.find(id);
      await expect(again!.result()).rejects.toMatchObject(expected);
      await expect(again!.result()).rejects.toBeInstanceOf(Error);
    });

    test("CMP-13: the order is that of the list, also when all entries are of one instant", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1"),
        bench.step("S2"),
        bench.step("S3"),
        bench.step("S4", { run: terminal("no stock") }),
      ]);
      await bench.run(saga);
      expect(bench.outside.order().slice(4)).toEqual(["C3", "C2", "C1"]);
    });

    test("a rollback has no deadline: it goes on long after maxDuration", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const saga = bench.saga(
        [bench.step("S1", { undo: () => hold.promise }), bench.step("S2", { run: never, grace: 0 })],
        {
          maxDuration: 800,
        },
      );
      const executor = await bench.executor([saga]);
      const startedAt = Date.now();
      const run = await executor.start(saga, {});
      await until("C1 runs", () => bench.outside.count("S1", "compensate") === 1);
      await until("it is long past", () => Date.now() > startedAt + 1_000);
      hold.open();
      expect((await run.outcome()).status).toBe("timed_out");
      expect(bench.outside.order()).toEqual(["S1", "S2", "C2", "C1"]);
    });
  });
}
