// HOW A SAGA TURNS BACK: what is undone, in which order, with what in hand, and what is owed when that fails.

import { isSagaError, TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { gate, until } from "../../support/until.js";
import { Bench, entriesOf, errorOf, kindsOf, type MakeExecutor, never, type UndoTools } from "./bench.js";

const fails = (message = "no stock") => ({
  run: () => {
    throw new TerminalError(message);
  },
});

/** Throws the first `times` times that it is called, for one run. */
function failing(times: number, error: () => unknown = () => new Error("not yet")): () => void {
  let calls = 0;
  return () => {
    calls += 1;
    if (calls <= times) throw error();
  };
}

export function rollback(make: MakeExecutor): void {
  describe("rolling back", () => {
    test("CMP-5: a compensation that fails is tried again before the next one begins, and the run reads as compensating, with its error and its next attempt", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1"),
        bench.step("S2", { undo: failing(2), compensationRetry: { firstDelay: 300, factor: 1 } }),
        bench.step("S3", fails()),
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
        bench.step("S4", fails()),
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
        bench.step("S3", fails()),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("compensation_failed");
      expect(bench.outside.order()).toEqual(["S1", "S2", "S3", "C2", "C1"]);
      const rows = (await executor.history(id)).length;
      // Another run from beginning to end: time enough for anybody who was still about it.
      await executor.execute(bench.saga([bench.step("S9")]), {}).catch(() => {});
      expect(await executor.history(id)).toHaveLength(rows);
    });

    test("CMP-8: counters are kept per step and direction", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", { undo: failing(2) }),
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
        bench.step("S2", fails()),
      ]);
      const { outcome } = await bench.run(saga);
      expect(outcome).toMatchObject({ status: "compensation_failed", error: { owed: ["S1"] } });
      expect(bench.outside.count("S1", "compensate")).toBe(2);
    });

    test("CMP-10: a step whose outcome is unknown is compensated too, told so, and before the others", async () => {
      const bench = new Bench(make);
      const undos: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          run: () => ({ a: 1 }),
          undo: (context, { outcome, output }) => void undos.push({ context, outcome, output }),
        }),
        bench.step("S2", {
          timeout: 20,
          grace: 0,
          retry: { maxAttempts: 1 },
          run: never,
          undo: (context, { outcome, output }) => void undos.push({ context, outcome, output }),
        }),
      ]);
      const { id, outcome } = await bench.run(saga, { from: "input" });
      expect(outcome).toMatchObject({ status: "failed", error: { step: "S2", cause: { code: "step.timeout" } } });
      expect(bench.outside.order()).toEqual(["S1", "S2", "C2", "C1"]);
      expect(undos).toEqual([
        { context: { from: "input", a: 1 }, outcome: "in_doubt", output: undefined },
        { context: { from: "input", a: 1 }, outcome: "done", output: { a: 1 } },
      ]);
      expect(bench.outside.calls.find((call) => call.direction === "compensate")?.key).toBe(`${id}/S2/compensate`);
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
      const saga = bench.saga([bench.step("S1", fails("invalid order")), bench.step("S2"), bench.step("S3")]);
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
        bench.step("S5", fails()),
      ]);
      expect((await bench.run(saga)).outcome.status).toBe("failed");
      expect(moments).toEqual(["C4 begins", "C4 ends", "C3 begins", "C3 ends", "C1 begins", "C1 ends"]);
    });

    test("CMP-14: a step that succeeded on a later attempt is undone once, with that attempt's output", async () => {
      const bench = new Bench(make);
      const outputs: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          run: (_, { attempt }) => {
            if (attempt === 1) throw new Error("lost");
            return { attempt };
          },
          undo: (_, { outcome, output }) => void outputs.push([outcome, output]),
        }),
        bench.step("S2", fails()),
      ]);
      expect((await bench.run(saga)).outcome.status).toBe("failed");
      expect(outputs).toEqual([["done", { attempt: 2 }]]);
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

    test("CMP-16: a compensation gets the input and exactly what later steps saw", async () => {
      const bench = new Bench(make);
      const seen: any[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          run: () => ({ bookingId: "b1", at: new Date(86_400_000) }),
          undo: (context, { output }) => void seen.push({ context, output }),
        }),
        bench.step("S2", {
          run: (context) => {
            seen.push(context);
            throw new TerminalError("no");
          },
        }),
      ]);
      await bench.run(saga, { guests: 2 });
      const booked = { bookingId: "b1", at: new Date(86_400_000) };
      expect(seen).toEqual([
        { guests: 2, ...booked },
        { context: { guests: 2, ...booked }, output: booked },
      ]);
    });

    test("the context of a compensation is the one of its step: outputs of later steps are not in it", async () => {
      const bench = new Bench(make);
      const contexts: unknown[] = [];
      const undo = (context: unknown) => void contexts.push(context);
      const saga = bench.saga([
        bench.step("S1", { run: () => ({ a: 1 }), undo }),
        bench.step("S2", { run: () => ({ b: 2 }), undo }),
        bench.step("S3", fails()),
      ]);
      await bench.run(saga, { from: "input" });
      expect(contexts).toEqual([
        { from: "input", a: 1, b: 2 },
        { from: "input", a: 1 },
      ]);
    });

    test("a compensation has a key of its own, the forward key, and the cause; the key stays over attempts", async () => {
      const bench = new Bench(make);
      const tools: UndoTools[] = [];
      const again = failing(1);
      const undo = (_: unknown, given: UndoTools) => {
        tools.push(given);
        again();
      };
      const { id } = await bench.run(bench.saga([bench.step("S1", { undo }), bench.step("S2", fails())]));
      expect(
        tools.map(({ key, forwardKey, cause, attempt, runId }) => ({ key, forwardKey, cause, attempt, runId })),
      ).toEqual(
        [1, 2].map((attempt) => ({
          key: `${id}/S1/compensate`,
          forwardKey: `${id}/S1`,
          cause: "failure",
          attempt,
          runId: id,
        })),
      );
      expect(tools.every(({ signal }) => !signal.aborted)).toBe(true);
    });

    test("a compensation in doubt is tried again under the same key: what happened twice is the peer's to tell", async () => {
      const bench = new Bench(make);
      let calls = 0;
      const saga = bench.saga([
        bench.step("S1", {
          timeout: 20,
          grace: 0,
          undo: () => {
            calls += 1;
            return calls === 1 ? never() : undefined;
          },
        }),
        bench.step("S2", fails()),
      ]);
      expect((await bench.run(saga)).outcome.status).toBe("failed");
      const keys = bench.outside.calls.filter((call) => call.direction === "compensate").map((call) => call.key);
      expect(keys).toHaveLength(2);
      expect(new Set(keys).size).toBe(1);
    });

    test("doubt of an earlier attempt stays: a later definite error does not clear it, and the step is compensated", async () => {
      const bench = new Bench(make);
      const outcomes: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          run: (_, { attempt }) => {
            if (attempt === 1) throw new Error("connection lost");
            throw new TerminalError("declined");
          },
          undo: (_, { outcome }) => void outcomes.push(outcome),
        }),
      ]);
      const { outcome } = await bench.run(saga);
      expect(outcome).toMatchObject({ status: "failed", error: { cause: { message: "declined" } } });
      expect(outcomes).toEqual(["in_doubt"]);
    });

    test("CMP-13: the order is that of the list, also when all entries are of one instant", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1"), bench.step("S2"), bench.step("S3"), bench.step("S4", fails())]);
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

  describe("reconcile while rolling back", () => {
    const inDoubt = { timeout: 10, grace: 0, retry: { maxAttempts: 1 } };

    test("what did not happen, and will not, is not compensated", async () => {
      const bench = new Bench(make);
      const asked: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          ...inDoubt,
          run: never,
          reconcile: (context: unknown, tools: any) => {
            asked.push({ context, key: tools.key });
            return { happened: false };
          },
        }),
      ]);
      const { id, outcome } = await bench.run(saga, { n: 1 });
      expect(outcome.status).toBe("failed");
      expect(bench.outside.order()).toEqual(["S1"]);
      expect(asked).toEqual([{ context: { n: 1 }, key: `${id}/S1` }]);
    });

    test("what happened is compensated as done, with its output", async () => {
      const bench = new Bench(make);
      const undos: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          ...inDoubt,
          run: never,
          reconcile: () => ({ happened: true, output: { found: 1 } }),
          undo: (_, { outcome, output }) => void undos.push([outcome, output]),
        }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("failed");
      expect(undos).toEqual([["done", { found: 1 }]]);
      expect(await kindsOf(executor, id)).toEqual([
        "step_failed",
        "rollback_started",
        "step_completed",
        "step_compensated",
        "finished",
      ]);
    });

    test("what can't be told within 8 asks is compensated in doubt", async () => {
      const bench = new Bench(make);
      let asks = 0;
      const undos: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          ...inDoubt,
          retry: { maxAttempts: 1, firstDelay: 1, factor: 1 },
          run: never,
          reconcile: () => {
            asks += 1;
            if (asks % 2 === 0) throw new Error("the registry is down");
          },
          undo: (_, { outcome }) => void undos.push(outcome),
        }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("failed");
      expect(asks).toBe(8);
      expect(undos).toEqual(["in_doubt"]);
      const answers = (await entriesOf(executor, id)).filter((entry) => entry.kind === "reconciled");
      expect(answers.map(({ answer, asks: told, error }) => [answer, told, error?.message])).toEqual(
        [1, 2, 3, 4, 5, 6, 7, 8].map((n) => ["cannot_tell", n, n % 2 === 0 ? "the registry is down" : undefined]),
      );
    });
  });
}
