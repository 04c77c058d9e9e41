// TAKING OVER FROM THE DEAD: a few looks a second for workers that died, and their runs into free slots (design 3.3). What
// is written into each journal is the core's decision.

import { projectionOf } from "../core/projection.js";
import { foldEntries, foldRows, initialState } from "../core/state.js";
import { takeOver } from "../core/take-up.js";
import type { Logger } from "../definition/saga.js";
import type { RunHeader } from "../journal/journal.js";
import type { PgJournal } from "../journal/pg-journal.js";
import { headerOf, newRowOf, readRow, shapeHash } from "../journal/pg-journal.js";
import type { Chance } from "../platform/ids.js";
import type { Database } from "../store/db.js";
import type { NewRow } from "../store/entries.js";
import type { StoredRow } from "../store/journal-rows.js";
import { findDeadWorkers, type TakenRun, takeOverRuns } from "../store/recovery.js";
import type { RunRow } from "../store/runs.js";
import { oneTry } from "../store/sql.js";
import type { OwnedRun } from "../store/workers.js";
import type { Claiming } from "./claiming.js";
import type { Lease } from "./lease.js";
import type { Slots } from "./slots.js";

export interface RecoveringOptions {
  readonly database: Database;
  readonly journal: PgJournal;
  readonly claiming: Claiming;
  readonly lease: Lease;
  readonly slots: Slots;
  readonly leaseMs: number;
  readonly chance: Chance;
  readonly logger: Logger;
}

/** Between two looks: a killed process is found by two of them at least 500 ms apart. */
export const lookEveryMs = 300;
const forgetLeftEveryMs = 30_000;

export class Recovering {
  readonly #options: RecoveringOptions;
  /** Runs that this worker can't take: of sagas that it does not know, or with journals that it can't read. */
  readonly #left = new Set<string>();
  #leftSince = 0;

  constructor(options: RecoveringOptions) {
    this.#options = options;
  }

  async turn(): Promise<number | void> {
    const { database, lease, slots } = this.#options;
    if (!lease.firm || slots.free === 0) return;
    if (database.now() - this.#leftSince > forgetLeftEveryMs) {
      this.#left.clear();
      this.#leftSince = database.now();
    }
    const dead = await findDeadWorkers(oneTry(database), { worker: lease.id, now: database.nowOverride() });
    for (const worker of dead) await this.#takeFrom(worker);
  }

  /** CRASH: after the commit the runs are ours, and the next beat names them. */
  async #takeFrom(dead: string): Promise<void> {
    const { database, slots, logger, lease } = this.#options;
    if (slots.free === 0 || !lease.firm) return;
    const { taken, refused } = await takeOverRuns(database, {
      dead,
      limit: slots.free,
      except: [...this.#left],
      now: database.nowOverride(),
      decide: (run, rows) => this.#decide(run, rows),
    });
    for (const { key, runId, error } of refused) {
      this.#left.add(key);
      logger.error({ err: error, runId }, "a dead worker's run can't be taken over; it is left as it is");
    }
    if (taken.length > 0) logger.warn({ worker: dead, runs: taken.length }, "took over the runs of a dead worker");
    for (const each of taken) await this.#begin(each);
  }

  #decide(run: RunRow, rows: readonly StoredRow[]): NewRow | undefined {
    const { claiming, lease, chance } = this.#options;
    const saga = claiming.sagaOf({ saga: run.saga, version: run.version, shapeHash: run.shapeHash });
    if (saga === undefined) {
      this.#left.add(run.key);
      return undefined;
    }
    const header = headerOf(run, saga.shape);
    const token = chance.id();
    return this.#rowFor(header, rows, { worker: lease.id, token, crash: this.#wasSteady() });
  }

  /** Who could not beat itself can't tell a crash from a database that was away (1.6). */
  #wasSteady(): boolean {
    return this.#options.lease.steadyMs >= this.#options.leaseMs || this.#options.lease.steadyMs >= 2 * lookEveryMs;
  }

  #rowFor(
    header: RunHeader,
    rows: readonly StoredRow[],
    taker: { worker: string; token: string; crash: boolean },
  ): NewRow {
    const { database, chance } = this.#options;
    const { shape } = header;
    const state = foldRows(
      shape,
      initialState(shape, header.startAt),
      rows.map((row) => readRow(row, header.runId)),
    );
    const now = database.now();
    const entries = takeOver(shape, state, taker, { now, random: chance.random() });
    const projection = projectionOf(shape, foldEntries(shape, state, entries, now));
    return newRowOf({ header, number: state.last + 1, nonce: chance.id(), writer: taker.token, entries, projection });
  }

  async #begin({ run, rows, written, appended }: TakenRun): Promise<void> {
    // A suspect was parked in the same row: whoever claims it when it is due drives it.
    if (written.change?.claim !== "owned") return;
    const { claiming } = this.#options;
    const saga = claiming.sagaOf({ saga: run.saga, version: run.version, shapeHash: run.shapeHash })!;
    const header = headerOf(run, saga.shape);
    const last: StoredRow = { ...written, at: appended.at };
    const all = [...rows, last].map((row) => readRow(row, run.runId));
    await claiming.drive(saga, header, { token: written.writer, suspect: false }, async () => all);
  }

  /**
   * What the table says is ours and nobody here drives: a claim or takeover whose answer was lost, or a drive that ended by
   * a fault. Only in the latter case may a body have begun.
   */
  async adopt(owned: OwnedRun): Promise<void> {
    const { journal, slots, claiming, chance, lease, logger } = this.#options;
    const loaded = await journal.loadByKey(owned.key);
    if (loaded === undefined || slots.has(owned.key)) return;
    const { header, rows } = loaded;
    const { shape } = header;
    const saga = claiming.sagaOf({ saga: header.saga, version: header.version, shapeHash: shapeHash(shape) });
    const state = foldRows(shape, initialState(shape, header.startAt), rows);
    if (saga === undefined || state.owner?.token !== owned.token) return;
    if (!slots.mayHaveBegun(owned.token))
      return claiming.drive(saga, header, { token: owned.token, suspect: false }, async () => rows);
    logger.warn({ runId: header.runId }, "a run is taken up again whose drive ended by a fault");
    const token = chance.id();
    const now = journal.now();
    const entries = takeOver(shape, state, { worker: lease.id, token, crash: false }, { now, random: chance.random() });
    const projection = projectionOf(shape, foldEntries(shape, state, entries, now));
    const result = await journal.append({
      header,
      number: state.last + 1,
      nonce: chance.id(),
      writer: token,
      entries,
      projection,
    });
    if (result.kind === "appended")
      await claiming.drive(saga, header, { token, suspect: false }, async () => [...rows, result.row]);
  }
}
