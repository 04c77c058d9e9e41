// THE TABLE OF 1.1, CHECKED ONCE MORE AT RUN TIME, for definitions in plain JavaScript and lists that the compiler could not
// look into. The flow of data is not among it: what a step needs is known to the compiler alone, and that a key is provided
// twice shows when the outputs are there.

import type { Fault } from "../errors/usage-errors.js";
import { flatList, type Placed } from "./flat-list.js";
import { faultsOfParallel, faultsOfStep, madeByNobody } from "./made-by.js";
import { shownValue } from "./option-faults.js";
import type { StepDefinition } from "./saga.js";

/** All faults of a list of elements, in its order. */
export function faultsOfList(list: readonly unknown[]): Fault[] {
  if (list.length === 0) return [{ at: "steps", fault: "is empty; a saga has at least one step" }];
  const flat = flatList(list);
  const pivotAt = flat.findIndex(({ element }) => isElement(element) && element.pivot);
  return [...faultsOfParallels(list), ...flat.flatMap((_, index) => faultsAt(index, flat, pivotAt))];
}

function faultsOfParallels(list: readonly unknown[]): Fault[] {
  return list.flatMap((element, index) =>
    (faultsOfParallel(element) ?? []).map(({ fault }) => ({ at: `step ${index + 1}`, fault })),
  );
}

function faultsAt(index: number, flat: readonly Placed[], pivotAt: number): Fault[] {
  const { element, place, parallel } = flat[index]!;
  if (!isElement(element)) return [{ at: place, fault: notAnElement(element, parallel) }];
  const before = flat.slice(0, index).flatMap((other) => (isElement(other.element) ? [other.element] : []));
  const pivot = pivotAt === -1 || pivotAt >= index ? undefined : (flat[pivotAt]!.element as StepDefinition);
  const faults = [
    ...faultsOfStep(element)!.map(({ at, fault }) => `\`${at}\` ${fault}`),
    ...namingFaults(element, before),
    ...(parallel !== undefined && element.pivot ? [pivotBeside] : placeFaults(element, pivot)),
  ];
  return faults.map((fault) => ({ at: element.name || place, fault }));
}

function isElement(value: unknown): value is StepDefinition {
  return faultsOfStep(value) !== undefined;
}

const pivotBeside = "is a pivot, and a member of a parallel; the point of no return is passed alone";

function notAnElement(value: unknown, parallel: number | undefined): string {
  if (parallel !== undefined && faultsOfParallel(value) !== undefined)
    return "is a parallel within a parallel; put its members beside the others";
  return `${shownValue(value)} ${madeByNobody}`;
}

function namingFaults(step: StepDefinition, before: readonly StepDefinition[]): string[] {
  const faults: string[] = [];
  if (step.name !== "" && before.some((other) => other.name === step.name))
    faults.push(`an earlier step has the same name; use named(step, "another name")`);
  const rival = !step.into ? undefined : before.find((other) => other.into === step.into);
  if (rival !== undefined) faults.push(`its output goes into "${step.into}", and so does that of "${rival.name}"`);
  return faults;
}

/** `pivot` is the one that the step comes after, if any. Of a list it is the item's step that undoes. */
function placeFaults(step: StepDefinition, pivot: StepDefinition | undefined): string[] {
  const { compensate, nothingToUndo } = step.each?.step ?? step;
  if (pivot === undefined) {
    if (!step.pivot && !nothingToUndo && compensate === undefined)
      return ["can be rolled back, so it needs `compensate`, or `nothingToUndo: true`"];
    const turns = step.child?.steps.find((other) => other.pivot);
    return turns === undefined ? [] : [childTurns(step.child!.name, turns.name)];
  }
  if (step.pivot) return [`is a second pivot, after "${pivot.name}"; a saga has at most one`];
  if (compensate === undefined) return [];
  return [`comes after the pivot "${pivot.name}", where nothing is undone, so it can't have \`compensate\``];
}

function childTurns(saga: string, pivot: string): string {
  return `runs the saga "${saga}", whose pivot "${pivot}" can't be undone; put it after a pivot of this saga`;
}
