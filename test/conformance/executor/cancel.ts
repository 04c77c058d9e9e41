// STOP, row by row of the contract's table (design 1.7): the verdict is final when the call returns.

import { isSagaError, TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { gate, until } from "../../support/until.js";
import { aborted, Bench, errorOf, kindsOf, type MakeExecutor, rejection, stop } from "./bench.js";

export function cancelling(make: MakeExecutor): void {
  describe("asking a run to stop", () => {
    test("cancelled: not driven, nothing to undo: it ends at once, and no step runs", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {}, { startAt: new Date(Date.now() + 3_600_000) });
      const answer = await stop(executor, run.id, "customer called");
      expect(answer).toEqual({ verdict: "cancelled", requestedAt: expect.any(Date) });
      const outcome = await run.outcome();
      expect(outcome.status).toBe("cancelled");
      expect(errorOf(outcome)).toMatchObject({
        code: "run.cancelled",
        by: "ana@shop.example",
        reason: "customer called",
        owed: [],
      });
      expect(await executor.get(run.id)).toMatchObject({
        status: "cancelled",
        cause: "cancel",
        cancelRequestedAt: answer.requestedAt,
        owed: [],
      });
      expect(await kindsOf(executor, run.id)).toEqual(["cancel_requested", "finished"]);
      expect(bench.outside.calls).toEqual([]);
    });

    test("CXL-6: a delayed start that was cancelled begins nothing; the same id is the same run", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const startAt = new Date(Date.now() + 150);
      const run = await executor.start(saga, {}, { startAt });
      expect(await stop(executor, run.id)).toMatchObject({ verdict: "cancelled" });
      await until("its hour has passed", () => Date.now() > startAt.getTime() + 50);
      const again = await executor.start(saga, {}, { id: run.id });
      expect(again.created).toBe(false);
      expect((await again.outcome()).status).toBe("cancelled");
      expect(bench.outside.calls).toEqual([]);
    });

    test("cancelling: the running step is aborted, what was done is undone, and it ends cancelled", async () => {
      const bench = new Bench(make);
      let reason: any;
      const undos: unknown[] = [];
      const undo = (_: unknown, { outcome, cause }: any) => void undos.push([outcome, cause]);
      const saga = bench.saga([
        bench.step("S1", { undo }),
        bench.step("S2", {
          undo,
          run: async (_, { signal }) => {
            reason = await aborted(signal);
            throw reason;
          },
        }),
        bench.step("S3"),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("S2 runs", () => bench.outside.count("S2") === 1);
      const answer = await stop(executor, run.id);
      expect(answer).toEqual({ verdict: "cancelling", requestedAt: expect.any(Date) });
      expect((await run.outcome()).status).toBe("cancelled");
      expect(isSagaError(reason, "step.aborted")).toBe(true);
      expect(reason.reason).toBe("cancelled");
      expect(bench.outside.order()).toEqual(["S1", "S2", "C2", "C1"]);
      expect(undos).toEqual([
        ["in_doubt", "cancel"],
        ["done", "cancel"],
      ]);
    });

    test("refused: the pivot is entered; the first refusal's instant stays, and the run completes", async () => {
      const bench = new Bench(make);
      const hold = gate();
      let signal: AbortSignal | undefined;
      const saga = bench.saga([
        bench.step("S1"),
        bench.pivot("P", {
          run: async (_, tools) => {
            signal = tools.signal;
            await hold.promise;
          },
        }),
        bench.forward("S3"),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("P runs", () => bench.outside.count("P") === 1);
      const first = await stop(executor, run.id);
      expect(first).toEqual({ verdict: "refused", pivot: "P", refusedAt: expect.any(Date) });
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(await stop(executor, run.id)).toEqual(first);
      expect(signal!.aborted).toBe(false);
      hold.open();
      expect((await run.outcome()).status).toBe("completed");
      const view = (await executor.get(run.id))!;
      expect(view.cancelRefusedAt).toEqual(first.refusedAt);
      expect(view.cancelRequestedAt).toBeUndefined();
      expect((await executor.list({ saga: saga.name })).runs[0]!.cancelRefusedAt).toEqual(first.refusedAt);
      expect(bench.outside.order()).toEqual(["S1", "P", "S3"]);
    });

    test("refused after the pivot too, while a later step is tried again and when it waits for an operator", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.pivot("P"),
        bench.forward("S2", {
          retry: { firstDelay: "1h" },
          run: () => {
            throw new Error("down");
          },
        }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("S2 has failed", async () => (await executor.get(run.id))?.status === "waiting");
      expect(await stop(executor, run.id)).toMatchObject({ verdict: "refused", pivot: "P" });
      await executor.resolve(run.id, { step: "S2", as: "done", by: "ana" });
      expect((await run.outcome()).status).toBe("completed");
    });

    test("a pivot that refused an ask and then definitely fails: the run ends failed, the stamp kept", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const saga = bench.saga([
        bench.step("S1"),
        bench.pivot("P", {
          run: async () => {
            await hold.promise;
            throw new TerminalError("declined");
          },
        }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("P runs", () => bench.outside.count("P") === 1);
      const { refusedAt } = await stop(executor, run.id);
      hold.open();
      expect((await run.outcome()).status).toBe("failed");
      expect(await executor.get(run.id)).toMatchObject({ cancelRefusedAt: refusedAt, cause: "failure" });
      expect(bench.outside.order()).toEqual(["S1", "P", "C1"]);
    });

    test("rolling_back: another cause came first; the ask is recorded, and the cause stays", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const saga = bench.saga([
        bench.step("S1", { undo: () => hold.promise }),
        bench.step("S2", {
          run: () => {
            throw new TerminalError("no stock");
          },
        }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("C1 runs", () => bench.outside.count("S1", "compensate") === 1);
      expect(await stop(executor, run.id)).toEqual({ verdict: "rolling_back", cause: "failure" });
      hold.open();
      expect((await run.outcome()).status).toBe("failed");
      expect(await kindsOf(executor, run.id)).toContain("cancel_requested");
    });

    test("CXL-3: finished: nothing is stamped; not_found: nothing is learnt", async () => {
      const bench = new Bench(make);
      const good = bench.saga([bench.step("S1")]);
      const bad = bench.saga([
        bench.step("S1", {
          run: () => {
            throw new TerminalError("no");
          },
        }),
      ]);
      const executor = await bench.executor([good, bad]);
      for (const [saga, status] of [
        [good, "completed"],
        [bad, "failed"],
      ] as const) {
        const run = await executor.start(saga, {});
        await run.outcome();
        const before = [await executor.get(run.id), await executor.history(run.id)];
        expect(await stop(executor, run.id)).toEqual({ verdict: "finished", status });
        expect([await executor.get(run.id), await executor.history(run.id)]).toEqual(before);
        expect((await executor.get(run.id))!.cancelRequestedAt).toBeUndefined();
        expect((await executor.get(run.id))!.cancelRefusedAt).toBeUndefined();
      }
      for (const id of ["nobody", "", "\0", "x".repeat(5_000)])
        expect(await stop(executor, id)).toEqual({ verdict: "not_found" });
    });

    test("who asks has to be said, before anything is looked up", async () => {
      const bench = new Bench(make);
      const executor = await bench.executor([]);
      for (const operator of [undefined, {}, { by: "" }, { by: 7 }, { by: "x".repeat(501) }]) {
        const error = await rejection(executor.requestCancel("nobody", operator as never));
        expect(error).toMatchObject({ code: "options.invalid" });
        expect(error.message).toContain("by: must say who asks");
      }
      const typo = await rejection(executor.requestCancel("nobody", { by: "ana", resaon: "x" } as never));
      expect(typo.message).toContain('did you mean "reason"?');
    });
  });
}
