// WHAT AN ERROR OF THE OUTSIDE WORLD SAYS: HTTP statuses, SQLSTATEs, connection codes, policies that never called
// (design 1.6). Pure, and as safe as `read` is: it looks at values that it can't trust.

import { read } from "../errors/safe-text.js";

/** Whether trying again can help, and whether it may have happened. */
export interface Verdict {
  readonly retryable: boolean;
  readonly happened: "no" | "maybe";
  /** False when the body was never called. */
  readonly counted?: boolean;
}

export const tryAgain: Verdict = { retryable: true, happened: "maybe" };
const tryAgainForSure: Verdict = { retryable: true, happened: "no" };
export const giveUp: Verdict = { retryable: false, happened: "maybe" };
export const giveUpForSure: Verdict = { retryable: false, happened: "no" };
export const neverCalled: Verdict = { retryable: true, happened: "no", counted: false };

/** What `error` itself says, its causes not asked; undefined when it says nothing that is known. */
export function evidenceOf(error: unknown): Verdict | undefined {
  return statusVerdict(httpStatus(error)) ?? codeVerdict(error) ?? policyVerdict(error);
}

/** From `status`, `statusCode`, `response.status`, the first that is one. */
function httpStatus(error: unknown): number | undefined {
  const candidates = [read(error, "status"), read(error, "statusCode"), read(read(error, "response"), "status")];
  return candidates.map(asStatus).find((status) => status !== undefined);
}

function asStatus(value: unknown): number | undefined {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === "number" && Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined;
}

const refusedStatuses = new Set([400, 401, 402, 403, 404, 405, 406, 410, 413, 415, 422, 451]);
const tooEarlyOrTooMany = new Set([425, 429]);

function statusVerdict(status: number | undefined): Verdict | undefined {
  if (status === undefined) return undefined;
  if (tooEarlyOrTooMany.has(status)) return tryAgainForSure;
  if (refusedStatuses.has(status)) return giveUpForSure;
  return status === 408 || status >= 500 ? tryAgain : giveUp;
}

const neverReached = namesIn("ECONNREFUSED ENOTFOUND EAI_AGAIN");
const cutOff = namesIn(
  "ECONNRESET ECONNABORTED ETIMEDOUT ESOCKETTIMEDOUT EPIPE ENOTCONN EPROTO EADDRNOTAVAIL EHOSTUNREACH EHOSTDOWN " +
    "ENETUNREACH ENETDOWN ENETRESET EAI_FAIL ENODATA ESERVFAIL ETIMEOUT ERR_SOCKET_CLOSED ERR_SOCKET_CONNECTION_TIMEOUT " +
    "ERR_STREAM_PREMATURE_CLOSE ERR_STREAM_DESTROYED ERR_NETWORK ERR_HTTP2_STREAM_ERROR ERR_HTTP2_STREAM_CANCEL " +
    "ERR_HTTP2_SESSION_ERROR ERR_HTTP2_GOAWAY_SESSION",
);

function namesIn(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}

function codeVerdict(error: unknown): Verdict | undefined {
  const code = read(error, "code");
  if (typeof code !== "string") return undefined;
  if (neverReached.has(code)) return tryAgainForSure;
  if (cutOff.has(code) || /^UND_ERR_/.test(code)) return tryAgain;
  return isSqlState(code, error) ? sqlStateVerdict(code) : undefined;
}

const sqlClasses = namesIn(
  "00 01 02 03 08 09 0A 0B 0F 0L 0P 0Z 20 21 22 23 24 25 26 27 28 2B 2D 2F 34 38 39 3B 3D 3F 40 42 44 53 54 55 57 58 " +
    "72 F0 HV P0 XX",
);

/** Five characters of a class that Postgres has; of any class where the error says that it comes from a database. */
function isSqlState(code: string, error: unknown): boolean {
  if (!/^[0-9A-Z]{5}$/.test(code)) return false;
  return sqlClasses.has(code.slice(0, 2)) || typeof read(error, "severity") === "string";
}

const unavailableClasses = namesIn("08 53 57 58");
const unavailable = namesIn("40003 25006 25P03");

function sqlStateVerdict(code: string): Verdict {
  const sqlClass = code.slice(0, 2);
  if (unavailable.has(code) || unavailableClasses.has(sqlClass)) return tryAgain;
  return sqlClass === "40" || code === "55P03" ? tryAgainForSure : giveUp;
}

/** cockatiel's errors, by the marks that they carry: no second copy of it can be missed. */
function policyVerdict(error: unknown): Verdict | undefined {
  const marks = ["isBrokenCircuitError", "isHydratingCircuitError", "isBulkheadRejectedError"];
  if (marks.some((mark) => read(error, mark) === true)) return neverCalled;
  return read(error, "isTaskCancelledError") === true ? tryAgain : undefined;
}
