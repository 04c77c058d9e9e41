// CRON ARITHMETIC: the only importer of `croner`. Instants are milliseconds since the epoch, whole seconds. Reads no clock.

import { Cron } from "croner";

/** A cron expression and the IANA name of the zone whose wall clocks it speaks of. */
export interface CronTiming {
  readonly kind: "cron";
  readonly cron: string;
  readonly timeZone: string;
}

/** Every Gregorian date that there is comes within 400 years of it, and croner searches to the end of 2999. */
const reference = new Date(Date.UTC(2000, 0, 1));

/**
 * What is wrong with an expression; undefined when nothing is. Five fields, or six with seconds first. croner also reads
 * dates, nicknames and years; those are refused: a date is one start, which `startAt` is for.
 */
export function cronFault(cron: unknown): string | undefined {
  if (typeof cron !== "string" || !/^\s*\S+(\s+\S+){4,5}\s*$/.test(cron) || cron.length > 200)
    return 'give five fields, as in "0 3 * * *" (minute, hour, day, month, weekday), or six with seconds first';
  let parsed: Cron;
  try {
    parsed = parse({ cron, timeZone: "UTC" });
  } catch (error) {
    return `${(error as Error).message.replace(/^CronPattern: /, "")}; fields are minute, hour, day, month, weekday, with seconds before them where there are six`;
  }
  // CRN-6: found out now, in milliseconds, and not by a search that never ends.
  return parsed.nextRun(reference) === null
    ? "never fires: there is no such date in any year; mend day or month"
    : undefined;
}

/** What is wrong with a zone; undefined when this process knows it. Offsets know no daylight saving, and are refused. */
export function timeZoneFault(timeZone: unknown): string | undefined {
  const wanted = 'give an IANA name such as "Europe/Berlin" or "UTC"';
  if (typeof timeZone !== "string" || !/^[A-Za-z]/.test(timeZone)) return `is no time zone; ${wanted}`;
  try {
    new Intl.DateTimeFormat("en", { timeZone });
    return undefined;
  } catch {
    return `is not known here; ${wanted}`;
  }
}

/** The first firing later than `after`; undefined: none before the year 3000, where croner's search ends. */
export function nextCronFiring(timing: CronTiming, after: number): number | undefined {
  return parse(timing).nextRun(new Date(after))?.getTime();
}

/** The `count` newest firings up to and including `upTo`, oldest first. */
export function newestCronFirings(timing: CronTiming, upTo: number, count: number): readonly number[] {
  return parse(timing)
    .previousRuns(count, new Date(upTo + 1))
    .map((firing) => firing.getTime())
    .reverse();
}

/**
 * Daylight saving (CRN-1, CRN-3). A fixed time, that is one without `*`, `?` and `/` in seconds, minutes and hours, fires
 * once a day that it is for: in the hour that is left out, at the first instant after it; in the hour that comes twice, the
 * first time. Anything else is a rhythm: it fires as often as the clock shows it, so not in an hour that is left out, and
 * twice in one that comes twice. croner's own default counts lists and ranges among the rhythms: "30 1,3 * * *" would fire
 * twice at 1:30.
 */
function parse({ cron, timeZone }: Omit<CronTiming, "kind">): Cron {
  return new Cron(cron, { timezone: timeZone, paused: true, mode: "5-or-6-parts", fixedTimeRule: "no-wildcard" });
}
