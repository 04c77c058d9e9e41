// Schedules in process, on a clock that the test sets: when the timer rings, what a sleep of the machine does, what closing
// leaves behind.

import { defineSaga, firingOf, inProcessExecutor, type Logger, step } from "rubicon-saga";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { systemChance } from "../../../src/platform/ids.js";
import { ManualClock, settled } from "../../support/manual-clock.js";

const minute = 60_000;
const hour = 60 * minute;

const calls: string[] = [];
const options = {
  name: "report",
  version: 1,
  steps: [step({ name: "write", nothingToUndo: true, run: async (_: object, { runId }) => void calls.push(runId) })],
} as const;
const report = defineSaga(options);

function setUp(start: string, more: { readonly sagas?: any[]; readonly logger?: Logger } = {}) {
  calls.length = 0;
  const passing = new ManualClock(Date.parse(start));
  // The wall clock may be set, or the machine may sleep: timers know nothing of that.
  let aheadMs = 0;
  const clock = {
    now: () => passing.now() + aheadMs,
    monotonic: () => passing.monotonic(),
    after: (ms: number, callback: () => void) => passing.after(ms, callback),
  };
  const { sagas = [report], ...rest } = more;
  const executor = inProcessExecutor({ sagas, platform: { clock, chance: systemChance }, ...rest });
  onTestFinished(() => executor.close({ grace: 0 }));
  const jump = (ms: number) => {
    aheadMs += ms;
  };
  return { executor, clock: passing, jump };
}

const firings = () => calls.map((runId) => firingOf(runId)!.scheduledFor.toISOString());

test("CRN-1: over the night on which 02:30 is left out a nightly one fires once each night, on the clock", async () => {
  const { executor, clock } = setUp("2025-03-28T22:00:00Z");
  await executor.schedules.put({ id: "nightly", target: report, cron: "30 2 * * *", timeZone: "Europe/Berlin" });
  await clock.pass(72 * hour);
  expect(firings()).toEqual(["2025-03-29T01:30:00.000Z", "2025-03-30T01:00:00.000Z", "2025-03-31T00:30:00.000Z"]);
});

test.each([
  ["skip", []],
  ["once", [3]],
  ["all", [0, 1, 2, 3]],
] as const)("CRN-4: a machine that slept for 3 min 30 s: `%s`", async (missed, made) => {
  const { executor, clock, jump } = setUp("2026-01-01T00:00:00Z");
  const { nextFiring } = await executor.schedules.put({ id: "s", target: report, every: "1m", missed });
  await clock.pass(30_000);
  jump(3.5 * minute);
  // The timer was set before it slept, and rings as late as that: half a minute after the fourth firing was due.
  await clock.pass(30_000);
  const due = (minutes: number) => new Date(nextFiring!.getTime() + minutes * minute).toISOString();
  expect(firings()).toEqual(made.map(due));
  await clock.pass(minute);
  expect(firings()).toEqual([...made, 4].map(due));
});

test("a wall clock that is set forward is noticed within a minute", async () => {
  const { executor, clock, jump } = setUp("2026-01-01T00:00:00Z");
  await executor.schedules.put({ id: "s", target: report, every: "12h" });
  jump(12 * hour);
  await clock.pass(minute);
  expect(calls).toHaveLength(1);
});

test("a paused one is not fired when another one's timer rings", async () => {
  const { executor, clock } = setUp("2026-01-01T00:00:00Z");
  for (const id of ["paused", "other"]) await executor.schedules.put({ id, target: report, every: "1m" });
  await executor.schedules.pause("paused");
  await clock.pass(minute);
  expect(calls.map((runId) => firingOf(runId)!.schedule)).toEqual(["other"]);
});

test("closed, it fires no more and leaves no timer", async () => {
  const { executor, clock } = setUp("2026-01-01T00:00:00Z");
  await executor.schedules.put({ id: "s", target: report, every: "1s" });
  await clock.pass(1_000);
  await executor.close({ grace: 0 });
  expect(clock.waits).toEqual([]);
  await clock.pass(5_000);
  expect(calls).toHaveLength(1);
});

test("without schedules there is no timer", () => {
  expect(setUp("2026-01-01T00:00:00Z").clock.waits).toEqual([]);
});

test("a declared input that its saga refuses is told to whoever uses schedules, and logged; sagas run all the same", async () => {
  const logged: unknown[] = [];
  const logger = { debug() {}, info() {}, warn() {}, error: (fields: object) => void logged.push(fields) };
  const input = z.object({ n: z.number() });
  const refuses = defineSaga({
    ...options,
    name: "refuses",
    input,
    schedules: [{ every: "1h", input: { n: "1" as never } }],
  });
  const { executor, clock } = setUp("2026-01-01T00:00:00Z", { sagas: [refuses], logger });
  await expect(executor.schedules.list()).rejects.toMatchObject({ code: "input.invalid" });
  expect(logged).toHaveLength(1);
  const run = await executor.start(refuses, { n: 1 });
  await clock.pass(0);
  await settled();
  expect((await run.outcome()).status).toBe("completed");
});
