// TIMES AS PEOPLE READ THEM. Instants in UTC, so that two people in two places read the same.

/** `2025-11-30 22:14:57 UTC`. */
export function instantText(at: Date): string {
  return Number.isNaN(at.getTime()) ? "an unknown time" : `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** `0.031s`, `12.5s`, `3m 20s`, `2h 05m`, `4d 03h`. */
export function spanText(ms: number): string {
  if (!Number.isFinite(ms)) return "ever";
  if (ms < 0) return `-${spanText(-ms)}`;
  if (ms < 10 * second) return `${(ms / second).toFixed(3)}s`;
  if (ms < minute) return `${(ms / second).toFixed(1)}s`;
  if (ms < hour) return `${two(ms, minute, second, "m", "s")}`;
  if (ms < day) return `${two(ms, hour, minute, "h", "m")}`;
  return two(ms, day, hour, "d", "h");
}

function two(ms: number, big: number, small: number, bigUnit: string, smallUnit: string): string {
  const rest = Math.floor((ms % big) / small);
  return `${Math.floor(ms / big)}${bigUnit} ${String(rest).padStart(2, "0")}${smallUnit}`;
}
