// WHO MADE IT: a mark on elements and sagas that survives a second copy of the package. The mark of an element also holds
// what was wrong with its options, so that `defineSaga` can report the faults of all of them at once.

import type { Fault } from "../errors/usage-errors.js";
import type { SagaDefinition, StepDefinition } from "./saga.js";
import type { Parallel } from "./typed-step.js";

const stepMark: unique symbol = Symbol.for("rubicon-saga.step") as never;
const parallelMark: unique symbol = Symbol.for("rubicon-saga.parallel") as never;
const sagaMark: unique symbol = Symbol.for("rubicon-saga.saga") as never;

/** Of an element of a list that is none. */
export const madeByNobody =
  "was not made by step(), pivot() or named(), nor by sleep(), waitForSignal(), parallel(), forEach() or child()";

/** Marks and freezes an element of a list. Each fault's `at` is the path of an option. */
export function markStep<S extends StepDefinition>(step: S, faults: readonly Fault[]): S {
  return marked(step, stepMark, Object.freeze([...faults]));
}

/** The faults of an element's options, or undefined for what is no element, or a `parallel`. */
export function faultsOfStep(value: unknown): readonly Fault[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as { readonly [stepMark]?: readonly Fault[] })[stepMark];
}

/** Marks and freezes a `parallel`, with the faults of its own. */
export function markParallel<P extends Parallel>(parallel: P, faults: readonly Fault[]): P {
  return marked(parallel, parallelMark, Object.freeze([...faults]));
}

/** The faults of a `parallel` itself, not of its members; undefined for what was not made by `parallel`. */
export function faultsOfParallel(value: unknown): readonly Fault[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as { readonly [parallelMark]?: readonly Fault[] })[parallelMark];
}

/** Marks and freezes a saga. */
export function markSaga<S extends SagaDefinition>(saga: S): S {
  return marked(saga, sagaMark, true);
}

/** Whether a value was made by `defineSaga`, of this copy of the package or another. */
export function isSaga(value: unknown): value is SagaDefinition {
  return typeof value === "object" && value !== null && sagaMark in value;
}

function marked<T extends object>(value: T, mark: symbol, held: unknown): T {
  return Object.freeze(Object.defineProperty(value, mark, { value: held }));
}
