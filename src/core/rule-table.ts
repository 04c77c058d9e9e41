// THE RULES OF A JOURNAL, one after the other, in the order of the sections of design/1-semantics.md that they come from.
// Each looks at one entry, or at one row, and at what the journal said before.

import type { Shape, StepShape } from "../definition/shape.js";
import type { Entry } from "./entry.js";
import { failsBack, firstOpen, openNow, owed, stillToUndo, unitNamed } from "./facts-units.js";
import type { EntryPlace, Rule } from "./rule.js";
import { overspent } from "./rule-of-budgets.js";
import { consistentEnds, contradicted, wrongCause } from "./rule-of-ends.js";
import { waitRules } from "./rule-of-waits.js";

export const entryRules: readonly Rule<EntryPlace>[] = [
  {
    rule: "1.1 a step moves forward only when it was made next, in the order of the list",
    broken: ({ facts, entry, shape }) => {
      if (!isForward(entry)) return undefined;
      // Rolling back, `reconcile` is asked about a step in doubt before it is compensated (1.5).
      const asked = entry.kind === "reconciled" || entry.kind === "step_completed";
      if (facts.turned !== undefined && asked && stillToUndo(shape, facts)[0] === entry.step) return undefined;
      if (facts.forward.includes(entry.step)) return undefined;
      // A wait, or a child, fails without a body of its own having run.
      const waits = entry.kind === "step_failed" && facts.firstCause === undefined;
      if (waits && openNow(shape, facts).some(({ name, element }) => name === entry.step && element !== undefined))
        return undefined;
      return `${entry.kind} of "${entry.step}", which was not next`;
    },
  },
  {
    rule: "1.2 only an owner writes what an owner does",
    broken: ({ facts, entry, before }) => {
      if (!ownersKinds.has(entry.kind) || facts.driver !== undefined) return undefined;
      const brought = before.some(({ kind }) => bringers[entry.kind]?.includes(kind));
      return brought ? undefined : `${entry.kind} while nobody drives the run`;
    },
  },
  {
    rule: "1.3 a taking up names the owner that it takes the run from, and only that one",
    broken: ({ facts, entry }) => {
      if (entry.kind !== "taken_up") return undefined;
      if (entry.from !== facts.driver)
        return `taken from ${entry.from ?? "nobody"}, driven by ${facts.driver ?? "nobody"}`;
      return entry.token === facts.driver ? "it has the token of the owner before it" : undefined;
    },
  },
  {
    rule: "1.3 the totals of a failed attempt follow from the entries before it",
    broken: ({ facts, entry }) => {
      if (entry.kind !== "attempt_failed") return undefined;
      const step = facts.steps[entry.step]!;
      const before = entry.direction === "forward" ? step.attempts : step.compensations;
      const expected = before + (entry.counted ? 1 : 0);
      return entry.attempts === expected ? undefined : `${entry.attempts} executions, where ${expected} were counted`;
    },
  },
  {
    rule: "1.3 an attempt that failed is told as such only when another try, or an ask, will follow",
    broken: ({ entry, before }) => {
      if (entry.kind !== "step_failed" && entry.kind !== "compensation_failed") return undefined;
      const twice = before.some((other) => other.kind === "attempt_failed" && other.step === entry.step);
      return twice ? `attempt_failed and ${entry.kind} of "${entry.step}" in one row` : undefined;
    },
  },
  {
    rule: "1.3 the end is the last entry, until an operator reopens an end that is not consistent",
    broken: ({ facts, entry }) => {
      if (facts.finished === undefined) return undefined;
      // A recall takes back what completed; that it had is its own rule.
      if (entry.kind === "recalled") return undefined;
      const reopens = entry.kind === "retried" || entry.kind === "resolved";
      return reopens && !consistentEnds.has(facts.finished) ? undefined : `${entry.kind} after ${facts.finished}`;
    },
  },
  {
    rule: "1.4 the end's word is what the journal says",
    broken: ({ shape, facts, entry, before }) =>
      entry.kind === "finished" ? contradicted(shape, facts, entry, before) : undefined,
  },
  {
    rule: "1.4 an operator settles and retries only what is open",
    broken: ({ shape, facts, entry }) => {
      const settled = failsBack(shape, facts) && facts.turned === undefined && facts.finished === undefined;
      if (entry.kind === "retried")
        return settled ? "what failed, or was settled as not done, turns it back" : undefined;
      if (entry.kind !== "resolved") return undefined;
      if (entry.as === "undone") return owed(shape, facts).includes(entry.step) ? undefined : "nothing of it is owed";
      if (settled) return `${entry.as} of what is to be turned back`;
      if (facts.turned !== undefined || !facts.pivotEntered) return `${entry.as} before the pivot, or rolling back`;
      if (entry.as === "not_done" && pivotOf(shape)?.name !== entry.step) return "not_done of what is no pivot";
      const open = openNow(shape, facts).some(({ name }) => name === entry.step);
      return open ? undefined : `${entry.as} of a step that is not open`;
    },
  },
  {
    rule: "1.5 doubt stays until a success, reconcile or an operator clears it: a definite error does not",
    broken: ({ facts, entry }) => {
      if (entry.kind === "attempt_failed" && entry.direction === "forward")
        return facts.steps[entry.step]!.doubt && !entry.doubt ? "a failed attempt cleared earlier doubt" : undefined;
      if (entry.kind === "step_failed")
        return facts.steps[entry.step]!.doubt && entry.doubt === "definite" ? "it failed definitely" : undefined;
      return undefined;
    },
  },
  {
    rule: "1.5 only a step in doubt is asked about",
    broken: ({ facts, entry }) =>
      entry.kind === "reconciled" && !facts.steps[entry.step]!.doubt ? "there was no doubt" : undefined,
  },
  {
    rule: "1.5 a transactional step is never in doubt",
    broken: ({ shape, facts, entry }) => {
      const doubts =
        entry.kind === "reconciled" ||
        (entry.kind === "attempt_failed" && entry.doubt) ||
        (entry.kind === "step_failed" && entry.doubt === "in_doubt");
      return doubts && unitNamed(shape, facts, entry.step)!.transactional ? `${entry.kind} doubts it` : undefined;
    },
  },
  {
    rule: "1.6 no budget is exceeded",
    broken: ({ entry, facts, options }) => overspent(entry, facts, options.policies),
  },
  {
    rule: "1.7 an ask is accepted before the pivot and refused after it",
    broken: ({ shape, facts, entry }) => {
      const decided = facts.turned !== undefined || failsBack(shape, facts);
      if (entry.kind === "cancel_requested")
        return facts.pivotEntered && !decided ? "accepted after the pivot was entered" : undefined;
      if (entry.kind !== "cancel_refused") return undefined;
      if (!facts.pivotEntered || decided) return "refused although the pivot was not entered, or definitely failed";
      return entry.pivot === pivotOf(shape)?.name ? undefined : `"${entry.pivot}" is not the pivot`;
    },
  },
  {
    rule: "1.7 the cause is whichever of ask, failure and deadline is first",
    broken: ({ shape, facts, entry, row, options }) =>
      entry.kind === "rollback_started" ? wrongCause(shape, facts, entry, row, options.policies) : undefined,
  },
  {
    rule: "1.8 a saga turns back once, and never with its pivot entered unless that definitely failed",
    broken: ({ shape, facts, entry }) => {
      if (entry.kind !== "rollback_started") return undefined;
      if (facts.turned !== undefined) return "it had turned back already";
      const pivot = pivotOf(shape);
      const failed = pivot !== undefined && facts.steps[pivot.name]!.failed === "definite";
      return facts.pivotEntered && !failed ? "the pivot was entered, and did not definitely fail" : undefined;
    },
  },
  {
    rule: "1.8 only what did or may have happened is compensated, once, last step first, after the turn",
    broken: ({ facts, entry }) => {
      if (!isBackward(entry)) return undefined;
      return facts.undoing.includes(entry.step) ? undefined : `${entry.kind} of "${entry.step}", which was not next`;
    },
  },
  {
    rule: "1.10 the pivot is entered once, when it is next, and never after an ask",
    broken: ({ shape, facts, entry, row }) => {
      if (entry.kind !== "pivot_entered") return undefined;
      const pivot = pivotOf(shape);
      if (pivot?.name !== entry.step) return `"${entry.step}" is not the pivot`;
      if (facts.pivotEntered) return "it had been entered before";
      if (facts.firstCause !== undefined || facts.turned !== undefined) return "the saga had been told to turn back";
      if (firstOpen(shape, facts)?.name !== pivot.name) return "it was not the pivot's turn";
      const commits = row.entries.some((other) => other.kind === "step_completed" && other.step === pivot.name);
      return pivot.transactional && !commits ? "a transactional pivot is entered by its own completion" : undefined;
    },
  },
  ...waitRules,
];

/** What only the owner writes, alone or in the row of another's word that brings it. */
const ownersKinds: ReadonlySet<Entry["kind"]> = new Set<Entry["kind"]>([
  "handed_over",
  "parked",
  "step_completed",
  "attempt_failed",
  "reconciled",
  "step_failed",
  "pivot_entered",
  "rollback_started",
  "step_compensated",
  "compensation_failed",
  "condition_decided",
  "timer_started",
  "timer_fired",
  "signal_awaited",
  "signal_consumed",
  "signal_rejected",
  "signal_timed_out",
  "items_listed",
  "child_started",
  "child_finished",
  "finished",
]);
const bringers: Partial<Record<Entry["kind"], readonly Entry["kind"][]>> = {
  rollback_started: ["resolved", "recalled"],
  finished: ["resolved", "cancel_requested", "recalled"],
};

type About<Kind extends Entry["kind"]> = Extract<Entry, { readonly kind: Kind }>;

function isForward(entry: Entry): entry is About<"step_completed" | "attempt_failed" | "step_failed" | "reconciled"> {
  if (entry.kind === "attempt_failed") return entry.direction === "forward";
  return entry.kind === "step_completed" || entry.kind === "step_failed" || entry.kind === "reconciled";
}

function isBackward(entry: Entry): entry is About<"step_compensated" | "attempt_failed" | "compensation_failed"> {
  if (entry.kind === "attempt_failed") return entry.direction === "compensate";
  return entry.kind === "step_compensated" || entry.kind === "compensation_failed";
}

function pivotOf(shape: Shape): StepShape | undefined {
  return shape.steps.find((step) => step.kind === "pivot");
}
