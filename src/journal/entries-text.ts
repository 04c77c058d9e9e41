// A ROW'S ENTRIES AS STORED TEXT: one JSON array. Values and errors inside it are text and JSON already; nothing here
// looks into them. Every journal writes and reads through this, so none can be more exact than another.

import type { Entry } from "../core/entry.js";
import { StoreError } from "../errors/store-errors.js";

/** What `readEntries` reads. A field that is undefined is as good as absent, and comes back absent. */
export function writeEntries(entries: readonly Entry[]): string {
  return JSON.stringify(entries, (key, value: unknown) => {
    // JSON would turn it into null in silence, and the fold would read that as 1970.
    if (typeof value === "number" && !Number.isFinite(value))
      throw new RangeError(`an entry can't hold ${value} in "${key}": it would not come back`);
    return value;
  });
}

/** The entries of a row, frozen. @throws StoreError `journal.unreadable` */
export function readEntries(text: string): readonly Entry[] {
  let entries: unknown;
  try {
    entries = JSON.parse(text, (_key, value: unknown) => Object.freeze(value));
  } catch (cause) {
    throw unreadable("its text is damaged", cause);
  }
  if (!Array.isArray(entries) || !entries.every(isEntryLike)) throw unreadable("it does not hold a list of entries");
  return entries;
}

function isEntryLike(entry: unknown): entry is Entry {
  return typeof entry === "object" && entry !== null && typeof (entry as { kind?: unknown }).kind === "string";
}

function unreadable(why: string, cause?: unknown): StoreError {
  return new StoreError(
    "journal.unreadable",
    `a row of the journal can't be read: ${why}`,
    cause === undefined ? {} : { cause },
  );
}
