// WHAT THE RAW ROWS OF A JOURNAL SAY, for `rules` to judge. A bookkeeping of its own: it must not use `state`, or a wrong
// fold would vouch for itself. Knows no policies and no clock.

import type { Shape, StepShape } from "../definition/shape.js";
import type { Cause, EndStatus, Entry } from "./entry.js";

/** What was read of one step. */
export interface StepFacts {
  readonly completed: boolean;
  /** It may have happened, and neither a success nor `reconcile` nor an operator has settled it (1.5). */
  readonly doubt: boolean;
  readonly failed?: "definite" | "in_doubt";
  readonly compensated: boolean;
  readonly compensationFailed: boolean;
  /** Executions that were counted, crashes included, since the last `retried`. */
  readonly attempts: number;
  readonly compensations: number;
  readonly asks: number;
}

/** What was read of a journal up to some entry. */
export interface JournalFacts {
  /** The number of the last row. */
  readonly last: number;
  /** The token of the owner that drives the run. */
  readonly driver?: string;
  readonly steps: Readonly<Record<string, StepFacts>>;
  /** The step whose forward body may be running: made next by an entry, and not settled since (1.3). */
  readonly forward?: string;
  /** The steps whose compensation may be running: more than one only after an operator changed what is next. */
  readonly undoing: readonly string[];
  readonly pivotEntered: boolean;
  /** Whichever of an accepted ask and a failure is first (1.7). The deadline has no entry but the turn itself. */
  readonly firstCause?: "cancel" | "failure";
  readonly refused: boolean;
  readonly turned?: Cause;
  readonly finished?: EndStatus;
}

const unread: StepFacts = {
  completed: false,
  doubt: false,
  compensated: false,
  compensationFailed: false,
  attempts: 0,
  compensations: 0,
  asks: 0,
};

export function noFacts(shape: Shape): JournalFacts {
  const steps = Object.fromEntries(shape.steps.map((step) => [step.name, unread]));
  return { last: 0, steps, undoing: [], pivotEntered: false, refused: false };
}

/** The facts once `entry` was read. */
export function readEntry(shape: Shape, facts: JournalFacts, entry: Entry): JournalFacts {
  const read = readOwn(shape, facts, entry);
  switch (entry.kind) {
    // An ask makes nothing next and stops nothing: what was next may already have begun (1.7).
    case "cancel_requested":
    case "cancel_refused":
      return read;
    // Nor does an operator's word stop the compensation that is under way.
    case "retried":
    case "resolved":
      return { ...madeNext(shape, read), undoing: union(read.undoing, undoNext(shape, read)) };
    default:
      return { ...madeNext(shape, read), undoing: undoNext(shape, read) };
  }
}

function readOwn(shape: Shape, facts: JournalFacts, entry: Entry): JournalFacts {
  switch (entry.kind) {
    case "taken_up": {
      const known = entry.from === undefined ? facts : lost(shape, facts, entry.crash);
      return { ...known, driver: entry.token };
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
    default:
      return facts;
  }
}

function readResolved(facts: JournalFacts, step: string, as: "done" | "not_done" | "undone"): JournalFacts {
  switch (as) {
    case "done":
      return about(withoutFailure(facts), step, settledAs({ completed: true }));
    case "not_done":
      return failed(about(facts, step, settledAs({})), step, "definite");
    case "undone":
      return about(facts, step, (known) => ({ ...known, compensated: true, compensationFailed: false }));
  }
}

/** A fresh budget in the direction that the run goes. */
function readRetried(facts: JournalFacts): JournalFacts {
  const back = facts.turned !== undefined;
  const steps = Object.fromEntries(
    Object.entries(facts.steps).map(([name, { failed: failedAs, ...step }]): [string, StepFacts] => [
      name,
      back
        ? { ...step, ...(failedAs && { failed: failedAs }), compensationFailed: false, compensations: 0 }
        : { ...step, attempts: 0, asks: 0 },
    ]),
  );
  return { ...(back ? facts : withoutFailure(facts)), steps };
}

/** The owner is gone, and nobody saw how what it may have had under way ended. */
function lost(shape: Shape, facts: JournalFacts, crash: boolean): JournalFacts {
  const more = crash ? 1 : 0;
  if (facts.forward !== undefined)
    return about(facts, facts.forward, (step) => ({
      ...step,
      attempts: step.attempts + more,
      doubt: !stepOf(shape, facts.forward!).transactional,
    }));
  return facts.undoing
    .slice(-1)
    .reduce(
      (known, name) => about(known, name, (step) => ({ ...step, compensations: step.compensations + more })),
      facts,
    );
}

function failed(facts: JournalFacts, step: string, as: "definite" | "in_doubt"): JournalFacts {
  const known = about(facts, step, (before) => ({ ...before, failed: as, doubt: as === "in_doubt" }));
  return { ...known, firstCause: facts.firstCause ?? "failure" };
}

function settledAs(as: { readonly completed?: true }): (step: StepFacts) => StepFacts {
  return ({ failed: _failed, ...step }) => ({ ...step, ...as, doubt: false, asks: 0 });
}

function about(facts: JournalFacts, name: string, change: (step: StepFacts) => StepFacts): JournalFacts {
  const step = facts.steps[name];
  return step === undefined ? facts : { ...facts, steps: { ...facts.steps, [name]: change(step) } };
}

function undriven({ driver: _driver, ...facts }: JournalFacts): JournalFacts {
  return facts;
}

function reopened({ finished: _finished, ...facts }: JournalFacts): JournalFacts {
  return facts;
}

function withoutFailure({ firstCause, ...facts }: JournalFacts): JournalFacts {
  return firstCause === "cancel" ? { ...facts, firstCause } : facts;
}

/** A body is next for an owner that drives the run forward, unless it was asked to stop, failed, or is before its pivot. */
function madeNext(shape: Shape, { forward: _forward, ...facts }: JournalFacts): JournalFacts {
  if (facts.driver === undefined || facts.turned !== undefined || facts.firstCause !== undefined) return facts;
  const step = firstOpen(shape, facts);
  if (step === undefined || (step.kind === "pivot" && !step.transactional && !facts.pivotEntered)) return facts;
  return { ...facts, forward: step.name };
}

function undoNext(shape: Shape, facts: JournalFacts): readonly string[] {
  if (facts.driver === undefined || facts.turned === undefined) return [];
  return stillToUndo(shape, facts).slice(0, 1);
}

function union(before: readonly string[], now: readonly string[]): readonly string[] {
  return [...before.filter((name) => !now.includes(name)), ...now];
}

function stepOf(shape: Shape, name: string): StepShape {
  return shape.steps.find((step) => step.name === name)!;
}

/** The first step of the list that is not completed. */
export function firstOpen(shape: Shape, facts: JournalFacts): StepShape | undefined {
  return shape.steps.find((step) => !facts.steps[step.name]!.completed);
}

/** Steps that did or may have happened, have a compensation and are not undone, last one first. */
export function owed(shape: Shape, facts: JournalFacts): string[] {
  return shape.steps
    .filter(({ name, undone }) => {
      const { completed, doubt, compensated } = facts.steps[name]!;
      return undone && !compensated && (completed || doubt);
    })
    .map((step) => step.name)
    .reverse();
}

/** Of those, the ones whose compensation has not failed for good. */
export function stillToUndo(shape: Shape, facts: JournalFacts): string[] {
  return owed(shape, facts).filter((name) => !facts.steps[name]!.compensationFailed);
}
