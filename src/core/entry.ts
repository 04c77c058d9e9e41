// WHAT CAN HAPPEN TO A RUN: the entries of its journal (design 1.3). Entries are past-tense facts. Values inside them are
// opaque here: they are stored text with a format, which only the codec reads.

import type { StepShape } from "../definition/shape.js";
import type { ErrorRecord } from "../errors/error-record.js";

/** A value as it is stored: text in some format. The core never looks inside. */
export interface StoredValue {
  /** Names what can read `text`, for example `devalue`. */
  readonly format: string;
  readonly text: string;
}

/** The last instant that a date can hold: the year 275760. What waits without a limit waits until then. */
export const farFuture = 8_640_000_000_000_000;

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
  /** Milliseconds since the epoch, database time; {@link farFuture}: until somebody else writes. */
  readonly until: number;
}

/** Whether a conditional step runs. One that does not is done, gives nothing and has nothing to undo. */
export interface ConditionDecided {
  readonly kind: "condition_decided";
  readonly step: string;
  readonly holds: boolean;
}

/** A sleep began; the instant of waking never moves. */
export interface TimerStarted {
  readonly kind: "timer_started";
  readonly step: string;
  readonly until: number;
}

export interface TimerFired {
  readonly kind: "timer_fired";
  readonly step: string;
}

/** Written by its sender, whether or not anybody waits for it yet. */
export interface SignalReceived {
  readonly kind: "signal_received";
  readonly signal: string;
  readonly payload: StoredValue;
  /** Another signal of that name with the same key is a duplicate. */
  readonly dedupeKey?: string;
}

/** The first wait for a signal: the deadline counts from here. */
export interface SignalAwaited {
  readonly kind: "signal_awaited";
  readonly step: string;
  /** {@link farFuture} when there is no deadline. */
  readonly until: number;
}

/** The first signal that was waiting in line is the one that the step got. */
export interface SignalConsumed {
  readonly kind: "signal_consumed";
  readonly step: string;
  /** The number of the row that brought the signal. */
  readonly received: number;
  /** As the schema made it. */
  readonly payload: StoredValue;
}

/** The first signal in line did not fit the schema; the step goes on waiting. */
export interface SignalRejected {
  readonly kind: "signal_rejected";
  readonly step: string;
  readonly received: number;
  readonly error: ErrorRecord;
}

export interface SignalTimedOut {
  readonly kind: "signal_timed_out";
  readonly step: string;
}

/** The list that a step is done for, once and for all. Its items are steps of their own, named `step/0`, `step/1`, … */
export interface ItemsListed {
  readonly kind: "items_listed";
  readonly step: string;
  /** A stored list. */
  readonly items: StoredValue;
  readonly count: number;
  /** How many may be under way at once. */
  readonly concurrency: number;
}

/** The child's run begins to exist after this: its id and input are settled. */
export interface ChildStarted {
  readonly kind: "child_started";
  readonly step: string;
  readonly runId: string;
  readonly input: StoredValue;
}

/** The parent's owner has read how its child ended. One that did not complete is followed by `step_failed`. */
export interface ChildFinished {
  readonly kind: "child_finished";
  readonly step: string;
  readonly status: EndStatus;
  readonly output?: StoredValue;
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
  /** Of what a function gave up: the step beside it whose failure was the reason. */
  readonly because?: string;
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

/** A parent that rolls back takes back what its completed child did; the child rolls back in its turn. */
export interface Recalled {
  readonly kind: "recalled";
  readonly by: string;
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

/** What a function newly asked for, before any of it is begun; a unit of that name that was declared before is replaced. */
export interface Declared {
  readonly kind: "declared";
  readonly units: readonly StepShape[];
}

/** A function threw. A step's failure that it caught is no failure of its own. */
export interface FunctionFailed {
  readonly kind: "function_failed";
  readonly error: ErrorRecord;
  /** The step whose failure it let through. */
  readonly step?: string;
}

export type Entry =
  | TakenUp
  | HandedOver
  | Parked
  | ConditionDecided
  | TimerStarted
  | TimerFired
  | SignalReceived
  | SignalAwaited
  | SignalConsumed
  | SignalRejected
  | SignalTimedOut
  | ItemsListed
  | ChildStarted
  | ChildFinished
  | Declared
  | FunctionFailed
  | StepCompleted
  | AttemptFailed
  | Reconciled
  | StepFailed
  | PivotEntered
  | RollbackStarted
  | StepCompensated
  | CompensationFailed
  | Recalled
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
