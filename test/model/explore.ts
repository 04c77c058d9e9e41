// THE EXPLORER: every world that can be reached, each once, nearest first, so that what it finds wrong comes with a short
// trace. It looks for broken rules, for worlds in which nothing can happen any more, and for going round for ever.

import type { Entry } from "../../src/core/entry.js";
import { faultsOf } from "./faults.js";
import { Journals } from "./journals.js";
import { movesOf } from "./moves.js";
import { Numbering, Numbers } from "./numbering.js";
import type { Move } from "./scene.js";
import type { Explored } from "./shapes.js";
import { newWorld, type World } from "./world.js";
import { worldText } from "./world-text.js";

export interface Exploration {
  readonly worlds: number;
  /** Distinct worlds in which the run has ended and no owner is about anything any more. */
  readonly ends: number;
  readonly counterexample?: Counterexample;
}

export interface Counterexample {
  readonly faults: readonly string[];
  /** What happened, a line each. */
  readonly trace: readonly string[];
}

/** Explores `run` to the end, or to the first fault. */
export function explore(run: Explored): Exploration {
  const journals = new Journals(run);
  const first = newWorld(run, journals.empty);
  const numbering = new Numbering();
  numbering.of(worldText(run, first));
  const origins = new Origins();
  // Moves that may not be repeated for ever: a cycle among them is a run that never ends.
  const lasting = new Edges();
  let ends = 0;
  let frontier: World[] = [first];
  let number = 0;
  const result = (counterexample?: Counterexample): Exploration => ({
    worlds: numbering.size,
    ends,
    ...(counterexample && { counterexample }),
  });
  const against = (faults: readonly string[], ordinals: readonly number[]): Exploration =>
    result({ faults, trace: retrace(run, ordinals) });
  while (frontier.length > 0) {
    const next: World[] = [];
    for (const world of frontier) {
      const moves = movesOf(run, journals, world);
      if (isOver(world)) ends += 1;
      else if (moves.every((move) => isDisturbed(world, move)))
        return against(["1.10 nothing can happen any more"], origins.of(number));
      for (const [ordinal, move] of moves.entries()) {
        const known = numbering.size;
        const to = numbering.of(worldText(run, move.to));
        const faults = faultsOfMove(move);
        if (to === known) {
          faults.push(...faultsOf(run, move.to));
          origins.add(number, ordinal);
          next.push(move.to);
        }
        if (faults.length > 0) return against(faults, [...origins.of(number), ordinal]);
        if (move.temporary !== true && !isDisturbed(world, move)) lasting.add(number, to);
      }
      number += 1;
    }
    frontier = next;
  }
  const round = lasting.cycle(numbering.size);
  return round === undefined ? result() : against(["1.10 it goes round for ever"], origins.of(round));
}

function isOver({ journal, owners }: World): boolean {
  return journal.state.finished !== undefined && owners.length === 0;
}

/** Whether something had to break, or somebody to act, for it. */
function isDisturbed(world: World, move: Move): boolean {
  return move.to.left !== world.left;
}

/** What is wrong with how a world came about. */
export function faultsOfMove({ appended, faults = [] }: Move): string[] {
  return [...faults, ...(appended?.violations ?? []).map(({ rule, what }) => `${rule}: ${what}`)];
}

/** How each world was first reached. */
class Origins {
  readonly #from = new Numbers();
  readonly #ordinal = new Numbers();

  constructor() {
    this.add(0, 0);
  }

  add(from: number, ordinal: number): void {
    this.#from.push(from);
    this.#ordinal.push(ordinal);
  }

  /** The moves, by their place among all that were possible, from the first world to `world`. */
  of(world: number): number[] {
    const ordinals: number[] = [];
    for (let at = world; at !== 0; at = this.#from.at(at)) ordinals.unshift(this.#ordinal.at(at));
    return ordinals;
  }
}

class Edges {
  readonly #from = new Numbers();
  readonly #to = new Numbers();

  add(from: number, to: number): void {
    this.#from.push(from);
    this.#to.push(to);
  }

  /** A world on a cycle, if there is one. */
  cycle(worlds: number): number | undefined {
    const count = this.#from.length;
    const waysOut = new Int32Array(worlds);
    // The edges into each world, one after the other: those of `world` begin at `begins[world]`.
    const begins = new Int32Array(worlds + 1);
    for (let edge = 0; edge < count; edge += 1) {
      waysOut[this.#from.at(edge)]! += 1;
      begins[this.#to.at(edge) + 1]! += 1;
    }
    for (let world = 0; world < worlds; world += 1) begins[world + 1]! += begins[world]!;
    const into = new Int32Array(count);
    const filled = begins.slice();
    for (let edge = 0; edge < count; edge += 1) {
      const to = this.#to.at(edge);
      into[filled[to]!] = this.#from.at(edge);
      filled[to]! += 1;
    }
    // Worlds that lead nowhere are taken away in turn; what is left leads to a cycle, or is on it.
    const done: number[] = [];
    for (let world = 0; world < worlds; world += 1) if (waysOut[world] === 0) done.push(world);
    for (let world = done.pop(); world !== undefined; world = done.pop())
      for (let edge = begins[world]!; edge < begins[world + 1]!; edge += 1) {
        const from = into[edge]!;
        waysOut[from]! -= 1;
        if (waysOut[from] === 0) done.push(from);
      }
    return this.#around(waysOut);
  }

  #around(waysOut: Int32Array): number | undefined {
    const start = waysOut.findIndex((ways) => ways > 0);
    if (start < 0) return undefined;
    const onward = new Map<number, number>();
    for (let edge = 0; edge < this.#from.length; edge += 1)
      if (waysOut[this.#to.at(edge)]! > 0) onward.set(this.#from.at(edge), this.#to.at(edge));
    const passed = new Set<number>();
    let at = start;
    for (; !passed.has(at); at = onward.get(at)!) passed.add(at);
    return at;
  }
}

function retrace(run: Explored, ordinals: readonly number[]): string[] {
  const journals = new Journals(run);
  let world = newWorld(run, journals.empty);
  return ordinals.map((ordinal) => {
    const move = movesOf(run, journals, world)[ordinal]!;
    world = move.to;
    const row = move.appended?.row;
    return row === undefined ? move.label : `${move.label} → ${row.number}: ${row.entries.map(entryText).join(", ")}`;
  });
}

const told = ["step", "direction", "answer", "attempts", "doubt", "final", "crash", "as", "cause", "status"] as const;

function entryText(entry: Entry): string {
  const fields = entry as unknown as Record<string, unknown>;
  const parts = told.filter((name) => fields[name] !== undefined && fields[name] !== false);
  return [entry.kind, ...parts.map((name) => (fields[name] === true ? name : `${fields[name]}`))].join(" ");
}
