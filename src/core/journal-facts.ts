// WHAT THE RAW ROWS OF A JOURNAL SAY, for `rules` to judge. A bookkeeping of its own: it must not use `state`, or a wrong
// fold would vouch for itself. Knows no policies and no clock. How entries are read is in `read-entry`.

import type { Shape } from "../definition/shape.js";
import type { Cause, EndStatus } from "./entry.js";

/** What was read of one step, or of one item of a list. */
export interface StepFacts {
  readonly completed: boolean;
  /** It may have happened, and neither a success nor `reconcile` nor an operator has settled it (1.5). */
  readonly doubt: boolean;
  readonly failed?: "definite" | "in_doubt";
  readonly compensated: boolean;
  readonly compensationFailed: boolean;
  /** Executions that were counted, crashes included, since the last `retried`. */
  readonly attempts: number;
  readonly compensations: number;
  readonly asks: number;
  /** The recorded verdict of a conditional step. */
  readonly holds?: boolean;
  /** Until when a sleep, or a wait for a signal, lasts. */
  readonly until?: number;
  /** The items that were listed, and how many of them may be under way at once. */
  readonly items?: { readonly count: number; readonly concurrency: number };
  /** A child was begun; how it ended, once its parent has read that. */
  readonly child?: { readonly runId: string; readonly ended?: EndStatus };
}

/** What was read of the signals of one name. */
export interface LineFacts {
  /** The numbers of the rows that brought those which nobody has got, oldest first. */
  readonly waiting: readonly number[];
  readonly keys: readonly string[];
}

/** What was read of a journal up to some entry. */
export interface JournalFacts {
  /** The number of the last row. */
  readonly last: number;
  /** The token of the owner that drives the run. */
  readonly driver?: string;
  /** By name; an item of a list is `name/0`, `name/1`, … */
  readonly steps: Readonly<Record<string, StepFacts>>;
  readonly lines: Readonly<Record<string, LineFacts>>;
  /** The steps whose forward body may be running: made next by an entry, and not settled since (1.3). */
  readonly forward: readonly string[];
  /** Those that an operator settled while they may have been running: they have yet to end, and no entry will say so. */
  readonly ending: readonly string[];
  /** The steps whose compensation may be running: more than one only after an operator changed what is next. */
  readonly undoing: readonly string[];
  readonly pivotEntered: boolean;
  /** Whichever of an accepted ask and a failure is first (1.7). The deadline has no entry but the turn itself. */
  readonly firstCause?: "cancel" | "failure";
  /** The step whose failure came first. */
  readonly failing?: string;
  readonly refused: boolean;
  readonly turned?: Cause;
  readonly finished?: EndStatus;
}

export const unread: StepFacts = {
  completed: false,
  doubt: false,
  compensated: false,
  compensationFailed: false,
  attempts: 0,
  compensations: 0,
  asks: 0,
};

export function noFacts(shape: Shape): JournalFacts {
  const steps = Object.fromEntries(shape.steps.map((step) => [step.name, unread]));
  return { last: 0, steps, lines: {}, forward: [], ending: [], undoing: [], pivotEntered: false, refused: false };
}
