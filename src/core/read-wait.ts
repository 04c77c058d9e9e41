// WHAT RAW ROWS SAY OF WAITING: conditions, timers, signals, lists and children. A part of the rules' own bookkeeping, which
// must not use the fold.

import type { Entry } from "./entry.js";
import { type JournalFacts, type LineFacts, type StepFacts, unread } from "./journal-facts.js";

export type WaitEntry = Extract<
  Entry,
  { readonly kind: "condition_decided" | "items_listed" | `${"timer" | "signal" | "child"}_${string}` }
>;

/** The facts once `entry`, of the row with that number, was read. */
export function readWait(facts: JournalFacts, entry: WaitEntry, number: number): JournalFacts {
  switch (entry.kind) {
    case "condition_decided":
      return about(facts, entry.step, (step) => ({
        ...step,
        attempts: 0,
        holds: entry.holds,
        completed: !entry.holds,
      }));
    case "timer_started":
      return about(facts, entry.step, (step) => ({ ...step, attempts: 0, until: entry.until }));
    case "signal_awaited":
      return about(facts, entry.step, (step) => ({ ...step, until: entry.until }));
    case "timer_fired":
    case "signal_timed_out":
      return about(facts, entry.step, (step) => ({ ...step, completed: true }));
    case "signal_received":
      return inLine(facts, entry.signal, ({ waiting, keys }) => ({
        waiting: [...waiting, number],
        keys: entry.dedupeKey === undefined ? keys : [...keys, entry.dedupeKey],
      }));
    case "signal_consumed":
      return about(gone(facts, entry.received), entry.step, (step) => ({ ...step, completed: true }));
    case "signal_rejected":
      return about(gone(facts, entry.received), entry.step, (step) => ({ ...step, attempts: 0 }));
    case "items_listed": {
      const { count, concurrency } = entry;
      const names = Array.from({ length: count }, (_, index) => `${entry.step}/${index}`);
      const steps = { ...facts.steps, ...Object.fromEntries(names.map((name) => [name, unread])) };
      return about({ ...facts, steps }, entry.step, (step) => ({
        ...step,
        attempts: 0,
        items: { count, concurrency },
        completed: count === 0,
      }));
    }
    case "child_started":
      return about(facts, entry.step, (step) => ({ ...step, attempts: 0, child: { runId: entry.runId } }));
    case "child_finished":
      return about(facts, entry.step, (step) => ({
        ...step,
        completed: entry.status === "completed",
        child: { ...step.child!, ended: entry.status },
      }));
  }
}

const nobodyInLine: LineFacts = { waiting: [], keys: [] };

function inLine(facts: JournalFacts, signal: string, change: (line: LineFacts) => LineFacts): JournalFacts {
  return { ...facts, lines: { ...facts.lines, [signal]: change(facts.lines[signal] ?? nobodyInLine) } };
}

/** The signal of that row is in no line any more. */
function gone(facts: JournalFacts, received: number): JournalFacts {
  return Object.entries(facts.lines).reduce(
    (known, [signal]) =>
      inLine(known, signal, ({ waiting, keys }) => ({ waiting: waiting.filter((row) => row !== received), keys })),
    facts,
  );
}

function about(facts: JournalFacts, name: string, change: (step: StepFacts) => StepFacts): JournalFacts {
  return { ...facts, steps: { ...facts.steps, [name]: change(facts.steps[name]!) } };
}
