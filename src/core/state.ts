// WHERE A RUN STANDS: a pure fold over its journal (design 1.2). Remembers facts and chooses nothing; what happens next is
// `decide`'s. Knows no clock and no saga functions.

import type { Shape, StepShape } from "../definition/shape.js";
import type { ErrorRecord } from "../errors/error-record.js";
import type { AttemptFailed, Cause, Direction, EndStatus, Entry, Resolved, Row, StoredValue } from "./entry.js";

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
  readonly done?: { readonly output: StoredValue; readonly attempt: number };
  /** It failed for good, and whether it is known not to have happened. */
  readonly failed?: "definite" | "in_doubt";
  readonly undone: boolean;
  readonly undoFailed?: ErrorRecord;
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
  readonly steps: Readonly<Record<string, StepState>>;
  readonly underWay?: UnderWay;
  /** A compensation that a `retried` put behind another one: it may be running as well, until its owner writes again. */
  readonly displaced?: UnderWay;
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
  readonly failure?: { readonly step: string; readonly error: ErrorRecord };
  readonly finished?: { readonly status: EndStatus; readonly at: number; readonly output?: StoredValue };
}

const untried: AttemptsState = { attempts: 0, crashes: 0, interrupted: false, failures: 0, retryAt: 0 };
const untouched: StepState = { forward: untried, undo: untried, doubt: false, final: false, asks: 0, undone: false };

/** The state of a run whose journal is empty. `startAt`: when it may begin, in milliseconds since the epoch. */
export function initialState(shape: Shape, startAt: number): RunState {
  const steps = Object.fromEntries(shape.steps.map((step) => [step.name, untouched]));
  return { last: 0, startAt, begun: false, steps, dueAt: startAt, parked: false, pivotEntered: false };
}

/** Folds rows, oldest first, onto `state`. Rows may be missing where only later failed attempts of the same step matter. */
export function foldRows(shape: Shape, state: RunState, rows: readonly Row[]): RunState {
  return rows.reduce((folded, row) => foldRow(shape, folded, row), state);
}

function foldRow(shape: Shape, state: RunState, row: Row): RunState {
  return { ...foldEntries(shape, state, row.entries, row.at), last: row.number };
}

/** Folds entries that share one instant, without moving the number: what a row that is being composed would lead to. */
export function foldEntries(shape: Shape, state: RunState, entries: readonly Entry[], at: number): RunState {
  return entries.reduce((folded, entry) => withUnderWay(shape, foldEntry(shape, folded, entry, at), entry, at), state);
}

function foldEntry(shape: Shape, state: RunState, entry: Entry, at: number): RunState {
  switch (entry.kind) {
    case "taken_up": {
      const known = entry.from === undefined ? state : afterLoss(shape, state, entry.crash);
      return { ...known, owner: { worker: entry.worker, token: entry.token }, begun: true, parked: false };
    }
    case "handed_over":
      return { ...released(afterLoss(shape, state, false)), dueAt: at, parked: false };
    case "parked":
      return { ...released(state), dueAt: entry.until, parked: true };
    case "step_completed":
      return withStep(state, entry.step, (step) => ({
        ...cleared(step),
        done: { output: entry.output, attempt: entry.attempt },
      }));
    case "attempt_failed":
      return withStep(state, entry.step, (step) =>
        entry.direction === "forward"
          ? { ...step, forward: afterFailure(step.forward, entry), doubt: entry.doubt, final: entry.final }
          : { ...step, undo: afterFailure(step.undo, entry) },
      );
    case "reconciled":
      return withStep(state, entry.step, (step) => {
        const forward = { ...step.forward, retryAt: entry.askAt };
        return entry.answer === "not_happened"
          ? { ...step, forward, doubt: false, asks: 0 }
          : { ...step, forward: entry.error ? { ...forward, lastError: entry.error } : forward, asks: entry.asks };
      });
    case "step_failed":
      return {
        ...withStep(state, entry.step, (step) => ({
          ...step,
          forward: { ...step.forward, attempts: entry.attempts, crashes: 0, lastError: entry.error },
          doubt: entry.doubt === "in_doubt",
          failed: entry.doubt,
        })),
        failure: { step: entry.step, error: entry.error },
      };
    case "pivot_entered":
      return { ...state, pivotEntered: true };
    case "rollback_started":
      return { ...state, rollback: entry.cause };
    case "step_compensated":
      return withStep(state, entry.step, (step) => ({ ...step, undone: true }));
    case "compensation_failed":
      return withStep(state, entry.step, (step) => ({
        ...step,
        undo: { ...step.undo, attempts: entry.attempts, crashes: 0, lastError: entry.error },
        undoFailed: entry.error,
      }));
    case "cancel_requested":
      return foldAsk(state, entry.by, entry.reason, at);
    case "cancel_refused":
      return { ...state, cancelRefusedAt: state.cancelRefusedAt ?? at };
    case "resolved":
      return reopened(foldResolved(state, entry), at);
    case "retried":
      return reopened(foldRetried(state), at);
    case "finished":
      return {
        ...released(state),
        finished: { status: entry.status, at, ...(entry.output === undefined ? {} : { output: entry.output }) },
        parked: false,
      };
  }
}

function withStep(state: RunState, name: string, change: (step: StepState) => StepState): RunState {
  return { ...state, steps: { ...state.steps, [name]: change(state.steps[name]!) } };
}

function afterFailure(tried: AttemptsState, { attempts, failures, retryAt, error }: AttemptFailed): AttemptsState {
  return { ...tried, attempts, failures, crashes: 0, retryAt, lastError: error };
}

/** The owner is gone without having said how its attempt ended: what was next may have happened (1.3). */
function afterLoss(shape: Shape, state: RunState, crash: boolean): RunState {
  return [state.underWay, state.displaced].reduce(
    (known, lost) => (lost === undefined ? known : afterLossOf(shape, known, lost, crash)),
    state,
  );
}

function afterLossOf(shape: Shape, state: RunState, lost: UnderWay, crash: boolean): RunState {
  const { transactional } = stepShape(shape, lost.step);
  const count = (tried: AttemptsState): AttemptsState => {
    if (crash) return { ...tried, attempts: tried.attempts + 1, crashes: tried.crashes + 1 };
    return transactional ? tried : { ...tried, interrupted: true };
  };
  return withStep(state, lost.step, (step) => {
    if (lost.direction === "compensate") return { ...step, undo: count(step.undo) };
    const forward = count(step.forward);
    if (transactional) return { ...step, forward };
    // What was lost of a step in doubt that can be asked about was an ask; where it can't, asks don't matter.
    const asks = crash && step.doubt ? step.asks + 1 : step.asks;
    return { ...step, forward, asks, doubt: true, unsettledSince: lost.since };
  });
}

function released(state: RunState): RunState {
  const { owner: _owner, ...rest } = state;
  return rest;
}

/** A success, or an operator's word, settles the step: no doubt, no failure, nothing on its way. */
function cleared(step: StepState): StepState {
  const { failed: _failed, unsettledSince: _since, ...rest } = step;
  return { ...rest, doubt: false, final: false, asks: 0, forward: { ...step.forward, crashes: 0 } };
}

function foldAsk(state: RunState, by: string, reason: string | undefined, at: number): RunState {
  const stamped = { ...state, cancelRequestedAt: state.cancelRequestedAt ?? at };
  const due = state.owner === undefined ? { ...stamped, dueAt: Math.min(at, state.dueAt) } : stamped;
  const causeStands = state.rollback !== undefined || state.failure !== undefined || state.cancel !== undefined;
  if (causeStands) return due;
  return { ...due, cancel: { by, at, ...(reason === undefined ? {} : { reason }) } };
}

function foldResolved(state: RunState, entry: Resolved): RunState {
  switch (entry.as) {
    case "done":
      return withStep(withoutFailure(state), entry.step, (step) => ({
        ...cleared(step),
        done: { output: entry.output!, attempt: step.forward.attempts },
      }));
    case "not_done": {
      const error = state.steps[entry.step]!.forward.lastError ?? settledBy(entry.by);
      const settled = withStep(state, entry.step, (step) => ({ ...cleared(step), failed: "definite" }));
      return { ...settled, failure: { step: entry.step, error } };
    }
    case "undone":
      return withStep(state, entry.step, ({ undoFailed: _failed, ...step }) => ({ ...step, undone: true }));
  }
}

function withoutFailure(state: RunState): RunState {
  const { failure: _failure, ...rest } = state;
  return rest;
}

function settledBy(by: string): ErrorRecord {
  return { name: "ResolvedByOperator", message: `${by} said that it did not happen` };
}

/** A fresh budget for what failed or waits; doubt stays (1.4). */
function foldRetried(state: RunState): RunState {
  const fresh = { attempts: 0, crashes: 0, interrupted: false, failures: 0, retryAt: 0 };
  const steps = Object.fromEntries(
    Object.entries(state.steps).map(([name, step]): [string, StepState] => {
      const { failed, undoFailed: _undoFailed, ...rest } = step;
      if (state.rollback !== undefined) {
        const undoing = { ...rest, undo: { ...step.undo, ...fresh }, forward: { ...step.forward, retryAt: 0 } };
        return [name, failed === undefined ? undoing : { ...undoing, failed }];
      }
      return [name, { ...rest, forward: { ...step.forward, ...fresh }, final: false, asks: 0 }];
    }),
  );
  return state.rollback === undefined ? { ...withoutFailure(state), steps } : { ...state, steps };
}

function reopened(state: RunState, at: number): RunState {
  const { finished: _finished, ...rest } = state;
  return state.owner === undefined ? { ...rest, dueAt: at, parked: false } : rest;
}

function stepShape(shape: Shape, name: string): StepShape {
  return shape.steps.find((step) => step.name === name)!;
}

/**
 * What may be running after `entry`. A bystander's ask makes nothing next and stops nothing: what was next may already
 * have begun (1.7). Every other entry of a driven run makes exactly one body next, or none.
 */
function withUnderWay(shape: Shape, state: RunState, entry: Entry, at: number): RunState {
  if (entry.kind === "cancel_requested" || entry.kind === "cancel_refused") return state;
  const { underWay: before, displaced, ...rest } = state;
  const next = madeNext(shape, state);
  if (next === undefined) return rest;
  const step = state.steps[next.step]!;
  const retryAt = next.direction === "forward" ? step.forward.retryAt : step.undo.retryAt;
  const made = { ...rest, underWay: { ...next, since: Math.max(at, retryAt) } };
  if (entry.kind !== "retried") return made;
  const behind = before?.step === next.step ? displaced : before;
  return behind === undefined ? made : { ...made, displaced: behind };
}

function madeNext(shape: Shape, state: RunState): { step: string; direction: Direction } | undefined {
  if (state.owner === undefined || state.finished !== undefined) return undefined;
  if (state.rollback !== undefined) {
    const owed = nextOwed(shape, state);
    return owed && { step: owed.name, direction: "compensate" };
  }
  if (state.cancel !== undefined) return undefined;
  const step = nextForward(shape, state);
  if (step === undefined || state.steps[step.name]!.failed !== undefined) return undefined;
  if (step.kind === "pivot" && !step.transactional && !state.pivotEntered) return undefined;
  return { step: step.name, direction: "forward" };
}

/** The first step that is not done; undefined when all are. */
export function nextForward(shape: Shape, state: RunState): StepShape | undefined {
  return shape.steps.find((step) => state.steps[step.name]!.done === undefined);
}

/** The last step of the list that is still to be undone: reverse order of the list, never of time (1.8). */
export function nextOwed(shape: Shape, state: RunState): StepShape | undefined {
  return shape.steps.findLast(
    (step) => isOwed(step, state.steps[step.name]!) && state.steps[step.name]!.undoFailed === undefined,
  );
}

/** Whether the step did or may have happened, has a compensation, and is not undone yet. */
export function isOwed(shape: StepShape, step: StepState): boolean {
  return shape.undone && !step.undone && (step.done !== undefined || step.doubt);
}

/** The names of the steps still to be undone, in the order in which they are undone. */
export function owedSteps(shape: Shape, state: RunState): string[] {
  return shape.steps
    .filter((step) => isOwed(step, state.steps[step.name]!))
    .map((step) => step.name)
    .reverse();
}
