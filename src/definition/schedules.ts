// SCHEDULES THAT A SAGA DECLARES: kept as they were written. What they say is checked by the executor that gets the saga,
// which knows cron.

import type { Duration } from "./duration.js";
import { shownValue } from "./option-faults.js";
import type { OptionReader } from "./option-reader.js";

/** When it fires: a cron expression in a time zone, or an interval. */
export type ScheduleTiming =
  | {
      /** `"minute hour day month weekday"`, or with seconds first. Daylight saving: see the guide. */
      readonly cron: string;
      /** An IANA name. Default `"UTC"`, never the process's own zone: workers may differ in it. */
      readonly timeZone?: string | undefined;
      readonly every?: undefined;
    }
  | {
      /** From `"1s"`. The first firing is one interval after the put, and so on, whatever the clocks of people do. */
      readonly every: Duration;
      readonly cron?: undefined;
      readonly timeZone?: undefined;
    };

/** What a schedule does about firings that can't be as planned. */
export interface SchedulePolicies {
  /**
   * What becomes of firings that fell due while no worker looked. `"once"`: the newest one is made up for. `"all"`: each one,
   * the 100 newest at most. `"skip"`: none that is more than 10 s late. Default `"once"`.
   */
  readonly missed?: "skip" | "once" | "all" | undefined;
  /** `"skip"`: it is not fired while the run of an earlier firing is live. Default `"allow"`. */
  readonly overlap?: "allow" | "skip" | undefined;
}

/** The input may be left out where the saga takes none. */
export type ScheduleInput<Input> = undefined extends Input ? { readonly input?: Input } : { readonly input: Input };

/** A schedule that a saga brings along: put when a worker that has the saga starts. */
export type DeclaredSchedule<Input> = ScheduleTiming &
  SchedulePolicies &
  ScheduleInput<Input> & {
    /** 1 to 150 characters, one per tenant. Default: the saga's name. */
    readonly id?: string | undefined;
  };

/** The schedules of a saga's options, frozen; undefined when there are none. */
export function readSchedules(read: OptionReader): readonly object[] | undefined {
  const schedules = read.value("schedules");
  if (schedules === undefined) return undefined;
  const wanted = 'give a list such as [{ cron: "0 3 * * *", timeZone: "Europe/Berlin", input: { … } }]';
  if (!Array.isArray(schedules)) {
    read.refuse("schedules", `${shownValue(schedules)} is not a list; ${wanted}`);
    return undefined;
  }
  const isObject = (each: unknown) => typeof each === "object" && each !== null;
  for (const [index, each] of schedules.entries())
    if (!isObject(each)) read.refuse(`schedules[${index}]`, `${shownValue(each)} is not an object; ${wanted}`);
  return Object.freeze(schedules.filter(isObject).map((each) => Object.freeze({ ...each })));
}
