// ONE WORLD, and what all moves out of it share: what an owner does once it has read, what time does, and the moves found.

import type { Entry } from "../../src/core/entry.js";
import { charged, chargeOf } from "./charges.js";
import type { Appended, Journal, Journals } from "./journals.js";
import { type Hand, type Owner, takeInHand } from "./owner.js";
import { type Disturbance, type Explored, never } from "./shapes.js";
import { policiesOf, type World } from "./world.js";

export interface Move {
  readonly label: string;
  readonly to: World;
  /** It may go on for ever without anybody being at fault: a peer that says "try again". */
  readonly temporary?: boolean;
  /** The row that it wrote. */
  readonly appended?: Appended;
  readonly faults?: readonly string[];
}

export class Scene {
  readonly found: Move[] = [];
  readonly run: Explored;
  readonly world: World;
  /** Who makes the moves that are added, for people. */
  actor = "";
  readonly #journals: Journals;
  readonly #standIns = new Map<Owner, Owner>();

  constructor(run: Explored, journals: Journals, world: World) {
    this.run = run;
    this.world = world;
    this.#journals = journals;
  }

  add(move: Move): void {
    this.found.push({ ...move, label: this.actor + move.label });
  }

  /** A move that something has to break for: it costs the run one of its disturbances. */
  disturb(kind: Disturbance, move: () => Move): void {
    this.disturbed(kind, () => {
      const { to, ...rest } = move();
      this.add({ ...rest, to: { ...to, left: this.world.left - 1 } });
    });
  }

  /** Moves out of the world that has one disturbance less. */
  disturbed(kind: Disturbance, moves: (world: World) => void): void {
    if (this.world.left > 0 && this.run.kinds.has(kind)) moves({ ...this.world, left: this.world.left - 1 });
  }

  /** `owner`, having read `view`, goes on with what follows. What it found of its child is not news any more. */
  reads(world: World, { looked: _looked, ...owner }: Owner, view: Journal): World {
    return this.goesOn(world, owner, view);
  }

  /** It takes in hand all that can be begun now, beside what it has in hand. */
  goesOn(world: World, owner: Owner, view: Journal): World {
    const around = { run: this.run, policies: policiesOf(world, owner) };
    const hand = takeInHand(around, owner, view);
    if (hand?.kind !== "body") return this.#busyWith(world, { ...owner, view }, hand);
    const charge = chargeOf(hand.action);
    const begun = charge !== undefined && owner.current ? charged(this.run, world, charge) : world;
    return this.goesOn(begun, { ...owner, beside: [...owner.beside, hand] }, view);
  }

  #busyWith(world: World, owner: Owner, hand: Hand | undefined): World {
    if (hand !== undefined && (hand.kind !== "sleep" || owner.beside.length === 0))
      return withOwner(world, { ...owner, hand });
    const [first, ...beside] = owner.beside;
    if (first === undefined) return world;
    // What it waits for beside its bodies, it goes on waiting for once one of them has ended, or earlier.
    if (hand !== undefined && hand.kind === "sleep" && hand.until < never) return withOwner(world, { ...owner, hand });
    return withOwner(world, { ...owner, hand: first, beside });
  }

  /** `ms` pass. */
  later(world: World, ms: number): World {
    if (ms === 0) return world;
    return {
      ...world,
      journal: this.#journals.later(world.journal, ms),
      owners: world.owners.map((owner) => ({ ...owner, view: this.#journals.later(owner.view, ms) })),
      effects: world.effects.map((effect) => ({ ...effect, late: Math.max(0, effect.late - ms) })),
    };
  }

  append(journal: Journal, entries: readonly Entry[]): Appended {
    return this.#journals.append(journal, entries, this.world.deadline);
  }

  /** The world without that owner, or before it is put back with something else in hand. */
  without(owner: Owner): World {
    const real = this.#standIns.get(owner) ?? owner;
    return { ...this.world, owners: this.world.owners.filter((other) => other !== real) };
  }

  /** The same owner, seen as being about one of its bodies, once for each. */
  withEachBody(owner: Owner): readonly Owner[] {
    const bodies = owner.hand.kind === "body" ? [owner.hand, ...owner.beside] : owner.beside;
    return bodies.map((hand) => {
      const standIn = { ...owner, hand, beside: bodies.filter((other) => other !== hand) };
      this.#standIns.set(standIn, owner);
      return standIn;
    });
  }
}

export function withOwner(world: World, owner: Owner): World {
  return { ...world, owners: [...world.owners, owner] };
}
