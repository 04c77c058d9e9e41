// STOP, row by row of the contract's table (design 1.7): the verdict is final when the call returns.

import { isSagaError, TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { gate, until } from "../../support/until.js";
import { aborted, Bench, entriesOf, errorOf, kindsOf, type MakeExecutor, never, rejection, stop } from "./bench.js";

/** Waits for a number of turns of the event loop: a moment that differs from one repetition to the next. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

const repetitions = Array.from({ length: 60 }, (_, index) => index);

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
          retry: { firstDelay: 900, factor: 1 },
          run: () => {
            throw new Error("connection lost");
          },
        }),
      ]);
      const executor = await bench.executor([saga]);
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

    test("CXL-1: around the last step's completion each ask has one of two answers, and the end agrees with it", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", { run: (_, { signal }) => turns(6).then(() => signal.throwIfAborted()) }),
      ]);
      const executor = await bench.executor([saga]);
      const pairs = await Promise.all(
        repetitions.map(async (repetition) => {
          const run = await executor.start(saga, {});
          await until("it begins", () => bench.outside.count("S1", "forward", run.id) > 0);
          await turns(repetition % 14);
          const { verdict, status } = await stop(executor, run.id);
          const outcome = await run.outcome();
          const undone = bench.outside.count("S1", "compensate", run.id);
          return [verdict, status, outcome.status, undone].join(" ");
        }),
      );
      for (const pair of pairs) expect(["cancelling  cancelled 1", "finished completed completed 0"]).toContain(pair);
    });

    test("CXL-4: against the pivot exactly one wins: never both the pivot and a compensation", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1", { run: () => turns(3) }), bench.pivot("P", { run: () => turns(2) })]);
      const executor = await bench.executor([saga]);
      const ends = await Promise.all(
        repetitions.map(async (repetition) => {
          const run = await executor.start(saga, {});
          await until("it begins", () => bench.outside.count("S1", "forward", run.id) > 0);
          await turns(repetition % 8);
          const { verdict } = await stop(executor, run.id);
          const { status } = await run.outcome();
          const refused = (await executor.get(run.id))?.cancelRefusedAt !== undefined;
          const counts = `P${bench.outside.count("P", "forward", run.id)} C${bench.outside.count("S1", "compensate", run.id)}`;
          return `${verdict} ${status} ${refused ? "refused" : "-"} ${counts}`;
        }),
      );
      for (const end of ends)
        expect([
          "cancelling cancelled - P0 C1",
          "refused completed refused P1 C0",
          "finished completed - P1 C0",
        ]).toContain(end);
    });
  });

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
