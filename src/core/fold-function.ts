// WHAT A FUNCTION LEAVES IN ITS RUN'S STATE: what it asked for, what it was given in which order, and which failures are the
// run's (design 2.3). Part of the fold.

import type { Shape, StepShape } from "../definition/shape.js";
import type { Entry, StepFailed } from "./entry.js";
import { type RunState, untouched } from "./state.js";
import { isSettled, unitOf } from "./units.js";

export function foldDeclared(state: RunState, units: readonly StepShape[]): RunState {
  const fresh = units.filter(({ name }) => !Object.hasOwn(state.steps, name));
  const again = (name: string) => units.find((unit) => unit.name === name);
  const known = fresh.length === units.length ? state.declared : state.declared.map((unit) => again(unit.name) ?? unit);
  const steps = Object.fromEntries(fresh.map(({ name }) => [name, untouched]));
  return { ...state, declared: [...known, ...fresh], steps: { ...state.steps, ...steps } };
}

/** A step's failure that its function may catch turns nothing: what the function makes of it does. */
export function withFailure(shape: Shape, state: RunState, failed: StepFailed): Pick<RunState, "failure"> {
  const { step, error, doubt, because } = failed;
  // Of what ran side by side the first that failed is the cause.
  if (state.failure !== undefined) return { failure: state.failure };
  if (shape.function === true && doubt === "definite" && unitOf(shape, state, step).kind !== "pivot") return {};
  const cause = because === undefined ? undefined : state.steps[because]?.forward.lastError;
  return { failure: cause === undefined ? { step, error } : { step: because!, error: cause } };
}

/** The order in which a function's calls were settled is the order in which it is given what came of them. */
export function withSettled(shape: Shape, before: RunState, state: RunState, entry: Entry): RunState {
  if (shape.function !== true) return state;
  if (entry.kind === "retried") {
    const settled = state.settled.filter((name) => isSettled(unitOf(shape, state, name), state));
    return { ...state, settled };
  }
  if (!("step" in entry) || entry.step === undefined || before.settled.includes(entry.step)) return state;
  const unit = unitOf(shape, state, entry.step);
  return isSettled(unit, state) ? { ...state, settled: [...state.settled, unit.name] } : state;
}
