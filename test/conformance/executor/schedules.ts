// SCHEDULES: what is put, shown, paused, fired by the clock and by hand (design 2.3). Times are the clock's own: the
// shortest interval there is, waited for on conditions.

import {
  type Firing,
  firingOf,
  InputInvalidError,
  nextFirings,
  type SagaExecutor,
  type ScheduleView,
} from "rubicon-saga";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { until } from "../../support/until.js";
import { type AnySaga, aborted, anything, Bench, type MakeExecutor, rejection, uniqueName } from "./bench.js";

/** Puts a schedule and takes it away after the test: in a shared database it would go on firing. */
async function put(executor: SagaExecutor, target: AnySaga, options: object = {}): Promise<ScheduleView> {
  const schedule = {
    id: uniqueName("schedule"),
    target,
    input: {},
    cron: "0 3 * * *",
    timeZone: "Europe/Berlin",
    ...options,
  };
  const view = await executor.schedules.put(schedule as never);
  removeAfter(executor, view.id);
  return view;
}

function removeAfter(executor: SagaExecutor, id: string): void {
  onTestFinished(async () => void (await executor.schedules.remove(id).catch(() => {})));
}

const everySecond = { every: "1s", cron: undefined, timeZone: undefined } as const;

async function firingsOf(executor: SagaExecutor, saga: AnySaga): Promise<string[]> {
  return (await executor.list({ saga: saga.name })).runs.map((run) => run.id).reverse();
}

export function scheduling(make: MakeExecutor): void {
  describe("schedules", () => {
    const setUp = async (run?: (context: any, tools: any) => unknown) => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1", run === undefined ? {} : { run })]);
      return { bench, saga, executor: await bench.executor([saga]) };
    };

    test("one that is put is shown with all that it says, and its next firing", async () => {
      const { saga, executor } = await setUp();
      const before = new Date();
      const view = await put(executor, saga, { input: { at: new Date(5) } });
      const { id } = view;
      expect(view).toEqual({
        ...{ id, saga: saga.name, version: 1, input: { at: new Date(5) } },
        ...{ cron: "0 3 * * *", timeZone: "Europe/Berlin", missed: "once", overlap: "allow", paused: false },
        nextFiring: nextFirings({ cron: "0 3 * * *", timeZone: "Europe/Berlin", from: before, count: 1 })[0],
        createdAt: expect.any(Date),
        changedAt: view.createdAt,
      });
      expect(await executor.schedules.get(id)).toEqual(view);
      expect(await executor.schedules.list()).toContainEqual(view);
    });

    test("an interval fires on its beat, each firing a run that can tell what it was fired for", async () => {
      const seen: [number, Firing][] = [];
      const { saga, executor } = await setUp(({ n }, { runId }) => void seen.push([n, firingOf(runId)!]));
      const { id, nextFiring } = await put(executor, saga, {
        ...everySecond,
        // However slow the machine is.
        missed: "all",
        input: { n: 7 },
      });
      await until("it fired twice", async () => seen.length >= 2);
      const at = (beat: number) => new Date(nextFiring!.getTime() + beat * 1_000);
      seen.sort(([, one], [, other]) => one.scheduledFor.getTime() - other.scheduledFor.getTime());
      expect(seen.slice(0, 2)).toEqual(
        [0, 1].map((beat) => [7, { schedule: id, scheduledFor: at(beat), triggered: false }]),
      );
      const view = (await executor.schedules.get(id))!;
      expect(view.lastFiring!.runId).toBe(`${id}@${view.lastFiring!.scheduledFor.toISOString()}`);
      expect(view.nextFiring!.getTime() - view.lastFiring!.scheduledFor.getTime()).toBe(1_000);
      expect((await executor.get(view.lastFiring!.runId))!.input).toEqual({ n: 7 });
    });

    test("a cron of six fields fires on the second", async () => {
      const { saga, executor } = await setUp();
      const { id } = await put(executor, saga, { cron: "* * * * * *", timeZone: "America/New_York" });
      await until("it fired", async () => (await executor.schedules.get(id))!.lastFiring !== undefined);
      expect((await executor.schedules.get(id))!.lastFiring!.scheduledFor.getMilliseconds()).toBe(0);
    });

    test("putting the same again leaves it alone; another input keeps its next firing; another timing moves it", async () => {
      const { saga, executor } = await setUp();
      const first = await put(executor, saga, { ...everySecond, every: "1h", input: { a: 1, b: 2 } });
      const again = { id: first.id, ...everySecond, every: "60m" };
      expect(await put(executor, saga, { ...again, input: { b: 2, a: 1 } })).toEqual(first);
      const other = await put(executor, saga, { ...again, input: { a: 2 }, missed: "all", overlap: "skip" });
      expect(other).toMatchObject({ nextFiring: first.nextFiring, input: { a: 2 }, missed: "all", overlap: "skip" });
      expect(other.changedAt.getTime()).toBeGreaterThanOrEqual(first.changedAt.getTime());
      expect(other.createdAt).toEqual(first.createdAt);
      const moved = await put(executor, saga, { ...again, every: "2h", input: { a: 2 } });
      expect(moved.nextFiring!.getTime()).toBeGreaterThanOrEqual(first.nextFiring!.getTime() + 3_600_000);
      const cron = await put(executor, saga, { id: first.id });
      expect(cron).toMatchObject({ cron: "0 3 * * *", timeZone: "Europe/Berlin" });
      expect(cron).not.toHaveProperty("every");
    });

    test("paused it does not fire, and resumed it goes on from now: what fell due meanwhile is not fired", async () => {
      const { saga, executor } = await setUp();
      const { id, nextFiring } = await put(executor, saga, { ...everySecond, missed: "all" });
      const paused = await executor.schedules.pause(id);
      expect(paused.paused).toBe(true);
      expect(paused).not.toHaveProperty("nextFiring");
      expect(await executor.schedules.pause(id)).toEqual(paused);
      const before = await firingsOf(executor, saga);
      await until("two firings fell due", () => Date.now() > nextFiring!.getTime() + 1_500);
      expect(await firingsOf(executor, saga)).toEqual(before);
      const resumed = await executor.schedules.resume(id);
      expect(resumed.nextFiring!.getTime()).toBeGreaterThan(nextFiring!.getTime() + 1_000);
      expect((resumed.nextFiring!.getTime() - nextFiring!.getTime()) % 1_000).toBe(0);
      await until("it fires again", async () => (await firingsOf(executor, saga)).length > before.length);
      const [next] = (await firingsOf(executor, saga)).slice(before.length);
      expect(firingOf(next!)!.scheduledFor).toEqual(resumed.nextFiring);
    });

    test("putting a paused one leaves it paused", async () => {
      const { saga, executor } = await setUp();
      const { id } = await put(executor, saga);
      await executor.schedules.pause(id);
      expect((await put(executor, saga, { id, ...everySecond })).paused).toBe(true);
    });

    test("fired by hand it runs once, at once, paused or not; its next firing stays", async () => {
      const { bench, saga, executor } = await setUp();
      const { id, nextFiring } = await put(executor, saga, { input: { n: 1 } });
      const run = await executor.schedules.trigger(id);
      expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
      await executor.schedules.pause(id);
      const second = await executor.schedules.trigger(id);
      await second.outcome({ timeout: "20s" });
      expect(second.id).not.toBe(run.id);
      expect([run, second].map(({ id: runId }) => firingOf(runId))).toEqual([
        { schedule: id, scheduledFor: expect.any(Date), triggered: true },
        { schedule: id, scheduledFor: expect.any(Date), triggered: true },
      ]);
      expect(bench.outside.count("S1")).toBe(2);
      const view = await executor.schedules.resume(id);
      expect(view).toMatchObject({ nextFiring, lastFiring: { runId: second.id } });
    });

    test("removed it is gone, and fires no more; its runs are kept", async () => {
      const { saga, executor } = await setUp();
      const { id } = await put(executor, saga, everySecond);
      const { id: runId } = await executor.schedules.trigger(id);
      expect(await executor.schedules.remove(id)).toBe(true);
      expect(await executor.schedules.remove(id)).toBe(false);
      expect(await executor.schedules.get(id)).toBeUndefined();
      expect((await executor.schedules.list()).map((each) => each.id)).not.toContain(id);
      expect(await executor.get(runId)).toBeDefined();
    });

    test("with overlap `skip` a live run keeps the next one from being fired, until it has ended", async () => {
      const held: (() => void)[] = [];
      const hold = (_: unknown, { signal }: any) =>
        Promise.race([new Promise<void>((go) => held.push(go)), aborted(signal)]);
      const { saga, executor } = await setUp(hold as never);
      const { id } = await put(executor, saga, { ...everySecond, overlap: "skip" });
      await until("it fired", () => held.length === 1);
      await until("a firing was let go", async () => (await executor.schedules.get(id))!.lastSkipped !== undefined);
      expect((await executor.schedules.get(id))!.lastSkipped).toEqual({
        scheduledFor: expect.any(Date),
        why: "overlap",
      });
      expect(await firingsOf(executor, saga)).toHaveLength(1);
      held[0]!();
      await until("it fired again", () => held.length === 2);
      await executor.schedules.pause(id);
      held[1]!();
    });

    test("a saga's own schedules are put when an executor has it, under its name unless they have an id", async () => {
      const bench = new Bench(make);
      const name = uniqueName("declares");
      const schedules = [
        { cron: "0 3 * * *", timeZone: "Europe/Berlin", input: { n: 1 } },
        { id: `${name}-often`, every: "1h", input: { n: 2 }, overlap: "skip" },
      ];
      const saga = bench.saga([bench.step("S1")], { name, schedules });
      const executor = await bench.executor([saga]);
      for (const id of [name, `${name}-often`]) removeAfter(executor, id);
      const first = await executor.schedules.get(`${name}-often`);
      expect(first).toMatchObject({ saga: name, every: "1h", input: { n: 2 }, overlap: "skip" });
      expect(await executor.schedules.get(name)).toMatchObject({ cron: "0 3 * * *", input: { n: 1 } });
      const run = await executor.schedules.trigger(name);
      expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
    });

    test("CRN-6: a cron that can never fire is refused when it is put, and when it is declared", async () => {
      const { bench, saga, executor } = await setUp();
      const error = await rejection(put(executor, saga, { cron: "0 0 30 2 *" }));
      expect(error).toMatchObject({ code: "options.invalid", message: expect.stringContaining("never fires") });
      const declares = bench.saga([bench.step("S1")], { schedules: [{ cron: "0 0 31 4,6 *" }] });
      expect(await rejection(bench.executor([declares]))).toMatchObject({
        code: "options.invalid",
        message: expect.stringMatching(/version 1, schedules\[0\]\.cron: .*never fires/),
      });
    });

    test("all that is wrong is told at once", async () => {
      const { saga, executor } = await setUp();
      const wrong = {
        id: "a\0b",
        cron: "x",
        every: "1h",
        timeZone: "Nowhere",
        missed: "twice",
        overlap: 1,
        misssed: 1,
      };
      const error = await rejection(put(executor, saga, wrong));
      expect(error.code).toBe("options.invalid");
      const at = error.faults.map((fault: { at: string }) => fault.at);
      expect(at).toEqual(["misssed", "id", "every", "cron", "timeZone", "missed", "overlap"]);
      for (const id of ["", undefined, "x".repeat(151)])
        expect((await rejection(put(executor, saga, { id }))).faults[0].at).toBe("id");
    });

    test("the input is parsed when it is put, and the saga has to be a registered one", async () => {
      const bench = new Bench(make);
      const input = z.object({ n: z.int().default(3) });
      const saga = bench.saga([bench.step("S1")], { input });
      const executor = await bench.executor([saga]);
      expect(await rejection(put(executor, saga, { input: { n: "x" } }))).toBeInstanceOf(InputInvalidError);
      expect((await put(executor, saga, { input: {} })).input).toEqual({ n: 3 });
      const other = bench.saga([bench.step("S1")], { input: anything });
      expect(await rejection(put(executor, other))).toMatchObject({ code: "saga.unknown" });
      expect(await rejection(put(executor, undefined as never))).toMatchObject({ code: "saga.unknown" });
    });

    test("one schedule id is for one saga; of two versions of it the newer one's counts", async () => {
      const bench = new Bench(make);
      const name = uniqueName("declares");
      const declares = (version: number, n: number, options = {}) =>
        bench.saga([bench.step("S1")], { name, version, schedules: [{ every: "1h", input: { n } }], ...options });
      const executor = await bench.executor([declares(2, 2), declares(1, 1)]);
      removeAfter(executor, name);
      expect(await executor.schedules.get(name)).toMatchObject({ version: 2, input: { n: 2 } });
      const twice = bench.saga([bench.step("S1")], { schedules: [{ every: "1h" }, { every: "2h" }] });
      expect((await rejection(bench.executor([twice]))).faults[0].fault).toContain("is declared by saga");
      const other = bench.saga([bench.step("S1")], { schedules: [{ id: name, every: "1h" }] });
      expect(await rejection(bench.executor([declares(1, 1), other]))).toMatchObject({ code: "options.invalid" });
    });

    test("an unknown one is undefined, or `schedule.not_found`; a closed executor says that it is closed", async () => {
      const { saga, executor } = await setUp();
      const { schedules } = executor;
      for (const id of ["nobody", "a\0b"]) {
        expect(await schedules.get(id)).toBeUndefined();
        expect(await schedules.remove(id)).toBe(false);
        for (const verb of ["pause", "resume", "trigger"] as const)
          expect(await rejection(schedules[verb](id))).toMatchObject({ code: "schedule.not_found" });
      }
      await executor.close();
      expect(await rejection(put(executor, saga))).toMatchObject({ code: "executor.closed" });
      expect(await rejection(schedules.trigger("nobody"))).toMatchObject({ code: "executor.closed" });
    });
  });
}
