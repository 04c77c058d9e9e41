// TIME THAT A TEST SETS: nothing passes unless it is told to.

import type { Clock } from "../../src/platform/clock.js";

interface Alarm {
  readonly at: number;
  readonly ring: () => void;
}

export class ManualClock implements Clock {
  #now: number;
  readonly #alarms = new Set<Alarm>();

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const alarm = { at: this.#now + ms, ring: callback };
    this.#alarms.add(alarm);
    return () => void this.#alarms.delete(alarm);
  }

  /** How long each timer that is set still runs, the next one first. */
  get waits(): number[] {
    return [...this.#alarms].map(({ at }) => at - this.#now).sort((a, b) => a - b);
  }

  /** Lets `ms` pass, ringing what is due in its order; what that sets in motion gets its turns. */
  async pass(ms: number): Promise<void> {
    const until = this.#now + ms;
    for (;;) {
      await settled();
      const next = [...this.#alarms].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#alarms.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.ring();
    }
    this.#now = until;
    await settled();
  }
}

/** Whatever promises are on their way have arrived. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
