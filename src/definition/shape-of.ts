// A LIST'S SHAPE: the kinds follow from the place of the pivot (design 1.1).

import type { StepDefinition } from "./saga.js";
import type { Shape, StepKind } from "./shape.js";

/** The frozen shape of a list of steps. */
export function shapeOf(steps: readonly StepDefinition[]): Shape {
  const pivotAt = steps.findIndex((step) => step.pivot);
  const kindAt = (index: number): StepKind =>
    index === pivotAt ? "pivot" : pivotAt === -1 || index < pivotAt ? "compensatable" : "retriable";
  return Object.freeze({
    steps: Object.freeze(
      steps.map((step, index) =>
        Object.freeze({
          name: step.name,
          kind: kindAt(index),
          undone: step.compensate !== undefined,
          transactional: step.transaction,
        }),
      ),
    ),
  });
}
