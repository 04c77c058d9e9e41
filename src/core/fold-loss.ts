// WHAT IS NOT KNOWN ANY MORE when an owner is gone without having said how its attempts ended: what was next may have
// happened (design 1.3).

import type { Shape } from "../definition/shape.js";
import { type AttemptsState, type RunState, type UnderWay, withStep } from "./state.js";
import { isComputing, unitOf } from "./units.js";

export function afterLoss(shape: Shape, state: RunState, crash: boolean): RunState {
  return state.underWay.reduce((known, lost) => afterLossOf(shape, known, lost, crash), state);
}

function afterLossOf(shape: Shape, state: RunState, lost: UnderWay, crash: boolean): RunState {
  const unit = unitOf(shape, state, lost.step);
  const count = (tried: AttemptsState): AttemptsState => {
    if (crash) return { ...tried, attempts: tried.attempts + 1, crashes: tried.crashes + 1 };
    return unit.transactional ? tried : { ...tried, interrupted: true };
  };
  return withStep(state, lost.step, (step) => {
    if (lost.direction === "compensate") return { ...step, undo: count(step.undo) };
    // Nothing outside was touched, so nothing can have happened.
    if (isComputing(unit, step)) return crash ? { ...step, forward: count(step.forward) } : step;
    const forward = count(step.forward);
    if (unit.transactional) return { ...step, forward };
    // What was lost of a step in doubt that can be asked about was an ask; where it can't, asks don't matter.
    const asks = crash && step.doubt ? step.asks + 1 : step.asks;
    return { ...step, forward, asks, doubt: true, unsettledSince: lost.since };
  });
}
