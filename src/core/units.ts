// WHAT CAN BE DONE OR UNDONE ON ITS OWN: the elements of a saga's list, and the items of a list that a run has listed. Which
// of them are next, and which are still to be undone (design 1.8). Pure.

import type { Shape, StepShape } from "../definition/shape.js";
import type { Compute } from "./action.js";
import type { PendingSignal, RunState, StepState, Unit } from "./state.js";

/** An element's items as units: each is a step of its own. Whether the element runs at all was decided before it was listed. */
export function itemUnits(element: StepShape, count: number): readonly Unit[] {
  const { element: _each, parallel: _parallel, conditional: _decided, ...step } = element;
  return Array.from({ length: count }, (_, index) => ({ ...step, name: `${element.name}/${index}`, of: element.name }));
}

/** All units, in the order of the list; of a function, in the order in which it first asked for them. */
export function unitsOf(shape: Shape, state: RunState): readonly Unit[] {
  if (shape.function === true) return state.declared;
  return shape.steps.some(({ element }) => element === "each")
    ? shape.steps.flatMap((step) => state.steps[step.name]!.items?.units ?? [step])
    : shape.steps;
}

export function unitOf(shape: Shape, state: RunState, name: string): Unit {
  return elementOf(shape, name) ?? unitsOf(shape, state).find((unit) => unit.name === name)!;
}

function elementOf(shape: Shape, name: string): Unit | undefined {
  return shape.steps.find((step) => step.name === name);
}

/**
 * What may be under way or begun now: the first element of the list that is not done, and what runs beside it. Of a list
 * of items the first open ones, as many as may be under way at once. Empty when all is done.
 */
export function stageOf(shape: Shape, state: RunState): readonly Unit[] {
  if (shape.function === true) return state.declared.filter((unit) => !isSettled(unit, state));
  const first = nextForward(shape, state);
  if (first === undefined) return [];
  const beside =
    first.parallel === undefined ? [first] : shape.steps.filter(({ parallel }) => parallel === first.parallel);
  return beside.flatMap((element) => openUnits(element, state.steps[element.name]!, state));
}

function openUnits(element: StepShape, step: StepState, state: RunState): readonly Unit[] {
  if (step.done !== undefined) return [];
  if (step.items === undefined) return [element];
  return step.items.units.filter(({ name }) => state.steps[name]!.done === undefined).slice(0, step.items.concurrency);
}

/**
 * Whether a function may be given what came of the unit. What it may not catch (a failure in doubt, or of the pivot) is
 * never given to it.
 */
export function isSettled(unit: Unit, state: RunState): boolean {
  const { done, failed } = state.steps[unit.name]!;
  return done !== undefined || (failed === "definite" && unit.kind !== "pivot");
}

/** The pivot, as far as is known: a function may still come to one. */
export function pivotOf(shape: Shape, state: RunState): StepShape | undefined {
  return unitsOf(shape, state).find(({ kind }) => kind === "pivot");
}

/** The first element that is not done; undefined when all are, or when only a function knows what is next. */
export function nextForward(shape: Shape, state: RunState): StepShape | undefined {
  if (shape.function === true) return stageOf(shape, state)[0];
  return shape.steps.find((step) => state.steps[step.name]!.done === undefined);
}

/** Of what is next, the unit that failed for good, if one did. */
export function failedOf(shape: Shape, state: RunState): Unit | undefined {
  return stageOf(shape, state).find(({ name }) => state.steps[name]!.failed !== undefined);
}

/**
 * Whether something about the unit has to be computed before anything else can be: nothing outside is touched by that, so
 * a loss in the middle of it leaves no doubt.
 */
export function isComputing(unit: Unit, step: StepState): boolean {
  return unit.element !== undefined || (unit.conditional === true && step.holds === undefined);
}

/** What has to be computed before the unit can get on; undefined when nothing has. */
export function toCompute(unit: Unit, state: RunState): Compute["what"] | undefined {
  const step = state.steps[unit.name]!;
  if (unit.conditional === true && step.holds === undefined) return "when";
  switch (unit.element) {
    case "sleep":
      return step.waitUntil === undefined ? "for" : undefined;
    case "signal":
      return pendingSignal(unit, state) === undefined ? undefined : "payload";
    case "each":
      return step.items === undefined ? "over" : undefined;
    case "child":
      return step.child === undefined ? "input" : undefined;
    default:
      return undefined;
  }
}

/** Whether nothing of the unit can be begun: it waits for an instant, for a signal that has not come, for its child's end. */
export function isWaiting(unit: Unit, state: RunState): boolean {
  return unit.element !== undefined && toCompute(unit, state) === undefined;
}

/** The signal that the unit gets next, once it waits. */
export function pendingSignal(unit: Unit, state: RunState): PendingSignal | undefined {
  const waits = state.steps[unit.name]!.waitUntil !== undefined;
  return waits ? state.signals[unit.signal!]?.pending[0] : undefined;
}

/** The last unit of the list that is still to be undone: reverse order of the list, never of time (1.8). */
export function nextOwed(shape: Shape, state: RunState): Unit | undefined {
  return inOrder(shape, state).findLast(
    (unit) => isOwed(unit, state.steps[unit.name]!) && state.steps[unit.name]!.undoFailed === undefined,
  );
}

/** A function has no list: its units as they were completed, and after them what may have happened. */
function inOrder(shape: Shape, state: RunState): readonly Unit[] {
  const units = unitsOf(shape, state);
  if (shape.function !== true) return units;
  const isDone = (name: string) => state.steps[name]!.done !== undefined;
  const named = new Map(units.map((unit) => [unit.name, unit]));
  const done = state.settled.filter(isDone).map((name) => named.get(name)!);
  return [...done, ...units.filter(({ name }) => !isDone(name))];
}

/** Whether the unit did or may have happened, has a compensation, and is not undone yet. */
export function isOwed(unit: Unit, step: StepState): boolean {
  if (!unit.undone || step.undone || step.holds === false) return false;
  return unit.element === "child" ? step.child !== undefined : step.done !== undefined || step.doubt;
}

/** The names of the units still to be undone, in the order in which they are undone. */
export function owedSteps(shape: Shape, state: RunState): string[] {
  return inOrder(shape, state)
    .filter((unit) => isOwed(unit, state.steps[unit.name]!))
    .map(({ name }) => name)
    .reverse();
}
