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

/** Write these entries, in one row, before anything else is done. */
export interface Append {
  readonly kind: "append";
  readonly entries: readonly Entry[];
}

/** Nothing can be done before `until`: milliseconds since the epoch, database time. */
export interface Wait {
  readonly kind: "wait";
  readonly until: number;
}

/** The run has ended; nothing will follow unless an operator reopens it. */
export interface Ended {
  readonly kind: "ended";
}

export type Action = RunBody | AskWhether | Append | Wait | Ended;

/** An action that has an outcome. */
export type Attempted = RunBody | AskWhether;
