// THE RECORD, as a port: start a run, load its journal, append one row at a number. Nothing else is remembered about a
// run (design 1.2). Every implementation passes one conformance suite.

import type { Entry, Row, StoredValue } from "../core/entry.js";
import type { Projection, RunStatus } from "../core/projection.js";
import type { Shape } from "../definition/shape.js";

/** What runs can be found by: at most 64 keys, 8 KiB as JSON. Numbers are finite. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** What a start records about a run; it never changes. */
export interface RunStart {
  readonly runId: string;
  readonly saga: string;
  readonly version: number;
  readonly shape: Shape;
  readonly input: StoredValue;
  /** Of the canonical form of the parsed input: tells the same start from another (1.9). */
  readonly inputDigest: string;
  /** Milliseconds since the epoch; undefined means now, by the journal's clock. */
  readonly startAt?: number;
  /** A head start in seconds. */
  readonly priority: number;
  /** The key of the run whose child this is: it is woken when this one ends. */
  readonly parent?: string;
  readonly attributes?: Attributes;
  /** Runs of one saga and tenant with the same lane share a number of places; absent: the run needs none. */
  readonly lane?: string;
  /** With `lane`: how many places it has, for workers whose own definition of the saga says nothing. */
  readonly places?: number;
}

/** A started run. */
export interface RunHeader extends Omit<RunStart, "startAt" | "places"> {
  /** The journal's own key of the run: never reused, opaque. */
  readonly key: string;
  /** Whose run it is; absent: of no tenant. */
  readonly tenant?: string;
  readonly createdAt: number;
  readonly startAt: number;
}

/** A run's start and its journal. */
export interface LoadedRun {
  readonly header: RunHeader;
  /** Oldest first. Failed attempts that a later one of the same step makes superfluous may be left out. */
  readonly rows: readonly Row[];
}

/** One row, offered at one number. */
export interface Offer {
  readonly header: RunHeader;
  /** The last number seen plus one. */
  readonly number: number;
  readonly nonce: string;
  /** The owner's token, or who else writes: kept for the reader of the journal. */
  readonly writer: string;
  readonly entries: readonly Entry[];
  /** What the run's row shows from now on; absent when the row changes nothing of it. */
  readonly projection?: Projection;
}

/** `row` is what was stored, decoded again. `taken`: another's row has that number, and nothing of the offer was written. */
export type AppendResult = { readonly kind: "appended"; readonly row: Row } | { readonly kind: "taken" };

/** What a list asks for. */
export interface RunQuery {
  /** Any of these; absent: all. */
  readonly status?: readonly RunStatus[];
  readonly saga?: string;
  /** All of these; at least one. */
  readonly attributes?: Attributes;
  readonly limit: number;
  /** What the page before gave: opaque, stable while runs are inserted. */
  readonly cursor?: string;
}

/** A run as its row shows it, without its journal. Instants are milliseconds since the epoch. */
export interface RunLine {
  readonly runId: string;
  readonly saga: string;
  readonly version: number;
  readonly shape: Shape;
  readonly status: RunStatus;
  readonly attributes?: Attributes;
  readonly owed: readonly string[];
  readonly createdAt: number;
  readonly endedAt?: number;
  readonly cancelRequestedAt?: number;
  readonly cancelRefusedAt?: number;
}

/** What became of a start. */
export interface Begun {
  readonly header: RunHeader;
  readonly created: boolean;
}

/** Throws when the run that has the id is not the one that was to be started (1.9). */
export type CheckSame = (start: RunStart, existing: RunHeader) => void;

export interface Journal {
  /**
   * Records a run, unless the id exists: then its header comes back with `created: false`, whatever it is of. With
   * `takenUp` the run and its first row are written together (`execute`).
   */
  start(
    start: RunStart,
    takenUp?: { readonly entry: Entry; readonly nonce: string },
  ): Promise<{
    readonly header: RunHeader;
    readonly created: boolean;
    /** The row of `takenUp`, when the run was created with it. */
    readonly row?: Row;
  }>;
  /**
   * Records runs of one saga with one `startAt` and `priority`, all or none: `check` is asked about each whose id exists, and
   * when it throws nothing is written. What became of each, in their order; of two with one id the second was there.
   */
  startMany(starts: readonly RunStart[], check: CheckSame): Promise<readonly Begun[]>;
  /** The run by its public id, with the rows after `after` (default: all). Undefined when there is none. */
  load(runId: string, after?: number): Promise<LoadedRun | undefined>;
  /** What was started, whatever its journal holds: also of a run whose rows can't be read. */
  find(runId: string): Promise<RunHeader | undefined>;
  /** Every row, for a reader of the history: also the failed attempts that `load` may leave out. */
  allRows(header: RunHeader): Promise<readonly Row[]>;
  /** Rows after `after`, oldest first, as `load` reads them. */
  rowsAfter(header: RunHeader, after: number): Promise<readonly Row[]>;
  /**
   * Appends one row, or says that its number is taken. An infrastructure failure is retried inside, with the same nonce
   * at the same number, until the answer is known (1.2).
   */
  append(offer: Offer): Promise<AppendResult>;
  /**
   * A page of runs, newest first. A page may be the last one and still carry a cursor.
   * @throws UsageError `cursor.invalid`
   */
  list(query: RunQuery): Promise<{ readonly lines: readonly RunLine[]; readonly cursor?: string }>;
  /** The journal's clock: milliseconds since the epoch. Never goes back by more than its source does. */
  now(): number;
}
