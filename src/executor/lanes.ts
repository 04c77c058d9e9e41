// WHO HAS A PLACE, in process: runs of a lane (one saga and key) share so many, each from its first taking up to its end, and
// the others queue by rank (design 1.9). Pure.

import type { RunHeader } from "../journal/journal.js";

interface Lane {
  readonly placed: Set<string>;
  /** In the order of their ranks. */
  readonly queue: RunHeader[];
}

export class Lanes {
  readonly #lanes = new Map<string, Lane>();

  /** Whether the run has a place now. One that has none is queued, until a `leave` names it. */
  enter(run: RunHeader, limit: number): boolean {
    if (run.lane === undefined) return true;
    const { placed, queue } = this.#laneOf(run);
    if (placed.has(run.key)) return true;
    if (queue.some(({ key }) => key === run.key)) return false;
    if (placed.size < limit) {
      placed.add(run.key);
      return true;
    }
    const at = queue.findIndex((other) => rankOf(other) > rankOf(run));
    queue.splice(at < 0 ? queue.length : at, 0, run);
    return false;
  }

  /** The run has ended: who has a place instead, and is to be taken up. */
  leave(run: RunHeader, limit: number): readonly RunHeader[] {
    if (run.lane === undefined) return [];
    const { placed, queue } = this.#laneOf(run);
    const at = queue.findIndex(({ key }) => key === run.key);
    if (at >= 0) queue.splice(at, 1);
    placed.delete(run.key);
    const next = queue.splice(0, Math.max(0, limit - placed.size));
    for (const { key } of next) placed.add(key);
    if (placed.size === 0) this.#lanes.delete(nameOf(run));
    return next;
  }

  #laneOf(run: RunHeader): Lane {
    const name = nameOf(run);
    const lane = this.#lanes.get(name) ?? { placed: new Set(), queue: [] };
    this.#lanes.set(name, lane);
    return lane;
  }
}

function nameOf({ saga, lane }: RunHeader): string {
  return JSON.stringify([saga, lane]);
}

/** Due time less the head start, as in the database. */
function rankOf({ startAt, priority }: RunHeader): number {
  return startAt - priority * 1_000;
}
