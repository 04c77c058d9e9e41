// SOMETHING DONE AGAIN AND AGAIN, that outlives its failures: a database that is away ends no loop (PG-2). Jittered, so
// that the workers of a fleet do not move in step (ERR-14); woken early by hints.

import type { Logger } from "../definition/saga.js";
import type { Clock } from "../platform/clock.js";
import type { Chance } from "../platform/ids.js";

export interface LoopOptions {
  readonly name: string;
  /** The usual time between the end of one turn and the next, in milliseconds. */
  readonly everyMs: number;
  /** One turn. May ask for another delay than the usual. A throw is logged, and the next turn comes all the same. */
  readonly turn: () => Promise<number | void>;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly logger: Logger;
}

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

  /** A turn soon: at once if the loop is asleep, else right after the present turn. */
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
    const { turn, clock, logger, name, everyMs } = this.#options;
    while (!this.#stopped) {
      this.#woken = false;
      let delayMs = everyMs;
      try {
        delayMs = (await turn()) ?? everyMs;
        this.lastTickAt = clock.now();
        if (this.#failures > 0)
          logger.info({ loop: name, failures: this.#failures }, "a loop of the worker works again");
        this.#failures = 0;
      } catch (error) {
        this.#failures += 1;
        // One line for an outage, not one per turn.
        if (this.#failures === 1 && !this.#stopped)
          logger.warn({ err: error, loop: name }, "a loop of the worker failed; it goes on trying");
        delayMs = Math.max(everyMs, 250);
      }
      await this.#sleep(delayMs);
    }
  }

  #sleep(delayMs: number): Promise<void> {
    if (this.#stopped || this.#woken) return Promise.resolve();
    const { clock, chance } = this.#options;
    return new Promise((resolve) => {
      const cancel = clock.after(delayMs * (0.75 + 0.5 * chance.random()), () => this.#wake());
      this.#wake = () => {
        cancel();
        this.#wake = () => {};
        resolve();
      };
    });
  }
}
