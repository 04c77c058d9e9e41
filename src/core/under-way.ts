// WHAT MAY BE RUNNING after an entry: no entry says that a body began, so it may have from the entry on that made it next
// (design 1.3). Part of the fold.

import type { Shape } from "../definition/shape.js";
import type { Direction, Entry } from "./entry.js";
import type { RunState, UnderWay } from "./state.js";
import { failedOf, isWaiting, nextOwed, stageOf } from "./units.js";

/**
 * A bystander's word makes nothing next and stops nothing: what was next may already have begun (1.7). Every other entry of
 * a driven run makes next what is next now. What runs beside the step that an entry is about goes on as it was.
 */
export function withUnderWay(shape: Shape, state: RunState, entry: Entry, at: number): RunState {
  if (entry.kind === "cancel_requested" || entry.kind === "cancel_refused" || entry.kind === "signal_received")
    return state;
  const step = "step" in entry ? entry.step : undefined;
  const ofFunction = entry.kind === "declared" || entry.kind === "function_failed";
  const beside = ofFunction
    ? state.underWay
    : step === undefined
      ? []
      : state.underWay.filter((body) => body.step !== step);
  const next = madeNext(shape, state, beside).map((made) => among(beside, made) ?? begunAt(state, made, at));
  // An operator's `retried` may put another compensation before the one that is running.
  const behind = entry.kind === "retried" ? state.underWay.filter((body) => among(next, body) === undefined) : [];
  return { ...state, underWay: [...next, ...behind] };
}

type Body = Pick<UnderWay, "step" | "direction">;

function madeNext(shape: Shape, state: RunState, beside: readonly UnderWay[]): readonly Body[] {
  if (state.owner === undefined || state.finished !== undefined) return [];
  if (state.rollback !== undefined) {
    const owed = nextOwed(shape, state);
    // A child undoes itself, in its own journal: what is lost with the owner here is a look.
    return owed === undefined || owed.element === "child" ? [] : [{ step: owed.name, direction: "compensate" }];
  }
  const stage = stageOf(shape, state).filter(({ name }) => state.steps[name]!.failed === undefined);
  // Nothing more is begun; what is under way still has to end.
  const threw = shape.function === true && state.failure !== undefined;
  if (state.cancel !== undefined || threw || failedOf(shape, state) !== undefined)
    return beside.filter(({ step, direction }) => direction === "forward" && stage.some(({ name }) => name === step));
  const direction: Direction = "forward";
  return stage
    .filter((unit) => unit.kind !== "pivot" || unit.transactional || state.pivotEntered)
    .filter((unit) => !isWaiting(unit, state))
    .map(({ name }) => ({ step: name, direction }));
}

function among(bodies: readonly UnderWay[], { step, direction }: Body): UnderWay | undefined {
  return bodies.find((body) => body.step === step && body.direction === direction);
}

function begunAt(state: RunState, { step, direction }: Body, at: number): UnderWay {
  const { forward, undo } = state.steps[step]!;
  const { retryAt } = direction === "forward" ? forward : undo;
  return { step, direction, since: Math.max(at, retryAt) };
}
