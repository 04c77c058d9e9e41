// THE DATABASE'S TIME, without asking for it: its last stamp plus monotonic time since (design 3.2). The process's own wall
// clock, which may be minutes off, is never compared with anything.

import type { Clock } from "../platform/clock.js";

/** Estimates the database's clock from stamps that its answers carry. */
export class DatabaseClock {
  readonly #clock: Clock;
  #offsetMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Monotonic milliseconds; take it before sending what will bring a stamp. */
  mark(): number {
    return this.#clock.monotonic();
  }

  /**
   * The database said `stampMs` in an answer to something sent at `sentAt` (a `mark`). The stamp was taken between sending
   * and now; an estimate within those bounds is kept, so a slow answer never sets the clock back.
   */
  observe(stampMs: number, sentAt: number): void {
    const lowest = stampMs - this.#clock.monotonic();
    const highest = stampMs - sentAt;
    this.#offsetMs = Math.min(Math.max(this.#offsetMs ?? lowest, lowest), highest);
  }

  /** Milliseconds since the epoch, whole. */
  now(): number {
    if (this.#offsetMs === undefined) return this.#clock.now();
    return Math.floor(this.#clock.monotonic() + this.#offsetMs);
  }
}
