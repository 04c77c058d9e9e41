// A LIST'S SHAPE: the kinds follow from the place of the pivot (design 1.1).

import type { StepDefinition } from "./saga.js";
import type { Shape, StepKind, StepShape } from "./shape.js";

/** The frozen shape of a list of steps. */
export function shapeOf(steps: readonly StepDefinition[]): Shape {
  const pivotAt = steps.findIndex((step) => step.pivot);
  const kindAt = (index: number): StepKind =>
    index === pivotAt ? "pivot" : pivotAt === -1 || index < pivotAt ? "compensatable" : "retriable";
  return Object.freeze({
    steps: Object.freeze(
      steps.map((step, index) =>
        Object.freeze<StepShape>({
          name: step.name,
          kind: kindAt(index),
          undone: isUndone(step, kindAt(index)),
          transactional: (step.each?.step ?? step).transaction,
          ...(step.element === undefined ? {} : { element: step.element }),
          ...(step.wait === undefined ? {} : { signal: step.wait.signal }),
          ...(step.parallel === undefined ? {} : { parallel: step.parallel }),
          ...(step.when === undefined ? {} : { conditional: true as const }),
        }),
      ),
    ),
  });
}

/** A child is undone by its own compensations, where the saga can still turn back; of a list, each item by its step's. */
function isUndone(step: StepDefinition, kind: StepKind): boolean {
  if (step.element === "child") return kind === "compensatable";
  return (step.each?.step ?? step).compensate !== undefined;
}
