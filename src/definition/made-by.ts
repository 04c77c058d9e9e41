// WHO MADE IT: a mark on steps and sagas that survives a second copy of the package. A step's mark also holds what was
// wrong with its options, so that `defineSaga` can report the faults of all steps at once.

import type { Fault } from "../errors/usage-errors.js";
import type { SagaDefinition, StepDefinition } from "./saga.js";

const stepMark: unique symbol = Symbol.for("rubicon-saga.step") as never;
const sagaMark: unique symbol = Symbol.for("rubicon-saga.saga") as never;

/** Marks and freezes a step. Each fault's `at` is the path of an option. */
export function markStep<S extends StepDefinition>(step: S, faults: readonly Fault[]): S {
  return Object.freeze(Object.defineProperty(step, stepMark, { value: Object.freeze([...faults]) }));
}

/** The faults of a step's options, or undefined for what was not made by `step`, `pivot` or `named`. */
export function faultsOfStep(value: unknown): readonly Fault[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as { readonly [stepMark]?: readonly Fault[] })[stepMark];
}

/** Marks and freezes a saga. */
export function markSaga<S extends SagaDefinition>(saga: S): S {
  return Object.freeze(Object.defineProperty(saga, sagaMark, { value: true }));
}

/** Whether a value was made by `defineSaga`, of this copy of the package or another. */
export function isSaga(value: unknown): value is SagaDefinition {
  return typeof value === "object" && value !== null && sagaMark in value;
}
