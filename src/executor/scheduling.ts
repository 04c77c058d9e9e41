// THE VERBS OF SCHEDULES over a book of them: what both executors have in common.

import type { Saga } from "../definition/define-saga.js";
import { durationText } from "../definition/duration.js";
import { UsageError } from "../errors/usage-errors.js";
import type { Values } from "../journal/codec.js";
import type { Chance } from "../platform/ids.js";
import { triggerId } from "../schedules/firing-id.js";
import { nextFiring } from "../schedules/timing.js";
import { rememberLive } from "./firing.js";
import type { RunHandle } from "./handle.js";
import type { Registry } from "./registry.js";
import type { NewSchedule, ScheduleBook, ScheduleMove, ScheduleRecord } from "./schedule-book.js";
import { type ReadSchedule, readPut } from "./schedule-options.js";
import type { PutSchedule, Schedules, ScheduleView } from "./schedules.js";
import { prepareStart } from "./starting.js";

export interface SchedulingParts {
  readonly book: ScheduleBook;
  readonly registry: Registry;
  readonly values: Values;
  readonly chance: Chance;
  /** Rejects once the executor is closed. */
  readonly open: () => void;
  /** Settles when what sagas declare has been put: whoever looks finds it, or hears why not. */
  readonly declared: Promise<void>;
  readonly find: (runId: string) => Promise<RunHandle<unknown> | undefined>;
}

export class Scheduling implements Schedules {
  readonly #parts: SchedulingParts;

  constructor(parts: SchedulingParts) {
    this.#parts = parts;
  }

  async put<S extends Saga>(schedule: PutSchedule<S>): Promise<ScheduleView> {
    await this.#ready();
    const read = readPut(schedule);
    return this.#view(await putSchedule({ ...read, target: this.#parts.registry.require(read.target) }, this.#parts));
  }

  async get(id: string): Promise<ScheduleView | undefined> {
    await this.#parts.declared;
    const record = await this.#parts.book.find(id);
    return record && this.#view(record);
  }

  async list(): Promise<readonly ScheduleView[]> {
    await this.#parts.declared;
    return (await this.#parts.book.list()).map((record) => this.#view(record));
  }

  async pause(id: string): Promise<ScheduleView> {
    await this.#ready();
    return this.#view(await this.#move(id, (record) => (record.paused ? undefined : { paused: true })));
  }

  async resume(id: string): Promise<ScheduleView> {
    await this.#ready();
    const now = await this.#parts.book.now();
    const goOn = (record: ScheduleRecord): ScheduleMove | undefined =>
      record.paused ? { paused: false, nextAt: nextFiring(record.timing, now, record.nextAt) } : undefined;
    return this.#view(await this.#move(id, goOn));
  }

  async remove(id: string): Promise<boolean> {
    await this.#ready();
    return this.#parts.book.remove(id);
  }

  async trigger(id: string): Promise<RunHandle<unknown>> {
    await this.#ready();
    const { book, chance, find } = this.#parts;
    const at = await book.now();
    // Made once: however often the move has to be tried, it is one run.
    const runId = triggerId(id, at, chance.id());
    await this.#move(id, async (record) => {
      const live = rememberLive(await book.liveOf(record), [runId]);
      return { live, start: [runId], last: { at, runId } };
    });
    return (await find(runId))!;
  }

  async #ready(): Promise<void> {
    this.#parts.open();
    await this.#parts.declared;
    this.#parts.open();
  }

  /** Moves the schedule on from however it stands; `undefined` leaves it as it is. */
  async #move(
    id: string,
    decide: (record: ScheduleRecord) => ScheduleMove | undefined | Promise<ScheduleMove | undefined>,
  ): Promise<ScheduleRecord> {
    const { book } = this.#parts;
    for (;;) {
      const record = await book.find(id);
      if (record === undefined) throw new UsageError("schedule.not_found", `there is no schedule "${id}"`);
      const move = await decide(record);
      if (move === undefined) return record;
      if (await book.move(record, move)) return { ...record, ...move };
    }
  }

  #view(record: ScheduleRecord): ScheduleView {
    const { id, saga, version, input, timing, missed, overlap, paused, nextAt, last, skipped } = record;
    return {
      id,
      saga,
      version,
      input: this.#parts.values.tryDecode(input),
      ...(timing.kind === "every"
        ? { every: durationText(timing.everyMs) }
        : { cron: timing.cron, timeZone: timing.timeZone }),
      missed,
      overlap,
      paused,
      ...(paused || nextAt === undefined ? {} : { nextFiring: new Date(nextAt) }),
      ...(last === undefined ? {} : { lastFiring: { scheduledFor: new Date(last.at), runId: last.runId } }),
      ...(skipped === undefined ? {} : { lastSkipped: { scheduledFor: new Date(skipped.at), why: skipped.why } }),
      createdAt: new Date(record.createdAt),
      changedAt: new Date(record.changedAt),
    };
  }
}

type PutParts = Pick<SchedulingParts, "book" | "values">;

/** @throws InputInvalidError, SerializationError, PayloadTooLargeError */
async function putSchedule(read: ReadSchedule, { book, values }: PutParts): Promise<ScheduleRecord> {
  const { id, target, timing, missed, overlap } = read;
  // Parsed, sized and digested as a start's is: a firing must not find out that it can't start.
  const start = await prepareStart(target, read.input, { id: "put" }, { ...values, freshId: () => "put" });
  const { saga, version, shape, input, inputDigest, lane, places } = start;
  const shared = lane === undefined ? {} : { shared: { lane, places: places! } };
  const nextAt = nextFiring(timing, await book.now())!;
  const schedule: NewSchedule = {
    id,
    saga,
    version,
    shape,
    input,
    inputDigest,
    ...shared,
    timing,
    missed,
    overlap,
    nextAt,
  };
  return book.put(schedule);
}

/** Puts what sagas declare, one after the other. @throws InputInvalidError, SerializationError, PayloadTooLargeError */
export async function putDeclared(declared: readonly ReadSchedule[], parts: PutParts): Promise<void> {
  for (const each of declared) await putSchedule(each, parts);
}
