// FIRING A SCHEDULE: what is due is decided purely, then made true in one move. Whoever fires needs the record alone, not
// the saga: a schedule whose saga no live worker has starts a run that says so (`blocked`), where a schedule that waited for
// such a worker would be silent.

import { firingId } from "../schedules/firing-id.js";
import { planFirings } from "../schedules/plan.js";
import type { ScheduleBook, ScheduleRecord } from "./schedule-book.js";

/** Runs of one schedule of which it is remembered whether they are live. */
const mostLive = 100;

/**
 * Fires what is due of a record, if anything is. Resolves to how many runs were started; 0 also when another worker was
 * quicker. CRASH: the runs and the moved schedule are one transaction; a restart finds both, or fires the same ids.
 */
export async function fireDue(book: ScheduleBook, record: ScheduleRecord, now: number): Promise<number> {
  const { timing, missed, overlap, nextAt: dueAt } = record;
  if (record.paused || dueAt === undefined || dueAt > now) return 0;
  const live = record.live.length === 0 ? [] : await book.liveOf(record);
  const plan = planFirings({ timing, missed, overlap, dueAt, now, busy: live.length > 0 });
  const start = plan.fire.map((at) => firingId(record.id, at));
  const last = plan.fire.at(-1);
  const fired = await book.move(record, {
    nextAt: plan.nextAt,
    live: rememberLive(live, start),
    start,
    ...(last === undefined ? {} : { last: { at: last, runId: start.at(-1)! } }),
    ...(plan.skipped === undefined ? {} : { skipped: plan.skipped }),
  });
  return fired ? start.length : 0;
}

/** The live runs with those that begin. */
export function rememberLive(live: readonly string[], started: readonly string[]): readonly string[] {
  return [...new Set([...live, ...started])].slice(-mostLive);
}
