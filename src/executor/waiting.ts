// HOW A CALLER WAITS FOR A RUN'S END: woken when it ended, with a timeout and a signal of the caller's (design 2.2).

import { UsageError } from "../errors/usage-errors.js";
import type { Clock } from "../platform/clock.js";

/** Who waits for which run. Waking is a hint: the waiter looks for itself. */
export class Waiters {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Somebody waits for one of these. */
  get runIds(): readonly string[] {
    return [...this.#waiting.keys()];
  }

  has(runId: string): boolean {
    return this.#waiting.has(runId);
  }

  wake(runId: string): void {
    for (const wake of [...(this.#waiting.get(runId) ?? [])]) wake();
  }

  wakeAll(): void {
    for (const runId of this.runIds) this.wake(runId);
  }

  /**
   * Calls `look` now and at each waking until it gives something.
   * @throws UsageError `run.wait_timeout`, and the signal's reason
   */
  async until<T>(
    runId: string,
    look: () => Promise<T | undefined>,
    limits: { readonly clock: Clock; readonly timeoutMs?: number; readonly signal?: AbortSignal },
  ): Promise<T> {
    const { clock, timeoutMs, signal } = limits;
    signal?.throwIfAborted();
    let woken = false;
    let wake = () => {};
    let stopped: unknown;
    const onWake = () => {
      woken = true;
      wake();
    };
    const stop = (reason: unknown) => {
      stopped = reason;
      wake();
    };
    const onAbort = () => stop(signal!.reason ?? new DOMException("aborted", "AbortError"));
    const waiters = this.#waiting.get(runId) ?? new Set();
    this.#waiting.set(runId, waiters.add(onWake));
    signal?.addEventListener("abort", onAbort, { once: true });
    const cancelTimer =
      timeoutMs === undefined || timeoutMs === Number.POSITIVE_INFINITY
        ? () => {}
        : clock.after(timeoutMs, () =>
            stop(new UsageError("run.wait_timeout", `run "${runId}" has not ended within ${timeoutMs} ms; it goes on`)),
          );
    try {
      for (;;) {
        woken = false;
        const found = await look();
        if (found !== undefined) return found;
        if (stopped !== undefined) throw stopped;
        if (!woken) await new Promise<void>((resolve) => (wake = resolve));
        if (stopped !== undefined) throw stopped;
      }
    } finally {
      cancelTimer();
      signal?.removeEventListener("abort", onAbort);
      waiters.delete(onWake);
      if (waiters.size === 0) this.#waiting.delete(runId);
    }
  }
}
