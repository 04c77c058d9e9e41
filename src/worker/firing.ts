// WHICH SCHEDULES FIRE NOW: a look when the next one is due, and now and then, for what nobody told of. An empty table costs
// one probe of an index in five seconds.

import type { Logger } from "../definition/saga.js";
import { isSagaError } from "../errors/saga-error.js";
import { fireDue } from "../executor/firing.js";
import type { ScheduleBook } from "../executor/schedule-book.js";
import type { Clock } from "../platform/clock.js";
import type { Chance } from "../platform/ids.js";
import type { Database } from "../store/db.js";
import { nextSchedules, type ScheduleRow } from "../store/schedules.js";
import { oneTry } from "../store/sql.js";
import { inTime } from "./in-time.js";
import { recordOf } from "./pg-schedule-book.js";

export interface FiringOptions {
  readonly database: Database;
  readonly book: ScheduleBook;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly logger: Logger;
}

/** The longest time between two looks for what nobody told of. */
export const lookEveryMs = 5_000;
/** Looked at in one go. */
const mostLooked = 200;
/** Before a schedule is tried again that could not be fired: it keeps no other one waiting. */
const leaveFailedMs = 30_000;
/** Workers all know when the next one is due: each comes a little later than that, by another amount. */
const spreadMs = 10;

export class Firing {
  readonly #options: FiringOptions;
  /** Schedules that could not be fired, and until when (monotonic) they are left alone. */
  readonly #failed = new Map<string, number>();

  constructor(options: FiringOptions) {
    this.#options = options;
  }

  /** One look. Resolves to when to look again, in milliseconds; undefined: after the usual time. */
  async turn(): Promise<number | undefined> {
    const { database, clock } = this.#options;
    const look = nextSchedules(oneTry(database), mostLooked, database.nowOverride());
    const { now, schedules } = await inTime(look, { clock });
    let fired = false;
    for (const row of schedules) {
      if (row.nextAt! > now) return fired ? 0 : this.#until(row.nextAt! - now);
      fired = (await this.#fire(row, now)) || fired;
    }
    return fired ? 0 : undefined;
  }

  #until(waitMs: number): number {
    return Math.min(waitMs + spreadMs * this.#options.chance.random(), lookEveryMs);
  }

  /** Whether it is not due as it was any more. */
  async #fire(row: ScheduleRow, now: number): Promise<boolean> {
    const { book, clock, logger } = this.#options;
    const key = JSON.stringify([row.tenant, row.id]);
    if ((this.#failed.get(key) ?? 0) > clock.monotonic()) return false;
    try {
      const runs = await inTime(fireDue(book, recordOf(row), now), { clock });
      this.#failed.delete(key);
      if (runs > 0) logger.debug({ schedule: row.id, runs }, "a schedule was fired");
      return true;
    } catch (error) {
      // The database's trouble is not the schedule's: the loop comes back as soon as it may.
      if (isSagaError(error, "store.unavailable") || isSagaError(error, "store.read_only")) throw error;
      this.#failed.set(key, clock.monotonic() + leaveFailedMs);
      logger.error({ err: error, schedule: row.id }, "a schedule could not be fired; it is tried again");
      return false;
    }
  }
}
