// ANY VALUE AS BOUNDED JSON, for what is kept of an error: readable, never exact (exact is the codec's business), and
// whatever the value does when it is looked at, this does not throw.

import { jsonBytes, printed, read, safeText } from "./safe-text.js";

/** Bytes that may still be written. Shared by all parts of one record, so that no part can crowd out the whole. */
export class Budget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Takes `bytes` if there are as many left. */
  spend(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  /** `text` made safe, cut to `limit` UTF-16 units and to the bytes that are left. */
  take(text: string, limit: number): string {
    let kept = safeText(text, Math.min(limit, this.#left));
    let bytes = jsonBytes(kept);
    while (bytes > this.#left && kept !== "") {
      kept = safeText(kept, Math.floor((kept.length * Math.max(0, this.#left)) / bytes));
      bytes = jsonBytes(kept);
    }
    this.#left -= bytes;
    return kept;
  }

  /** Lets `write` spend at most `limit` of what is left. */
  within<T>(limit: number, write: (share: Budget) => T): T {
    const given = Math.max(0, Math.min(limit, this.#left));
    const share = new Budget(given);
    const result = write(share);
    this.#left -= given - share.#left;
    return result;
  }
}

const longestText = 4_096;
const deepest = 8;

/** Names under which credentials travel. What they hold is not stored: errors of HTTP clients carry whole requests. */
const secret = new Set(["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "password"]);

/**
 * `value` as JSON: a BigInt as `"10n"`, a Date as ISO text, a Map as pairs, a Set as an array, bytes and streams as a
 * mark, cycles as `"[circular]"`, NaN and infinities as text; functions, symbols and `undefined` are dropped (`undefined`
 * comes back). Stops where the budget does. Keys that would reach a prototype are left out, credentials are redacted.
 */
export function jsonSafe(value: unknown, budget: Budget): unknown {
  return converted(value, budget, []);
}

function converted(value: unknown, budget: Budget, ancestors: readonly unknown[]): unknown {
  switch (typeof value) {
    case "string":
      return budget.take(value, longestText);
    case "bigint":
      return budget.take(`${value}n`, longestText);
    case "number":
      return budget.spend(24) ? (Number.isFinite(value) ? value : String(value)) : undefined;
    case "boolean":
      return budget.spend(5) ? value : undefined;
    case "object":
      if (value === null) return budget.spend(4) ? null : undefined;
      if (ancestors.includes(value)) return budget.take("[circular]", longestText);
      if (ancestors.length >= deepest) return budget.take(mark(value), longestText);
      try {
        return container(value, budget, [...ancestors, value]);
      } catch {
        return budget.take("[unreadable]", longestText);
      }
    default:
      return undefined;
  }
}

function container(value: object, budget: Budget, ancestors: readonly unknown[]): unknown {
  if (Array.isArray(value)) return items(value, budget, ancestors);
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return properties(value, budget, ancestors);
  if (value instanceof Date)
    return budget.take(Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString(), longestText);
  if (value instanceof Map || value instanceof Set) return items(value, budget, ancestors);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    return budget.take(`[${nameOf(value)} of ${value.byteLength} bytes]`, longestText);
  if (value instanceof RegExp || value instanceof URL) return budget.take(printed(value), longestText);
  if (value instanceof Number || value instanceof String || value instanceof Boolean)
    return converted(value.valueOf(), budget, ancestors);
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return converted(toJSON.call(value), budget, ancestors);
  // Sockets, requests and streams: large, cyclic, and full of headers.
  if (typeof read(value, "on") === "function" || typeof read(value, "pipe") === "function")
    return budget.take(mark(value), longestText);
  const own = properties(value, budget, ancestors);
  if (value instanceof Error)
    return {
      name: budget.take(printed(value.name), 256),
      message: budget.take(printed(value.message), longestText),
      ...own,
    };
  return Object.keys(own).length === 0 ? budget.take(mark(value), longestText) : own;
}

function items(values: Iterable<unknown>, budget: Budget, ancestors: readonly unknown[]): unknown[] {
  const result: unknown[] = [];
  for (const item of values) {
    if (!budget.spend(8)) break;
    result.push(converted(item, budget, ancestors) ?? null);
  }
  return result;
}

function properties(value: object, budget: Budget, ancestors: readonly unknown[]): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (!budget.spend(8)) break;
    const name = safeText(key, 256);
    if (isPrototypeKey(name)) continue;
    const item = secret.has(name.toLowerCase()) ? "[redacted]" : converted(read(value, key), budget, ancestors);
    if (item !== undefined && budget.spend(jsonBytes(name) + 2)) result[name] = item;
  }
  return result;
}

/** Whether setting `key` on an object could reach its prototype, or break what everything else expects of an object. */
export function isPrototypeKey(key: string): boolean {
  return key in Object.prototype;
}

function mark(value: object): string {
  return `[${nameOf(value)}]`;
}

function nameOf(value: object): string {
  const name = read(read(value, "constructor"), "name");
  return typeof name === "string" && name !== "" ? name : "object";
}
