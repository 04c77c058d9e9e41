// WHO PAYS FOR AN EXECUTION: every body that begins is charged to its step's budget, unless the contract excuses it (1.5).

import type { Attempted } from "../../src/core/action.js";
import type { Owner } from "./owner.js";
import { type Explored, policyFor } from "./shapes.js";
import { type Charge, effectOf, isTransactional, type World, withEffect } from "./world.js";

export function budgetOf(run: Explored, { step, direction }: Charge): number {
  if (run.kinds.has("deploy")) return Number.POSITIVE_INFINITY;
  const policy = policyFor(run.policies.before, step);
  return direction === "forward" ? policy.retry.maxAttempts : policy.compensationRetry.maxAttempts;
}

/** The charge of a body that `action` calls; an ask is none. */
export function chargeOf(action: Attempted): Charge | undefined {
  return action.kind === "run" ? { step: action.step, direction: action.direction } : undefined;
}

/** All that the owner has under way, or just had. */
export function chargesOf(owner: Owner): readonly Charge[] {
  const beside = owner.beside.flatMap(({ action }) => chargeOf(action) ?? []);
  const charge = chargeInHand(owner);
  return charge === undefined ? beside : [charge, ...beside];
}

/** What the owner has under way, or just had, apart from what goes on beside it. */
export function chargeInHand({ hand }: Owner): Charge | undefined {
  return hand.kind === "body" || hand.kind === "outcome" ? chargeOf(hand.action) : undefined;
}

export function charged(run: Explored, world: World, charge: Charge): World {
  return counted(run, world, charge, 1);
}

/** It used up nothing: it was not begun after all, never called, or its transaction is void. */
function excused(run: Explored, world: World, charge: Charge | undefined): World {
  return charge === undefined ? world : counted(run, world, charge, -1);
}

/** What the owner has in hand used up nothing. A zombie is charged for nothing. */
export function excusedOwner(run: Explored, world: World, owner: Owner): World {
  return owner.current ? excused(run, world, chargeInHand(owner)) : world;
}

/** It was handed over, or lost without a crash: that excuses all but what may never begin twice. */
export function excusedUnlessOnce(run: Explored, world: World, charge: Charge | undefined): World {
  const once = charge !== undefined && budgetOf(run, charge) === 1 && !isTransactional(run, charge.step);
  return once ? world : excused(run, world, charge);
}

function counted(run: Explored, world: World, charge: Charge, by: 1 | -1): World {
  // Where there is no limit, nobody has to count.
  if (!Number.isFinite(budgetOf(run, charge))) return world;
  const effect = effectOf(run, world, charge.step);
  return charge.direction === "forward"
    ? withEffect(run, world, charge.step, { charged: Math.max(0, effect.charged + by) })
    : withEffect(run, world, charge.step, { undoCharged: Math.max(0, effect.undoCharged + by) });
}
