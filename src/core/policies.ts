// WHAT THE WORKER'S OWN DEFINITION ADDS TO A DECISION: budgets, timeouts, whether there is a `reconcile`. Not part of the
// journal, so that a deploy may change it (design 1.2, 1.6).

/** When and how often to try again. */
export interface RetryPolicy {
  /** Executions, not retries: 3 means 3. From 1; `Infinity` allowed. */
  readonly maxAttempts: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** What the delay grows by each time; at least 1. */
  readonly factor: number;
}

export interface StepPolicy {
  readonly retry: RetryPolicy;
  readonly compensationRetry: RetryPolicy;
  /** How often `reconcile` may be asked before the step counts as in doubt for good; 0 when there is no `reconcile`. */
  readonly maxAsks: number;
  /** How long an attempt can last: its timeout and its grace, in milliseconds. `Infinity` allowed. */
  readonly attemptMs: number;
}

export interface Policies {
  readonly steps: Readonly<Record<string, StepPolicy>>;
  /** Crashes in a row that end a step whose attempts are unlimited. */
  readonly maxCrashes: number;
  /** When `maxDuration` has passed: milliseconds since the epoch, database time; `Infinity` when there is none. */
  readonly deadlineAt: number;
}

/** What a decision needs beside shape and journal. */
export interface DecideContext {
  /** Milliseconds since the epoch, database time. */
  readonly now: number;
  readonly policies: Policies;
}

/** A wait up to this long is spent in process; a longer one parks the run (1.6). */
export const parkAfterMs = 1_000;

/** How often `reconcile` is asked before it counts as unable to tell (1.5). */
export const defaultMaxAsks = 8;

const minute = 60_000;

/** Defaults of 1.6. Before the pivot a step gives up after 8 executions; the pivot, what follows it, and compensations never do. */
export const defaultRetry = {
  compensatable: { maxAttempts: 8, firstDelayMs: 250, maxDelayMs: 30_000, factor: 2 },
  pivot: { maxAttempts: Number.POSITIVE_INFINITY, firstDelayMs: 250, maxDelayMs: 30_000, factor: 2 },
  retriable: { maxAttempts: Number.POSITIVE_INFINITY, firstDelayMs: 250, maxDelayMs: 15 * minute, factor: 2 },
  compensation: { maxAttempts: Number.POSITIVE_INFINITY, firstDelayMs: 250, maxDelayMs: 15 * minute, factor: 2 },
} as const satisfies Record<string, RetryPolicy>;
