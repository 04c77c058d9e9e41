// HOW LONG: durations as people write them, and as milliseconds. Knows nothing of clocks.

import { OptionsInvalidError } from "../errors/usage-errors.js";
import { shownValue } from "./option-faults.js";

/**
 * A length of time: `"250ms"`, `"30s"`, `"15m"`, `"24h"`, `"7d"`, or a number of milliseconds. Decimals are fine
 * (`"1.5h"`) and are rounded to whole milliseconds; signs, spaces and exponents are refused at run time. At most 36,500
 * days. `Infinity` is accepted only where an option says so.
 */
export type Duration = number | `${number}ms` | `${number}s` | `${number}m` | `${number}h` | `${number}d`;

/** What a place that takes a duration accepts beyond the ordinary. */
export interface DurationRange {
  /** Whether `Infinity` means "without limit" here. Default false. */
  readonly infinite?: boolean;
  /** Whether zero is refused here. Default false. */
  readonly positive?: boolean;
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** 100 years: longer ones overflow what a date can hold. */
const maxMs = 36_500 * unitMs.d;

/** Reads a duration without throwing: its milliseconds, or what is wrong with it, for callers that collect faults. */
export function readDuration(
  value: unknown,
  range: DurationRange = {},
): { readonly ms: number } | { readonly fault: string } {
  const ms = typeof value === "number" ? value : typeof value === "string" ? parsed(value) : Number.NaN;
  const accepted = `a duration such as "250ms", "30s", "15m", "24h", "7d", or a number of milliseconds${
    range.infinite ? ", or Infinity" : ""
  }`;
  const refused = (why: string) => ({ fault: `${shownValue(value)} ${why}; give ${accepted}` });
  if (Number.isNaN(ms)) return refused("is not a duration");
  if (ms < 0) return refused("is negative");
  if (ms === Number.POSITIVE_INFINITY) return range.infinite ? { ms } : refused("is not allowed here");
  if (ms > maxMs) return refused("is longer than 36500d");
  if (ms === 0 && range.positive) return refused("is not more than zero");
  return { ms: ms === 0 ? 0 : Math.max(1, Math.round(ms)) };
}

/**
 * A duration's milliseconds. `at` names the option in the error.
 *
 * @throws OptionsInvalidError (`options.invalid`) when it is negative, NaN, malformed, or infinite where that is not allowed
 */
export function durationMs(value: Duration, at = "duration", range: DurationRange = {}): number {
  const read = readDuration(value, range);
  if ("fault" in read) throw new OptionsInvalidError("this call", [{ at, fault: read.fault }]);
  return read.ms;
}

/** A duration as one would write it: the largest unit that divides it (`"90m"`, `"2h"`), or `"Infinity"`. */
export function durationText(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return "Infinity";
  for (const unit of ["d", "h", "m", "s"] as const)
    if (ms > 0 && ms % unitMs[unit] === 0) return `${ms / unitMs[unit]}${unit}`;
  return `${ms}ms`;
}

function parsed(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text);
  return match === null ? Number.NaN : Number(match[1]) * unitMs[match[2] as keyof typeof unitMs];
}
