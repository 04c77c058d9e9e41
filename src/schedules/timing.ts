// WHEN A SCHEDULE FIRES: by a cron expression in a time zone, or by an interval. Instants are milliseconds since the epoch.

import { shownValue } from "../definition/option-faults.js";
import type { OptionReader } from "../definition/option-reader.js";
import { type CronTiming, cronFault, newestCronFirings, nextCronFiring, timeZoneFault } from "./cron.js";

export interface EveryTiming {
  readonly kind: "every";
  readonly everyMs: number;
}

export type Timing = CronTiming | EveryTiming;

export const timingNames = ["cron", "every", "timeZone"] as const;

/** A row is written at each firing, and cron can't be quicker either. */
const leastEveryMs = 1_000;

/** The timing that options speak of; undefined when they are wrong, and then the reader holds the faults. */
export function readTiming(read: OptionReader): Timing | undefined {
  const cron = read.value("cron");
  const every = read.value("every");
  const timeZone = read.value("timeZone") ?? "UTC";
  const before = read.faults.length;
  if (cron === undefined && every === undefined)
    read.refuse("cron", 'is missing; give `cron`, as in "0 3 * * *", or `every`, as in "15m"');
  if (cron !== undefined && every !== undefined)
    read.refuse("every", "can't be given together with `cron`; leave one of them out");
  if (cron === undefined && every !== undefined && read.value("timeZone") !== undefined)
    read.refuse("timeZone", "goes with `cron`; an interval has none");
  const cronWrong = cron === undefined ? undefined : cronFault(cron);
  if (cronWrong !== undefined) read.refuse("cron", `${shownValue(cron)}: ${cronWrong}`);
  const zoneWrong = timeZoneFault(timeZone);
  if (zoneWrong !== undefined) read.refuse("timeZone", `${shownValue(timeZone)} ${zoneWrong}`);
  const everyMs = read.duration("every", { positive: true });
  if (everyMs !== undefined && everyMs < leastEveryMs) read.refuse("every", `must be at least "1s"`);
  if (read.faults.length > before) return undefined;
  if (everyMs !== undefined) return { kind: "every", everyMs };
  return { kind: "cron", cron: (cron as string).trim(), timeZone: timeZone as string };
}

/**
 * The first firing later than `after`; undefined: none any more. `beat`: a firing of an interval, earlier or later, whose
 * rhythm is kept; default `after` itself.
 */
export function nextFiring(timing: Timing, after: number, beat = after): number | undefined {
  if (timing.kind === "cron") return nextCronFiring(timing, after);
  return beat + (Math.floor((after - beat) / timing.everyMs) + 1) * timing.everyMs;
}

/** The `count` newest firings from `dueAt` (a firing) to `upTo`, both included, oldest first. */
export function newestFirings(
  timing: Timing,
  { dueAt, upTo, count }: { readonly dueAt: number; readonly upTo: number; readonly count: number },
): readonly number[] {
  if (timing.kind === "cron") return newestCronFirings(timing, upTo, count).filter((firing) => firing >= dueAt);
  const steps = Math.floor((upTo - dueAt) / timing.everyMs);
  const first = Math.max(0, steps - count + 1);
  return Array.from({ length: steps - first + 1 }, (_, index) => dueAt + (first + index) * timing.everyMs);
}
