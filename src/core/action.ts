// WHAT `decide` CAN ASK FOR. Imperatives; the shell performs them and offers what came of it to `record`.

import type { Direction, Entry } from "./entry.js";

/** Call a step's body, forward or compensating. */
export interface RunBody {
  readonly kind: "run";
  readonly step: string;
  readonly direction: Direction;
  /** From 1. */
  readonly attempt: number;
}

/** Ask a step's `reconcile` whether it happened. */
export interface AskWhether {
  readonly kind: "reconcile";
  readonly step: string;
}

/** Call one of an element's pure functions, or its schema: nothing outside is touched. */
export interface Compute {
  readonly kind: "compute";
  readonly step: string;
  /** Whether a step runs, how long a sleep lasts, which items, a child's input; whether the first signal in line fits. */
  readonly what: "when" | "for" | "over" | "input" | "payload";
  /** Of a payload: the number of the row that brought the signal. Another step beside this one may get it first. */
  readonly received?: number;
  /** From 1. */
  readonly attempt: number;
}

/**
 * Read what became of a step's child, so that the next decision knows: going forward it is started where it does not exist
 * yet, rolling back it is stopped, or undone.
 */
export interface LookAtChild {
  readonly kind: "look";
  readonly step: string;
  readonly direction: Direction;
}

/** Let the function go on with what was recorded, until it asks for something or ends. */
export interface GoOn {
  readonly kind: "replay";
}

/** Write these entries, in one row, before anything else is done. */
export interface Append {
  readonly kind: "append";
  readonly entries: readonly Entry[];
}

/** Nothing more can be begun before `until`, or before what is under way ends: milliseconds since the epoch, database time. */
export interface Wait {
  readonly kind: "wait";
  readonly until: number;
}

/** The run has ended; nothing will follow unless an operator reopens it. */
export interface Ended {
  readonly kind: "ended";
}

export type Action = RunBody | AskWhether | Compute | LookAtChild | GoOn | Append | Wait | Ended;

/** An action that has an outcome. */
export type Attempted = RunBody | AskWhether | Compute;
