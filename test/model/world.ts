// THE WORLD AROUND A JOURNAL: who drives it, what has really happened outside, and what must be true of that. The effects
// know nothing of the journal, and the journal learns of them only what a peer can tell.

import type { Attempted } from "../../src/core/action.js";
import type { Cause, EndStatus } from "../../src/core/entry.js";
import { owed } from "../../src/core/journal-facts.js";
import type { Journal } from "./journals.js";
import { actionText, type Owner, outcomeText } from "./owner.js";
import type { Explored, PoliciesName } from "./shapes.js";

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
  /** The charge of a body whose owner died, until somebody takes the run up: it may turn out to be no crash. */
  readonly orphan?: Charge;
  readonly deadline: boolean;
  /** Whether workers that take the run up from now on have a newer definition. */
  readonly deployed: boolean;
  /** Disturbances that may still come. */
  readonly left: number;
  /** Verdicts given (1.7). */
  readonly promised: readonly Verdict[];
}

export interface Charge {
  readonly step: string;
  readonly direction: "forward" | "compensate";
}

export type Verdict = "cancelling" | "refused" | Cause;

const untouched: Effect = { live: false, voided: false, late: 0, undone: false, charged: 0, undoCharged: 0 };

export function newWorld(run: Explored, journal: Journal): World {
  const effects = run.shape.steps.map(() => untouched);
  return { journal, owners: [], effects, deadline: false, deployed: false, left: run.disturbances, promised: [] };
}

export function effectOf(run: Explored, world: World, step: string): Effect {
  return world.effects[run.shape.steps.findIndex(({ name }) => name === step)]!;
}

export function withEffect(run: Explored, world: World, step: string, change: Partial<Effect>): World {
  const effects = run.shape.steps.map(({ name }, index) => {
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

/** One more execution, or one less, when the budget need not cover it. */
export function charged(run: Explored, world: World, { step, direction }: Charge, by: 1 | -1): World {
  const effect = effectOf(run, world, step);
  return direction === "forward"
    ? withEffect(run, world, step, { charged: Math.max(0, effect.charged + by) })
    : withEffect(run, world, step, { undoCharged: Math.max(0, effect.undoCharged + by) });
}

export function budgetOf(run: Explored, { step, direction }: Charge): number {
  if (run.kinds.has("deploy")) return Number.POSITIVE_INFINITY;
  const policy = run.policies.before.steps[step]!;
  return direction === "forward" ? policy.retry.maxAttempts : policy.compensationRetry.maxAttempts;
}

/** The charge of a body that `action` calls; an ask is none. */
export function chargeOf(action: Attempted): Charge | undefined {
  return action.kind === "run" ? { step: action.step, direction: action.direction } : undefined;
}

const endsOf: Record<Verdict, readonly EndStatus[]> = {
  cancelling: ["cancelled", "compensation_failed"],
  cancel: ["cancelled", "compensation_failed"],
  failure: ["failed", "compensation_failed"],
  deadline: ["timed_out", "compensation_failed"],
  refused: ["completed", "failed", "compensation_failed", "forward_incomplete", "in_doubt"],
};

/** What is not true of `world`, though it should be. */
export function faultsOf(run: Explored, world: World): string[] {
  const { steps } = run.shape;
  const live = (name: string): boolean => effectOf(run, world, name).live;
  const pivot = steps.find((step) => step.kind === "pivot");
  const faults: string[] = [];
  if (pivot !== undefined && live(pivot.name) && world.effects.some(({ undone }) => undone))
    faults.push("1.10 the pivot happened, and a step was compensated");
  for (const { name: step } of steps)
    for (const direction of ["forward", "compensate"] as const) {
      const { charged, undoCharged } = effectOf(run, world, step);
      if ((direction === "forward" ? charged : undoCharged) > budgetOf(run, { step, direction }))
        faults.push(`1.6 a body of "${step}" (${direction}) was executed more often than its budget allows`);
    }
  for (const { hand, view } of world.owners) {
    if (hand.kind !== "body" || hand.action.kind !== "run" || hand.action.direction !== "forward") continue;
    const { step } = hand.action;
    if (
      view.facts.steps[step]!.doubt &&
      run.judged.before.steps[step]!.maxAsks < Number.POSITIVE_INFINITY &&
      run.judged.before.steps[step]!.maxAsks > 0
    )
      faults.push(`1.5 "${step}" is in doubt, and is run again instead of being asked about`);
  }
  const status = world.journal.state.finished?.status;
  if (status === undefined) return faults;
  for (const verdict of world.promised)
    if (!endsOf[verdict].includes(status)) faults.push(`1.7 "${verdict}" was answered, and the run ended ${status}`);
  const { facts } = world.journal;
  const remaining = owed(run.shape, facts);
  for (const { name, kind, undone } of steps) {
    const completed = facts.steps[name]!.completed;
    const undoable = kind === "pivot" || kind === "retriable" || undone;
    switch (status) {
      case "completed":
        if (!live(name)) faults.push(`completed, and "${name}" is not done`);
        break;
      case "failed":
      case "cancelled":
      case "timed_out":
      case "compensation_failed":
        if (live(name) && undoable && !remaining.includes(name))
          faults.push(`1.4 ${status}, and "${name}" is still done`);
        break;
      case "forward_incomplete":
      case "in_doubt":
        if (completed && !live(name)) faults.push(`1.4 ${status}, and "${name}" is not done any more`);
    }
  }
  return faults;
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

/** A text that two worlds share when nothing can tell them apart. */
export function worldText(run: Explored, world: World): string {
  const { facts } = world.journal;
  const [first, second] = world.owners;
  let text = `${world.journal.id};`;
  if (second !== undefined) text += [ownerText(first!), ownerText(second)].sort().join("|");
  else if (first !== undefined) text += ownerText(first);
  const back = facts.turned !== undefined;
  for (let index = 0; index < world.effects.length; index += 1) {
    const { live, voided, late, undone, charged, undoCharged } = world.effects[index]!;
    const { completed, compensated } = facts.steps[run.shape.steps[index]!.name]!;
    text += live ? ";L" : ";";
    if (voided) text += "V";
    else if (late > 0) text += `l${late}`;
    if (undone && run.hasPivot) text += "U";
    text += `${completed || back ? "" : charged}.${compensated ? "" : undoCharged}`;
  }
  if (world.orphan !== undefined) text += `;${world.orphan.step}${world.orphan.direction}`;
  if (world.deadline && deadlineMatters(world)) text += ";D";
  if (world.deployed) text += ";N";
  return `${text};${world.left}${world.promised.join()}`;
}

const entriesIds = new WeakMap<object, number>();
let lastId = 0;

function ownerText({ current, stopping, deployed, view, hand }: Owner): string {
  return `${current ? "c" : "z"}${stopping ? "s" : ""}${deployed ? "n" : ""}${view.id}${handText(hand)}`;
}

function handText(hand: Owner["hand"]): string {
  switch (hand.kind) {
    case "offer":
      if (!entriesIds.has(hand.entries)) {
        lastId += 1;
        entriesIds.set(hand.entries, lastId);
      }
      return `o${entriesIds.get(hand.entries)}`;
    case "body":
      return `b${actionText(hand.action)}${hand.landed ? "L" : ""}${hand.aborted ?? ""}`;
    case "outcome":
      return `h${actionText(hand.action)}${outcomeText(hand.outcome)}`;
    case "sleep":
      return `w${hand.until}`;
    case "unsure":
      return "u";
  }
}
