// HOW RUNS BEGIN: ids, idempotent starts, delays, what is refused (design 1.9).

import { defineSaga, RunConflictError, type Saga } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { anything, Bench, type MakeExecutor, rejection, uniqueName } from "./bench.js";

export function starting(make: MakeExecutor): void {
  describe("starting a run", () => {
    test("without an id one is made, ordered by time", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const ids: string[] = [];
      for (let index = 0; index < 3; index += 1) {
        ids.push((await executor.start(saga, {})).id);
        await new Promise((resolve) => setTimeout(resolve, 3));
      }
      expect(ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))).toBe(
        true,
      );
      expect([...ids].sort()).toEqual(ids);
    });

    test("the same id, saga and input is the same run: it runs once", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1", { run: () => ({ n: bench.outside.count("S1") }) })]);
      const executor = await bench.executor([saga]);
      const id = uniqueName("order");
      const first = await executor.start(saga, { at: new Date(5), list: [1, 2], nothing: undefined }, { id });
      const second = await executor.start(saga, { list: [1, 2], at: new Date(5) }, { id });
      expect([first.id, first.created, second.id, second.created]).toEqual([id, true, id, false]);
      expect(await second.result()).toEqual({ n: 1 });
      const third = await executor.start(saga, { at: new Date(5), list: [1, 2] }, { id });
      expect(third.created).toBe(false);
      expect(await third.result()).toEqual({ n: 1 });
      expect(bench.outside.count("S1")).toBe(1);
    });

    test("IDM-1: the same id with another input is a conflict, and the first run is untouched", async () => {
      const bench = new Bench(make);
      const amounts: unknown[] = [];
      const saga = bench.saga([bench.step("S1", { run: ({ amount }) => void amounts.push(amount) })]);
      const executor = await bench.executor([saga]);
      const id = uniqueName("order");
      const run = await executor.start(saga, { amount: 10 }, { id });
      const error = await rejection(executor.start(saga, { amount: 99 }, { id }));
      expect(error).toBeInstanceOf(RunConflictError);
      expect(error).toMatchObject({ code: "run.conflict", runId: id, saga: saga.name });
      await run.outcome();
      expect(amounts).toEqual([10]);
    });

    test.each([
      ["a Date is not its text", { v: new Date(0) }, { v: "1970-01-01T00:00:00.000Z" }],
      ["a big integer is not its number", { v: 1n }, { v: 1 }],
      ["null is not absent", { v: null }, {}],
      ["an array's order matters", { v: [1, 2] }, { v: [2, 1] }],
    ])("IDM-1: %s", async (_, one, other) => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const id = uniqueName("order");
      await executor.start(saga, one, { id });
      expect(await rejection(executor.start(saga, other, { id }))).toMatchObject({ code: "run.conflict" });
    });

    test("IDM-1: the same id with another saga is a conflict; with another version of the same one it is the same run", async () => {
      const bench = new Bench(make);
      const name = uniqueName("versioned");
      const version = (n: number) =>
        defineSaga({ name, version: n, input: anything, steps: [bench.step(`S${n}`)] } as any) as unknown as Saga<
          any,
          any
        >;
      const [v1, v2, other] = [version(1), version(2), bench.saga([bench.step("S9")])];
      const executor = await bench.executor([v1, v2, other]);
      const id = uniqueName("order");
      await (await executor.start(v1, {}, { id })).outcome();
      expect(await rejection(executor.start(other, {}, { id }))).toMatchObject({ code: "run.conflict", saga: name });
      const again = await executor.start(v2, {}, { id });
      expect(again.created).toBe(false);
      expect((await executor.get(id))!.version).toBe(1);
      expect(bench.outside.order()).toEqual(["S1"]);
    });

    test("IDM-3: fifty starts at once: one run, one of them created it, one execution", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const id = uniqueName("order");
      const runs = await Promise.all(Array.from({ length: 50 }, () => executor.start(saga, { n: 1 }, { id })));
      expect(new Set(runs.map((run) => run.id))).toEqual(new Set([id]));
      expect(runs.filter((run) => run.created)).toHaveLength(1);
      await Promise.all(runs.map((run) => run.outcome()));
      expect(bench.outside.count("S1")).toBe(1);
    });

    test("of fifty executes at once each gets the one output", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1", { run: () => ({ random: Math.random() }) })]);
      const executor = await bench.executor([saga]);
      const id = uniqueName("order");
      const outputs = await Promise.all(Array.from({ length: 50 }, () => executor.execute(saga, {}, { id })));
      expect(new Set(outputs.map((output) => output.random)).size).toBe(1);
      expect(bench.outside.count("S1")).toBe(1);
    });

    test("startAt delays: until then the run is pending", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const startAt = new Date(Date.now() + 200);
      const run = await executor.start(saga, {}, { startAt });
      const view = (await executor.get(run.id))!;
      expect(view).toMatchObject({ status: "pending", waiting: "for its start", nextAttemptAt: startAt, startAt });
      expect((await run.outcome()).status).toBe("completed");
      expect(bench.outside.calls[0]!.at).toBeGreaterThanOrEqual(startAt.getTime() - 1);
    });

    test("ERR-9: a start in 40 days waits, without overflow", async () => {
      const bench = new Bench(make);
      const warnings: Error[] = [];
      const note = (warning: Error) => void warnings.push(warning);
      process.on("warning", note);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const startAt = new Date(Date.now() + 40 * 86_400_000);
      const run = await executor.start(saga, {}, { startAt });
      // Time enough for a timer that ended at once.
      await new Promise((resolve) => setTimeout(resolve, 50));
      process.off("warning", note);
      expect(await executor.get(run.id)).toMatchObject({ status: "pending", startAt, nextAttemptAt: startAt });
      expect(bench.outside.calls).toEqual([]);
      expect(warnings.filter(({ name }) => name === "TimeoutOverflowWarning")).toEqual([]);
    });

    test.each([
      ["", "it is empty"],
      ["x".repeat(201), "201 characters"],
      ["a\0b", "NUL"],
      ["half \ud800", "surrogate"],
      [7 as never, "not a string"],
    ])("an id that no run can have is refused: %j", async (id, said) => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const error = await rejection(executor.start(saga, {}, { id }));
      expect(error).toMatchObject({ code: "run.id_invalid" });
      expect(error.message).toContain(said);
    });

    test("an id of 200 characters, with slashes, quotes and emoji, is as good as any", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const id = `${uniqueName("o/'\"%_\\😀 ")}`.padEnd(200, "x");
      const run = await executor.start(saga, {}, { id });
      expect((await run.outcome()).status).toBe("completed");
      expect(await executor.get(id)).toMatchObject({ id });
      expect(bench.outside.calls[0]!.key).toBe(`${id}/S1`);
    });

    test("wrong options are refused, all at once, an unknown one with the nearest name", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const wrong = { startAt: new Date(Number.NaN), priority: 86_401, startAT: new Date() };
      const error = await rejection(executor.start(saga, {}, wrong as never));
      expect(error).toMatchObject({ code: "options.invalid" });
      expect(error.faults.map(({ at }: any) => at).sort()).toEqual(["priority", "startAT", "startAt"]);
      expect(error.message).toContain('did you mean "startAt"?');
      expect(await rejection(executor.execute(saga, {}, { timeout: "5x" } as never))).toMatchObject({
        code: "options.invalid",
      });
      expect((await executor.list({ saga: saga.name })).runs).toEqual([]);
    });

    test("a saga that the executor does not know is refused, and so is what is none", async () => {
      const bench = new Bench(make);
      const [known, unknown] = [bench.saga([bench.step("S1")]), bench.saga([bench.step("S1")])];
      const executor = await bench.executor([known]);
      const error = await rejection(executor.start(unknown, {}));
      expect(error).toMatchObject({ code: "saga.unknown" });
      expect(error.message).toContain(known.name);
      for (const none of [undefined, null, {}, "name"])
        expect(await rejection(executor.start(none as never, {} as never))).toMatchObject({ code: "saga.unknown" });
    });

    test("VER-5: two different sagas under one name and version are refused; the same object twice is fine", async () => {
      const bench = new Bench(make);
      const name = uniqueName("twice");
      const one = () => bench.saga([bench.step("S1")], { name });
      const same = one();
      await expect(bench.executor([same, one()])).rejects.toMatchObject({ code: "saga.duplicate" });
      const executor = await bench.executor([same, same]);
      expect((await (await executor.start(same, {})).outcome()).status).toBe("completed");
      expect(await rejection(executor.start(one(), {}))).toMatchObject({ code: "saga.unknown" });
    });
  });
}
