// THE TABLE OF 1.1, CHECKED ONCE MORE AT RUN TIME, for definitions in plain JavaScript and lists that the compiler could not
// look into. The flow of data is not among it: what a step needs is known to the compiler alone, and that a key is provided
// twice shows when the outputs are there.

import type { Fault } from "../errors/usage-errors.js";
import { faultsOfStep } from "./made-by.js";
import { shownValue } from "./option-faults.js";
import type { StepDefinition } from "./saga.js";

/** All faults of a list of steps, in its order. */
export function faultsOfList(steps: readonly unknown[]): Fault[] {
  if (steps.length === 0) return [{ at: "steps", fault: "is empty; a saga has at least one step" }];
  const pivotAt = steps.findIndex((step) => faultsOfStep(step) !== undefined && (step as StepDefinition).pivot);
  return steps.flatMap((element, index) => {
    const own = faultsOfStep(element);
    if (own === undefined) return [notAStep(element, index)];
    const step = element as StepDefinition;
    const before = steps.slice(0, index).filter((other) => faultsOfStep(other) !== undefined) as StepDefinition[];
    const faults = [
      ...own.map(({ at, fault }) => `\`${at}\` ${fault}`),
      ...namingFaults(step, before),
      ...placeFaults(step, index, pivotAt, steps),
    ];
    return faults.map((fault) => ({ at: step.name || `step ${index + 1}`, fault }));
  });
}

function notAStep(element: unknown, index: number): Fault {
  return { at: `step ${index + 1}`, fault: `${shownValue(element)} was not made by step(), pivot() or named()` };
}

function namingFaults(step: StepDefinition, before: readonly StepDefinition[]): string[] {
  const faults: string[] = [];
  if (step.name !== "" && before.some((other) => other.name === step.name))
    faults.push(`an earlier step has the same name; use named(step, "another name")`);
  const rival = step.into === undefined ? undefined : before.find((other) => other.into === step.into);
  if (rival !== undefined) faults.push(`its output goes into "${step.into}", and so does that of "${rival.name}"`);
  return faults;
}

function placeFaults(step: StepDefinition, index: number, pivotAt: number, steps: readonly unknown[]): string[] {
  const pivot = pivotAt === -1 || pivotAt >= index ? undefined : (steps[pivotAt] as StepDefinition);
  if (pivot === undefined) {
    const undoable = step.pivot || step.nothingToUndo || step.compensate !== undefined;
    return undoable ? [] : ["can be rolled back, so it needs `compensate`, or `nothingToUndo: true`"];
  }
  if (step.pivot) return [`is a second pivot, after "${pivot.name}"; a saga has at most one`];
  if (step.compensate === undefined) return [];
  return [`comes after the pivot "${pivot.name}", where nothing is undone, so it can't have \`compensate\``];
}
