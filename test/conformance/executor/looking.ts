// WHAT OPERATORS SEE: views, histories, lists (design 2.2).

import { describe, expect, test } from "vitest";
import { gate, until } from "../../support/until.js";
import { Bench, type MakeExecutor, rejection, uniqueName } from "./bench.js";
import { down, terminal } from "./bodies.js";

const by = "ana@shop.example";
export function looking(make: MakeExecutor): void {
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
}
