// WHAT IS NEXT, AND WHAT IS OWED, by the facts of raw rows: for `rules`, which must not use `units` (a wrong one would vouch
// for itself). An item of a list is a step of its own here too.

import type { Shape, StepShape } from "../definition/shape.js";
import type { JournalFacts, StepFacts } from "./journal-facts.js";

/** Every step of the list, in its order, with the items of a list that was listed in that list's place. */
function allSteps(shape: Shape, facts: JournalFacts): readonly StepShape[] {
  return shape.steps.flatMap((step) => itemsOf(step, facts.steps[step.name]!) ?? step);
}

function itemsOf(step: StepShape, { items }: StepFacts): readonly StepShape[] | undefined {
  if (items === undefined) return undefined;
  const { kind, undone, transactional } = step;
  return Array.from({ length: items.count }, (_, index) => ({
    name: `${step.name}/${index}`,
    kind,
    undone,
    transactional,
  }));
}

/** A step, or an item of a list. */
export function unitNamed(shape: Shape, facts: JournalFacts, name: string): StepShape | undefined {
  return shape.steps.find((step) => step.name === name) ?? allSteps(shape, facts).find((step) => step.name === name);
}

/** The first step of the list that is not completed. */
export function firstOpen(shape: Shape, facts: JournalFacts): StepShape | undefined {
  return shape.steps.find((step) => !facts.steps[step.name]!.completed);
}

/** What may be under way: the first open step and what stands beside it; of a list, as many items as run at once. */
export function openNow(shape: Shape, facts: JournalFacts): readonly StepShape[] {
  const first = firstOpen(shape, facts);
  const open = ({ name }: StepShape): boolean => !facts.steps[name]!.completed;
  return shape.steps
    .filter((step) => step === first || (first?.parallel !== undefined && step.parallel === first.parallel))
    .filter(open)
    .flatMap((step) => {
      const seen = facts.steps[step.name]!;
      return itemsOf(step, seen)?.filter(open).slice(0, seen.items!.concurrency) ?? [step];
    });
}

/** Whether nothing of it can be under way: it sleeps, waits for a signal that has not come, or for its child. */
export function idle(unit: StepShape, facts: JournalFacts): boolean {
  const { holds, until, child } = facts.steps[unit.name]!;
  if (unit.conditional === true && holds === undefined) return false;
  switch (unit.element) {
    case "sleep":
      return until !== undefined;
    case "signal":
      return until === undefined || waitingFor(unit, facts) === undefined;
    case "child":
      return child !== undefined;
    default:
      return false;
  }
}

/** The row of the signal that is first in the line which the step waits in. */
export function waitingFor(unit: StepShape, facts: JournalFacts): number | undefined {
  return facts.lines[unit.signal!]?.waiting[0];
}

/** Steps that did or may have happened, have a compensation and are not undone, last one first. */
export function owed(shape: Shape, facts: JournalFacts): string[] {
  return allSteps(shape, facts)
    .filter(({ name, undone, element }) => {
      const { completed, doubt, compensated, holds, child } = facts.steps[name]!;
      const happened = element === "child" ? child !== undefined : completed || doubt;
      return undone && !compensated && happened && holds !== false;
    })
    .map((step) => step.name)
    .reverse();
}

/** Of those, the ones whose compensation has not failed for good. */
export function stillToUndo(shape: Shape, facts: JournalFacts): string[] {
  return owed(shape, facts).filter((name) => !facts.steps[name]!.compensationFailed);
}

/** Whether what failed turns the saga back, as soon as nothing is under way: not what comes after the pivot (1.1). */
export function failsBack(shape: Shape, facts: JournalFacts): boolean {
  return facts.failing !== undefined && unitNamed(shape, facts, facts.failing)!.kind !== "retriable";
}
