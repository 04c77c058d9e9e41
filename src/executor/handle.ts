// A RUN IN THE CALLER'S HAND: its id, and ways to wait for its end. Not thenable, so that `await start()` gives the handle.

import type { RunOutcome, WaitOptions } from "./executor.js";

export interface RunHandle<Output> {
  readonly id: string;
  /** Whether this start made the run, or found it (1.9). */
  readonly created: boolean;
  /** Waits for the end. Never throws for an outcome. */
  outcome(options?: WaitOptions): Promise<RunOutcome<Output>>;
  /** Waits for the end; returns the output, or throws the outcome's error. */
  result(options?: WaitOptions): Promise<Output>;
}
