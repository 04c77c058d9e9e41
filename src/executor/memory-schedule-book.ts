// SCHEDULES IN MEMORY, and the timer that fires them in this process. The timer is a hint: the record decides.

import type { Shape } from "../definition/shape.js";
import type { Journal, RunStart } from "../journal/journal.js";
import type { Clock } from "../platform/clock.js";
import type { LogSink } from "../platform/log.js";
import { fireDue } from "./firing.js";
import { foldRun } from "./operating.js";
import {
  type NewSchedule,
  type ScheduleBook,
  type ScheduleMove,
  type ScheduleRecord,
  sameSchedule,
  sameTiming,
} from "./schedule-book.js";

export interface MemoryScheduleBookParts {
  readonly journal: Journal;
  /** Records a run and sees to it that it is driven. */
  readonly begin: (start: RunStart) => Promise<unknown>;
  readonly clock: Clock;
  readonly logger: LogSink;
}

interface Kept {
  readonly record: ScheduleRecord;
  readonly shape: Shape;
}

/** A wall clock that is set forward is noticed by then. */
const longestWaitMs = 60_000;

export class MemoryScheduleBook implements ScheduleBook {
  readonly #parts: MemoryScheduleBookParts;
  readonly #kept = new Map<string, Kept>();
  #cancel: () => void = () => {};
  #firing: Promise<void> | undefined;
  #closed = false;

  constructor(parts: MemoryScheduleBookParts) {
    this.#parts = parts;
  }

  async now(): Promise<number> {
    return this.#parts.journal.now();
  }

  async put(schedule: NewSchedule): Promise<ScheduleRecord> {
    const present = this.#kept.get(schedule.id)?.record;
    if (present !== undefined && sameSchedule(present, schedule)) return present;
    const now = this.#parts.journal.now();
    const { shape, ...rest } = schedule;
    const record: ScheduleRecord = {
      ...(present ?? { tenant: "", paused: false, live: [], createdAt: now }),
      ...rest,
      nextAt: present !== undefined && sameTiming(present.timing, schedule.timing) ? present.nextAt : schedule.nextAt,
      revision: (present?.revision ?? 0) + 1,
      changedAt: now,
    };
    this.#keep({ record, shape });
    return record;
  }

  async find(id: string): Promise<ScheduleRecord | undefined> {
    return this.#kept.get(id)?.record;
  }

  async list(): Promise<readonly ScheduleRecord[]> {
    const records = [...this.#kept.values()].map(({ record }) => record);
    return records.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async move(record: ScheduleRecord, { start = [], ...changes }: ScheduleMove): Promise<boolean> {
    const kept = this.#kept.get(record.id);
    if (kept?.record.revision !== record.revision) return false;
    const { input, inputDigest, saga, version, shared } = kept.record;
    this.#keep({ ...kept, record: { ...kept.record, ...changes, revision: record.revision + 1 } });
    for (const runId of start)
      await this.#parts.begin({ runId, saga, version, shape: kept.shape, input, inputDigest, ...shared, priority: 0 });
    return true;
  }

  async remove(id: string): Promise<boolean> {
    return this.#kept.delete(id);
  }

  async liveOf({ live }: ScheduleRecord): Promise<readonly string[]> {
    const loaded = await Promise.all(live.map((runId) => this.#parts.journal.load(runId)));
    return live.filter((_, index) => {
      const run = loaded[index];
      return run !== undefined && foldRun(run).state.finished === undefined;
    });
  }

  /** No more firings; resolves when the present one is over. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel();
    await this.#firing;
  }

  #keep(kept: Kept): void {
    this.#kept.set(kept.record.id, kept);
    // Whoever fires looks again at the end.
    if (this.#firing === undefined) this.#arm();
  }

  #arm(): void {
    const { clock, journal } = this.#parts;
    this.#cancel();
    const due = [...this.#kept.values()].flatMap(({ record }) => (record.paused ? [] : (record.nextAt ?? [])));
    if (due.length === 0 || this.#closed) return;
    const waitMs = Math.min(Math.max(0, Math.min(...due) - journal.now()), longestWaitMs);
    this.#cancel = clock.after(waitMs, () => {
      this.#firing = this.#fire().finally(() => {
        this.#firing = undefined;
        this.#arm();
      });
    });
  }

  async #fire(): Promise<void> {
    const now = this.#parts.journal.now();
    for (const { record } of [...this.#kept.values()])
      await fireDue(this, record, now).catch((error: unknown) =>
        this.#parts.logger.error({ err: error, schedule: record.id }, "a schedule could not be fired"),
      );
  }
}
