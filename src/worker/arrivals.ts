// RUNS STARTED IN A CALLER'S TRANSACTION, of whose commit nobody tells: looks a few times until they are there, so that a
// worker need not find them by polling (design 1.9, 3.2). A NOTIFY in that transaction would serialise its commit with others'.

import type { Clock } from "../platform/clock.js";

export interface ArrivalsOptions {
  /** Which of these runs, by internal id, are there by now. */
  readonly among: (keys: readonly string[]) => Promise<readonly string[]>;
  /** Some of them are. */
  readonly onArrival: () => void;
  readonly clock: Clock;
}

/** Between two looks; each time twice as long. */
const firstLookMs = 5;
/** Who commits later is found by polling, as are transactions that are undone. */
const lookForMs = 5_000;

export class Arrivals {
  readonly #options: ArrivalsOptions;
  /** Internal ids, and since when they are expected. */
  readonly #expected = new Map<string, number>();
  #delayMs = firstLookMs;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(options: ArrivalsOptions) {
    this.#options = options;
  }

  /** The run will be there, or never. */
  expect(key: string): void {
    if (this.#closed) return;
    this.#expected.set(key, this.#options.clock.monotonic());
    this.#delayMs = firstLookMs;
    this.#cancel?.();
    this.#lookLater();
  }

  close(): void {
    this.#closed = true;
    this.#expected.clear();
    this.#cancel?.();
  }

  #lookLater(): void {
    this.#cancel = this.#options.clock.after(this.#delayMs, () => {
      this.#delayMs *= 2;
      void this.#look();
    });
  }

  async #look(): Promise<void> {
    const { among, onArrival, clock } = this.#options;
    // A look that fails found nothing; the next one may.
    const arrived = await among([...this.#expected.keys()]).catch(() => []);
    for (const key of arrived) this.#expected.delete(key);
    if (arrived.length > 0) onArrival();
    const now = clock.monotonic();
    for (const [key, since] of this.#expected) if (now - since > lookForMs) this.#expected.delete(key);
    if (this.#expected.size > 0 && !this.#closed) {
      this.#cancel?.();
      this.#lookLater();
    }
  }
}
