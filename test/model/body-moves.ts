// WHAT MAY BECOME OF A BODY, or of an ask: it takes effect or not, is told to stop or not, and ends in any way there is.

import type { Attempted } from "../../src/core/action.js";
import type { Outcome } from "../../src/core/record.js";
import type { AbortReason } from "../../src/errors/step-errors.js";
import {
  abortedBy,
  askThrew,
  cannotTell,
  maybeRetry,
  maybeTerminal,
  neverCalled,
  noRetry,
  noTerminal,
  notHappened,
  returned,
} from "./answers.js";
import { excusedOwner } from "./charges.js";
import { actionText, hears, isBehind, keyOf, type Owner, outcomeText } from "./owner.js";
import { type Scene, withOwner } from "./scene.js";
import { effectOf, isTransactional, landed, late, policiesOf, type World, withEffect } from "./world.js";

/** Adds what may become of the body, or the ask, that the owner has in hand. */
export function performs(scene: Scene, owner: Owner, action: Attempted): void {
  const { hand } = owner;
  if (hand.kind !== "body") return;
  const without = scene.without(owner);
  const fresh = !hand.landed && hand.aborted === undefined;
  if (fresh && isBehind(owner, scene.world.journal))
    scene.add({
      label: `reads before it begins to ${actionText(action)}`,
      to: scene.reads(excusedOwner(scene.run, without, owner), owner, scene.world.journal),
    });
  if (fresh && owner.stopping)
    scene.add({
      label: `does not begin to ${actionText(action)}`,
      to: scene.reads(excusedOwner(scene.run, without, owner), owner, owner.view),
    });
  const reason = hears({ run: scene.run, policies: policiesOf(scene.world, owner) }, owner, scene.world.journal);
  if (reason === "lost") scene.add({ label: "hears that the run is another's", to: abandons(scene, without, owner) });
  else if (reason !== undefined)
    scene.add({
      label: `is told to stop: ${reason}`,
      to: withOwner(without, { ...owner, hand: { ...hand, aborted: reason } }),
    });
  if (action.kind === "reconcile") asks(scene, owner, without, action, hand.aborted);
  else if (action.kind === "run") runs(scene, owner, without, action, hand);
}

function runs(
  scene: Scene,
  owner: Owner,
  without: World,
  action: Extract<Attempted, { kind: "run" }>,
  hand: Extract<Owner["hand"], { kind: "body" }>,
): void {
  const { step, direction } = action;
  const transactional = isTransactional(scene.run, step);
  const forward = direction === "forward";
  const refused = forward && effectOf(scene.run, without, step).voided;
  const key = forward ? `run/${step}` : `run/${step}/compensate`;
  if (!transactional && !hand.landed && !refused)
    scene.add({
      faults: keyOf(action) === key ? [] : [`1.5 the key of ${actionText(action)} is ${keyOf(action)}`],
      label: `makes ${actionText(action)} take effect`,
      to: withOwner(landed(scene.run, without, { step, direction }), { ...owner, hand: { ...hand, landed: true } }),
    });
  const settles = (outcome: Outcome, world: World): void => {
    const told = hand.aborted === undefined || outcome.kind !== "threw" ? outcome : abortedBy(outcome, hand.aborted);
    scene.add({
      label: `ends to ${actionText(action)}: ${outcomeText(told)}`,
      to: withOwner(world, { ...owner, hand: { kind: "outcome", action, outcome: told } }),
    });
  };
  if (hand.landed || transactional) settles(returned, without);
  // Whatever a zombie offers, it will be told that the number is taken: two answers are enough.
  if (!owner.current) {
    if (!hand.landed) settles(noTerminal, without);
    return;
  }
  // A request that nobody waits for any more may land later.
  const sent = transactional || !forward || hand.landed ? without : late(scene.run, without, step, "settled");
  if (hand.landed || transactional || !forward) {
    settles(maybeRetry, sent);
    if (hand.aborted === undefined) settles(maybeTerminal, sent);
  } else {
    settles(maybeRetry, sent);
    settles(noTerminal, without);
    if (hand.aborted === undefined) {
      settles(maybeTerminal, sent);
      settles(noRetry, without);
      settles(neverCalled, without);
    }
  }
}

function asks(scene: Scene, owner: Owner, without: World, action: Attempted, aborted: AbortReason | undefined): void {
  const { live } = effectOf(scene.run, without, action.step);
  const answers = (outcome: Outcome, world: World): void =>
    scene.add({
      label: `ends to ${actionText(action)}: ${outcomeText(outcome)}`,
      to: withOwner(world, { ...owner, hand: { kind: "outcome", action, outcome } }),
    });
  if (live) answers(returned, without);
  // "Not happened" is a promise: the key is voided first, where the peer can do that (1.5).
  else {
    const voided = scene.run.peer === "tombstones" ? { voided: true } : {};
    answers(notHappened, withEffect(scene.run, without, action.step, voided));
  }
  if (aborted === undefined) answers(cannotTell, without);
  answers(aborted === undefined ? askThrew : abortedBy(askThrew, aborted), without);
}

/** What it has sent may still land. */
export function abandons(scene: Scene, world: World, { hand }: Owner): World {
  if (hand.kind !== "body" || hand.landed || hand.action.kind !== "run") return world;
  const { step, direction } = hand.action;
  return direction === "forward" && !isTransactional(scene.run, step)
    ? late(scene.run, world, step, "unsettled")
    : world;
}
