// WHERE A RUN STANDS: the facts that the fold over its journal remembers (design 1.2). Chooses nothing.

import type { Shape, StepShape } from "../definition/shape.js";
import type { ErrorRecord } from "../errors/error-record.js";
import type { Cause, Direction, EndStatus, StoredValue } from "./entry.js";

/** What can be done or undone on its own: an element of the list, or one item of an element that lists items. */
export interface Unit extends StepShape {
  /** The element whose item this is. */
  readonly of?: string;
}

/** One of the two bodies of a step: how often it was executed, and when it may be again. */
export interface AttemptsState {
  /** Executions used up: failures that count, and crashes. */
  readonly attempts: number;
  /** Crashes in a row, since it last returned or threw. */
  readonly crashes: number;
  /** It was begun, and handed over or lost without using up one of `attempts`: never again where it may not begin twice. */
  readonly interrupted: boolean;
  /** Failures so far, whether or not they count: what the delay grows by. */
  readonly failures: number;
  readonly retryAt: number;
  readonly lastError?: ErrorRecord;
}

export interface StepState {
  readonly forward: AttemptsState;
  readonly undo: AttemptsState;
  /** It may have happened, and nothing has cleared that yet (1.5). */
  readonly doubt: boolean;
  /** When the latest attempt that nobody saw the end of was made next; its call may still be on its way. */
  readonly unsettledSince?: number;
  /** No further attempt, only asks. */
  readonly final: boolean;
  /** How often `reconcile` could not tell, since doubt last arose. */
  readonly asks: number;
  /** An element that gives nothing of its own, or was skipped, has no output. */
  readonly done?: { readonly output?: StoredValue; readonly attempt: number };
  /** It failed for good, and whether it is known not to have happened. */
  readonly failed?: "definite" | "in_doubt";
  readonly undone: boolean;
  readonly undoFailed?: ErrorRecord;
  /** Of a conditional step: the recorded verdict. */
  readonly holds?: boolean;
  /** A sleep or a wait for a signal began: until when it lasts. */
  readonly waitUntil?: number;
  /** The list that was recorded, and a unit for each of its items. */
  readonly items?: { readonly stored: StoredValue; readonly units: readonly Unit[]; readonly concurrency: number };
  readonly child?: Child;
  /** Runs of its child that ended before this one, undone: each gets an id of its own. */
  readonly earlierChildren: number;
}

/** A child's run, as far as its parent's journal tells. */
export interface Child {
  readonly runId: string;
  readonly input: StoredValue;
  readonly ended?: EndStatus;
}

/** A signal that nobody has consumed. */
export interface PendingSignal {
  /** The number of the row that brought it. */
  readonly received: number;
  readonly payload: StoredValue;
}

/** The signals of one name: first in, first consumed. */
export interface SignalLine {
  readonly pending: readonly PendingSignal[];
  readonly dedupeKeys: readonly string[];
}

/** A body that may be running: what the journal has made next for the present owner. */
export interface UnderWay {
  readonly step: string;
  readonly direction: Direction;
  readonly since: number;
}

export interface Ask {
  readonly by: string;
  readonly reason?: string;
  readonly at: number;
}

export interface RunState {
  /** The number of the last row; 0 for an empty journal. */
  readonly last: number;
  readonly startAt: number;
  /** Who drives it; absent when nobody does: parked, handed over, ended, or not begun. */
  readonly owner?: { readonly worker: string; readonly token: string };
  readonly begun: boolean;
  /** By the names of units. */
  readonly steps: Readonly<Record<string, StepState>>;
  /** What a function asked for, in the order in which it first did. Empty for a list. */
  readonly declared: readonly StepShape[];
  /** Of a function: what is done, or failed and may be caught, in the order in which it came about. */
  readonly settled: readonly string[];
  /** By the names of signals. */
  readonly signals: Readonly<Record<string, SignalLine>>;
  /**
   * All bodies that may be running. More than one where elements run beside each other, and where a `retried` put another
   * compensation before the one that is running.
   */
  readonly underWay: readonly UnderWay[];
  /** When somebody has to look at a run that nobody drives. */
  readonly dueAt: number;
  readonly parked: boolean;
  readonly pivotEntered: boolean;
  /** The first ask that was accepted: it beats a deadline and a later failure (1.7). */
  readonly cancel?: Ask;
  /** The first ask of all that was recorded, whether or not another cause came before it. */
  readonly cancelRequestedAt?: number;
  readonly cancelRefusedAt?: number;
  readonly rollback?: Cause;
  /** The forward step that failed for good, if one did: what an outcome names as its cause. */
  readonly failure?: Failure;
  readonly finished?: { readonly status: EndStatus; readonly at: number; readonly output?: StoredValue };
}

/** `step` is absent where a function threw an error of its own. */
export interface Failure {
  readonly step?: string;
  readonly error: ErrorRecord;
}

const untried: AttemptsState = { attempts: 0, crashes: 0, interrupted: false, failures: 0, retryAt: 0 };

/** What is known of a unit of which no entry tells. */
export const untouched: StepState = {
  forward: untried,
  undo: untried,
  doubt: false,
  final: false,
  asks: 0,
  undone: false,
  earlierChildren: 0,
};

/** The state of a run whose journal is empty. `startAt`: when it may begin, in milliseconds since the epoch. */
export function initialState(shape: Shape, startAt: number): RunState {
  return {
    last: 0,
    startAt,
    begun: false,
    steps: Object.fromEntries(shape.steps.map((step) => [step.name, untouched])),
    declared: [],
    settled: [],
    signals: {},
    underWay: [],
    dueAt: startAt,
    parked: false,
    pivotEntered: false,
  };
}

export function withStep(state: RunState, name: string, change: (step: StepState) => StepState): RunState {
  return { ...state, steps: { ...state.steps, [name]: change(state.steps[name]!) } };
}
