// WHAT MUST HOLD OF A ROW AS A WHOLE: its number, and that all is in it that follows from it (design 1.2, 1.3).

import type { Shape } from "../definition/shape.js";
import type { Entry } from "./entry.js";
import { firstOpen, openNow, stillToUndo, waitingFor } from "./facts-units.js";
import type { JournalFacts } from "./journal-facts.js";
import type { RowPlace, Rule } from "./rule.js";

export const rowRules: readonly Rule<RowPlace>[] = [
  {
    rule: "1.2 numbers go 1, 2, 3 … without gaps, and no row is empty",
    broken: ({ before, row }) => {
      if (row.number !== before.last + 1) return `${row.number} after ${before.last}`;
      return row.entries.length === 0 ? "no entries" : undefined;
    },
  },
  {
    rule: "1.3 what follows from an entry without anything being done is in its row",
    broken: ({ shape, facts, row }) => {
      if (facts.finished !== undefined) return undefined;
      const wrote = (...kinds: Entry["kind"][]): boolean => row.entries.some(({ kind }) => kinds.includes(kind));
      if (facts.turned !== undefined) {
        const last = wrote("rollback_started", "step_compensated", "compensation_failed");
        return last && stillToUndo(shape, facts).length === 0
          ? "nothing is left to undo, and it did not end"
          : undefined;
      }
      // What is under way beside it, or was given up with it, has to be told of first.
      const running = facts.forward.length > 0 || facts.ending.length > 0 || isReading(shape, facts);
      const alone = !running && !wrote("handed_over");
      if (wrote("step_failed") && alone) return "a step failed for good, and the saga neither turned nor ended";
      return wrote(...completing) && alone && firstOpen(shape, facts) === undefined
        ? "all is done, and it did not end"
        : undefined;
    },
  },
];

/** A signal that came while its owner was about something else may be being read: nothing says so. */
function isReading(shape: Shape, facts: JournalFacts): boolean {
  return openNow(shape, facts).some(
    (unit) =>
      unit.element === "signal" && facts.steps[unit.name]!.until !== undefined && waitingFor(unit, facts) !== undefined,
  );
}

/** What may complete the last step. */
const completing = [
  "step_completed",
  "condition_decided",
  "timer_fired",
  "signal_consumed",
  "signal_timed_out",
  "items_listed",
  "child_finished",
] as const satisfies readonly Entry["kind"][];
