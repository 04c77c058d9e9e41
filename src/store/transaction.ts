// A TRANSACTIONAL STEP: the user's SQL and the step's entry commit together, or neither does (design 1.10, 3.2). The number
// is taken last. Whether the entry is still right is decided by the caller.

import { StoreError } from "../errors/store-errors.js";
import { UsageError } from "../errors/usage-errors.js";
import { systemClock } from "../platform/clock.js";
import type { Connection } from "./connection.js";
import type { Database } from "./db.js";
import { type AppendedRow, appendRow, type NewRow } from "./entries.js";
import { rowsAfter, type StoredRow } from "./journal-rows.js";
import { numberOf, type Statement, textOf } from "./sql.js";
import { classifySqlError, sqlStateOf, storeError } from "./sql-error.js";

/** What a step's body gets. */
export interface StepTransaction {
  /** As `pg`'s own. @throws UsageError `transaction.over` once the attempt is over */
  query(text: string, values?: readonly unknown[]): Promise<{ rows: any[]; rowCount: number | null }>;
}

export type Committed =
  | { readonly kind: "committed"; readonly written: NewRow; readonly appended: AppendedRow }
  /** The caller took back its entry, having read these rows: everything was undone. */
  | { readonly kind: "void"; readonly rows: readonly StoredRow[] }
  /** The connection was lost before the commit, or at it, and the server says that it did not take place: everything was undone. */
  | { readonly kind: "undone"; readonly error: unknown };

export interface OpenStepTransaction {
  readonly tx: StepTransaction;
  /**
   * Inserts `row` as the last thing and commits only once it is in. If its number is taken, `again` gets the rows from that
   * number on, read in this transaction, and gives the row that is now right, or undefined to undo everything.
   *
   * @throws UsageError `transaction.ended_by_step`; StoreError `transaction.failed` when a statement of the body failed. Nothing was kept
   */
  commit(row: NewRow, again: (rows: readonly StoredRow[]) => NewRow | undefined): Promise<Committed>;
  /** The body threw: undoes everything. */
  rollback(): Promise<void>;
  /** The body did not settle: its connection is destroyed, and its backend ended, so that it holds no lock any more. */
  abandon(): void;
  /** Whether the connection was lost: the server has undone everything, whatever the body says. */
  readonly broken: boolean;
}

const identify: Statement = () =>
  "select pg_current_xact_id()::text as xid, pg_backend_pid()::text as pid, set_config('idle_in_transaction_session_timeout', $1::text, true)::text as idle";

const presentXid: Statement = () => "select pg_current_xact_id_if_assigned()::text as xid";

/** `in progress`, `committed`, `aborted`: what became of a commit whose answer was lost. */
const fateOf: Statement = () => "select pg_xact_status($1::xid8)::text as fate";

const terminate: Statement = () =>
  "select pg_terminate_backend(a.pid)::text as ended from pg_stat_activity a where a.pid = $1::integer and a.backend_xid::text = ($2::xid8)::xid::text";

/** Refused before it is sent; savepoints are the body's to use. What hides behind a function is found out at the end. */
const endsTransaction =
  /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/|;)*(?:commit|end|abort|begin|start\s+transaction|prepare\s+transaction|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b))\b/i;

function endedByStep(): UsageError {
  return new UsageError(
    "transaction.ended_by_step",
    "the body of a transactional step may not end its transaction. Leave COMMIT and ROLLBACK to the library; use savepoints.",
  );
}

/**
 * Begins one, on a connection from a bounded supply.
 * @param idleMs how long the transaction may idle before the server ends it; `Infinity`: no limit
 */
export async function openStepTransaction(database: Database, idleMs: number): Promise<OpenStepTransaction> {
  return database.retry(async () => {
    const connection = await database.connectForStep();
    try {
      await connection.begin();
      const idle = Number.isFinite(idleMs) ? Math.min(Math.max(1, Math.ceil(idleMs)), 2 ** 31 - 1) : 0;
      const [begun] = await connection.run(identify, [String(idle)]);
      return new PgStepTransaction(database, connection, { xid: textOf(begun!, "xid"), pid: numberOf(begun!, "pid") });
    } catch (error) {
      connection.release(true);
      throw error;
    }
  });
}

class PgStepTransaction implements OpenStepTransaction {
  readonly tx: StepTransaction;
  readonly #database: Database;
  readonly #connection: Connection;
  readonly #identity: { readonly xid: string; readonly pid: number };
  #over = false;

  constructor(database: Database, connection: Connection, identity: { xid: string; pid: number }) {
    this.#database = database;
    this.#connection = connection;
    this.#identity = identity;
    this.tx = Object.freeze({
      query: async (text: string, values?: readonly unknown[]) => {
        if (this.#over)
          throw new UsageError(
            "transaction.over",
            "the step's attempt is over: await every query before the body returns",
          );
        if (endsTransaction.test(text)) throw endedByStep();
        return connection.raw(text, values);
      },
    });
  }

  get broken(): boolean {
    return this.#connection.broken;
  }

  async commit(row: NewRow, again: (rows: readonly StoredRow[]) => NewRow | undefined): Promise<Committed> {
    this.#over = true;
    try {
      await this.#refuseEnded();
      let offered: NewRow | undefined = row;
      let rows: readonly StoredRow[] = [];
      while (offered !== undefined) {
        const appended = await appendRow(this.#connection, offered, {
          lockTimeoutMs: 0,
          now: this.#database.nowOverride(),
        });
        if (appended !== undefined) return await this.#settle(offered, appended);
        rows = await rowsAfter(this.#connection, row.run, offered.number - 1);
        offered = again(rows);
      }
      await this.rollback();
      return { kind: "void", rows };
    } catch (error) {
      await this.rollback();
      if (classifySqlError(error)?.broken && sqlStateOf(error) !== "25P02")
        return { kind: "undone", error: storeError(error, "the step's transaction was lost") };
      // 25P02: a statement of the body failed and the body went on. Its own error is long gone.
      if (sqlStateOf(error) !== "25P02") throw error;
      throw new StoreError(
        "transaction.failed",
        "a statement of the step failed, and with it the transaction. Let the body throw, or use a savepoint.",
        { cause: error },
      );
    } finally {
      this.#connection.release();
    }
  }

  /** The row is in, so the number is ours if we commit. CRASH: before the commit all is undone, after it all is there. */
  async #settle(written: NewRow, appended: AppendedRow): Promise<Committed> {
    try {
      const { command } = await this.#connection.control("commit");
      if (command === "COMMIT") return { kind: "committed", written, appended };
      return { kind: "undone", error: new StoreError("store.unavailable", "the server rolled the transaction back") };
    } catch (error) {
      this.#connection.release(true);
      // A deferred constraint: the server answered, so nothing was kept.
      if (sqlStateOf(error) !== undefined && !this.#connection.broken) throw error;
      return (await this.#fate()) === "committed"
        ? { kind: "committed", written, appended }
        : { kind: "undone", error };
    }
  }

  /** Reading the journal would not do: absence proves nothing while the commit may still land. */
  async #fate(): Promise<string> {
    const forever = { patienceMs: Number.POSITIVE_INFINITY };
    for (;;) {
      const [row] = await this.#database.retry(() => this.#database.once(fateOf, [this.#identity.xid]), forever);
      const fate = row?.fate ?? "aborted";
      if (fate !== "in progress") return fate;
      await new Promise<void>((resolve) => systemClock.after(20, resolve));
    }
  }

  /** A COMMIT or ROLLBACK of the body's own would leave the entry in another transaction than its effects. */
  async #refuseEnded(): Promise<void> {
    const [now] = await this.#connection.run(presentXid, []);
    if (now?.xid === this.#identity.xid) return;
    throw endedByStep();
  }

  async rollback(): Promise<void> {
    this.#over = true;
    await this.#connection.control("rollback").then(
      () => this.#connection.release(),
      () => this.#connection.release(true),
    );
  }

  abandon(): void {
    this.#over = true;
    this.#connection.release(true);
    const { pid, xid } = this.#identity;
    this.#database.once(terminate, [pid, xid]).catch(() => {});
  }
}
