// WHAT AN OPERATOR MAY DO, and what it comes to: ask a run to stop, retry it, settle a step (design 1.4, 1.7). Needs only
// shape and journal. The caller appends the entries at the next number; if that is taken it reads and asks again here.

import type { Shape } from "../definition/shape.js";
import { rolledBackStatus } from "./decide.js";
import type { Cause, EndStatus, Entry, StoredValue } from "./entry.js";
import { foldEntries } from "./fold.js";
import type { RunState } from "./state.js";
import { isOwed, isWaiting, nextOwed, owedSteps, pivotOf, stageOf, unitsOf } from "./units.js";

/** The truthful answer to an ask to stop (1.7). */
export type CancelVerdict =
  | { readonly verdict: "cancelled" | "cancelling"; readonly requestedAt: number }
  | { readonly verdict: "refused"; readonly pivot: string; readonly refusedAt: number }
  | { readonly verdict: "rolling_back"; readonly cause: Cause }
  | { readonly verdict: "finished"; readonly status: EndStatus };

/** What to append, and what to answer once it is in. Instants that are set by this very append are `undefined`. */
export interface CancelDecision {
  readonly entries: readonly Entry[];
  readonly answer: "cancelled" | "cancelling" | "refused" | "rolling_back" | "finished";
}

export interface Operator {
  readonly by: string;
  readonly reason?: string;
}

/** 1.7, row by row of its table. */
export function decideCancel(shape: Shape, state: RunState, operator: Operator): CancelDecision {
  if (state.finished !== undefined) return { entries: [], answer: "finished" };
  const asked: Entry = { kind: "cancel_requested", ...operator };
  if (state.rollback !== undefined)
    return { entries: [asked], answer: state.rollback === "cancel" ? "cancelling" : "rolling_back" };
  const pivot = pivotOf(shape, state);
  // What failed for good, or an operator said did not happen, is the cause; its owner has yet to write the turn.
  if (isToTurn(shape, state)) return { entries: [asked], answer: "rolling_back" };
  if (pivot !== undefined && state.pivotEntered)
    return { entries: [{ kind: "cancel_refused", ...operator, pivot: pivot.name }], answer: "refused" };
  if (state.owner === undefined && owedSteps(shape, state).length === 0)
    return { entries: [asked, { kind: "finished", status: "cancelled" }], answer: "cancelled" };
  return { entries: [asked], answer: "cancelling" };
}

/** Whether a failure will turn the saga back once its owner has nothing under way: what fails after the pivot turns nothing. */
export function isToTurn(shape: Shape, state: RunState): boolean {
  if (state.failure === undefined) return false;
  const pivot = pivotOf(shape, state);
  return pivot === undefined || !state.pivotEntered || state.steps[pivot.name]!.failed !== undefined;
}

/** The verdict that stands in the journal once `decision` does. `state` is the state after its append. */
export function cancelVerdict(shape: Shape, state: RunState, decision: CancelDecision): CancelVerdict {
  switch (decision.answer) {
    case "finished":
      return { verdict: "finished", status: state.finished!.status };
    case "rolling_back":
      return { verdict: "rolling_back", cause: state.rollback ?? "failure" };
    case "refused":
      return {
        verdict: "refused",
        pivot: pivotOf(shape, state)!.name,
        refusedAt: state.cancelRefusedAt!,
      };
    default:
      return { verdict: decision.answer, requestedAt: state.cancelRequestedAt! };
  }
}

/** Entries to append, or why the verb does not apply. */
export type OperatorDecision = { readonly entries: readonly Entry[] } | { readonly refused: string };

/** 1.4: what failed is tried again with a fresh budget; a run in backoff is tried now. */
export function decideRetry(shape: Shape, state: RunState, by: string, now: number): OperatorDecision {
  const entries: Entry[] = [{ kind: "retried", by }];
  switch (state.finished?.status) {
    case "completed":
    case "failed":
    case "cancelled":
    case "timed_out":
      return { refused: `it ended ${state.finished.status}, which is consistent: there is nothing to try again` };
    case "compensation_failed":
    case "forward_incomplete":
    case "in_doubt":
      return { entries };
    case undefined:
      return waits(shape, state, now)
        ? { entries }
        : { refused: "nothing of it has failed or is waiting to be tried again" };
  }
}

function waits(shape: Shape, state: RunState, now: number): boolean {
  // Its owner has yet to turn, and nothing forward is tried again; past the pivot what failed is, beside what still runs.
  if (state.rollback === undefined && state.failure !== undefined) return !isToTurn(shape, state);
  // Given back because its values could not be read, or because its workers died: nothing need have failed.
  const sleeps = state.rollback === undefined && stageOf(shape, state).some((unit) => isWaiting(unit, state));
  if (state.parked && state.dueAt > now && !sleeps) return true;
  return Object.values(state.steps).some((step) => {
    const tried = state.rollback === undefined ? step.forward : step.undo;
    const open = state.rollback === undefined ? step.done === undefined : !step.undone;
    return (
      step.undoFailed !== undefined || (open && Math.max(tried.retryAt, step.done ? 0 : step.forward.retryAt) > now)
    );
  });
}

export interface Resolution {
  readonly step: string;
  readonly as: "done" | "not_done" | "undone";
  readonly output?: StoredValue;
  readonly by: string;
  readonly note?: string;
}

/** 1.4: a person settled a step. */
export function decideResolve(shape: Shape, state: RunState, resolution: Resolution): OperatorDecision {
  const units = unitsOf(shape, state);
  const stepShape = units.find((step) => step.name === resolution.step);
  if (stepShape === undefined)
    return {
      refused: `the saga has no step "${resolution.step}"; its steps are ${units.map((step) => step.name).join(", ")}`,
    };
  const step = state.steps[resolution.step]!;
  const entries: Entry[] = [{ kind: "resolved", ...resolution }];
  if (resolution.as === "undone") {
    if (state.rollback === undefined || !isOwed(stepShape, step))
      return { refused: `no compensation of "${resolution.step}" is owed` };
    return { entries: withEnd(shape, state, entries) };
  }
  if (resolution.as === "not_done" && stepShape.kind !== "pivot")
    return { refused: "only a pivot can be settled as not_done" };
  if (stepShape.kind === "compensatable")
    return { refused: "a step before the pivot settles itself; only its compensation can be resolved, as undone" };
  if (state.rollback !== undefined) return { refused: "the saga is rolling back" };
  if (state.finished === undefined && isToTurn(shape, state)) return { refused: "the saga is about to roll back" };
  if (step.done !== undefined) return { refused: `"${resolution.step}" is done` };
  const tried = step.failed !== undefined || step.doubt || step.forward.failures > 0 || step.forward.attempts > 0;
  if (!state.pivotEntered || !tried)
    return { refused: `"${resolution.step}" has neither failed nor is it being retried` };
  // Nobody drives it, so nothing forward can be under way: the turn travels with the word that brings it.
  if (resolution.as === "not_done" && state.owner === undefined)
    return { entries: withEnd(shape, state, [...entries, { kind: "rollback_started", cause: "failure" }]) };
  return { entries };
}

/** Where nobody drives the run and no compensation is left to try, it ends with the word that brings that about. */
export function withEnd(shape: Shape, state: RunState, entries: readonly Entry[]): readonly Entry[] {
  const next = foldEntries(shape, state, entries, 0);
  if (next.owner !== undefined || nextOwed(shape, next) !== undefined) return entries;
  return [...entries, { kind: "finished", status: rolledBackStatus(next, next.rollback!) }];
}
