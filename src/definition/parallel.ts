// ELEMENTS THAT RUN AT ONCE: one place of a list, before or after the pivot, never around it.

import type { CheckedMembers } from "./check-members.js";
import { markParallel } from "./made-by.js";
import { shownValue } from "./option-faults.js";
import type { Parallel } from "./typed-step.js";

/**
 * Runs its members at once, and goes on when all are done. Each of them sees the context from before; what they give is
 * there after. Members are steps and other elements, but no pivot and no other `parallel`; how each is undone is its own
 * to say. When one fails for good the others are aborted (`sibling_failed`), and what was done is undone.
 *
 * In `saga.steps` the members stand one after the other, each with its place in the list as `parallel`.
 *
 * @example parallel([bookHotel, bookFlight, sleep({ name: "at-least", for: "1m" })])
 */
export function parallel<const Members extends readonly unknown[]>(
  members: CheckedMembers<Members>,
): Parallel<Members> {
  if (Array.isArray(members)) {
    const faults =
      members.length === 0 ? [{ at: "parallel", fault: "is empty; a parallel has at least one member" }] : [];
    return markParallel({ members: Object.freeze([...members]) }, faults) as never;
  }
  const fault = `${shownValue(members)} is not a list of elements; parallel() takes one list`;
  return markParallel({ members: Object.freeze([]) }, [{ at: "parallel", fault }]) as never;
}
