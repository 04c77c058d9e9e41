// WHAT HAPPENS NEXT: the saga's rules, a pure function of shape, state, clock and policies. Read it beside
// design/1-semantics.md; each branch names its section. It decides for the owner, who says which bodies it has in hand.

import type { Shape, StepShape } from "../definition/shape.js";
import type { ErrorRecord } from "../errors/error-record.js";
import type { Action, Append } from "./action.js";
import { decideChild, undoChild } from "./decide-child.js";
import { askedFor, beforeUndoing, beforeUnits, endOfFunction } from "./decide-function.js";
import { type Cause, type EndStatus, type Entry, farFuture } from "./entry.js";
import { type DecideContext, policyOf, type RetryPolicy, type StepPolicy } from "./policies.js";
import type { AttemptsState, RunState, StepState, Unit } from "./state.js";
import { nextOwed, pendingSignal, stageOf, toCompute } from "./units.js";

export function decide(shape: Shape, state: RunState, context: DecideContext): Action {
  if (state.finished !== undefined) return { kind: "ended" };
  return state.rollback === undefined ? goForward(shape, state, context) : rollBack(shape, state, context);
}

function goForward(shape: Shape, state: RunState, context: DecideContext): Action {
  const { busy = [] } = context;
  const open = stageOf(shape, state);
  const turn = whyTurn(shape, state, open, context);
  // 1.3: the turn, and the end, are written when nothing forward is under way; what is to end was told to.
  if (turn !== undefined) return busy.length > 0 ? forever : turn;
  // An operator settled what is in hand: it ends before anything else begins.
  if (busy.some((name) => open.every((unit) => unit.name !== name))) return forever;
  const asking = shape.function === true ? beforeUnits(state, context) : undefined;
  if (asking !== undefined) return asking;
  const stage = shape.function === true ? askedFor(open, context, state) : open;
  // 1.10: the pivot's body does not start unless its entry is in the journal; a transactional one's commits with it.
  const [first] = stage;
  if (first!.kind === "pivot" && !first!.transactional && !state.pivotEntered)
    return append({ kind: "pivot_entered", step: first!.name });
  const actions = stage.filter(({ name }) => !busy.includes(name)).map((unit) => advance(unit, state, context));
  return actions.find(({ kind }) => kind !== "wait") ?? soonest(actions, state, context);
}

/** Whether nothing more is begun going forward, because the saga ends, or turns back, as soon as nothing is under way. */
export function isTurning(shape: Shape, state: RunState, context: DecideContext): boolean {
  return whyTurn(shape, state, stageOf(shape, state), context) !== undefined;
}

/** What ends the forward way, or turns the saga back. */
function whyTurn(shape: Shape, state: RunState, stage: readonly Unit[], context: DecideContext): Append | undefined {
  // 1.7: an ask that won its number beats completion, failure and deadline.
  if (state.cancel !== undefined) return turnBack("cancel");
  // 1.9: a last step that returned beats the deadline.
  if (stage.length === 0 && shape.function !== true) return append({ kind: "finished", status: "completed" });
  const failed = stage.find(({ name }) => state.steps[name]!.failed !== undefined);
  if (failed !== undefined) return afterFailure(failed, state.steps[failed.name]!.failed!);
  const end = shape.function === true ? endOfFunction(state, context) : undefined;
  if (end !== undefined) return end;
  // 1.9: the deadline loses to a `pivot_entered` by number.
  return !state.pivotEntered && context.now >= context.policies.deadlineAt ? turnBack("deadline") : undefined;
}

const forever: Action = { kind: "wait", until: farFuture };

/** Nothing can be begun: until the first of what is waited for, or the deadline. */
function soonest(actions: readonly Action[], state: RunState, { policies }: DecideContext): Action {
  const untils = actions.map((action) => (action as Extract<Action, { readonly kind: "wait" }>).until);
  return { kind: "wait", until: Math.min(farFuture, ...untils, ...(state.pivotEntered ? [] : [policies.deadlineAt])) };
}

/** What is next for one of the units that may run beside each other. */
function advance(unit: Unit, state: RunState, context: DecideContext): Action {
  const step = state.steps[unit.name]!;
  if (toCompute(unit, state) !== undefined) return compute(unit, state, context);
  switch (unit.element) {
    case "sleep":
      return after(step.waitUntil!, context, append({ kind: "timer_fired", step: unit.name }));
    case "signal":
      return awaitSignal(unit, step, context);
    case "child":
      return decideChild(unit, context);
    default:
      return tryStep(unit, step, context);
  }
}

/** A pure function of the definition's, tried again within the step's own budget when it throws. */
function compute(unit: Unit, state: RunState, context: DecideContext): Action {
  const { forward } = state.steps[unit.name]!;
  const policy = policyOf(context.policies, unit);
  if (isSpent(forward, policy.retry, context)) return fail(unit, state.steps[unit.name]!, policy);
  const what = toCompute(unit, state)!;
  const signal = what === "payload" ? { received: pendingSignal(unit, state)!.received } : {};
  const attempt = forward.attempts + 1;
  return after(forward.retryAt, context, { kind: "compute", step: unit.name, what, attempt, ...signal });
}

/** The deadline counts from the first wait; a signal that is in line already beats it. */
function awaitSignal(unit: Unit, step: StepState, context: DecideContext): Action {
  const { withinMs = farFuture, failsOnTimeout } = policyOf(context.policies, unit);
  const { name } = unit;
  if (step.waitUntil === undefined)
    return append({ kind: "signal_awaited", step: name, until: Math.min(context.now + withinMs, farFuture) });
  const error = {
    name: "SignalTimeoutError",
    code: "signal.timed_out",
    message: `no signal "${unit.signal}" came in time for step "${name}"`,
  };
  return after(
    step.waitUntil,
    context,
    failsOnTimeout === true
      ? append({ kind: "step_failed", step: name, attempts: 1, error, doubt: "definite" })
      : append({ kind: "signal_timed_out", step: name }),
  );
}

/** 1.1, last column of the table; 1.5 for a pivot in doubt. */
function afterFailure(step: StepShape, failed: "definite" | "in_doubt"): Append {
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
function tryStep(shape: Unit, step: StepState, context: DecideContext): Action {
  const policy = policyOf(context.policies, shape);
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
  // One after the other: what an operator settled, or put behind another one, ends first.
  if ((context.busy ?? []).length > 0) return forever;
  const owed = nextOwed(shape, state);
  if (owed === undefined) return append({ kind: "finished", status: rolledBackStatus(state, state.rollback!) });
  const unknown = shape.function === true ? beforeUndoing(owed, state, context) : undefined;
  if (unknown !== undefined) return unknown;
  if (owed.element === "child") return undoChild(owed, context);
  const step = state.steps[owed.name]!;
  const policy = policyOf(context.policies, owed);
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
