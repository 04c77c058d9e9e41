// TAKING OVER FROM THE DEAD: a few looks a second for workers that died, and their runs into free slots; and what the table
// says is ours but nobody drives (design 3.2, 3.3). What is written into each journal is the core's decision.

import { foldEntries, foldRows } from "../core/fold.js";
import { projectionOf } from "../core/projection.js";
import { initialState, type RunState } from "../core/state.js";
import { takeOver } from "../core/take-up.js";
import type { Logger } from "../definition/saga.js";
import type { Offer, RunHeader } from "../journal/journal.js";
import type { PgJournal } from "../journal/pg-journal.js";
import { headerOf, newRowOf, readRow, shapeHash } from "../journal/pg-journal.js";
import type { Clock } from "../platform/clock.js";
import type { Chance } from "../platform/ids.js";
import type { Database } from "../store/db.js";
import type { NewRow } from "../store/entries.js";
import type { StoredRow } from "../store/journal-rows.js";
import { findSilentWorkers, type TakenRun, takeOverRuns } from "../store/recovery.js";
import type { RunRow } from "../store/runs.js";
import { oneTry } from "../store/sql.js";
import type { OwnedRun } from "../store/workers.js";
import type { Claiming } from "./claiming.js";
import { inTime } from "./in-time.js";
import { judge } from "./judging.js";
import type { Lease } from "./lease.js";
import type { Places, Slots } from "./slots.js";

export interface RecoveringOptions {
  readonly database: Database;
  readonly journal: PgJournal;
  readonly claiming: Claiming;
  readonly lease: Lease;
  readonly slots: Slots;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly logger: Logger;
}

/** Between two looks. */
export const lookEveryMs = 400;
/** After a look that found a free lock: long enough for a second one to prove something by it. */
const lookAgainMs = 510;
/** How long a dead worker is left alone of whose runs none could be taken. */
const leaveDeadMs = 2_000;
const forgetLeftEveryMs = 30_000;

export class Recovering {
  readonly #options: RecoveringOptions;
  /** Runs that this worker can't take: of sagas or tenants that are not its own, or with journals that it can't read. */
  readonly #left = new Set<string>();
  #leftSince = 0;
  /** Dead workers that are left alone, until when. */
  readonly #leftDead = new Map<string, number>();
  readonly #adopting = new Set<string>();

  constructor(options: RecoveringOptions) {
    this.#options = options;
  }

  /** Resolves to when to look again; undefined: after the usual time. */
  async turn(): Promise<number | undefined> {
    const { database, lease, slots, leaseMs, clock } = this.#options;
    if (!lease.firm || slots.free === 0) return undefined;
    this.#forgetLeft();
    const look = findSilentWorkers(oneTry(database), { worker: lease.id, now: database.nowOverride() });
    const silent = await inTime(look, { clock });
    for (const worker of silent) {
      const { steadyMs, unbroken } = lease;
      const verdict = judge(worker, { steadyMs, unbroken, leaseMs });
      if (verdict.dead && !this.#leftDead.has(worker.id)) await this.#takeFrom(worker.id, verdict.crash);
    }
    return silent.some(({ why }) => why === "suspected") ? lookAgainMs : undefined;
  }

  #forgetLeft(): void {
    const now = this.#options.clock.monotonic();
    for (const [worker, until] of this.#leftDead) if (until <= now) this.#leftDead.delete(worker);
    if (now - this.#leftSince < forgetLeftEveryMs) return;
    this.#left.clear();
    this.#leftSince = now;
  }

  async #takeFrom(dead: string, crash: boolean): Promise<void> {
    const { slots, logger, lease, clock } = this.#options;
    if (!lease.firm) return;
    const places = slots.reserve(Number.POSITIVE_INFINITY);
    try {
      if (places.count === 0) return;
      const taken = await this.#takeInto(places, dead, crash);
      if (taken.length === 0) this.#leftDead.set(dead, clock.monotonic() + leaveDeadMs);
      else logger.warn({ worker: dead, runs: taken.length }, "took over the runs of a dead worker");
      await Promise.all(taken.map((each) => this.#begin(each)));
    } finally {
      places.release();
    }
  }

  /** CRASH: after the commit the runs are ours, and the next beat names them. */
  async #takeInto(places: Places, dead: string, crash: boolean): Promise<readonly TakenRun[]> {
    const { database, slots, logger, clock } = this.#options;
    const taking = takeOverRuns(database, {
      dead,
      limit: places.count,
      // What this worker had before it went under a new id may still be giving up its slot.
      except: [...this.#left, ...slots.keys],
      now: database.nowOverride(),
      decide: (run, rows) => this.#decide(run, rows, places, crash),
    });
    const { taken, refused } = await inTime(taking, { clock });
    for (const { key, runId, error } of refused) {
      this.#left.add(key);
      logger.error({ err: error, runId }, "a dead worker's run can't be taken over; it is left as it is");
    }
    return taken;
  }

  #decide(run: RunRow, rows: readonly StoredRow[], places: Places, crash: boolean): NewRow | undefined {
    const { claiming } = this.#options;
    const saga = claiming.serves(run.tenant) ? claiming.sagaOf(run) : undefined;
    if (saga === undefined) {
      this.#left.add(run.key);
      return undefined;
    }
    const header = headerOf(run, saga.shape);
    const state = foldRows(
      saga.shape,
      initialState(saga.shape, header.startAt),
      rows.map((row) => readRow(row, run.runId)),
    );
    const offer = this.#takingOver(header, state, crash);
    places.expect(offer.writer);
    return newRowOf(offer);
  }

  #takingOver(header: RunHeader, state: RunState, crash: boolean): Offer {
    const { database, chance, lease } = this.#options;
    const { shape } = header;
    const now = database.now();
    const token = chance.id();
    const entries = takeOver(shape, state, { worker: lease.id, token, crash }, { now, random: chance.random() });
    const projection = projectionOf(shape, foldEntries(shape, state, entries, now));
    return { header, number: state.last + 1, nonce: chance.id(), writer: token, entries, projection };
  }

  async #begin({ run, rows, written, appended }: TakenRun): Promise<void> {
    // A suspect was parked in the same row: whoever claims it when it is due drives it.
    if (written.change?.claim !== "owned") return;
    const { claiming } = this.#options;
    const saga = claiming.sagaOf(run)!;
    const last: StoredRow = { ...written, at: appended.at };
    const all = [...rows, last].map((row) => readRow(row, run.runId));
    await claiming.drive(saga, headerOf(run, saga.shape), written.writer, async () => all);
  }

  /**
   * What the table says is ours and nobody here drives: a claim or takeover whose answer was lost, or a run that a drive left
   * lying, by a fault or because it might have been lost. Only if a body was begun, may it have happened.
   */
  async adopt(owned: OwnedRun): Promise<void> {
    const { slots } = this.#options;
    if (this.#adopting.has(owned.key)) return;
    const places = slots.reserve(1);
    this.#adopting.add(owned.key);
    try {
      if (places.count > 0) await this.#adoptInto(places, owned);
    } finally {
      this.#adopting.delete(owned.key);
      places.release();
    }
  }

  async #adoptInto(places: Places, owned: OwnedRun): Promise<void> {
    const { journal, slots, claiming, logger } = this.#options;
    const loaded = await journal.loadByKey(owned.key);
    if (loaded === undefined || slots.has(owned.key)) return;
    const { header, rows } = loaded;
    const { shape } = header;
    const saga = claiming.sagaOf({ saga: header.saga, version: header.version, shapeHash: shapeHash(shape) });
    const state = foldRows(shape, initialState(shape, header.startAt), rows);
    if (saga === undefined || state.owner?.token !== owned.token) return;
    const left = slots.leftBehind(owned.token);
    slots.forgetLeft(owned.token);
    if (left !== "begun") return claiming.drive(saga, header, owned.token, async () => rows);
    logger.warn({ runId: header.runId }, "a run is taken up again of which an attempt was left lying");
    const offer = this.#takingOver(header, state, false);
    places.expect(offer.writer);
    const result = await journal.append(offer);
    if (result.kind === "appended") await claiming.drive(saga, header, offer.writer, async () => [...rows, result.row]);
  }
}
