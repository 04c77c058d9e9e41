// HOW A JOURNAL IS READ: a pure fold of its entries into a state (design 1.2). Remembers facts and chooses nothing; what
// happens next is `decide`'s. Knows no clock and no saga functions.

import type { Shape } from "../definition/shape.js";
import type { AttemptFailed, Entry, Row } from "./entry.js";
import { foldDeclared, withFailure, withSettled } from "./fold-function.js";
import { afterLoss } from "./fold-loss.js";
import { foldWait } from "./fold-waits.js";
import { cleared, foldAsk, foldRecalled, foldResolved, foldRetried, reopened } from "./fold-words.js";
import { type AttemptsState, type RunState, withStep } from "./state.js";
import { withUnderWay } from "./under-way.js";

/** Folds rows, oldest first, onto `state`. Rows may be missing where only later failed attempts of the same step matter. */
export function foldRows(shape: Shape, state: RunState, rows: readonly Row[]): RunState {
  return rows.reduce((folded, row) => foldRow(shape, folded, row), state);
}

function foldRow(shape: Shape, state: RunState, row: Row): RunState {
  // What a row brings is known by its number.
  return { ...foldEntries(shape, { ...state, last: row.number - 1 }, row.entries, row.at), last: row.number };
}

/** Folds entries that share one instant, without moving the number: what a row that is being composed would lead to. */
export function foldEntries(shape: Shape, state: RunState, entries: readonly Entry[], at: number): RunState {
  return entries.reduce((before, entry) => {
    const known = entry.kind === "handed_over" ? withoutUnbegun(before, state) : before;
    const folded = withSettled(shape, known, foldEntry(shape, known, entry, at), entry);
    return withUnderWay(shape, folded, entry, at);
  }, state);
}

/** What a row makes next can't have begun before that row is in, nor after it gave the run back. */
function withoutUnbegun(state: RunState, beforeRow: RunState): RunState {
  return { ...state, underWay: state.underWay.filter((body) => beforeRow.underWay.includes(body)) };
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
    case "condition_decided":
    case "timer_started":
    case "timer_fired":
    case "signal_received":
    case "signal_awaited":
    case "signal_consumed":
    case "signal_rejected":
    case "signal_timed_out":
    case "items_listed":
    case "child_started":
    case "child_finished":
      return foldWait(shape, state, entry, at);
    case "declared":
      return foldDeclared(state, entry.units);
    case "function_failed":
      return { ...state, failure: { ...(entry.step === undefined ? {} : { step: entry.step }), error: entry.error } };
    case "step_completed":
      return withListDone(
        shape,
        withStep(state, entry.step, (step) => ({
          ...cleared(step),
          done: { output: entry.output, attempt: entry.attempt },
        })),
        entry.step,
      );
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
        ...withFailure(shape, state, entry),
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
    case "recalled":
      return foldRecalled(state, entry.by, at);
    case "cancel_requested":
      return foldAsk(state, entry.by, entry.reason, at);
    case "cancel_refused":
      return { ...state, cancelRefusedAt: state.cancelRefusedAt ?? at };
    case "resolved":
      return reopened(withListDone(shape, foldResolved(state, entry), entry.step), at);
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

function afterFailure(tried: AttemptsState, { attempts, failures, retryAt, error }: AttemptFailed): AttemptsState {
  return { ...tried, attempts, failures, crashes: 0, retryAt, lastError: error };
}

/** An element that lists items is done when all of them are. */
function withListDone(shape: Shape, state: RunState, unit: string): RunState {
  const element = shape.steps.find(({ name }) => state.steps[name]!.items?.units.some(({ name }) => name === unit));
  if (element === undefined) return state;
  const { units } = state.steps[element.name]!.items!;
  if (units.some(({ name }) => state.steps[name]!.done === undefined)) return state;
  return withStep(state, element.name, (step) => ({ ...step, done: { attempt: 1 } }));
}

function released(state: RunState): RunState {
  const { owner: _owner, ...rest } = state;
  return rest;
}
