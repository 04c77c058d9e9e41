// GROUP COMMIT: appends that arrive while a flush is on its way go together in the next one. Alone, an append goes at once.
// Says what became of each offer, and only when it is known (design 3.2).

import { StoreError } from "../errors/store-errors.js";
import { systemClock } from "../platform/clock.js";
import type { Connection } from "./connection.js";
import type { Database } from "./db.js";
import { type AppendedRow, appendRow, appendRows, type NewRow } from "./entries.js";
import { readNonces } from "./journal-rows.js";
import { retryStatement } from "./retry.js";
import type { Runner } from "./sql.js";
import { classifySqlError, storeError } from "./sql-error.js";

/** `taken`: another's nonce stands at the number, and nothing of the offer was written. */
export type Offered = { readonly kind: "appended"; readonly row: AppendedRow } | { readonly kind: "taken" };

interface Pending {
  readonly row: NewRow;
  readonly resolve: (offered: Offered) => void;
  readonly reject: (error: unknown) => void;
}

const mostRows = 200;
/** An open transaction that holds one run's number holds up its neighbours this long, once. */
const lockTimeoutMs = 50;
/** For a row that stood in the way, tried apart from the others. */
const patientLockTimeoutMs = 1_000;
const mostApart = 2;

/** One per process is enough: a second flusher gained nothing. */
export class Batcher {
  readonly #database: Database;
  readonly #queue: Pending[] = [];
  readonly #apart: Pending[] = [];
  #tryingApart = 0;
  #flushing = false;
  #givenUp = false;
  #connection: Connection | undefined;
  #idle: (() => void)[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Offers a row. Connection failures are retried with the same nonce at the same number until the answer is known; other
   * failures are this row's alone.
   * @throws StoreError `store.rejected`, `store.run_gone`; `store.closed` or `store.unavailable` once the database is closed
   */
  offer(row: NewRow): Promise<Offered> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ row, resolve, reject });
      if (!this.#flushing) void this.#flushAll();
    });
  }

  /**
   * Resolves when everything offered so far is known, or was given up after `graceMs` without a database; gives the
   * connection back.
   */
  async close(graceMs = 5_000): Promise<void> {
    const cancel = systemClock.after(graceMs, () => {
      this.#givenUp = true;
    });
    if (this.#flushing || this.#tryingApart > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
    cancel();
    this.#connection?.release(true);
    this.#connection = undefined;
  }

  /** Nothing is tried again any more. */
  get #over(): boolean {
    return this.#givenUp || this.#database.closed;
  }

  async #flushAll(): Promise<void> {
    this.#flushing = true;
    try {
      while (this.#queue.length > 0) await this.#flush(this.#take());
    } finally {
      this.#flushing = false;
      this.#settleIdle();
    }
  }

  #settleIdle(): void {
    if (this.#flushing || this.#tryingApart > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** One append of a run at a time: two numbers of it in one statement would leave its row with the older one's word. */
  #take(): Pending[] {
    const taken: Pending[] = [];
    const left: Pending[] = [];
    const runs = new Set<string>();
    for (const pending of this.#queue) {
      const fits = taken.length < mostRows && !runs.has(pending.row.run);
      (fits ? taken : left).push(pending);
      if (fits) runs.add(pending.row.run);
    }
    this.#queue.splice(0, this.#queue.length, ...left);
    return taken;
  }

  async #flush(batch: readonly Pending[]): Promise<void> {
    try {
      await this.#untilKnown(() => this.#offerTogether(batch));
    } catch (error) {
      if (this.#over) for (const { reject } of batch) reject(storeError(error, "an append was given up"));
      else if (batch.length === 1) this.#setApart(batch[0]!, error);
      // A bad row, or one that is locked, fails the whole statement, and nothing was written: row by row its neighbours go through.
      else for (const pending of batch) await this.#flush([pending]);
    }
  }

  /** What is locked is tried apart, so that the flusher goes on; what is refused is the caller's to know. */
  #setApart(pending: Pending, error: unknown): void {
    if (!classifySqlError(error)?.lockTimeout) {
      pending.reject(storeError(error, "an append failed"));
      return;
    }
    this.#apart.push(pending);
    if (this.#tryingApart < mostApart) void this.#tryApart();
  }

  async #tryApart(): Promise<void> {
    this.#tryingApart += 1;
    for (let pending = this.#apart.shift(); pending !== undefined; pending = this.#apart.shift()) {
      const current = pending;
      try {
        await this.#untilKnown(async () => {
          const connection = await this.#database.connect();
          try {
            await this.#offerOne(connection, current, patientLockTimeoutMs);
          } finally {
            connection.release();
          }
        });
      } catch (error) {
        if (classifySqlError(error)?.lockTimeout && !this.#over) this.#apart.push(current);
        else current.reject(storeError(error, "an append failed"));
      }
    }
    this.#tryingApart -= 1;
    this.#settleIdle();
  }

  /** Again and again while the connection is the trouble. CRASH: the offer may be in; whoever takes the run up reads it. */
  async #untilKnown(offer: () => Promise<void>): Promise<void> {
    let lastError: unknown;
    await retryStatement(
      async () => {
        try {
          await offer();
        } catch (error) {
          lastError = error;
          // Another try of the same statement would meet the same lock, or the same bad row.
          const failure = classifySqlError(error);
          if (!failure?.transient || failure.lockTimeout) return;
          throw error;
        }
        lastError = undefined;
      },
      {
        patienceMs: Number.POSITIVE_INFINITY,
        wanted: () => !this.#over,
        onRetry: (error) => this.#database.noteTrouble(error),
      },
    );
    if (lastError !== undefined) throw lastError;
  }

  async #offerTogether(batch: readonly Pending[]): Promise<void> {
    const connection = await this.#connect();
    if (batch.length === 1) return this.#offerOne(connection, batch[0]!, lockTimeoutMs);
    const rows = batch.map((pending) => pending.row);
    const appended = await appendRows(connection, rows, { lockTimeoutMs, now: this.#database.nowOverride() });
    await this.#settle(connection, batch, appended);
  }

  async #offerOne(runner: Runner, pending: Pending, timeoutMs: number): Promise<void> {
    const sentAt = this.#database.clock.mark();
    const options = { lockTimeoutMs: timeoutMs, now: this.#database.nowOverride() };
    const row = await appendRow(runner, pending.row, options);
    if (row === undefined) return this.#settle(runner, [pending], new Map());
    this.#database.clock.observe(row.at, sentAt);
    pending.resolve({ kind: "appended", row });
  }

  /** Matched by nonce, never by number: what did not come back may be in since a try whose answer was lost. */
  async #settle(runner: Runner, batch: readonly Pending[], appended: ReadonlyMap<string, AppendedRow>): Promise<void> {
    const missing = batch.filter(({ row }) => !appended.has(row.nonce));
    const present =
      missing.length === 0
        ? new Map()
        : await readNonces(
            runner,
            missing.map(({ row }) => row),
          );
    for (const pending of batch) {
      const { nonce, run, number } = pending.row;
      const row = appended.get(nonce) ?? present.get(`${run}/${number}`);
      if (row === undefined)
        pending.reject(
          new StoreError("store.run_gone", "the run was removed from the database while it was written to"),
        );
      else pending.resolve(row.nonce === nonce ? { kind: "appended", row } : { kind: "taken" });
    }
  }

  async #connect(): Promise<Connection> {
    if (this.#connection?.broken) {
      this.#connection.release(true);
      this.#connection = undefined;
    }
    this.#connection ??= await this.#database.keep();
    return this.#connection;
  }
}
