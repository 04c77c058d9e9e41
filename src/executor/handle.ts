// A RUN IN THE CALLER'S HAND: its id, and ways to wait for its end. Not thenable, so that `await start()` gives the handle.

import type { Duration } from "../definition/duration.js";
import type {
  CompensationFailedError,
  ForwardIncompleteError,
  RunInDoubtError,
  SagaCancelledError,
  SagaFailedError,
  SagaTimedOutError,
} from "../errors/outcome-errors.js";

/** How a run ended. Never thrown by `outcome()`; `result()` throws its error. */
export type RunOutcome<Output> =
  | { readonly status: "completed"; readonly output: Output }
  | { readonly status: "failed"; readonly error: SagaFailedError }
  | { readonly status: "cancelled"; readonly error: SagaCancelledError }
  | { readonly status: "timed_out"; readonly error: SagaTimedOutError }
  | { readonly status: "compensation_failed"; readonly error: CompensationFailedError }
  | { readonly status: "forward_incomplete"; readonly error: ForwardIncompleteError }
  | { readonly status: "in_doubt"; readonly error: RunInDoubtError };

/** How to wait for an outcome. */
export interface WaitOptions {
  readonly signal?: AbortSignal;
  /** Rejects with `run.wait_timeout` when the run has not ended by then; the run goes on. Default: no limit. */
  readonly timeout?: Duration;
}

export interface RunHandle<Output> {
  readonly id: string;
  /** Whether this start made the run, or found it (1.9). */
  readonly created: boolean;
  /** Waits for the end. Never throws for an outcome. */
  outcome(options?: WaitOptions): Promise<RunOutcome<Output>>;
  /** Waits for the end; returns the output, or throws the outcome's error. */
  result(options?: WaitOptions): Promise<Output>;
}
