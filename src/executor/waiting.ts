// HOW A CALLER WAITS FOR A RUN'S END: woken when it ended, with a timeout and a signal of the caller's (design 2.2).

import { UsageError } from "../errors/usage-errors.js";
import type { Clock } from "../platform/clock.js";
import { onAbort } from "./on-abort.js";

export interface WaitLimits {
  readonly clock: Clock;
  /** Absent or `Infinity`: no limit. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Who waits for which run. Waking is a hint: the waiter looks for itself. */
export class Waiters {
  readonly #waiting = new Map<string, Set<Waiter>>();
  #closed: Error | undefined;

  /** Somebody waits for one of these. */
  get runIds(): readonly string[] {
    return [...this.#waiting.keys()];
  }

  has(runId: string): boolean {
    return this.#waiting.has(runId);
  }

  wake(runId: string): void {
    for (const waiter of [...(this.#waiting.get(runId) ?? [])]) waiter.wake();
  }

  wakeAll(): void {
    for (const runId of this.runIds) this.wake(runId);
  }

  /** Nobody will be woken any more: who waits, or will, looks once more and then gets `error`. */
  close(error: Error): void {
    this.#closed = error;
    this.wakeAll();
  }

  /**
   * Calls `look` now and at each waking until it gives something. A wait that was given up leaves nothing behind.
   * @throws UsageError `run.wait_timeout`, the signal's reason, and what `look` throws
   */
  async until<T>(runId: string, look: () => Promise<T | undefined>, limits: WaitLimits): Promise<T> {
    limits.signal?.throwIfAborted();
    const waiter = new Waiter(runId, limits);
    const waiters = this.#waiting.get(runId) ?? new Set();
    this.#waiting.set(runId, waiters.add(waiter));
    try {
      // Giving up does not wait for a look: the database may be away.
      return await Promise.race([waiter.givenUp, this.#lookUntilFound(waiter, look)]);
    } finally {
      waiter.end();
      waiters.delete(waiter);
      if (waiters.size === 0) this.#waiting.delete(runId);
    }
  }

  async #lookUntilFound<T>(waiter: Waiter, look: () => Promise<T | undefined>): Promise<T> {
    for (;;) {
      const closed = this.#closed;
      const woken = waiter.nextWaking();
      const found = await (closed === undefined ? look() : lastLook(look, closed));
      if (found !== undefined) return found;
      await woken;
    }
  }
}

/** What there is to be seen is given; that nothing more will be is what everything else comes to. */
async function lastLook<T>(look: () => Promise<T | undefined>, closed: Error): Promise<T> {
  const found = await look().catch(() => undefined);
  if (found === undefined) throw closed;
  return found;
}

/** One caller's wait: its wakings, and the moment at which it is given up. */
class Waiter {
  /** Rejects when the wait is given up; else never settles. */
  readonly givenUp: Promise<never>;
  readonly #cancels: (() => void)[] = [];
  #wake: () => void = () => {};

  constructor(runId: string, { clock, timeoutMs = Number.POSITIVE_INFINITY, signal }: WaitLimits) {
    let giveUp!: (reason: unknown) => void;
    this.givenUp = new Promise<never>((_, reject) => {
      giveUp = reject;
    });
    if (signal !== undefined) this.#cancels.push(onAbort(signal, () => giveUp(signal.reason)));
    if (timeoutMs !== Number.POSITIVE_INFINITY)
      this.#cancels.push(clock.after(timeoutMs, () => giveUp(timedOut(runId, timeoutMs))));
  }

  /** Resolves at the next `wake` after this call. */
  nextWaking(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  wake(): void {
    this.#wake();
  }

  end(): void {
    for (const cancel of this.#cancels) cancel();
  }
}

function timedOut(runId: string, timeoutMs: number): UsageError {
  return new UsageError("run.wait_timeout", `run "${runId}" has not ended within ${timeoutMs} ms; it goes on`);
}
