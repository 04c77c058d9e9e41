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
  output,
  returned,
} from "./answers.js";
import { excusedOwner } from "./charges.js";
import { actionText, hears, isBehind, keyOf, type Owner, outcomeText } from "./owner.js";
import { type Scene, withOwner } from "./scene.js";
import { concurrencyOf, itemCount, longDelayMs } from "./shapes.js";
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
  if (reason === "lost")
    scene.add({ label: "hears that the run is another's", to: withoutBody(abandoned(scene, without, hand), owner) });
  else if (reason !== undefined)
    scene.add({
      label: `is told to stop: ${reason}`,
      to: withOwner(without, { ...owner, hand: { ...hand, aborted: reason } }),
    });
  if (action.kind === "compute") computes(scene, owner, without, action);
  else if (action.kind === "reconcile") asks(scene, owner, without, action, hand.aborted);
  else runs(scene, owner, without, action, hand);
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

/** What a pure function gives, or that it throws. */
function computes(scene: Scene, owner: Owner, without: World, action: Extract<Attempted, { kind: "compute" }>): void {
  const outcomes = owner.current ? computedAs(scene, owner, action) : [noTerminal];
  for (const outcome of outcomes)
    scene.add({
      label: `ends to ${actionText(action)}: ${outcomeText(outcome)}`,
      to: withOwner(without, { ...owner, hand: { kind: "outcome", action, outcome } }),
    });
}

function computedAs(
  { run }: Scene,
  { view }: Owner,
  { what, step }: Extract<Attempted, { kind: "compute" }>,
): readonly Outcome[] {
  switch (what) {
    case "when":
      return [true, false].map((holds): Outcome => ({ kind: "computed", what, holds }));
    case "for":
      return [{ kind: "computed", what, ms: longDelayMs }];
    case "over":
      return [
        { kind: "computed", what, items: output, count: itemCount, concurrency: concurrencyOf(run, step) },
        noTerminal,
      ];
    case "input":
      return [{ kind: "computed", what, runId: `child ${view.state.steps[step]!.earlierChildren}`, input: output }];
    case "payload":
      return [{ kind: "computed", what, payload: output }, noTerminal];
  }
}

/** What all its bodies have sent may still land. */
export function abandons(scene: Scene, world: World, { hand, beside }: Owner): World {
  return [hand, ...beside].reduce((left, body) => abandoned(scene, left, body), world);
}

function abandoned(scene: Scene, world: World, hand: Owner["hand"]): World {
  if (hand.kind !== "body" || hand.landed || hand.action.kind !== "run") return world;
  const { step, direction } = hand.action;
  return direction === "forward" && !isTransactional(scene.run, step)
    ? late(scene.run, world, step, "unsettled")
    : world;
}

/** It has let go of the body that it was about. */
function withoutBody(world: World, { beside: [hand, ...beside], ...owner }: Owner): World {
  return hand === undefined ? world : withOwner(world, { ...owner, hand, beside });
}
