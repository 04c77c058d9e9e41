// THE RULES OF WAITING AND BRANCHING: conditions, timers, signals, lists, children (design 1.3). Each looks at one entry and
// at what the raw rows said before it.

import type { StepShape } from "../definition/shape.js";
import { openNow, waitingFor } from "./facts-units.js";
import type { StepFacts } from "./journal-facts.js";
import type { WaitEntry } from "./read-wait.js";
import type { EntryPlace, Rule } from "./rule.js";

export const waitRules: readonly Rule<EntryPlace>[] = [
  {
    rule: "1.3 what is decided about an element, or waited for, is so once, in its turn, and never for a saga that turns back",
    broken: ({ shape, facts, entry }) => {
      if (!isWait(entry) || entry.kind === "signal_received") return undefined;
      if (facts.firstCause !== undefined || facts.turned !== undefined)
        return `${entry.kind} while it turns back, or ends`;
      const unit = openNow(shape, facts).find(({ name }) => name === entry.step);
      if (unit === undefined) return `${entry.kind} of "${entry.step}", whose turn it is not`;
      return ripe[entry.kind](unit, facts.steps[entry.step]!)
        ? undefined
        : `${entry.kind} of "${entry.step}" does not fit`;
    },
  },
  {
    rule: "1.3 a timer fires once its instant has come, and a wait times out no sooner than at its own",
    broken: ({ facts, entry, row }) => {
      if (entry.kind !== "timer_fired" && entry.kind !== "signal_timed_out" && entry.kind !== "step_failed")
        return undefined;
      const { until } = facts.steps[entry.step]!;
      return until !== undefined && row.at + clocksApartMs < until ? `${until - row.at} ms too early` : undefined;
    },
  },
  {
    rule: "1.3 a wait times out only while no signal is in its line: the journal's order decides",
    broken: ({ shape, facts, entry }) => {
      const failed = entry.kind === "step_failed" && facts.steps[entry.step]!.until !== undefined;
      if (entry.kind !== "signal_timed_out" && !failed) return undefined;
      const unit = openNow(shape, facts).find(({ name }) => name === entry.step);
      const first = unit?.element === "signal" ? waitingFor(unit, facts) : undefined;
      // One that takes its process down again and again fails the step with the signal still in line.
      const tried = entry.kind === "step_failed" && facts.steps[entry.step]!.attempts > 0;
      return first === undefined || tried ? undefined : `the signal of row ${first} had come before`;
    },
  },
  {
    rule: "1.3 signals are consumed or turned away first in, first out, each once, and never one that did not come",
    broken: ({ shape, facts, entry }) => {
      if (entry.kind !== "signal_consumed" && entry.kind !== "signal_rejected") return undefined;
      const first = waitingFor(shape.steps.find(({ name }) => name === entry.step)!, facts);
      return entry.received === first ? undefined : `that of row ${entry.received}, where ${first ?? "none"} is first`;
    },
  },
  {
    rule: "2.2 a signal is received once for its key, and not by a run that turns back",
    broken: ({ facts, entry }) => {
      if (entry.kind !== "signal_received") return undefined;
      if (facts.turned !== undefined || facts.firstCause === "cancel") return "it turns back";
      const known = entry.dedupeKey !== undefined && facts.lines[entry.signal]?.keys.includes(entry.dedupeKey);
      return known === true ? `its key was known: ${entry.dedupeKey}` : undefined;
    },
  },
  {
    rule: "1.1 a step that is skipped is neither done nor undone",
    broken: ({ facts, entry }) =>
      "step" in entry && entry.kind !== "condition_decided" && facts.steps[entry.step]!.holds === false
        ? `${entry.kind} of "${entry.step}"`
        : undefined,
  },
  {
    rule: "1.3 a parent goes on, or fails, as its child ended",
    broken: ({ facts, entry, before }) => {
      if (entry.kind !== "step_failed" || facts.steps[entry.step]!.child === undefined) return undefined;
      const ended = before.some((other) => other.kind === "child_finished" && other.step === entry.step);
      return ended ? undefined : "it failed, and its child had not ended";
    },
  },
  {
    rule: "1.8 only a run that completed is recalled, and it turns back with that",
    broken: ({ facts, entry, row }) => {
      if (entry.kind !== "recalled") return undefined;
      if (facts.finished !== "completed") return `it had ${facts.finished ?? "not ended"}`;
      const next = row.entries[row.entries.indexOf(entry) + 1];
      return next?.kind === "rollback_started" ? undefined : "it did not turn back";
    },
  },
];

/** What an owner takes the database's time to be may be off by this much. */
const clocksApartMs = 1_000;

type Waits = Exclude<WaitEntry["kind"], "signal_received">;

/** Whether an entry says what can be said of such an element now. */
const ripe: Record<Waits, (unit: StepShape, step: StepFacts) => boolean> = {
  condition_decided: ({ conditional }, { holds }) => conditional === true && holds === undefined,
  timer_started: (unit, step) => isElement("sleep", unit, step) && step.until === undefined,
  timer_fired: (unit, step) => isElement("sleep", unit, step) && step.until !== undefined,
  signal_awaited: (unit, step) => isElement("signal", unit, step) && step.until === undefined,
  signal_consumed: (unit, step) => isElement("signal", unit, step) && step.until !== undefined,
  signal_rejected: (unit, step) => isElement("signal", unit, step) && step.until !== undefined,
  signal_timed_out: (unit, step) => isElement("signal", unit, step) && step.until !== undefined,
  items_listed: (unit, step) => isElement("each", unit, step) && step.items === undefined,
  child_started: (unit, step) => isElement("child", unit, step) && step.child === undefined,
  child_finished: (unit, step) =>
    isElement("child", unit, step) && step.child !== undefined && step.child.ended === undefined,
};

/** Of that kind, and known to run. */
function isElement(element: StepShape["element"], unit: StepShape, { holds }: StepFacts): boolean {
  return unit.element === element && (unit.conditional !== true || holds === true);
}

function isWait(entry: EntryPlace["entry"]): entry is WaitEntry {
  return entry.kind === "signal_received" || entry.kind in ripe;
}
