// WHAT A FAILED STATEMENT MEANS: trying again may help, the connection is spent, or somebody has to act, and what to do.
// Pure: looks at SQLSTATE and socket codes only (design 3.2, 4.5).

import { StoreError } from "../errors/store-errors.js";

/** What became of a statement that failed. */
export interface SqlFailure {
  readonly code: string;
  /** The same statement may succeed later, or on another connection. */
  readonly transient: boolean;
  /** The connection must not be used again. */
  readonly broken: boolean;
  /** A lock was waited for longer than `lock_timeout`: nothing was written. */
  readonly lockTimeout: boolean;
  /** What to do about it. */
  readonly advice: string;
}

const unreachable = {
  code: "store.unavailable",
  transient: true,
  broken: true,
  lockTimeout: false,
  advice: "The database can't be reached. Look at its host, port and log.",
};

const socketCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENETDOWN",
  "EADDRNOTAVAIL",
  "ENOENT",
]);

/** How `pg` words the loss of a connection that has no code. */
const lostConnection =
  /^(connection terminated|client has encountered a connection error|client was closed|timeout exceeded when trying to connect|timeout expired|query read timeout|the server does not support ssl|cannot use a pool after calling end)/i;

function failure(code: string, advice: string, traits: Partial<SqlFailure> = {}): SqlFailure {
  return { code, advice, transient: false, broken: false, lockTimeout: false, ...traits };
}

/** The SQLSTATE of an error that the server sent. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error);
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !socketCodes.has(code) ? code : undefined;
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null ? (error as { code?: unknown }).code : undefined;
}

/** Undefined for what no database said: a bug of ours, or of the caller's. */
export function classifySqlError(error: unknown): SqlFailure | undefined {
  const state = sqlStateOf(error);
  if (state !== undefined) return classifySqlState(state);
  const code = codeOf(error);
  if (typeof code === "string" && socketCodes.has(code)) return unreachable;
  if (error instanceof AggregateError && error.errors.some((each) => classifySqlError(each)?.transient))
    return unreachable;
  return error instanceof Error && lostConnection.test(error.message) ? unreachable : undefined;
}

function classifySqlState(state: string): SqlFailure {
  switch (state) {
    case "25006":
      return failure(
        "store.read_only",
        "The database takes no writes: it is a standby, or `default_transaction_read_only` is on. Point at the primary.",
        { transient: true, broken: true },
      );
    case "55P03":
      return failure("store.unavailable", "A row is locked by a transaction that stays open.", {
        transient: true,
        lockTimeout: true,
      });
    case "42501":
      return failure("store.forbidden", "The role lacks a right. Grant it, or use a role that has it.");
    case "3D000":
      return failure("store.no_database", "There is no such database. Create it, or mend the connection string.");
    case "3F000":
    case "42P01":
    case "42703":
    case "42883":
      return failure("schema.incomplete", "Run `rubicon migrate`, or pass `migrate: true`.");
    case "26000":
    case "42P05":
      return failure("store.unavailable", "Behind a transaction pooler, pass `pooled: true`.", {
        transient: true,
        broken: true,
      });
    case "0A000":
      return failure("store.unavailable", "A table changed while a plan was cached; the connection is replaced.", {
        transient: true,
        broken: true,
      });
    case "25P02":
      return failure("store.unavailable", "The transaction had failed before.", { transient: true, broken: true });
  }
  switch (state.slice(0, 2)) {
    case "08":
    case "57":
    case "58":
    case "XX":
      return { ...unreachable, advice: "The database ended the connection or is not ready. Look at its log." };
    case "25":
      return failure("store.unavailable", "The transaction was ended by the server.", {
        transient: true,
        broken: true,
      });
    case "53":
      return failure(
        "store.unavailable",
        "The database is out of connections, memory or disk. Raise `max_connections`, or use a smaller pool.",
        { transient: true, broken: true },
      );
    case "40":
      return failure("store.unavailable", "The statement lost a race and may be tried again.", { transient: true });
    case "28":
      return failure("store.forbidden", "The database refused the role or its password. Mend the connection string.");
    default:
      return failure("store.rejected", "The database refused the statement; nothing was written.");
  }
}

/** The coded error for whatever a statement threw. An error that no database sent is returned as it is. */
export function storeError(error: unknown, what: string): unknown {
  if (error instanceof StoreError) return error;
  const known = classifySqlError(error);
  if (known === undefined) return error;
  return new StoreError(known.code, `${what}: ${messageOf(error)}. ${known.advice}`, { cause: error });
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
