// WHAT THE STORE CALLS A DATABASE: its options, and what it offers to the files with statements. `db` makes one.

import type pg from "pg";
import { OptionsInvalidError } from "../errors/usage-errors.js";
import type { Clock } from "../platform/clock.js";
import type { LogSink } from "../platform/log.js";
import type { Connection } from "./connection.js";
import type { DatabaseClock } from "./database-clock.js";
import type { Runner, SqlRow, SqlValue, Statement } from "./sql.js";

/** Fewer connections than this can deadlock: two are kept for good, and a statement may need one while another waits. */
export const leastConnections = 4;

export interface DatabaseOptions {
  /** A connection string, or a `pg.Pool` of the caller's, which is never ended here. */
  readonly database: string | pg.Pool;
  /** Any identifier. Default `rubicon`. */
  readonly schema?: string;
  /** Behind a transaction pooler: no named statements, no session state. Default false. */
  readonly pooled?: boolean;
  /** Of our own pool. Default 10, least 4. */
  readonly maxConnections?: number;
  /** Of the pool for transactional steps, when `database` is a string. Default 5. */
  readonly maxTransactions?: number;
  /** How long a statement is tried again before `store.unavailable`, in milliseconds. Default 30,000. */
  readonly patienceMs?: number;
  readonly logger?: LogSink;
  readonly clock?: Clock;
  /** Replaces the database's clock: milliseconds since the epoch. For tests. */
  readonly now?: () => number;
  /** Called when a connection could not be opened, which is then tried once more: brings an embedded server up again. */
  readonly ensureServer?: () => Promise<void>;
}

/** `run` retries; each statement given to it must be safe to run twice. */
export interface Database extends Runner {
  /** The schema's own name, unquoted. */
  readonly schemaName: string;
  readonly pooled: boolean;
  readonly clock: DatabaseClock;
  readonly logger: LogSink;
  /** Milliseconds since the epoch by the database's clock. */
  now(): number;
  /** The `now` that statements take: null means that the database reads its own clock. */
  readonly nowOverride: () => number | null;
  /** One try; throws what `pg` threw. */
  once(statement: Statement, values: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /** A statement failed and is tried again: says so once an outage, however many statements there are. */
  noteTrouble(error: unknown): void;
  /** Tries `work` again while its failures are transient. Throws coded errors. */
  retry<T>(work: () => Promise<T>, options?: { readonly patienceMs?: number }): Promise<T>;
  /** One READ COMMITTED transaction, one try: commits when `work` resolves, throws what `pg` threw. */
  transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  connect(): Promise<Connection>;
  /** A connection to be held for long; destroyed when released, so that nothing set on it leaks into a user's pool. */
  keep(): Promise<Connection>;
  /** A connection for a transactional step, from a bounded supply of its own. */
  connectForStep(): Promise<Connection>;
  readonly closed: boolean;
  close(): Promise<void>;
}

/** @throws OptionsInvalidError */
export function refuseSmallPool({ database, maxConnections }: DatabaseOptions): void {
  const max = typeof database === "string" ? (maxConnections ?? leastConnections) : (database.options.max ?? 10);
  if (max >= leastConnections) return;
  const at = typeof database === "string" ? "maxConnections" : "database";
  throw new OptionsInvalidError("the database", [
    {
      at,
      fault: `a pool of ${max} is too small: give it at least ${leastConnections} connections, two of which are kept for good`,
    },
  ]);
}
