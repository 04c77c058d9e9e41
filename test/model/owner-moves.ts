// WHAT AN OWNER MAY DO NEXT: write, sleep, hear of its row; and how it may be disturbed. Its bodies are in `body-moves`.

import type { Attempted } from "../../src/core/action.js";
import type { Entry } from "../../src/core/entry.js";
import type { Outcome } from "../../src/core/record.js";
import { isTemporary } from "./answers.js";
import { abandons, performs } from "./body-moves.js";
import { chargeInHand, chargeOf, chargesOf, excusedOwner, excusedUnlessOnce } from "./charges.js";
import { looks } from "./child-moves.js";
import type { Journal } from "./journals.js";
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
      for (const each of scene.withEachBody(owner)) performs(scene, each, bodyOf(each));
      break;
    case "look":
      looks(scene, owner, owner.hand);
      break;
    case "sleep": {
      for (const each of scene.withEachBody(owner)) performs(scene, each, bodyOf(each));
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

function bodyOf({ hand }: Owner): Attempted {
  if (hand.kind !== "body") throw new Error(`about a ${hand.kind}, not a body`);
  return hand.action;
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
      scene.add({ label: "finds that the run is another's", to: abandons(scene, without, { ...owner, hand: unsure }) });
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
  if (entries.length === 0) {
    writesNothing(scene, owner, without, after);
    return;
  }
  const appended = scene.append(after, entries);
  let world: World = { ...without, journal: appended.journal };
  if (owner.hand.kind === "outcome") {
    world = accounted(scene, world, owner, entries);
    world = committed(scene, world, owner.hand.action, owner.hand.outcome);
  }
  const temporary = owner.hand.kind === "outcome" && isTemporary(owner.hand.outcome);
  const early = owner.current && owner.beside.length > 0 && entries.some(({ kind }) => needsNobody.has(kind));
  const faults = early ? ["1.3 the run turned, ended or was given up while a body of its owner's was running"] : [];
  const written = { appended, temporary, faults };
  scene.add({ label: "writes", to: scene.reads(world, owner, appended.journal), ...written });
  if (owner.current)
    scene.disturb("lost answer", () => ({
      label: "writes, and does not hear",
      to: withOwner(world, { ...owner, view: appended.journal, hand: { kind: "unsure" } }),
      ...written,
    }));
}

/** Nothing can be said yet of a body that its worker's stop aborted, nor of what was computed for a saga that turns. */
function writesNothing(scene: Scene, owner: Owner, without: World, view: Journal): void {
  const { hand } = owner;
  if (hand.kind !== "outcome") return;
  const { outcome, action } = hand;
  const givenUp =
    owner.givenUp || (outcome.kind === "threw" && outcome.aborted === "shutdown" && action.kind === "run");
  const world = excusedUnlessOnce(scene.run, without, chargeInHand(owner));
  scene.add({ label: "has nothing to write", to: scene.reads(world, { ...owner, givenUp, hand: unsure }, view) });
}

const unsure: Owner["hand"] = { kind: "unsure" };

/** What is written only when nothing runs. */
const needsNobody: ReadonlySet<Entry["kind"]> = new Set<Entry["kind"]>([
  "rollback_started",
  "finished",
  "parked",
  "handed_over",
]);

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
  const orphaned = owner.current ? { ...without, orphans: chargesOf(owner) } : without;
  return abandons(scene, orphaned, owner);
}
