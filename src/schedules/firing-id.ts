// WHICH RUN A FIRING IS: its id is made of the schedule's and the instant, so that a firing that is repeated, by whomever,
// is the same run (design 1.9), and a step can read off its own `runId` what it was fired for.

/** A firing, as a run's id tells it. */
export interface Firing {
  readonly schedule: string;
  /** The instant that it was due; of one fired by hand, when that was. */
  readonly scheduledFor: Date;
  /** Fired by `trigger`, not by the clock. */
  readonly triggered: boolean;
}

/** The id leaves room for the instant in a run's, which may have 200 characters. */
export const longestScheduleId = 150;

/** `nightly@2026-03-29T01:00:00.000Z` */
export function firingId(schedule: string, at: number): string {
  return `${schedule}@${new Date(at).toISOString()}`;
}

/** `nightly@2026-03-29T08:12:44.120Z~1f2e3d4c`: never a scheduled firing's, and one a trigger. `fresh`: any unique text. */
export function triggerId(schedule: string, at: number, fresh: string): string {
  return `${firingId(schedule, at)}~${fresh.replaceAll(/[^0-9a-zA-Z]/g, "").slice(-12)}`;
}

/**
 * What a run was fired for, read off its id: in a step, `firingOf(runId)?.scheduledFor`. Undefined for a run that no
 * schedule started. Whoever starts runs by ids of this form tells the same thing.
 */
export function firingOf(runId: string): Firing | undefined {
  const match = /^(.+)@(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)(~\w+)?$/s.exec(runId);
  if (match === null) return undefined;
  const scheduledFor = new Date(match[2]!);
  if (Number.isNaN(scheduledFor.getTime())) return undefined;
  return { schedule: match[1]!, scheduledFor, triggered: match[3] !== undefined };
}

/** What is wrong with a schedule's id; undefined when nothing is. */
export function scheduleIdFault(id: unknown): string | undefined {
  const wanted = `give 1 to ${longestScheduleId} characters without NUL`;
  if (typeof id !== "string") return `is no string; ${wanted}`;
  if (id === "") return `is empty; ${wanted}`;
  if (id.length > longestScheduleId) return `has ${id.length} characters; ${wanted}`;
  if (id.includes("\0")) return `contains a NUL character; ${wanted}`;
  return /\p{Surrogate}/u.test(id) ? `contains half of a surrogate pair; ${wanted}` : undefined;
}
