// WHAT AN OWNER MAY DO NEXT: write, sleep, hear of its row; and how it may be disturbed. Its bodies are in `body-moves`.

import type { Attempted } from "../../src/core/action.js";
import type { Entry } from "../../src/core/entry.js";
import type { Outcome } from "../../src/core/record.js";
import { isTemporary } from "./answers.js";
import { abandons, performs } from "./body-moves.js";
import { chargeInHand, chargeOf, excusedOwner, excusedUnlessOnce } from "./charges.js";
import { isBehind, type Offer, type Owner, offer } from "./owner.js";
import { type Scene, withOwner } from "./scene.js";
import { now } from "./shapes.js";
import { deadlineMatters, isTransactional, landed, policiesOf, type World } from "./world.js";

/** Adds what `owner` may do next, and what may be done to it. */
export function ofOwner(scene: Scene, owner: Owner): void {
  scene.actor = owner.current ? "the owner " : "a zombie ";
  goesOn(scene, owner);
  // What a zombie does of itself is no less than what could be done to it.
  if (owner.current) isDisturbed(scene, owner);
  scene.actor = "";
}

function goesOn(scene: Scene, owner: Owner): void {
  switch (owner.hand.kind) {
    case "offer":
    case "outcome":
      offers(scene, owner);
      break;
    case "body":
      performs(scene, owner, owner.hand.action);
      break;
    case "sleep": {
      const asleep = !isBehind(owner, scene.world.journal);
      const ms = asleep ? owner.hand.until - now : 0;
      const later = scene.later(scene.without(owner), ms);
      scene.add({ label: asleep ? "sleeps" : "is woken", to: scene.reads(later, owner, later.journal) });
      if (asleep && scene.world.deadline && deadlineMatters({ ...scene.world, owners: [] }))
        scene.add({ label: "is woken by the deadline", to: scene.reads(scene.without(owner), owner, owner.view) });
      break;
    }
    case "unsure":
      scene.add({ label: "hears that its row is in", to: scene.reads(scene.without(owner), owner, owner.view) });
  }
}

function isDisturbed(scene: Scene, owner: Owner): void {
  scene.disturb("crash", () => ({ label: "dies with its process", to: dies(scene, owner) }));
  if (!owner.stopping)
    scene.disturb("shutdown", () => ({
      label: "its worker closes",
      to: withOwner(scene.without(owner), { ...owner, stopping: true }),
    }));
}

function offers(scene: Scene, owner: Owner): void {
  const { journal } = scene.world;
  const offered = offer({ run: scene.run, policies: policiesOf(scene.world, owner) }, owner, journal);
  const without = scene.without(owner);
  switch (offered.kind) {
    case "lost":
      scene.add({ label: "finds that the run is another's", to: without });
      break;
    case "void":
      scene.add({
        label: "finds nothing to write",
        to: scene.reads(excusedOwner(scene.run, without, owner), owner, journal),
      });
      break;
    case "row":
      writes(scene, owner, without, offered);
  }
}

function writes(scene: Scene, owner: Owner, without: World, { entries, after }: Extract<Offer, { kind: "row" }>): void {
  const appended = scene.append(after, entries);
  let world: World = { ...without, journal: appended.journal };
  if (owner.hand.kind === "outcome") {
    world = accounted(scene, world, owner, entries);
    world = committed(scene, world, owner.hand.action, owner.hand.outcome);
  }
  const temporary = owner.hand.kind === "outcome" && isTemporary(owner.hand.outcome);
  const written = { appended, temporary };
  scene.add({ label: "writes", to: scene.reads(world, owner, appended.journal), ...written });
  if (owner.current)
    scene.disturb("lost answer", () => ({
      label: "writes, and does not hear",
      to: withOwner(world, { ...owner, view: appended.journal, hand: { kind: "unsure" } }),
      ...written,
    }));
}

/** A transactional step's SQL commits with its entry. */
function committed(scene: Scene, world: World, action: Attempted, outcome: Outcome): World {
  const charge = chargeOf(action);
  return charge !== undefined && outcome.kind === "returned" && isTransactional(scene.run, action.step)
    ? landed(scene.run, world, charge)
    : world;
}

/** Takes back the charge of an execution that uses up no attempt (1.5). */
function accounted(scene: Scene, world: World, owner: Owner, entries: readonly Entry[]): World {
  if (owner.hand.kind !== "outcome" || owner.hand.outcome.kind !== "threw") return world;
  const { outcome } = owner.hand;
  const aborted = outcome.aborted !== undefined && outcome.aborted !== "shutdown";
  if (!outcome.counted || aborted) return excusedOwner(scene.run, world, owner);
  const handedOver = entries.some(({ kind }) => kind === "handed_over");
  return handedOver || outcome.aborted !== undefined ? excusedUnlessOnce(scene.run, world, chargeInHand(owner)) : world;
}

function dies(scene: Scene, owner: Owner): World {
  const without = scene.without(owner);
  const charge = chargeInHand(owner);
  const orphaned = owner.current && charge !== undefined ? { ...without, orphan: charge } : without;
  return abandons(scene, orphaned, owner);
}
