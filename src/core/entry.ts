// WHAT CAN HAPPEN TO A RUN: the entries of its journal (design 1.3). Entries are past-tense facts. Values inside them are
// opaque here: they are stored text with a format, which only the codec reads.

import type { ErrorRecord } from "../errors/error-record.js";

/** A value as it is stored: text in some format. The core never looks inside. */
export interface StoredValue {
  /** Names what can read `text`, for example `devalue`. */
  readonly format: string;
  readonly text: string;
}

/** Which of a step's two bodies an entry is about. Counters are kept per (step, direction). */
export type Direction = "forward" | "compensate";

/** Why a saga turned back. Whichever of ask, failure and deadline is first in the journal (1.7). */
export type Cause = "failure" | "cancel" | "deadline";

/** The ends of a run (1.4). */
export type EndStatus =
  | "completed"
  | "failed"
  | "cancelled"
  | "timed_out"
  | "compensation_failed"
  | "forward_incomplete"
  | "in_doubt";

/** A worker drives the run from here on. */
export interface TakenUp {
  readonly kind: "taken_up";
  readonly worker: string;
  /** Fresh for each taking up; whoever holds another one has lost the run. */
  readonly token: string;
  /** The token of the owner it was taken from, when that one had not given it up: its attempt may be under way. */
  readonly from?: string;
  /** Whether the takeover counts as a crash of what was under way. */
  readonly crash: boolean;
}

/** A worker that stops gives the run back in mid-step: the step may have happened. */
export interface HandedOver {
  readonly kind: "handed_over";
  readonly worker: string;
}

/** The owner gives the run up with nothing under way, because nothing can be done before `until`. */
export interface Parked {
  readonly kind: "parked";
  /** Milliseconds since the epoch, database time. */
  readonly until: number;
}

export interface StepCompleted {
  readonly kind: "step_completed";
  readonly step: string;
  readonly output: StoredValue;
  readonly attempt: number;
}

/** An attempt failed and another, or an ask of `reconcile`, will follow. Totals make the last one of each step enough. */
export interface AttemptFailed {
  readonly kind: "attempt_failed";
  readonly step: string;
  readonly direction: Direction;
  readonly attempt: number;
  /** Executions used up so far, this one included if it counts. */
  readonly attempts: number;
  /** Whether this attempt used up one of `maxAttempts`. */
  readonly counted: boolean;
  /** Failures so far, whether or not they count. */
  readonly failures: number;
  readonly error: ErrorRecord;
  /** Whether the step is in doubt now, this attempt and the earlier ones taken together. */
  readonly doubt: boolean;
  /** No further attempt: only `reconcile` can still settle it (the pivot, 1.5). */
  readonly final: boolean;
  /** Milliseconds since the epoch, database time. */
  readonly retryAt: number;
}

/** What `reconcile` answered, when it was not "it happened" (that is a `step_completed`). */
export interface Reconciled {
  readonly kind: "reconciled";
  readonly step: string;
  readonly answer: "not_happened" | "cannot_tell";
  /** Asks so far, this one included. */
  readonly asks: number;
  readonly askAt: number;
  readonly error?: ErrorRecord;
}

/** A forward step failed for good. */
export interface StepFailed {
  readonly kind: "step_failed";
  readonly step: string;
  readonly attempts: number;
  readonly error: ErrorRecord;
  readonly doubt: "definite" | "in_doubt";
}

export interface PivotEntered {
  readonly kind: "pivot_entered";
  readonly step: string;
}

/** The saga turns back. Written when nothing forward is under way. */
export interface RollbackStarted {
  readonly kind: "rollback_started";
  readonly cause: Cause;
}

export interface StepCompensated {
  readonly kind: "step_compensated";
  readonly step: string;
  readonly attempt: number;
}

/** A compensation failed for good; the others still run. */
export interface CompensationFailed {
  readonly kind: "compensation_failed";
  readonly step: string;
  readonly attempts: number;
  readonly error: ErrorRecord;
}

export interface CancelRequested {
  readonly kind: "cancel_requested";
  readonly by: string;
  readonly reason?: string;
}

export interface CancelRefused {
  readonly kind: "cancel_refused";
  readonly by: string;
  readonly reason?: string;
  readonly pivot: string;
}

/** An operator settled a step. */
export interface Resolved {
  readonly kind: "resolved";
  readonly step: string;
  readonly as: "done" | "not_done" | "undone";
  readonly output?: StoredValue;
  readonly by: string;
  readonly note?: string;
}

/** An operator asked to try again, with a fresh budget. */
export interface Retried {
  readonly kind: "retried";
  readonly by: string;
}

export interface Finished {
  readonly kind: "finished";
  readonly status: EndStatus;
  readonly output?: StoredValue;
}

export type Entry =
  | TakenUp
  | HandedOver
  | Parked
  | StepCompleted
  | AttemptFailed
  | Reconciled
  | StepFailed
  | PivotEntered
  | RollbackStarted
  | StepCompensated
  | CompensationFailed
  | CancelRequested
  | CancelRefused
  | Resolved
  | Retried
  | Finished;

/** One append: what belongs together, taken or refused whole. Rows are numbered 1, 2, 3 … per run without gaps (1.2). */
export interface Row {
  readonly number: number;
  /** When it was written: milliseconds since the epoch, database time. */
  readonly at: number;
  readonly entries: readonly Entry[];
  /** Distinguishes one writer's offer of this number from another's. */
  readonly nonce: string;
}
