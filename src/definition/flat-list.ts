// A LIST LAID FLAT: as it was written, with the members of each `parallel` one after the other. What isn't an element stays
// in it, for its fault.

import { faultsOfParallel, markStep } from "./made-by.js";
import type { StepDefinition } from "./saga.js";
import type { Parallel } from "./typed-step.js";

/** One element of a list, or what stands in its place. */
export interface Placed {
  readonly element: unknown;
  /** Where it was written, for faults of elements that have no name: `step 3`, or `step 3, member 1`. */
  readonly place: string;
  /** Of a member of a `parallel`: that one's place in the list, from 0. */
  readonly parallel?: number;
}

/** The list laid flat. An empty `parallel`, which is a fault, has no member to stand for it and is left out. */
export function flatList(list: readonly unknown[]): Placed[] {
  return list.flatMap((element, index): Placed[] => {
    const place = `step ${index + 1}`;
    if (faultsOfParallel(element) === undefined) return [{ element, place }];
    return (element as Parallel).members.map((member, at) => ({
      element: member,
      place: `${place}, member ${at + 1}`,
      parallel: index,
    }));
  });
}

/** The elements of a list without faults as they are executed: members of a `parallel` know it. */
export function placedSteps(list: readonly Placed[]): readonly StepDefinition[] {
  return list.map(({ element, parallel }) => {
    const step = element as StepDefinition;
    return parallel === undefined ? step : markStep({ ...step, parallel }, []);
  });
}
