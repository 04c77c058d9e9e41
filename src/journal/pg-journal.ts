// THE RECORD ON POSTGRES: the journal's port over the store. Maps entries to rows and back; every race is settled below, by
// who gets the number.

import type { Entry, Row, TakenUp } from "../core/entry.js";
import { type Shape, shapeText } from "../definition/shape.js";
import { safeText } from "../errors/safe-text.js";
import { isSagaError } from "../errors/saga-error.js";
import { RunNotFoundError, UsageError } from "../errors/usage-errors.js";
import { sha256 } from "../platform/digest.js";
import { Batcher, type Offered } from "../store/batcher.js";
import type { Database } from "../store/db.js";
import type { AppendedRow, NewRow } from "../store/entries.js";
import { allRows, readNonces, rowsAfter } from "../store/journal-rows.js";
import type { Notice } from "../store/notify.js";
import { listRuns } from "../store/run-list.js";
import {
  findRunById,
  findRunByKey,
  keepShape,
  markAwaited,
  type NewRun,
  type RunRow,
  startOwnedRun,
  startRun,
} from "../store/runs.js";
import { type Borrowed, borrowedRunner, type Runner } from "../store/sql.js";
import { inSavepoint, startRuns } from "../store/start-many.js";
import { begunOf } from "./begun.js";
import { readEntries, writeEntries } from "./entries-text.js";
import type {
  AppendResult,
  Begun,
  CheckSame,
  Journal,
  LoadedRun,
  Offer,
  RunHeader,
  RunLine,
  RunQuery,
  RunStart,
} from "./journal.js";
import { entriesFormat, newRowOf, packValue, readRow } from "./pg-rows.js";
import { headerOf, lineOf, readShape } from "./pg-runs.js";

export { newRowOf, readRow } from "./pg-rows.js";
export { headerOf } from "./pg-runs.js";

export interface PgJournalOptions {
  readonly database: Database;
  /** Scopes ids and lists. Default: "". */
  readonly tenant?: string;
  readonly announce?: (notice: Notice) => void;
}

/** The hash by which shapes are told apart and runs are claimed. */
export function shapeHash(shape: Shape): string {
  return sha256(shapeText(shape)).slice(0, 32);
}

export class PgJournal implements Journal {
  readonly #database: Database;
  /** Whose runs it starts, finds and lists; it appends to anybody's. */
  readonly tenant: string;
  readonly #announce: (notice: Notice) => void;
  readonly #batcher: Batcher;
  readonly #keptShapes = new Set<string>();

  constructor({ database, tenant = "", announce = () => {} }: PgJournalOptions, batcher = new Batcher(database)) {
    this.#database = database;
    this.tenant = tenant;
    this.#announce = announce;
    this.#batcher = batcher;
  }

  /** The same journal, for runs of that tenant. */
  of(tenant: string): PgJournal {
    if (tenant === this.tenant) return this;
    return new PgJournal({ database: this.#database, tenant, announce: this.#announce }, this.#batcher);
  }

  now(): number {
    return this.#database.now();
  }

  async start(
    start: RunStart,
    takenUp?: { readonly entry: Entry; readonly nonce: string },
  ): Promise<{ readonly header: RunHeader; readonly created: boolean; readonly row?: Row }> {
    const run = await this.#newRun(start);
    if (takenUp !== undefined) return this.#startOwned(run, takenUp.entry as TakenUp, takenUp.nonce);
    const { run: row, created } = await this.#database.retry(() =>
      this.#once((runner) => startRun(runner, run, this.#database.nowOverride())),
    );
    if (created) this.#announce({ kind: "ready" });
    return { header: headerOf(row, start.shape), created };
  }

  /**
   * {@link start} inside the caller's transaction: the run exists if and only if that commits. Nothing is announced: of the
   * commit nobody tells.
   */
  async startIn(tx: Borrowed, start: RunStart): Promise<{ readonly header: RunHeader; readonly created: boolean }> {
    const run = await this.#newRun(start);
    const runner = borrowedRunner(tx, this.#database.schemaName);
    const { run: row, created } = await startRun(runner, run, this.#database.nowOverride());
    return { header: headerOf(row, start.shape), created };
  }

  async startMany(starts: readonly RunStart[], check: CheckSame): Promise<readonly Begun[]> {
    const runs = await this.#newRuns(starts);
    const begun = await this.#database.retry(() =>
      this.#database.transaction((connection) => this.#startAll(connection, { starts, runs, check })),
    );
    if (begun.some(({ created }) => created)) this.#announce({ kind: "ready" });
    return begun;
  }

  /** {@link startMany} inside the caller's transaction, which stays usable when it rejects. Nothing is announced. */
  async startManyIn(tx: Borrowed, starts: readonly RunStart[], check: CheckSame): Promise<readonly Begun[]> {
    const runs = await this.#newRuns(starts);
    const runner = borrowedRunner(tx, this.#database.schemaName);
    return inSavepoint(runner, () => this.#startAll(runner, { starts, runs, check }));
  }

  /** Inside a transaction, which is undone when one of the ids turns out to be another run's. */
  async #startAll(
    runner: Runner,
    { starts, runs, check }: { starts: readonly RunStart[]; runs: readonly NewRun[]; check: CheckSame },
  ): Promise<readonly Begun[]> {
    const { created, existing } = await startRuns(runner, runs, this.#database.nowOverride());
    const headerOfStart = ({ runId, shape }: RunStart) => {
      const run = created.get(runId) ?? existing.get(runId)!;
      return headerOf(run, run.shape === undefined ? shape : readShape(run.shape, runId));
    };
    return begunOf(starts, { wasMade: (runId) => created.has(runId), headerOf: headerOfStart }, check);
  }

  async #newRuns(starts: readonly RunStart[]): Promise<readonly NewRun[]> {
    // Of one saga: its shape is kept once, and known from then on.
    await this.#keepShape(starts[0]!.shape);
    return Promise.all(starts.map((start) => this.#newRun(start)));
  }

  /** The run and its first row together; a lost answer is told from another's run by the nonce. */
  async #startOwned(run: NewRun, entry: TakenUp, nonce: string) {
    const payload = writeEntries([entry]);
    const first = { worker: entry.worker, token: entry.token, nonce, format: entriesFormat, payload };
    const started = await this.#database.retry(() =>
      this.#once((runner) => startOwnedRun(runner, run, first, this.#database.nowOverride())),
    );
    const header = await this.#header(started.run);
    const row = (at: number): Row => ({ number: 1, at, nonce, entries: readEntries(payload) });
    if (started.created) return { header, created: true, row: row(started.run.createdAt) };
    const present = await readNonces(this.#database, [{ run: started.run.key, number: 1 }]);
    const ours = [...present.values()].find((each) => each.nonce === nonce);
    return ours === undefined ? { header, created: false } : { header, created: true, row: row(ours.at) };
  }

  async load(runId: string, after = 0): Promise<LoadedRun | undefined> {
    const header = await this.find(runId);
    return header && { header, rows: await this.rowsAfter(header, after) };
  }

  async find(runId: string): Promise<RunHeader | undefined> {
    // No run can have such an id: the database would refuse the question.
    if (safeText(runId, Number.POSITIVE_INFINITY) !== runId) return undefined;
    const run = await findRunById(this.#database, this.tenant, runId);
    return run && this.#header(run);
  }

  /** A worker's own run, whatever tenant it is of. */
  async loadByKey(key: string): Promise<LoadedRun | undefined> {
    const run = await findRunByKey(this.#database, key);
    if (run === undefined) return undefined;
    const header = headerOf(run, readShape(run.shape, run.runId));
    return { header, rows: await this.rowsAfter(header, 0) };
  }

  async allRows(header: RunHeader): Promise<readonly Row[]> {
    const rows = await this.#database.retry(() => this.#once((runner) => allRows(runner, header.key)));
    return rows.map((row) => readRow(row, header.runId));
  }

  /** A driver asks: it goes on asking for as long as the database is away. */
  async rowsAfter(header: RunHeader, after: number): Promise<readonly Row[]> {
    const forever = { patienceMs: Number.POSITIVE_INFINITY };
    const rows = await this.#database.retry(
      () => this.#once((runner) => rowsAfter(runner, header.key, after)),
      forever,
    );
    return rows.map((row) => readRow(row, header.runId));
  }

  async append(offer: Offer): Promise<AppendResult> {
    const row = newRowOf(offer);
    const offered = await this.#offer(row, offer.header.runId);
    if (offered.kind === "taken") return offered;
    this.announceAppended(offer, offered.row);
    return {
      kind: "appended",
      row: { number: offer.number, at: offered.row.at, nonce: offer.nonce, entries: readEntries(row.payload) },
    };
  }

  /** Tells whoever has to hear of a row that is in: who waits for the end, the owner, the parent, who may take it up. */
  announceAppended(offer: Offer, { awaited, due, poked, woken }: AppendedRow): void {
    const { key, tenant = "", runId } = offer.header;
    if (awaited) this.#announce({ kind: "ended", tenant, runId });
    if (poked !== undefined) this.#announce({ kind: "poked", key, worker: poked });
    if (woken?.worker !== undefined) this.#announce({ kind: "poked", key: woken.run, worker: woken.worker });
    if (due || (woken !== undefined && woken.worker === undefined)) this.#announce({ kind: "ready" });
  }

  async #offer(row: NewRow, runId: string): Promise<Offered> {
    try {
      return await this.#batcher.offer(row);
    } catch (error) {
      throw isSagaError(error, "store.run_gone") ? new RunNotFoundError(runId) : error;
    }
  }

  async list(query: RunQuery): Promise<{ readonly lines: readonly RunLine[]; readonly cursor?: string }> {
    const { status, saga, attributes, limit, cursor } = query;
    if (cursor !== undefined && !/^\d{1,18}$/.test(cursor))
      throw new UsageError("cursor.invalid", "this is no cursor that a page of this list gave");
    const rows = await listRuns(this.#database, {
      tenant: this.tenant,
      limit,
      ...(status === undefined ? {} : { status }),
      ...(saga === undefined ? {} : { saga }),
      ...(attributes === undefined ? {} : { attributes: JSON.stringify(attributes) }),
      ...(cursor === undefined ? {} : { before: cursor }),
    });
    const lines = rows.map(lineOf);
    return rows.length < limit ? { lines } : { lines, cursor: rows.at(-1)!.key };
  }

  /** From now on the run's end is announced. Look at the run afterwards: it may just have ended. */
  async awaitEnd(header: RunHeader): Promise<void> {
    await markAwaited(this.#database, header.key);
  }

  /** Resolves when every append offered so far is known, or after `graceMs` without a database. That stays open. */
  close(graceMs?: number): Promise<void> {
    return this.#batcher.close(graceMs);
  }

  async #newRun(start: RunStart): Promise<NewRun> {
    const hash = await this.#keepShape(start.shape);
    return {
      tenant: this.tenant,
      runId: start.runId,
      saga: start.saga,
      version: start.version,
      shapeHash: hash,
      input: packValue(start.input),
      inputDigest: start.inputDigest,
      priority: start.priority,
      ...(start.attributes === undefined ? {} : { attributes: JSON.stringify(start.attributes) }),
      ...(start.lane === undefined ? {} : { lane: start.lane, places: start.places! }),
      ...(start.startAt === undefined ? {} : { startAt: start.startAt }),
      ...(start.parent === undefined ? {} : { parent: start.parent }),
    };
  }

  /** Apart from the run, and before it: a shape that no run has does no harm, a run without its shape can't be read. */
  async #keepShape(shape: Shape): Promise<string> {
    const hash = shapeHash(shape);
    if (this.#keptShapes.has(hash)) return hash;
    await keepShape(this.#database, hash, JSON.stringify(shape));
    this.#keptShapes.add(hash);
    return hash;
  }

  async #header(run: RunRow): Promise<RunHeader> {
    if (run.shape !== undefined) return headerOf(run, readShape(run.shape, run.runId));
    const found = await findRunById(this.#database, run.tenant, run.runId);
    return headerOf(run, readShape(found?.shape, run.runId));
  }

  async #once<T>(work: (runner: Runner) => Promise<T>): Promise<T> {
    return work({ run: (statement, values) => this.#database.once(statement, values) });
  }
}
