// WHAT HAPPENS NEXT: the saga's rules, a pure function of shape, state, clock and policies. Read it beside
// design/1-semantics.md; each branch names its section. It decides for an owner with nothing under way in its own hands.

import type { Shape, StepShape } from "../definition/shape.js";
import type { ErrorRecord } from "../errors/error-record.js";
import type { Action, Append } from "./action.js";
import type { Cause, EndStatus, Entry } from "./entry.js";
import type { DecideContext, RetryPolicy, StepPolicy } from "./policies.js";
import { type AttemptsState, nextForward, nextOwed, type RunState, type StepState } from "./state.js";

export function decide(shape: Shape, state: RunState, context: DecideContext): Action {
  if (state.finished !== undefined) return { kind: "ended" };
  return state.rollback === undefined ? goForward(shape, state, context) : rollBack(shape, state, context);
}

function goForward(shape: Shape, state: RunState, context: DecideContext): Action {
  // 1.7: an ask that won its number beats completion, failure and deadline.
  if (state.cancel !== undefined) return turnBack("cancel");
  const step = nextForward(shape, state);
  // 1.9: a last step that returned beats the deadline.
  if (step === undefined) return append({ kind: "finished", status: "completed" });
  const failed = state.steps[step.name]!.failed;
  if (failed !== undefined) return afterFailure(step, failed);
  // 1.9: the deadline loses to a `pivot_entered` by number.
  const { deadlineAt } = context.policies;
  if (!state.pivotEntered && context.now >= deadlineAt) return turnBack("deadline");
  // 1.10: the pivot's body does not start unless its entry is in the journal; a transactional one's commits with it.
  if (step.kind === "pivot" && !step.transactional && !state.pivotEntered)
    return append({ kind: "pivot_entered", step: step.name });
  const action = tryStep(step, state.steps[step.name]!, context);
  if (action.kind !== "wait" || state.pivotEntered) return action;
  return { kind: "wait", until: Math.min(action.until, deadlineAt) };
}

/** 1.1, last column of the table; 1.5 for a pivot in doubt. */
function afterFailure(step: StepShape, failed: "definite" | "in_doubt"): Action {
  switch (step.kind) {
    case "compensatable":
      return turnBack("failure");
    case "pivot":
      return failed === "definite" ? turnBack("failure") : append({ kind: "finished", status: "in_doubt" });
    case "retriable":
      return append({ kind: "finished", status: "forward_incomplete" });
  }
}

/** 1.5, going forward. */
function tryStep(shape: StepShape, step: StepState, context: DecideContext): Action {
  const policy = context.policies.steps[shape.name]!;
  const spent = step.final || isSpent(step.forward, policy.retry, context);
  const askable = step.doubt && policy.maxAsks > 0;
  // A step in doubt is asked about instead of being run again; a pivot also before it counts as in doubt for good.
  if (askable && (!spent || shape.kind === "pivot")) {
    if (step.asks >= policy.maxAsks) return fail(shape, step, policy);
    return after(Math.max(step.forward.retryAt, quietAt(step, policy, context)), context, {
      kind: "reconcile",
      step: shape.name,
    });
  }
  if (spent) return fail(shape, step, policy);
  return after(step.forward.retryAt, context, {
    kind: "run",
    step: shape.name,
    direction: "forward",
    attempt: step.forward.attempts + 1,
  });
}

/** 1.8, and 1.5 for a step in doubt. */
function rollBack(shape: Shape, state: RunState, context: DecideContext): Action {
  const owed = nextOwed(shape, state);
  if (owed === undefined) return append({ kind: "finished", status: rolledBackStatus(state, state.rollback!) });
  const step = state.steps[owed.name]!;
  const policy = context.policies.steps[owed.name]!;
  if (isSpent(step.undo, policy.compensationRetry, context))
    return append({
      kind: "compensation_failed",
      step: owed.name,
      attempts: executions(step.undo, policy.compensationRetry),
      error: lastError(step.undo, owed.name),
    });
  const quiet = step.done === undefined ? quietAt(step, policy, context) : context.now;
  if (step.done === undefined && step.asks < policy.maxAsks)
    return after(Math.max(quiet, step.forward.retryAt), context, { kind: "reconcile", step: owed.name });
  return after(Math.max(quiet, step.undo.retryAt), context, {
    kind: "run",
    step: owed.name,
    direction: "compensate",
    attempt: step.undo.attempts + 1,
  });
}

/** 1.4: a clean word never covers an unclean state. */
export function rolledBackStatus(state: RunState, cause: Cause): EndStatus {
  if (Object.values(state.steps).some((step) => step.undoFailed !== undefined)) return "compensation_failed";
  switch (cause) {
    case "failure":
      return "failed";
    case "cancel":
      return "cancelled";
    case "deadline":
      return "timed_out";
  }
}

/** 1.6: a budget is used up, or the body took its process down too often in a row. 1.5: once means never begun twice. */
function isSpent(tried: AttemptsState, retry: RetryPolicy, context: DecideContext): boolean {
  if (tried.attempts >= retry.maxAttempts) return true;
  if (retry.maxAttempts === 1) return tried.interrupted;
  return retry.maxAttempts === Number.POSITIVE_INFINITY && tried.crashes >= context.policies.maxCrashes;
}

/** Executions, never more than the budget: an owner that is lost with nothing left to try has not tried again. */
export function executions(tried: AttemptsState, retry: RetryPolicy): number {
  return Math.min(tried.attempts, retry.maxAttempts);
}

/** 1.5: from when on the last attempt that nobody saw the end of can be taken to be over. */
function quietAt(step: StepState, policy: StepPolicy, context: DecideContext): number {
  const until = (step.unsettledSince ?? 0) + policy.attemptMs;
  // An attempt without a limit can't be waited for: its owner was declared dead, and that is all that can be known.
  return step.unsettledSince === undefined || until === Number.POSITIVE_INFINITY ? context.now : until;
}

function fail(shape: StepShape, step: StepState, policy: StepPolicy): Append {
  return append({
    kind: "step_failed",
    step: shape.name,
    attempts: executions(step.forward, policy.retry),
    error: lastError(step.forward, shape.name),
    doubt: step.doubt ? "in_doubt" : "definite",
  });
}

/** The error that a body last threw; where its process died instead, or nobody knows, an error that says so. */
function lastError(tried: AttemptsState, step: string): ErrorRecord {
  if (tried.crashes === 0 && tried.lastError !== undefined) return tried.lastError;
  return {
    name: "CrashLoopError",
    code: "step.crash_loop",
    message:
      tried.crashes === 0
        ? `step "${step}" was interrupted and may not be begun again`
        : `step "${step}" took its process down, or lost it, ${tried.crashes} time${tried.crashes === 1 ? "" : "s"} in a row`,
    ...(tried.lastError === undefined ? {} : { cause: tried.lastError }),
  };
}

function after(at: number, context: DecideContext, action: Action): Action {
  return at > context.now ? { kind: "wait", until: at } : action;
}

function turnBack(cause: Cause): Append {
  return append({ kind: "rollback_started", cause });
}

function append(...entries: Entry[]): Append {
  return { kind: "append", entries };
}
