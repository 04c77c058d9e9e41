// SOMETHING DONE AGAIN AND AGAIN, that outlives its failures: a database that is away ends no loop (PG-2). Jittered, so
// that the workers of a fleet do not move in step (ERR-14); woken early by hints.

import type { Logger } from "../definition/saga.js";
import type { Clock } from "../platform/clock.js";
import type { Chance } from "../platform/ids.js";

export interface LoopOptions {
  readonly name: string;
  /** The usual time between the end of one turn and the next, in milliseconds; a quarter more or less. */
  readonly everyMs: number;
  /**
   * One turn. `lateMs`: how long after its time it comes, because the event loop was busy. May ask for another delay than
   * the usual, which then is kept to the millisecond. A throw is logged, and the next turn comes all the same.
   */
  readonly turn: (lateMs: number) => Promise<number | void>;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly logger: Logger;
}

/** Before the second try after a failure; doubled with each, up to the usual time. */
const firstBackoffMs = 250;

export class Loop {
  readonly name: string;
  /** Wall-clock milliseconds of the last turn that succeeded. */
  lastTickAt: number | undefined;
  readonly #options: LoopOptions;
  #running: Promise<void> | undefined;
  #stopped = false;
  #woken = false;
  #wake: () => void = () => {};
  #failures = 0;

  constructor(options: LoopOptions) {
    this.name = options.name;
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** A turn soon: at once if the loop is asleep, else right after the present turn, unless that one fails. */
  wake(): void {
    this.#woken = true;
    this.#wake();
  }

  /** No further turn; resolves when the present one is over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    let lateMs = 0;
    while (!this.#stopped) {
      this.#woken = false;
      lateMs = await this.#sleep(await this.#turn(lateMs));
    }
  }

  /** Resolves to how long to sleep. */
  async #turn(lateMs: number): Promise<number> {
    const { turn, clock, chance, logger, name, everyMs } = this.#options;
    const jitter = 0.75 + 0.5 * chance.random();
    try {
      const delayMs = (await turn(lateMs)) ?? everyMs * jitter;
      this.lastTickAt = clock.now();
      if (this.#failures > 0) logger.info({ loop: name, failures: this.#failures }, "a loop of the worker works again");
      this.#failures = 0;
      return delayMs;
    } catch (error) {
      this.#failures += 1;
      // One line for an outage, not one per turn.
      if (this.#failures === 1 && !this.#stopped)
        logger.warn({ err: error, loop: name }, "a loop of the worker failed; it goes on trying");
      // Hints that came while it failed would have it fail again at once.
      this.#woken = false;
      const backoffMs = firstBackoffMs * 2 ** Math.min(this.#failures - 1, 20);
      return Math.min(backoffMs, Math.max(everyMs, firstBackoffMs)) * jitter;
    }
  }

  /** Resolves to how late the timer was; 0 when the loop was woken before. */
  #sleep(delayMs: number): Promise<number> {
    if (this.#stopped || this.#woken) return Promise.resolve(0);
    const { clock } = this.#options;
    const endsAt = clock.monotonic() + delayMs;
    return new Promise((resolve) => {
      const end = (lateMs: number) => {
        this.#wake = () => {};
        resolve(lateMs);
      };
      const cancel = clock.after(delayMs, () => end(Math.max(0, clock.monotonic() - endsAt)));
      this.#wake = () => {
        cancel();
        end(0);
      };
    });
  }
}
