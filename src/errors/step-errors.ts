// WHAT A STEP MAY THROW, and what the library throws on a step's behalf. `decide` acts on these (design 1.6).

import { hasBrand, SagaError, type SagaErrorOptions } from "./saga-error.js";

const terminalBrand: unique symbol = Symbol.for("rubicon-saga.terminal") as never;
const retryableBrand: unique symbol = Symbol.for("rubicon-saga.retryable") as never;

/** Options of {@link TerminalError}. */
export interface TerminalErrorOptions extends SagaErrorOptions {
  /** The application's own code, kept in the journal and shown to whoever reads the outcome. */
  readonly code?: string;
  /** Anything worth keeping about the failure. Stored with the error, bounded to 64 KiB. */
  readonly data?: unknown;
}

/**
 * Thrown by a step to say: it did not happen, and trying again will not help. The step fails at once (1.6). Only the
 * outermost error counts: a `TerminalError` that is merely the `cause` of another error is not looked at.
 */
export class TerminalError extends SagaError {
  readonly data?: unknown;

  constructor(message: string, options: TerminalErrorOptions = {}) {
    super(options.code ?? "step.terminal", message, options);
    if ("data" in options) this.data = options.data;
    Object.defineProperty(this, terminalBrand, { value: true });
  }
}

/** Options of {@link RetryableError}. */
export interface RetryableErrorOptions extends SagaErrorOptions {
  readonly code?: string;
  readonly data?: unknown;
  /** Not before: milliseconds from now, or an instant. More than 24 hours counts as 24 hours. */
  readonly retryAfter?: number | Date;
}

/** Thrown by a step to say: it may or may not have happened; try again, not before `retryAfter` (1.6). */
export class RetryableError extends SagaError {
  readonly data?: unknown;
  readonly retryAfter?: number | Date;

  constructor(message: string, options: RetryableErrorOptions = {}) {
    super(options.code ?? "step.retryable", message, options);
    if ("data" in options) this.data = options.data;
    if (options.retryAfter !== undefined) this.retryAfter = options.retryAfter;
    Object.defineProperty(this, retryableBrand, { value: true });
  }
}

export function isTerminalError(error: unknown): error is TerminalError {
  return hasBrand(error, terminalBrand);
}

export function isRetryableError(error: unknown): error is RetryableError {
  return hasBrand(error, retryableBrand);
}

/** Why the `signal` of an attempt was aborted (1.6). */
export type AbortReason = "timeout" | "cancelled" | "deadline" | "resolved" | "sibling_failed" | "lost" | "shutdown";

/** The `reason` of an attempt's aborted `signal`. Throwing it on is fine: it is retryable and in doubt. */
export class StepAborted extends SagaError {
  readonly step: string;
  readonly reason: AbortReason;

  constructor(step: string, reason: AbortReason) {
    super("step.aborted", `step "${step}" was asked to stop (${reason})`);
    this.step = step;
    this.reason = reason;
  }
}

/** An attempt neither returned nor threw within its timeout and grace (1.6). In doubt. */
export class StepTimeoutError extends SagaError {
  readonly step: string;
  readonly timeoutMs: number;

  constructor(step: string, timeoutMs: number) {
    super(
      "step.timeout",
      `step "${step}" did not finish within its timeout of ${timeoutMs} ms and its grace; it may or may not have happened. ` +
        "Give the step a longer `timeout`, or make its call honour `signal`.",
    );
    this.step = step;
    this.timeoutMs = timeoutMs;
  }
}

/** What a step's body was never called for, so that nothing can have happened (an open circuit, a full bulkhead). */
export class NeverCalledError extends SagaError {
  readonly step: string;

  constructor(step: string, cause: unknown) {
    super("step.never_called", `the policy of step "${step}" refused the attempt before its body was called`, {
      cause,
    });
    this.step = step;
  }
}
