// WHAT A RULE IS: a sentence that holds of every journal, and what it may look at to say where it does not.

import type { Shape } from "../definition/shape.js";
import type { Entry, Row } from "./entry.js";
import type { JournalFacts } from "./journal-facts.js";
import type { Policies } from "./policies.js";

export interface RuleOptions {
  /** With them, budgets and the deadline are judged too. Leave them out where they may have changed during the run. */
  readonly policies?: Policies;
}

/** An entry, and all that a rule may look at. */
export interface EntryPlace {
  readonly shape: Shape;
  /** What the journal says before the entry. */
  readonly facts: JournalFacts;
  readonly row: Row;
  readonly entry: Entry;
  /** The entries of the same row that precede it. */
  readonly before: readonly Entry[];
  readonly options: RuleOptions;
}

/** A row, and what the journal says before and after it. */
export interface RowPlace {
  readonly shape: Shape;
  readonly before: JournalFacts;
  readonly facts: JournalFacts;
  readonly row: Row;
}

/** `broken` says what is wrong; undefined when the rule holds. */
export interface Rule<Place> {
  readonly rule: string;
  readonly broken: (place: Place) => string | undefined;
}
