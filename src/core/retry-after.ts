// HOW LONG THE OTHER SIDE ASKED US TO WAIT (design 1.6). Pure: an instant stays an instant until somebody brings a clock.

import { read } from "../errors/safe-text.js";

/** A wait, or an instant to wait for; neither when nothing was asked, or nothing that makes sense. */
export interface RetryAfter {
  /** Not before: milliseconds from when the error was thrown. From 0; `Infinity` allowed. */
  readonly retryAfterMs?: number;
  /** Not before: milliseconds since the epoch. */
  readonly retryAt?: number;
}

/** From the error's `retryAfter` (milliseconds or Date), else from the `Retry-After` of its response's headers. */
export function retryAfterOf(error: unknown): RetryAfter {
  const own = ownRetryAfter(read(error, "retryAfter"));
  if (own !== undefined) return own;
  const headers = [read(error, "headers"), read(read(error, "response"), "headers")];
  const found = headers.map(retryAfterHeader).find((value) => value !== undefined);
  return found === undefined ? {} : headerRetryAfter(found);
}

/** Milliseconds, or an instant; also one that was stored as text. */
function ownRetryAfter(value: unknown): RetryAfter | undefined {
  if (typeof value === "number") return value >= 0 ? { retryAfterMs: value } : undefined;
  if (value instanceof Date)
    return instant(read(value, "getTime") === Date.prototype.getTime ? value.getTime() : Number.NaN);
  return typeof value === "string" && !isSeconds(value) ? instant(Date.parse(value)) : undefined;
}

/** RFC 9110, 10.2.3: seconds, or an HTTP date. */
function headerRetryAfter(value: string): RetryAfter {
  if (isSeconds(value)) return { retryAfterMs: Number(value) * 1_000 };
  return instant(Date.parse(value)) ?? {};
}

/** `Date.parse` would take a plain number for a year. */
function isSeconds(value: string): boolean {
  return /^\s*\d+(\.\d+)?\s*$/.test(value);
}

function instant(ms: number): RetryAfter | undefined {
  return Number.isFinite(ms) ? { retryAt: ms } : undefined;
}

/** From a `Headers`, or an object or Map by name in any case. */
function retryAfterHeader(headers: unknown): string | undefined {
  if (typeof headers !== "object" || headers === null) return undefined;
  try {
    const { get } = headers as { get?: unknown };
    const got: unknown = typeof get === "function" ? get.call(headers, "retry-after") : undefined;
    const value = got ?? valueByName(headers);
    const first: unknown = Array.isArray(value) ? value[0] : value;
    return typeof first === "string" || typeof first === "number" ? String(first) : undefined;
  } catch {
    return undefined;
  }
}

function valueByName(headers: object): unknown {
  const entries = headers instanceof Map ? [...headers] : Object.entries(headers);
  return entries.find(([name]) => String(name).toLowerCase() === "retry-after")?.[1];
}
