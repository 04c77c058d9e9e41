// THE WORLD AROUND A JOURNAL: who drives it, and what has really happened outside. The effects know nothing of the journal,
// and the journal learns of them only what a peer can tell.

import type { Cause, Direction } from "../../src/core/entry.js";
import type { Journal } from "./journals.js";
import type { Owner } from "./owner.js";
import { type Explored, type PoliciesName, policyFor } from "./shapes.js";

/** What really came of one step. */
export interface Effect {
  /** It is done, and was not undone. */
  readonly live: boolean;
  /** The peer takes no request under its forward key any more. */
  readonly voided: boolean;
  /** For how long a request that nobody waits for may still land; `Infinity` where no limit is known. */
  readonly late: number;
  readonly undone: boolean;
  /** Executions that the budget has to cover, by direction. */
  readonly charged: number;
  readonly undoCharged: number;
}

export interface World {
  readonly journal: Journal;
  readonly owners: readonly Owner[];
  readonly effects: readonly Effect[];
  /** The charges of bodies whose owner died, until somebody takes the run up: it may turn out to be no crash. */
  readonly orphans: readonly Charge[];
  /** What there is of the run that the `child` element begins. */
  readonly child: ChildStatus;
  readonly deadline: boolean;
  /** Whether workers that take the run up from now on have a newer definition. */
  readonly deployed: boolean;
  /** Disturbances that may still come. */
  readonly left: number;
  /** Verdicts given (1.7). */
  readonly promised: readonly Verdict[];
}

/** A child as its parent's world sees it: what it did is there while it is completed, or stuck. */
export type ChildStatus = "not there" | "live" | "stopping" | "completed" | "undone" | "stuck";

/** An execution of one of a step's bodies. */
export interface Charge {
  readonly step: string;
  readonly direction: Direction;
}

export type Verdict = "cancelling" | "refused" | Cause;

const untouched: Effect = { live: false, voided: false, late: 0, undone: false, charged: 0, undoCharged: 0 };

export function newWorld(run: Explored, journal: Journal): World {
  return {
    journal,
    owners: [],
    effects: run.units.map(() => untouched),
    orphans: [],
    child: "not there",
    deadline: false,
    deployed: false,
    left: run.disturbances,
    promised: [],
  };
}

export function effectOf(run: Explored, world: World, step: string): Effect {
  return world.effects[run.units.findIndex(({ name }) => name === step)] ?? untouched;
}

export function withEffect(run: Explored, world: World, step: string, change: Partial<Effect>): World {
  const effects = run.units.map(({ name }, index) => {
    const effect = world.effects[index]!;
    return name === step ? { ...effect, ...change } : effect;
  });
  return { ...world, effects };
}

/** What a body does outside when it comes to that. */
export function landed(run: Explored, world: World, { step, direction }: Charge): World {
  // Of two requests under one key the second one does nothing, also when it comes late (1.5).
  if (direction === "forward") return withEffect(run, world, step, { live: true, late: 0 });
  // A compensation leaves a tombstone under the forward key where the peer can keep one (1.10).
  const { voided } = effectOf(run, world, step);
  return withEffect(run, world, step, { live: false, undone: true, voided: voided || run.peer === "tombstones" });
}

/** What nobody waits for any more may land later: at any time, or within its attempt's limit if nobody saw its end. */
export function late(run: Explored, world: World, step: string, attempt: "settled" | "unsettled"): World {
  if (run.peer === "tombstones") {
    const { live, voided } = effectOf(run, world, step);
    return live || voided ? world : withEffect(run, world, step, { late: Number.POSITIVE_INFINITY });
  }
  const { attemptMs } = policyFor(run.policies.before, step);
  return attempt === "settled" ? world : withEffect(run, world, step, { late: attemptMs });
}

export function isTransactional(run: Explored, step: string): boolean {
  return run.units.some(({ name, transactional }) => name === step && transactional);
}

/** What an owner decides by. */
export function policiesOf({ deadline }: World, { deployed }: Owner): PoliciesName {
  const name = deadline ? "after" : "before";
  return deployed ? `deployed ${name}` : name;
}

/** Whether it makes a difference to somebody that the deadline has passed, or not yet (1.9). */
export function deadlineMatters({ journal, owners }: World): boolean {
  return isBeforeTurn(journal) || owners.some(({ view }) => isBeforeTurn(view));
}

function isBeforeTurn({ state }: Journal): boolean {
  const { finished, rollback, cancel, pivotEntered } = state;
  return finished === undefined && rollback === undefined && cancel === undefined && !pivotEntered;
}
