// WHAT THE WORDS OF PEOPLE CHANGE: asks to stop, retries, settled steps, and a parent's recall (design 1.4, 1.7). Part of the
// fold.

import type { ErrorRecord } from "../errors/error-record.js";
import type { EndStatus, Resolved } from "./entry.js";
import { type RunState, type StepState, withStep } from "./state.js";

export function foldAsk(state: RunState, by: string, reason: string | undefined, at: number): RunState {
  const stamped = { ...state, cancelRequestedAt: state.cancelRequestedAt ?? at };
  const due = state.owner === undefined ? { ...stamped, dueAt: Math.min(at, state.dueAt) } : stamped;
  const causeStands = state.rollback !== undefined || state.failure !== undefined || state.cancel !== undefined;
  if (causeStands) return due;
  return { ...due, cancel: { by, at, ...(reason === undefined ? {} : { reason }) } };
}

/** The run had completed; it is live again, and turns back. */
export function foldRecalled(state: RunState, by: string, at: number): RunState {
  return reopened({ ...state, cancelRequestedAt: state.cancelRequestedAt ?? at, cancel: { by, at } }, at);
}

export function foldResolved(state: RunState, entry: Resolved): RunState {
  switch (entry.as) {
    case "done":
      return withStep(withoutFailureOf(state, entry.step), entry.step, (step) => ({
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

/** A fresh budget for what failed or waits; doubt stays (1.4). */
export function foldRetried(state: RunState): RunState {
  const fresh = { attempts: 0, crashes: 0, interrupted: false, failures: 0, retryAt: 0 };
  const steps = Object.fromEntries(
    Object.entries(state.steps).map(([name, step]): [string, StepState] => {
      const { failed, undoFailed: _undoFailed, ...rest } = step;
      // What a function caught is behind it; only what ended the run is tried again.
      if (isCaught(state, name)) return [name, step];
      if (state.rollback !== undefined) {
        const undoing = { ...rest, undo: { ...step.undo, ...fresh }, forward: { ...step.forward, retryAt: 0 } };
        return [name, failed === undefined ? undoing : { ...undoing, failed }];
      }
      return [name, withFreshChild({ ...rest, forward: { ...step.forward, ...fresh }, final: false, asks: 0 })];
    }),
  );
  return state.rollback === undefined ? { ...withoutFailure(state), steps } : { ...state, steps };
}

function isCaught(state: RunState, name: string): boolean {
  const isFunction = state.declared.length > 0;
  return isFunction && state.steps[name]!.failed === "definite" && state.failure?.step !== name;
}

const undoneEnds: ReadonlySet<EndStatus> = new Set<EndStatus>(["failed", "cancelled", "timed_out"]);

/** A child that ended with everything undone is run anew; what became of one that did not is looked at again. */
function withFreshChild(step: StepState): StepState {
  const { child, ...rest } = step;
  if (child?.ended === undefined || step.done !== undefined) return step;
  if (undoneEnds.has(child.ended)) return { ...rest, earlierChildren: step.earlierChildren + 1 };
  return { ...rest, child: { runId: child.runId, input: child.input } };
}

/** It has ended no more, and whoever may drive it looks at it now. */
export function reopened(state: RunState, at: number): RunState {
  const { finished: _finished, ...rest } = state;
  return state.owner === undefined ? { ...rest, dueAt: at, parked: false } : rest;
}

/** A success, or an operator's word, settles the step: no doubt, no failure, nothing on its way. */
export function cleared(step: StepState): StepState {
  const { failed: _failed, unsettledSince: _since, ...rest } = step;
  return { ...rest, doubt: false, final: false, asks: 0, forward: { ...step.forward, crashes: 0 } };
}

/** What failed beside it is still the cause. */
function withoutFailureOf(state: RunState, step: string): RunState {
  return state.failure?.step === step ? withoutFailure(state) : state;
}

function withoutFailure(state: RunState): RunState {
  const { failure: _failure, ...rest } = state;
  return rest;
}

function settledBy(by: string): ErrorRecord {
  return { name: "ResolvedByOperator", message: `${by} said that it did not happen` };
}
