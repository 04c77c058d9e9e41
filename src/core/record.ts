// WHAT AN OUTCOME BECOMES in the journal: the entries of the one row that the owner offers after an action (design 1.2,
// 1.5). Offered again to a newer state when the number was lost; then it may come to something else, or to nothing.

import type { Shape } from "../definition/shape.js";
import type { ErrorRecord } from "../errors/error-record.js";
import type { AbortReason } from "../errors/step-errors.js";
import type { Attempted, Compute, RunBody } from "./action.js";
import { backoffMs } from "./backoff.js";
import { decide, executions, isTurning } from "./decide.js";
import type { Entry, StoredValue } from "./entry.js";
import { foldEntries } from "./fold.js";
import { type DecideContext, parkAfterMs, policyOf, type StepPolicy } from "./policies.js";
import { type Computed, computedEntry } from "./record-computed.js";
import type { RunState, Unit } from "./state.js";
import { isOwed, pendingSignal, unitOf } from "./units.js";

/** It returned, also within its grace. For `reconcile`: it happened, and this is what it gave. */
export interface Returned {
  readonly kind: "returned";
  readonly output: StoredValue;
}

/** It threw, or did not settle. Also for an ask: a throw is "can't tell". */
export interface Threw {
  readonly kind: "threw";
  readonly error: ErrorRecord;
  /** Whether trying again can help. */
  readonly retryable: boolean;
  /** What the error says of this attempt. */
  readonly happened: "no" | "maybe";
  /** False when the body was never called. */
  readonly counted: boolean;
  readonly retryAfterMs?: number;
  /** Why its signal was aborted, if it was. */
  readonly aborted?: AbortReason;
}

/** `reconcile` answered that it did not happen and will not any more, or that it can't tell. */
export interface Answered {
  readonly kind: "answered";
  readonly answer: "not_happened" | "cannot_tell";
}

export type Outcome = Returned | Threw | Answered | Computed;

export interface RecordContext extends DecideContext {
  /** In [0, 1): spreads the delays. */
  readonly random: number;
  readonly worker: string;
  /** The worker takes no more work: what is not under way is given back. */
  readonly stopping: boolean;
  /** An attempt that the stop aborted may have happened, which only the hand-over of the whole run can say. Default: none. */
  readonly givenUp?: boolean;
}

/**
 * The row for `outcome`, with all that follows from it without anything being done in between: the pivot entered, the turn,
 * the end, the parking. `undefined` when the outcome is void: somebody settled the step meanwhile, or a transactional
 * step may not complete any more, and its transaction has to be undone.
 */
export function record(
  shape: Shape,
  state: RunState,
  action: Attempted,
  outcome: Outcome,
  context: RecordContext,
): readonly Entry[] | undefined {
  if (isVoid(shape, state, action, outcome)) return undefined;
  return settle(shape, state, ownEntries(shape, state, action, outcome, context), context);
}

/** Adds to `entries` whatever `decide` wants written right after them, and the parking where it then has to wait. */
export function settle(
  shape: Shape,
  state: RunState,
  entries: readonly Entry[],
  context: RecordContext,
): readonly Entry[] {
  const row = [...entries];
  const busy = (context.busy ?? []).length > 0;
  for (;;) {
    const next = foldEntries(shape, state, row, context.now);
    if (next.owner === undefined) return row;
    if (context.givenUp === true) return busy ? row : [...row, { kind: "handed_over", worker: context.worker }];
    const action = decide(shape, next, context);
    if (action.kind === "append" && !(context.stopping && action.entries[0]?.kind === "pivot_entered"))
      row.push(...action.entries);
    else if (busy) return row;
    else if (context.stopping)
      return [...row, { kind: "parked", until: action.kind === "wait" ? action.until : context.now }];
    else if (action.kind === "wait" && action.until - context.now >= parkAfterMs)
      return [...row, { kind: "parked", until: action.until }];
    else return row;
  }
}

/** Whether the worker's stop left open what came of it: only the hand-over of the whole run can say that (1.3). */
export function isLeftOpen(action: Attempted, outcome: Outcome): boolean {
  if (outcome.kind !== "threw" || outcome.aborted !== "shutdown" || action.kind === "compute") return false;
  return action.kind === "reconcile" || action.direction === "compensate" || outcome.happened === "maybe";
}

/** Whether what came of `action` no longer has a place in the journal. */
function isVoid(shape: Shape, state: RunState, action: Attempted, outcome: Outcome): boolean {
  // What a lost owner's abort made of an attempt is nobody's to tell: the next owner counts it as in doubt (1.3).
  if (state.finished !== undefined || (outcome.kind === "threw" && outcome.aborted === "lost")) return true;
  const step = state.steps[action.step]!;
  const unit = unitOf(shape, state, action.step);
  if (state.rollback !== undefined) return !isOwed(unit, step) || step.undoFailed !== undefined;
  if (step.done !== undefined || step.failed !== undefined) return true;
  // 1.10: a transactional step whose saga was asked to stop is undone by its own transaction, and was never attempted.
  return unit.transactional && outcome.kind === "returned" && state.cancel !== undefined;
}

/** What is computed for a saga that turns back would only begin something; what was computed for a signal is for that one. */
function isOutdated(shape: Shape, unit: Unit, state: RunState, action: Compute, context: RecordContext): boolean {
  return isTurning(shape, state, context) || action.received !== pendingSignal(unit, state)?.received;
}

function ownEntries(
  shape: Shape,
  state: RunState,
  action: Attempted,
  outcome: Outcome,
  context: RecordContext,
): readonly Entry[] {
  const unit = unitOf(shape, state, action.step);
  const policy = policyOf(context.policies, unit);
  if (action.kind === "reconcile") return answerEntries(state, action.step, outcome, policy, context);
  if (action.kind === "compute" && isOutdated(shape, unit, state, action, context)) return [];
  if (outcome.kind === "computed") return [computedEntry(unit, state, outcome, context.now)];
  if (outcome.kind === "threw") {
    if (action.kind === "run") return failure(unit, state, action, outcome, policy, context);
    return computingFailed(unit, state, action, outcome, policy, context);
  }
  if (outcome.kind === "answered" || action.kind === "compute") throw new TypeError("a body returns or throws");
  if (action.direction === "compensate")
    return [{ kind: "step_compensated", step: action.step, attempt: action.attempt }];
  const completed: Entry = {
    kind: "step_completed",
    step: action.step,
    output: outcome.output,
    attempt: action.attempt,
  };
  return unit.kind === "pivot" && unit.transactional
    ? [{ kind: "pivot_entered", step: action.step }, completed]
    : [completed];
}

function answerEntries(
  state: RunState,
  step: string,
  outcome: Outcome,
  policy: StepPolicy,
  context: RecordContext,
): Entry[] {
  const { asks, forward } = state.steps[step]!;
  if (outcome.kind === "returned")
    return [
      {
        kind: "step_completed",
        step,
        output: outcome.output,
        attempt: Math.max(1, executions(forward, policy.retry)),
      },
    ];
  if (outcome.kind === "threw" && outcome.aborted === "shutdown")
    // Parked, the run would be another's while what runs beside the ask is still this owner's.
    return (context.busy ?? []).length > 0 || context.givenUp === true ? [] : [{ kind: "parked", until: context.now }];
  if (outcome.kind === "answered" && outcome.answer === "not_happened")
    return [{ kind: "reconciled", step, answer: "not_happened", asks: asks + 1, askAt: context.now }];
  const retryAfterMs = outcome.kind === "threw" ? outcome.retryAfterMs : undefined;
  return [
    {
      kind: "reconciled",
      step,
      answer: "cannot_tell",
      asks: asks + 1,
      askAt: context.now + backoffMs(policy.retry, asks + 1, context.random, retryAfterMs),
      ...(outcome.kind === "threw" ? { error: outcome.error } : {}),
    },
  ];
}

/** A pure function threw, or the saga was told to stop in the middle of it: nothing can have happened. */
function computingFailed(
  unit: Unit,
  state: RunState,
  action: Compute,
  threw: Threw,
  policy: StepPolicy,
  context: RecordContext,
): readonly Entry[] {
  if (threw.aborted !== undefined && threw.aborted !== "timeout") return [];
  // What does not fit is nobody's attempt: the next signal in line may.
  if (action.what === "payload")
    return [
      { kind: "signal_rejected", step: unit.name, received: pendingSignal(unit, state)!.received, error: threw.error },
    ];
  const attempt: RunBody = { kind: "run", step: action.step, direction: "forward", attempt: action.attempt };
  return failure(unit, state, attempt, { ...threw, happened: "no" }, policy, context);
}

/** 1.5, 1.6: what a failed attempt comes to. */
function failure(
  unit: Unit,
  state: RunState,
  action: RunBody,
  threw: Threw,
  policy: StepPolicy,
  context: RecordContext,
): readonly Entry[] {
  const { step, direction, attempt } = action;
  if (isLeftOpen(action, threw))
    // What runs beside it may still return: the hand-over is written with the last of them.
    return (context.busy ?? []).length > 0 ? [] : [{ kind: "handed_over", worker: context.worker }];
  const forward = direction === "forward";
  const before = forward ? state.steps[step]!.forward : state.steps[step]!.undo;
  const retry = forward ? policy.retry : policy.compensationRetry;
  const counted = threw.counted && (threw.aborted === undefined || executed.has(threw.aborted));
  const attempts = before.attempts + (counted ? 1 : 0);
  const failures = before.failures + 1;
  const { error } = threw;
  // 1.10: whatever a transactional step's error says, its transaction was undone.
  const doubt = forward && !unit.transactional && (state.steps[step]!.doubt || threw.happened === "maybe");
  const spent = !threw.retryable || attempts >= retry.maxAttempts;
  const retryAt = context.now + backoffMs(retry, failures, context.random, threw.retryAfterMs);
  const failed = {
    kind: "attempt_failed",
    step,
    direction,
    attempt,
    attempts,
    counted,
    failures,
    error,
    doubt,
    retryAt,
  } as const;
  if (!forward) return [spent ? { kind: "compensation_failed", step, attempts, error } : { ...failed, final: false }];
  // 1.7, 1.9: an ask that is in the journal, the deadline, or what failed beside it is the cause, whatever the attempt that
  // it aborted says.
  const causeStands = state.cancel !== undefined || state.failure !== undefined || threw.aborted === "deadline";
  const given = context.replay?.unwanted;
  if (given?.has(step) && !causeStands) {
    const because = given.get(step);
    const why = because === undefined ? {} : { because };
    return [{ kind: "step_failed", step, attempts, error, doubt: doubt ? "in_doubt" : "definite", ...why }];
  }
  if (!spent || causeStands) return [{ ...failed, final: false }];
  // 1.5: a pivot in doubt is asked about before anybody says that it can't be found out.
  if (unit.kind === "pivot" && doubt && policy.maxAsks > 0) return [{ ...failed, final: true }];
  return [{ kind: "step_failed", step, attempts, error, doubt: doubt ? "in_doubt" : "definite" }];
}

/** Of the reasons to abort an attempt, those after which it is an execution like any other. */
const executed: ReadonlySet<AbortReason> = new Set<AbortReason>(["timeout", "sibling_failed"]);
