// WHAT OF A ROW'S ENTRIES THE DATABASE MUST KNOW beside their text: names for people, and which rows later ones make
// superfluous. Pure; knows no SQL.

import type { Entry, Row, StoredValue } from "../core/entry.js";
import type { Projection } from "../core/projection.js";
import { safeText } from "../errors/safe-text.js";
import { StoreError } from "../errors/store-errors.js";
import { readEntries, writeEntries } from "./entries-text.js";
import type { Offer } from "./journal.js";

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
  try {
    return { format: value.format.slice(escapedPrefix.length), text: JSON.parse(value.text) };
  } catch {
    // Damaged: no codec has this format, so whoever reads the value is told, and nobody else.
    return value;
  }
}

/** A row as it was stored. */
interface StoredText {
  readonly number: number;
  readonly format: string;
  readonly payload: string;
  readonly nonce: string;
  readonly at: number;
}

/** @throws StoreError `journal.unreadable`: this run's trouble alone. */
export function readRow(row: StoredText, runId: string): Row {
  const { number, at, nonce, format, payload } = row;
  if (format !== entriesFormat)
    throw new StoreError(
      "journal.unreadable",
      `row ${number} of run "${runId}" is written as "${format}", which this code can't read. Deploy the version that wrote it, or a newer one.`,
    );
  return { number, at, nonce, entries: readEntries(payload) };
}

/** A token, or a person's name: for the reader of the table. */
const longestWriter = 500;

/** What the store must know of an offer. For the transactional steps' own statement too. */
export function newRowOf(offer: Offer) {
  const { header, number, nonce, writer, entries, projection } = offer;
  return {
    run: header.key,
    number,
    nonce,
    writer: safeText(writer, longestWriter),
    format: entriesFormat,
    payload: writeEntries(entries),
    ...rowFacts(entries),
    ...(projection === undefined ? {} : { change: changeOf(projection, entries, header.parent) }),
  };
}

function changeOf(projection: Projection, entries: readonly Entry[], parent: string | undefined) {
  const taken = entries.findLast((entry) => entry.kind === "taken_up");
  const finished = entries.findLast((entry) => entry.kind === "finished");
  const failed = entries.findLast(
    (entry) => entry.kind === "step_failed" || entry.kind === "compensation_failed" || entry.kind === "function_failed",
  );
  return {
    status: projection.status,
    claim: projection.claim,
    dueAt: projection.dueAt,
    crashes: projection.crashes,
    cancelRequested: projection.cancelRequestedAt !== undefined,
    cancelRefused: projection.cancelRefusedAt !== undefined,
    owed: projection.owed,
    ...(projection.owner === undefined ? {} : { owner: projection.owner }),
    ...(taken === undefined ? {} : { ownerWorker: taken.worker }),
    ...(parent === undefined || projection.claim !== "ended" ? {} : { parent }),
    ...(finished?.output === undefined ? {} : { output: packValue(finished.output) }),
    ...(finished === undefined || failed === undefined ? {} : { error: JSON.stringify(failed.error) }),
  };
}
