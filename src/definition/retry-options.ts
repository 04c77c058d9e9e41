// WHEN AND HOW OFTEN TO TRY AGAIN, as people write it, read into milliseconds. The defaults are core's (design 1.6).

import type { Fault } from "../errors/usage-errors.js";
import { type Duration, readDuration } from "./duration.js";
import { shownValue, unknownOptions } from "./option-faults.js";
import type { RetryOverride } from "./saga.js";

/** Exponential, jittered between half and whole. What is absent is taken from the executor's options, then the defaults. */
export interface RetryOptions {
  /**
   * Executions, not retries: 3 means 3, and 1 means never begun twice. A whole number from 1, or `Infinity`. Default 8
   * before the pivot, `Infinity` for the pivot, after it and for compensations.
   */
  readonly maxAttempts?: number | undefined;
  /** Before the second execution. Default 250 ms. */
  readonly firstDelay?: Duration | undefined;
  /** The longest wait. Default 30 s; 15 min after the pivot and for compensations. */
  readonly maxDelay?: Duration | undefined;
  /** What the delay grows by each time: a number from 1. Default 2. */
  readonly factor?: number | undefined;
}

const names = ["maxAttempts", "firstDelay", "maxDelay", "factor"];

/** Reads {@link RetryOptions} without throwing. `at` is the option's name; each fault's `at` begins with it. */
export function readRetry(
  value: unknown,
  at: string,
): { readonly retry: RetryOverride; readonly faults: readonly Fault[] } {
  if (value === undefined) return { retry: {}, faults: [] };
  if (typeof value !== "object" || value === null)
    return { retry: {}, faults: [{ at, fault: `${shownValue(value)} is not an object with ${names.join(", ")}` }] };
  const given = value as Readonly<Record<string, unknown>>;
  const faults: Fault[] = unknownOptions(given, names, `${at}.`);
  const retry: { -readonly [K in keyof RetryOverride]: RetryOverride[K] } = {};

  const { maxAttempts, factor } = given;
  if (isAttempts(maxAttempts)) retry.maxAttempts = maxAttempts;
  else if (maxAttempts !== undefined)
    faults.push({
      at: `${at}.maxAttempts`,
      fault: `${shownValue(maxAttempts)} is not a whole number from 1, or Infinity`,
    });
  if (typeof factor === "number" && factor >= 1 && Number.isFinite(factor)) retry.factor = factor;
  else if (factor !== undefined)
    faults.push({ at: `${at}.factor`, fault: `${shownValue(factor)} is not a finite number from 1` });
  for (const [name, target] of [
    ["firstDelay", "firstDelayMs"],
    ["maxDelay", "maxDelayMs"],
  ] as const) {
    if (given[name] === undefined) continue;
    const read = readDuration(given[name]);
    if ("fault" in read) faults.push({ at: `${at}.${name}`, fault: read.fault });
    else retry[target] = read.ms;
  }
  if (retry.firstDelayMs !== undefined && retry.maxDelayMs !== undefined && retry.firstDelayMs > retry.maxDelayMs)
    faults.push({ at: `${at}.firstDelay`, fault: "is longer than maxDelay" });
  return { retry, faults };
}

function isAttempts(value: unknown): value is number {
  return typeof value === "number" && value >= 1 && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY);
}
