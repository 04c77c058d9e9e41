// WHAT COMPILES OF SCHEDULES: the input is the saga's, and cron or interval, never both. Checked by the compiler alone.

import { expectTypeOf } from "vitest";
import { z } from "zod";
import {
  defineSaga,
  nextFirings,
  type RunHandle,
  type SagaExecutor,
  type ScheduleView,
  step,
} from "../../src/index.js";

declare const executor: SagaExecutor;
const write = step({ name: "write", nothingToUndo: true, run: async (report: { of: string }) => void report });
const input = z.object({ of: z.string() });
const report = defineSaga({
  name: "report",
  version: 1,
  input,
  steps: [write],
  schedules: [
    { cron: "0 3 * * *", timeZone: "Europe/Berlin", input: { of: "the day" }, missed: "all" },
    { id: "often", every: "15m", input: { of: "a quarter" }, overlap: "skip" },
  ],
});
const tick = defineSaga({
  name: "tick",
  version: 1,
  steps: [step({ name: "tick", nothingToUndo: true, run: async (_: object) => {} })],
  schedules: [{ every: "1h" }],
});
const listed = { name: "report", version: 1, input, steps: [write] } as const;

// @ts-expect-error its input is missing
defineSaga({ ...listed, schedules: [{ every: "1h" }] });
// @ts-expect-error its input is another
defineSaga({ ...listed, schedules: [{ every: "1h", input: { of: 1 } }] });
// @ts-expect-error cron or interval
defineSaga({ ...listed, schedules: [{ every: "1h", cron: "0 3 * * *", input: { of: "x" } }] });
// @ts-expect-error neither
defineSaga({ ...listed, schedules: [{ input: { of: "x" } }] });
// @ts-expect-error no such policy
defineSaga({ ...listed, schedules: [{ every: "1h", input: { of: "x" }, missed: "twice" }] });

export async function use(): Promise<void> {
  const { schedules } = executor;
  expectTypeOf(
    schedules.put({ id: "a", target: report, cron: "0 3 * * *", input: { of: "x" } }),
  ).resolves.toEqualTypeOf<ScheduleView>();
  await schedules.put({ id: "a", target: tick, every: 60_000 });
  expectTypeOf(schedules.trigger("a")).resolves.toEqualTypeOf<RunHandle<unknown>>();
  // @ts-expect-error its input is missing
  await schedules.put({ id: "a", target: report, cron: "0 3 * * *" });
  // @ts-expect-error its input is another
  await schedules.put({ id: "a", target: report, cron: "0 3 * * *", input: { of: 1 } });
  // @ts-expect-error it has to have an id
  await schedules.put({ target: tick, every: "1h" });
  // @ts-expect-error an interval has no zone
  await schedules.put({ id: "a", target: tick, every: "1h", timeZone: "UTC" });
  // @ts-expect-error no duration
  await schedules.put({ id: "a", target: tick, every: "1 hour" });
}

export const some: Date[] = nextFirings({ cron: "0 3 * * *", from: new Date(0), count: 1 });
// @ts-expect-error no end is no number of firings
nextFirings({ cron: "0 3 * * *", from: new Date(0) });
