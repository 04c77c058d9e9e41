// WHEN A SCHEDULE WOULD FIRE, told without one: for a page that shows it, for a test of an expression.

import { shownValue } from "../definition/option-faults.js";
import { OptionReader } from "../definition/option-reader.js";
import type { ScheduleTiming } from "../definition/schedules.js";
import { OptionsInvalidError } from "../errors/usage-errors.js";
import { nextFiring, readTiming, timingNames } from "./timing.js";

/** What {@link nextFirings} is asked. */
export type NextFiringsOptions = ScheduleTiming & {
  /** Firings later than this, never at it. */
  readonly from: Date;
  /** 1 to 10,000. */
  readonly count: number;
};

const mostAsked = 10_000;

/**
 * The next `count` firings after `from`, oldest first; a cron's end with the year 2999. Pure. A fixed time fires once a
 * day, also on the nights on which clocks change: `"30 2 * * *"` in Europe/Berlin at 03:00 when 02:30 is left out, and at
 * the first 02:30 when there are two.
 *
 * @example nextFirings({ cron: "0 3 * * *", timeZone: "Europe/Berlin", from: new Date(), count: 3 })
 * @throws OptionsInvalidError with all faults; a cron for a date that never comes ("never fires") among them
 */
export function nextFirings(options: NextFiringsOptions): Date[] {
  const read = new OptionReader(options, "nextFirings()", [...timingNames, "from", "count"]);
  const timing = readTiming(read);
  const from = read.value("from");
  const isDate = from instanceof Date && !Number.isNaN(from.getTime());
  if (!isDate) read.refuse("from", `${shownValue(from)} is not a valid Date`);
  const count = read.value("count") as number;
  if (!Number.isInteger(count) || count < 1 || count > mostAsked)
    read.refuse("count", `${shownValue(count)} is not a whole number from 1 to ${mostAsked}`);
  if (timing === undefined || read.faults.length > 0) throw new OptionsInvalidError("nextFirings", read.faults);
  const firings: Date[] = [];
  let at: number | undefined = (from as Date).getTime();
  while (firings.length < count) {
    at = nextFiring(timing, at);
    if (at === undefined || Number.isNaN(new Date(at).getTime())) break;
    firings.push(new Date(at));
  }
  return firings;
}
