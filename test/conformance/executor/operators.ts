// WHAT OPERATORS SEE AND DO: views, histories, lists; retry and resolve.

import { TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { gate, until } from "../../support/until.js";
import { aborted, Bench, entriesOf, kindsOf, type MakeExecutor, never, rejection, uniqueName } from "./bench.js";

const by = "ana@shop.example";
const terminal =
  (message = "no") =>
  () => {
    throw new TerminalError(message);
  };
const down = () => {
  throw new Error("connection lost");
};

export function operating(make: MakeExecutor): void {
  describe("looking at runs", () => {
    test("get: undefined for an unknown run; history, retry and resolve reject", async () => {
      const bench = new Bench(make);
      const executor = await bench.executor([]);
      for (const id of ["nobody", "\0", "", 7 as never]) {
        expect(await executor.get(id)).toBeUndefined();
        const notFound = { code: "run.not_found" };
        expect(await rejection(executor.history(id))).toMatchObject(notFound);
        expect(await rejection(executor.retry(id, { by }))).toMatchObject(notFound);
        expect(await rejection(executor.resolve(id, { step: "S1", as: "done", by }))).toMatchObject(notFound);
      }
    });

    test("get: status, step and attempts follow the run", async () => {
      const bench = new Bench(make);
      const hold = gate();
      const saga = bench.saga([bench.step("S1"), bench.step("S2", { run: () => hold.promise })]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, { n: 1 });
      await until("S2 runs", () => bench.outside.count("S2") === 1);
      const view = (await executor.get(run.id))!;
      expect(view).toMatchObject({
        id: run.id,
        saga: saga.name,
        version: 1,
        status: "running",
        input: { n: 1 },
        step: "S2",
        direction: "forward",
        attempts: 0,
        owed: [],
        worker: expect.any(String),
        createdAt: expect.any(Date),
        startAt: expect.any(Date),
      });
      for (const absent of ["output", "error", "lastError", "waiting", "nextAttemptAt", "endedAt", "cause", "note"])
        expect(view).not.toHaveProperty(absent);
      hold.open();
      await run.outcome();
      const ended = (await executor.get(run.id))!;
      expect(ended).toMatchObject({
        status: "completed",
        output: {},
        attempts: 0,
        owed: [],
        endedAt: expect.any(Date),
      });
      for (const absent of ["step", "direction", "worker", "error"]) expect(ended).not.toHaveProperty(absent);
    });

    test("get: a step that is tried again tells its error, and its next attempt", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1", { retry: { firstDelay: "1h", maxDelay: "1h" }, run: down })]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("it waits", async () => (await executor.get(run.id))?.status === "waiting");
      const view = (await executor.get(run.id))!;
      expect(view).toMatchObject({
        step: "S1",
        attempts: 1,
        error: { message: "connection lost" },
        lastError: { message: "connection lost" },
        waiting: 'to try step "S1" again',
      });
      expect(view.nextAttemptAt!.getTime()).toBeGreaterThan(Date.now() + 29 * 60_000);
      expect(view).not.toHaveProperty("worker");
    });

    test("history: every entry with its number, instant and decoded output, every attempt told", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          run: (_, { attempt }) => {
            if (attempt < 4) throw new Error(`no ${attempt}`);
            return { attempt };
          },
        }),
      ]);
      const { executor, id } = await bench.run(saga);
      const history = await executor.history(id);
      expect(history.map(({ entry }) => entry.kind)).toEqual([
        "taken_up",
        "attempt_failed",
        "attempt_failed",
        "attempt_failed",
        "step_completed",
        "finished",
      ]);
      expect(history.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 5]);
      expect(history.map(({ output }) => output)).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
        { attempt: 4 },
        { attempt: 4 },
      ]);
      expect(history.every(({ at }, index) => index === 0 || at >= history[index - 1]!.at)).toBe(true);
    });

    test("LSE-10: pages of a list follow each other, newest first, none missing or twice, also while runs are made", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const startAt = new Date(Date.now() + 3_600_000);
      const ids: string[] = [];
      for (let index = 0; index < 25; index += 1) ids.push((await executor.start(saga, {}, { startAt })).id);
      const walk = async (meanwhile = async () => {}) => {
        const pages: string[][] = [];
        let cursor: string | undefined;
        do {
          const page = await executor.list({ saga: saga.name, limit: 10, ...(cursor === undefined ? {} : { cursor }) });
          pages.push(page.runs.map(({ id }) => id));
          ({ cursor } = page);
          await meanwhile();
        } while (cursor !== undefined);
        return pages;
      };
      const first = await walk();
      expect(first.flat()).toEqual([...ids].reverse());
      expect(first.slice(0, 3).map((page) => page.length)).toEqual([10, 10, 5]);
      const second = await walk(async () => void (await executor.start(saga, {}, { startAt })));
      expect(second.flat()).toEqual([...ids].reverse());
    });

    test("list: by status, one or several, by saga; 50 by default", async () => {
      const bench = new Bench(make);
      const name = uniqueName("listed");
      const saga = bench.saga([bench.step("S1", { run: ({ fail }) => fail && terminal()() })], { name });
      const executor = await bench.executor([saga]);
      const end = async (input: object) => {
        const run = await executor.start(saga, input);
        await run.outcome();
        return run.id;
      };
      const [failed, completed] = [await end({ fail: true }), await end({})];
      const pending = (await executor.start(saga, {}, { startAt: new Date(Date.now() + 3_600_000) })).id;
      const ids = async (status: any) => (await executor.list({ saga: name, status })).runs.map(({ id }) => id);
      expect(await ids("failed")).toEqual([failed]);
      expect(await ids(["completed", "pending"])).toEqual([pending, completed]);
      expect(await ids("blocked")).toEqual([]);
      expect(await ids(["blocked", "failed"])).toEqual([failed]);
      expect((await executor.list({ saga: name })).runs).toMatchObject([
        { id: pending, status: "pending", version: 1, saga: name, createdAt: expect.any(Date), owed: [] },
        { id: completed, status: "completed", endedAt: expect.any(Date), owed: [] },
        { id: failed, status: "failed", owed: [] },
      ]);
      expect((await executor.list({ saga: uniqueName("nobody's") })).runs).toEqual([]);
    });

    test("list: wrong options are refused", async () => {
      const bench = new Bench(make);
      const executor = await bench.executor([]);
      for (const wrong of [
        { limit: 0 },
        { limit: 1_001 },
        { limit: 1.5 },
        { status: "done" },
        { status: ["done"] },
        { sagas: "x" },
      ])
        expect(await rejection(executor.list(wrong as never))).toMatchObject({ code: "options.invalid" });
      expect(await rejection(executor.list({ cursor: "not a cursor" }))).toMatchObject({ code: "cursor.invalid" });
    });
  });

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
          retry: { firstDelay: 990, factor: 1 },
          run: (_, { attempt }) => {
            if (attempt === 1 && bench.outside.count("S1") === 1) down();
          },
        }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("S1 has failed", async () => (await kindsOf(executor, run.id)).includes("attempt_failed"));
      await executor.retry(run.id, { by });
      expect((await run.outcome()).status).toBe("completed");
      const [first, second] = bench.outside.calls;
      expect(second!.at - first!.at).toBeLessThan(400);
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

  describe("resolve", () => {
    const inDoubt = (bench: Bench, options: Record<string, unknown> = {}) =>
      bench.saga([
        bench.step("S1", { run: () => ({ a: 1 }) }),
        bench.pivot("P", { retry: { maxAttempts: 1 }, run: down, ...options }),
        bench.forward("S3", { run: ({ chargeId }) => ({ shipped: chargeId }) }),
      ]);

    test("a pivot in doubt, done: the saga goes forward with what the operator says that it gave", async () => {
      const bench = new Bench(make);
      const { executor, id, outcome } = await bench.run(inDoubt(bench));
      expect(outcome.status).toBe("in_doubt");
      await executor.resolve(id, {
        step: "P",
        as: "done",
        output: { chargeId: "c7" },
        by,
        note: "found it in the ledger",
      });
      expect(await (await executor.find(id))!.outcome()).toEqual({
        status: "completed",
        output: { a: 1, chargeId: "c7", shipped: "c7" },
      });
      expect(bench.outside.order()).toEqual(["S1", "P", "S3"]);
      const resolved = (await executor.history(id)).find(({ entry }) => entry.kind === "resolved")!;
      expect(resolved).toMatchObject({
        entry: { step: "P", as: "done", by, note: "found it in the ledger" },
        output: { chargeId: "c7" },
      });
    });

    test("a pivot in doubt, not_done: it rolls back and ends failed", async () => {
      const bench = new Bench(make);
      const { executor, id } = await bench.run(inDoubt(bench));
      await executor.resolve(id, { step: "P", as: "not_done", by });
      const outcome = await (await executor.find(id))!.outcome();
      expect(outcome).toMatchObject({ status: "failed", error: { step: "P", cause: { message: "connection lost" } } });
      expect(bench.outside.order()).toEqual(["S1", "P", "C1"]);
    });

    test("a pivot in doubt, not_done, with nothing to undo: it ends at once", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.pivot("P", { retry: { maxAttempts: 1 }, run: down })]);
      const { executor, id } = await bench.run(saga);
      await executor.resolve(id, { step: "P", as: "not_done", by });
      expect((await (await executor.find(id))!.outcome()).status).toBe("failed");
    });

    test("a step after the pivot that failed: done", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.pivot("P"), bench.forward("S2", { run: terminal() }), bench.forward("S3")]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("forward_incomplete");
      await executor.resolve(id, { step: "S2", as: "done", output: { by: "hand" }, by });
      expect(await (await executor.find(id))!.outcome()).toEqual({ status: "completed", output: { by: "hand" } });
      expect(bench.outside.order()).toEqual(["P", "S2", "S3"]);
    });

    test("while it is being tried: the attempt is aborted, and its late outcome dropped", async () => {
      const bench = new Bench(make);
      let reason: any;
      const saga = bench.saga([
        bench.pivot("P"),
        bench.forward("S2", {
          run: async (_, { signal, attempt }) => {
            if (attempt === 1) down();
            reason = await aborted(signal);
            return { from: "the attempt" };
          },
        }),
        bench.forward("S3"),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("S2 runs again", () => bench.outside.count("S2") === 2);
      await executor.resolve(run.id, { step: "S2", as: "done", output: { from: "the operator" }, by });
      expect(await run.outcome()).toEqual({ status: "completed", output: { from: "the operator" } });
      expect(reason).toMatchObject({ reason: "resolved", step: "S2" });
      expect((await kindsOf(executor, run.id)).filter((kind) => kind === "step_completed")).toHaveLength(2);
    });

    test("a compensation that is owed: undone; when nothing is owed any more the run ends by its cause", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", { undo: terminal("no 1") }),
        bench.step("S2", { undo: terminal("no 2") }),
        bench.step("S3", { run: terminal("no stock") }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome).toMatchObject({ status: "compensation_failed", error: { owed: ["S2", "S1"] } });
      await executor.resolve(id, { step: "S2", as: "undone", by });
      expect(await executor.get(id)).toMatchObject({ status: "compensation_failed", owed: ["S1"] });
      await executor.resolve(id, { step: "S1", as: "undone", by });
      const ended = await (await executor.find(id))!.outcome();
      expect(ended).toMatchObject({ status: "failed", error: { step: "S3", owed: [] } });
      expect(bench.outside.count("S2", "compensate")).toBe(1);
    });

    test("a compensation that is being tried: undone: it is aborted, and the next one follows", async () => {
      const bench = new Bench(make);
      let reason: any;
      const saga = bench.saga([
        bench.step("S1"),
        bench.step("S2", {
          undo: async (_, { signal }) => {
            reason = await aborted(signal);
            throw reason;
          },
        }),
        bench.step("S3", { run: terminal() }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("C2 runs", () => bench.outside.count("S2", "compensate") === 1);
      await executor.resolve(run.id, { step: "S2", as: "undone", by });
      expect((await run.outcome()).status).toBe("failed");
      expect(reason.reason).toBe("resolved");
      expect(bench.outside.order()).toEqual(["S1", "S2", "S3", "C2", "C1"]);
    });

    test("anything else is refused, and nothing is written", async () => {
      const bench = new Bench(make);
      const { executor, id } = await bench.run(inDoubt(bench));
      const before = await executor.history(id);
      const refused = [
        { step: "P", as: "undone" },
        { step: "S1", as: "done" },
        { step: "S1", as: "undone" },
        { step: "S1", as: "not_done" },
        { step: "S3", as: "done" },
        { step: "S3", as: "not_done" },
        { step: "S9", as: "done" },
      ] as const;
      for (const resolution of refused)
        expect(await rejection(executor.resolve(id, { ...resolution, by }))).toMatchObject({
          code: "resolve.not_applicable",
        });
      const unknown = await rejection(executor.resolve(id, { step: "S9", as: "done", by }));
      expect(unknown.message).toContain("S1, P, S3");
      for (const wrong of [
        { step: "P", as: "perhaps", by },
        { step: "P", as: "done" },
        { as: "done", by },
        { step: "P", as: "done", by, reason: "x" },
      ])
        expect(await rejection(executor.resolve(id, wrong as never))).toMatchObject({ code: "options.invalid" });
      expect(await executor.history(id)).toEqual(before);
    });

    test("an operator's output is checked like the step's own", async () => {
      const bench = new Bench(make);
      const { executor, id } = await bench.run(inDoubt(bench, { output: z.object({ chargeId: z.string() }) }));
      const settle = (output: unknown) => executor.resolve(id, { step: "P", as: "done", output, by });
      const misfit = await rejection(settle({ chargeId: 7 }));
      expect(misfit).toMatchObject({
        code: "options.invalid",
        faults: [{ at: "output.chargeId", fault: expect.any(String) }],
      });
      await settle({ chargeId: "c7" });
      expect((await (await executor.find(id))!.outcome()).status).toBe("completed");
    });

    test("an output that is no object, that takes a key, can't be stored, or lets the saga's own output fail is refused", async () => {
      const bench = new Bench(make);
      const saga = bench.saga(
        [bench.step("S1", { run: () => ({ a: 1 }) }), bench.pivot("P", { retry: { maxAttempts: 1 }, run: down })],
        { output: ({ chargeId }: { chargeId: string }) => ({ charge: chargeId.toUpperCase() }) },
      );
      const { executor, id } = await bench.run(saga);
      const settle = (output: unknown) => executor.resolve(id, { step: "P", as: "done", output, by });
      expect(await rejection(settle("text"))).toMatchObject({ code: "output.invalid" });
      expect(await rejection(settle({ a: 2 }))).toMatchObject({ code: "output.invalid" });
      expect(await rejection(settle({ chargeId() {} }))).toMatchObject({ code: "value.unserializable" });
      const uncomputable = await rejection(settle(undefined));
      expect(uncomputable).toMatchObject({ code: "output.invalid", cause: expect.any(TypeError) });
      await settle({ chargeId: "c7" });
      expect(await (await executor.find(id))!.outcome()).toEqual({ status: "completed", output: { charge: "C7" } });
    });
  });
}
