// HOW RAW ROWS ARE READ FOR THE RULES, entry by entry: what each one adds to the facts. Must not use `state` or the fold.

import type { Shape, StepShape } from "../definition/shape.js";
import type { EndStatus, Entry } from "./entry.js";
import { idle, openNow, stillToUndo, unitNamed } from "./facts-units.js";
import type { JournalFacts, StepFacts } from "./journal-facts.js";
import { readWait } from "./read-wait.js";

/** The facts once `entry` was read. `earlier`: the entries before it in its row, the `number`-th. */
export function readEntry(
  shape: Shape,
  facts: JournalFacts,
  entry: Entry,
  row: { readonly number: number; readonly before: JournalFacts; readonly earlier: readonly Entry[] },
): JournalFacts {
  const known = entry.kind === "handed_over" ? withoutUnbegun(facts, row) : facts;
  const read = readOwn(shape, known, entry, row.number);
  switch (entry.kind) {
    // A bystander's word makes nothing next and stops nothing: what was next may already have begun (1.7).
    case "cancel_requested":
    case "cancel_refused":
    case "signal_received":
      return read;
    // Nor does an operator's word stop the compensation that is under way.
    case "retried":
    case "resolved":
      return { ...madeNext(shape, read, entry), undoing: union(read.undoing, undoNext(shape, read)) };
    default:
      return { ...madeNext(shape, read, entry), undoing: undoNext(shape, read) };
  }
}

function readOwn(shape: Shape, facts: JournalFacts, entry: Entry, number: number): JournalFacts {
  switch (entry.kind) {
    case "taken_up": {
      const known = entry.from === undefined ? facts : lost(shape, facts, entry.crash);
      return { ...known, driver: entry.token, forward: [], ending: [] };
    }
    case "handed_over":
      return undriven(lost(shape, facts, false));
    case "parked":
      return undriven(facts);
    case "step_completed":
      return about(facts, entry.step, settledAs({ completed: true }));
    case "attempt_failed":
      return entry.direction === "forward"
        ? about(facts, entry.step, (step) => ({ ...step, attempts: entry.attempts, doubt: entry.doubt }))
        : about(facts, entry.step, (step) => ({ ...step, compensations: entry.attempts }));
    case "reconciled":
      return about(facts, entry.step, (step) =>
        entry.answer === "not_happened" ? { ...step, doubt: false, asks: 0 } : { ...step, asks: entry.asks },
      );
    case "step_failed":
      return failed(facts, entry.step, entry.doubt);
    case "pivot_entered":
      return { ...facts, pivotEntered: true };
    case "rollback_started":
      return { ...facts, turned: entry.cause };
    case "step_compensated":
      return about(facts, entry.step, (step) => ({ ...step, compensated: true }));
    case "compensation_failed":
      return about(facts, entry.step, (step) => ({ ...step, compensationFailed: true }));
    case "recalled":
      return { ...reopened(facts), firstCause: "cancel" };
    case "cancel_requested":
      return facts.turned === undefined ? { ...facts, firstCause: facts.firstCause ?? "cancel" } : facts;
    case "cancel_refused":
      return { ...facts, refused: true };
    case "resolved":
      return readResolved(reopened(facts), entry.step, entry.as);
    case "retried":
      return readRetried(reopened(facts));
    case "finished":
      return { ...undriven(facts), finished: entry.status };
    // Of functions nothing is ruled yet.
    case "declared":
    case "function_failed":
      return facts;
    default:
      return readWait(facts, entry, number);
  }
}

function readResolved(facts: JournalFacts, step: string, as: "done" | "not_done" | "undone"): JournalFacts {
  if (as === "undone")
    return about(facts, step, (known) => ({ ...known, compensated: true, compensationFailed: false }));
  const ending = facts.forward.includes(step) ? [...facts.ending, step] : facts.ending;
  const settled = about({ ...facts, ending }, step, settledAs(as === "done" ? { completed: true } : {}));
  if (as === "not_done") return failed(settled, step, "definite");
  return facts.failing === step ? withoutFailure(settled) : settled;
}

/** A fresh budget in the direction that the run goes. */
function readRetried(facts: JournalFacts): JournalFacts {
  const back = facts.turned !== undefined;
  const steps = Object.fromEntries(
    Object.entries(facts.steps).map(([name, { failed: failedAs, ...step }]): [string, StepFacts] => [
      name,
      back
        ? { ...step, ...(failedAs && { failed: failedAs }), compensationFailed: false, compensations: 0 }
        : withFreshChild({ ...step, attempts: 0, asks: 0 }),
    ]),
  );
  return { ...(back ? facts : withoutFailure(facts)), steps };
}

/** A child that undid all it did is begun anew; any other one is looked at again. */
function withFreshChild({ child, ...step }: StepFacts): StepFacts {
  if (child?.ended === undefined || step.completed) return child === undefined ? step : { ...step, child };
  return undoneEnds.has(child.ended) ? step : { ...step, child: { runId: child.runId } };
}

const undoneEnds: ReadonlySet<EndStatus> = new Set<EndStatus>(["failed", "cancelled", "timed_out"]);

/** The owner is gone, and nobody saw how what it may have had under way ended. */
function lost(shape: Shape, facts: JournalFacts, crash: boolean): JournalFacts {
  const more = crash ? 1 : 0;
  const forward = facts.forward.reduce((known, name) => {
    const unit = unitNamed(shape, known, name)!;
    return about(known, name, (step) => ({
      ...step,
      attempts: step.attempts + more,
      doubt: !(unit.transactional || isComputed(unit, step)),
    }));
  }, facts);
  return facts.undoing.reduce(
    (known, name) => about(known, name, (step) => ({ ...step, compensations: step.compensations + more })),
    forward,
  );
}

/** Nothing outside is touched by what its saga computes about it. */
function isComputed(unit: StepShape, step: StepFacts): boolean {
  return unit.element !== undefined || (unit.conditional === true && step.holds === undefined);
}

/** What a row made next had not begun when that same row gave the run back. */
function withoutUnbegun(
  facts: JournalFacts,
  { before, earlier }: { readonly before: JournalFacts; readonly earlier: readonly Entry[] },
): JournalFacts {
  const ended = (name: string): boolean => earlier.some((entry) => "step" in entry && entry.step === name);
  const begun = (name: string): boolean => !ended(name);
  return {
    ...facts,
    forward: facts.forward.filter((name) => before.forward.includes(name) && begun(name)),
    undoing: facts.undoing.filter((name) => before.undoing.includes(name) && begun(name)),
  };
}

function failed(facts: JournalFacts, step: string, as: "definite" | "in_doubt"): JournalFacts {
  const known = about(facts, step, (before) => ({ ...before, failed: as, doubt: as === "in_doubt" }));
  return { ...known, firstCause: facts.firstCause ?? "failure", failing: facts.failing ?? step };
}

function settledAs(as: { readonly completed?: true }): (step: StepFacts) => StepFacts {
  return ({ failed: _failed, ...step }) => ({ ...step, ...as, doubt: false, asks: 0 });
}

/** Changes what is known of a step, and of the list that it is an item of. */
function about(facts: JournalFacts, name: string, change: (step: StepFacts) => StepFacts): JournalFacts {
  const steps = { ...facts.steps, [name]: change(facts.steps[name]!) };
  const list = name.slice(0, Math.max(0, name.lastIndexOf("/")));
  const items = steps[list]?.items;
  if (items === undefined || !steps[name]!.completed) return { ...facts, steps };
  const all = Array.from({ length: items.count }, (_, index) => steps[`${list}/${index}`]!);
  return all.every(({ completed }) => completed)
    ? { ...facts, steps: { ...steps, [list]: { ...steps[list]!, completed: true } } }
    : { ...facts, steps };
}

function undriven({ driver: _driver, ...facts }: JournalFacts): JournalFacts {
  return { ...facts, ending: [] };
}

function reopened({ finished: _finished, ...facts }: JournalFacts): JournalFacts {
  return facts;
}

function withoutFailure({ firstCause, failing: _failing, ...facts }: JournalFacts): JournalFacts {
  return firstCause === "cancel" ? { ...facts, firstCause } : facts;
}

/**
 * Bodies are next for an owner that drives the run forward, unless it was asked to stop, something failed, or they are
 * before their pivot. What runs beside the step that an entry is about goes on.
 */
function madeNext(shape: Shape, facts: JournalFacts, entry: Entry): JournalFacts {
  if (facts.driver === undefined || facts.turned !== undefined) return { ...facts, forward: [] };
  if (facts.firstCause !== undefined)
    return { ...facts, forward: facts.forward.filter((name) => !("step" in entry) || entry.step !== name) };
  const next = openNow(shape, facts)
    .filter((unit) => unit.kind !== "pivot" || unit.transactional || facts.pivotEntered)
    .filter((unit) => !idle(unit, facts));
  return { ...facts, forward: next.map(({ name }) => name) };
}

function undoNext(shape: Shape, facts: JournalFacts): readonly string[] {
  if (facts.driver === undefined || facts.turned === undefined) return [];
  return stillToUndo(shape, facts).slice(0, 1);
}

function union(before: readonly string[], now: readonly string[]): readonly string[] {
  return [...before.filter((name) => !now.includes(name)), ...now];
}
