// WHAT OF A ROW'S ENTRIES THE DATABASE MUST KNOW beside their text: names for people, and which rows later ones make
// superfluous. Pure; knows no SQL.

import type { Entry, StoredValue } from "../core/entry.js";
import { safeText } from "../errors/safe-text.js";

/** Names how the payload of a row is written: a JSON array of entries. */
export const entriesFormat = "entries";

const longestName = 200;

export interface RowFacts {
  readonly kind: string;
  readonly step?: string;
  readonly onlyLast?: string;
  readonly loss: boolean;
}

export function rowFacts(entries: readonly Entry[]): RowFacts {
  const step = entries.map((entry) => ("step" in entry ? entry.step : undefined)).find((name) => name !== undefined);
  const onlyLast = supersedable(entries);
  return {
    kind: entries.map((entry) => entry.kind).join("+"),
    loss: entries.some(
      (entry) => entry.kind === "handed_over" || (entry.kind === "taken_up" && entry.from !== undefined),
    ),
    ...(step === undefined ? {} : { step: safeText(step, longestName) }),
    ...(onlyLast === undefined ? {} : { onlyLast }),
  };
}

/**
 * A row that is nothing but a failed attempt, and at most the parking after it: its totals are in the next one of the same
 * step and direction (1.3). JSON, so that no two names fall together.
 */
function supersedable(entries: readonly Entry[]): string | undefined {
  const [failed, parked, ...more] = entries;
  if (failed?.kind !== "attempt_failed" || more.length > 0) return undefined;
  if (parked !== undefined && parked.kind !== "parked") return undefined;
  return JSON.stringify([failed.direction, failed.step]);
}

/** A column of text can hold neither NUL nor half of a surrogate pair; a codec's text may have both. */
const escapedPrefix = "escaped:";

export function packValue(value: StoredValue): StoredValue {
  if (!/\0|\p{Surrogate}/u.test(value.text)) return value;
  return { format: escapedPrefix + value.format, text: JSON.stringify(value.text) };
}

export function unpackValue(value: StoredValue): StoredValue {
  if (!value.format.startsWith(escapedPrefix)) return value;
  return { format: value.format.slice(escapedPrefix.length), text: JSON.parse(value.text) };
}
