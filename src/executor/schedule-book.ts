// WHERE SCHEDULES ARE KEPT, as a port: in memory, or as rows. A record that was read is changed at its revision, or not at
// all: of two who read the same, one loses and reads again.

import type { StoredValue } from "../core/entry.js";
import type { Shape } from "../definition/shape.js";
import type { LetGo, MissedPolicy, OverlapPolicy } from "../schedules/plan.js";
import type { Timing } from "../schedules/timing.js";

/** What `put` writes; instants are milliseconds since the epoch. */
export interface NewSchedule {
  readonly id: string;
  readonly saga: string;
  readonly version: number;
  readonly shape: Shape;
  readonly input: StoredValue;
  readonly inputDigest: string;
  /** What the runs share places with, and how many there are. */
  readonly shared?: { readonly lane: string; readonly places: number };
  readonly timing: Timing;
  readonly missed: MissedPolicy;
  readonly overlap: OverlapPolicy;
  /** For a new one, and for one that had another timing. */
  readonly nextAt: number;
}

/** A schedule as it is kept. */
export interface ScheduleRecord extends Omit<NewSchedule, "shape" | "nextAt"> {
  readonly tenant: string;
  readonly paused: boolean;
  /** Undefined: it never fires again. */
  readonly nextAt: number | undefined;
  readonly last?: { readonly at: number; readonly runId: string };
  readonly skipped?: LetGo;
  /** Runs of its firings that may be live: the newest 100 are remembered. */
  readonly live: readonly string[];
  readonly revision: number;
  readonly createdAt: number;
  readonly changedAt: number;
}

/** What a schedule becomes, and which runs of its target begin with that. */
export interface ScheduleMove {
  readonly paused?: boolean;
  readonly nextAt?: number | undefined;
  readonly last?: { readonly at: number; readonly runId: string };
  readonly skipped?: LetGo;
  readonly live?: readonly string[];
  readonly start?: readonly string[];
}

export interface ScheduleBook {
  /** Milliseconds since the epoch by the clock that decides what is due. */
  now(): Promise<number>;
  /** Keeps what is there where nothing differs, and its next firing where the timing does not. */
  put(schedule: NewSchedule): Promise<ScheduleRecord>;
  find(id: string): Promise<ScheduleRecord | undefined>;
  /** By id. */
  list(): Promise<readonly ScheduleRecord[]>;
  /** In one transaction with the starts. False: the record is not at that revision any more, and nothing was done. */
  move(record: ScheduleRecord, move: ScheduleMove): Promise<boolean>;
  remove(id: string): Promise<boolean>;
  /** Which of the record's `live` runs have not ended. */
  liveOf(record: ScheduleRecord): Promise<readonly string[]>;
}

/** Whether two timings are one: then a put leaves the next firing alone. */
export function sameTiming(one: Timing, other: Timing): boolean {
  if (one.kind === "every") return other.kind === "every" && one.everyMs === other.everyMs;
  return other.kind === "cron" && one.cron === other.cron && one.timeZone === other.timeZone;
}

/** Whether a put would change nothing. */
export function sameSchedule(record: ScheduleRecord, put: NewSchedule): boolean {
  return (
    record.saga === put.saga &&
    record.version === put.version &&
    record.inputDigest === put.inputDigest &&
    record.shared?.lane === put.shared?.lane &&
    record.shared?.places === put.shared?.places &&
    record.missed === put.missed &&
    record.overlap === put.overlap &&
    sameTiming(record.timing, put.timing)
  );
}
