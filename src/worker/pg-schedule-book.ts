// SCHEDULES AS ROWS: the port on Postgres. Its clock is the database's.

import type { NewSchedule, ScheduleBook, ScheduleMove, ScheduleRecord } from "../executor/schedule-book.js";
import { shapeHash } from "../journal/pg-journal.js";
import { packValue, unpackValue } from "../journal/pg-rows.js";
import type { LetGo, MissedPolicy, OverlapPolicy } from "../schedules/plan.js";
import type { Timing } from "../schedules/timing.js";
import type { Database } from "../store/db.js";
import type { Notice } from "../store/notify.js";
import { keepShape } from "../store/runs.js";
import {
  findSchedule,
  listSchedules,
  liveAmong,
  moveSchedule,
  putSchedule,
  readClock,
  removeSchedule,
  type ScheduleRow,
} from "../store/schedules.js";

export interface PgScheduleBookParts {
  readonly database: Database;
  readonly tenant: string;
  readonly announce: (notice: Notice) => void;
}

/** A record that remembers the row that it was read from. */
interface RowRecord extends ScheduleRecord {
  readonly row: ScheduleRow;
}

export class PgScheduleBook implements ScheduleBook {
  readonly #parts: PgScheduleBookParts;

  constructor(parts: PgScheduleBookParts) {
    this.#parts = parts;
  }

  async now(): Promise<number> {
    const { database } = this.#parts;
    return readClock(database, database.nowOverride());
  }

  async put(schedule: NewSchedule): Promise<ScheduleRecord> {
    const { database, tenant, announce } = this.#parts;
    const { id, saga, version, shape, inputDigest, timing, missed, overlap, nextAt } = schedule;
    const hash = shapeHash(shape);
    // Before the row: a shape that nobody uses does no harm, a run without its shape can't be read.
    await keepShape(database, hash, JSON.stringify(shape));
    const input = packValue(schedule.input);
    const of = { tenant, id, saga, version, shapeHash: hash, input, inputDigest, ...schedule.shared };
    const row = { ...of, missed, overlap, nextAt };
    const times =
      timing.kind === "every" ? { everyMs: timing.everyMs } : { cron: timing.cron, timeZone: timing.timeZone };
    const written = await putSchedule(database, { ...row, ...times }, database.nowOverride());
    announce({ kind: "scheduled" });
    return recordOf(written);
  }

  async find(id: string): Promise<ScheduleRecord | undefined> {
    // The database would refuse the question; no schedule has such an id.
    if (typeof id !== "string" || /\0|\p{Surrogate}/u.test(id)) return undefined;
    const row = await findSchedule(this.#parts.database, this.#parts.tenant, id);
    return row && recordOf(row);
  }

  async list(): Promise<readonly ScheduleRecord[]> {
    return (await listSchedules(this.#parts.database, this.#parts.tenant)).map(recordOf);
  }

  async move(record: ScheduleRecord, move: ScheduleMove): Promise<boolean> {
    const { database, announce } = this.#parts;
    const { start = [], ...changes } = move;
    const row = rowOf({ ...record, ...changes }, (record as RowRecord).row);
    // A try after a lost commit is refused by the revision, and its caller reads anew.
    const written = await database.retry(() => moveSchedule(database, row, { start, now: database.nowOverride() }));
    if (written && start.length > 0) announce({ kind: "ready" });
    if (written && start.length === 0) announce({ kind: "scheduled" });
    return written;
  }

  async remove(id: string): Promise<boolean> {
    return (await this.find(id)) !== undefined && removeSchedule(this.#parts.database, this.#parts.tenant, id);
  }

  async liveOf({ tenant, live }: ScheduleRecord): Promise<readonly string[]> {
    if (live.length === 0) return [];
    const found = new Set(await liveAmong(this.#parts.database, tenant, live));
    return live.filter((runId) => found.has(runId));
  }
}

export function recordOf(row: ScheduleRow): ScheduleRecord {
  const { lastAt, lastRunId, skippedAt, skippedWhy, missed, overlap } = row;
  const record: RowRecord = {
    row,
    tenant: row.tenant,
    id: row.id,
    saga: row.saga,
    version: row.version,
    input: unpackValue(row.input),
    inputDigest: row.inputDigest,
    ...(row.lane === undefined ? {} : { shared: { lane: row.lane, places: row.places! } }),
    timing: timingOf(row),
    missed: missed as MissedPolicy,
    overlap: overlap as OverlapPolicy,
    paused: row.paused,
    nextAt: row.nextAt,
    live: row.live,
    revision: row.revision,
    createdAt: row.createdAt,
    changedAt: row.changedAt,
    ...(lastAt === undefined ? {} : { last: { at: lastAt, runId: lastRunId! } }),
    ...(skippedAt === undefined ? {} : { skipped: { at: skippedAt, why: skippedWhy as LetGo["why"] } }),
  };
  return record;
}

/** The row as the record has become; the input's text stays as it was read. */
function rowOf({ paused, nextAt, last, skipped, live }: ScheduleRecord, row: ScheduleRow): ScheduleRow {
  const { nextAt: _, ...rest } = row;
  return {
    ...rest,
    paused,
    live,
    ...(nextAt === undefined ? {} : { nextAt }),
    ...(last === undefined ? {} : { lastAt: last.at, lastRunId: last.runId }),
    ...(skipped === undefined ? {} : { skippedAt: skipped.at, skippedWhy: skipped.why }),
  };
}

function timingOf({ cron, timeZone, everyMs }: ScheduleRow): Timing {
  return everyMs === undefined ? { kind: "cron", cron: cron!, timeZone: timeZone! } : { kind: "every", everyMs };
}
