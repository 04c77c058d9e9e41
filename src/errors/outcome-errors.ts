// WHAT `result()` REJECTS WITH: how a run ended, when it did not complete (design 1.4, 4.5).

import { SagaError } from "./saga-error.js";

/** What an outcome's error carries. */
export interface OutcomeDetails {
  readonly runId: string;
  readonly saga: string;
  /** The step whose failure brought the end; absent for a cancel, a deadline, and an error of a function's own. */
  readonly step?: string;
  /** Steps whose compensation is owed, in the order in which they would be undone. */
  readonly owed?: readonly string[];
  readonly cause?: unknown;
  /** The errors of the compensations that failed for good, by step. */
  readonly compensationErrors?: readonly { readonly step: string; readonly error: unknown }[];
}

/** The base of all outcomes but `completed`. */
export class SagaOutcomeError extends SagaError {
  readonly runId: string;
  readonly saga: string;
  readonly step?: string;
  readonly owed: readonly string[];

  constructor(code: string, message: string, details: OutcomeDetails) {
    super(code, message, "cause" in details ? { cause: details.cause } : {});
    this.runId = details.runId;
    this.saga = details.saga;
    this.owed = details.owed ?? [];
    if (details.step !== undefined) this.step = details.step;
  }
}

/** A function may throw an error of its own, at no step. */
function atStep({ step }: OutcomeDetails): string {
  return step === undefined ? "" : ` at step "${step}"`;
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

/** The saga failed before or at its pivot and everything was undone. Code `run.failed`. */
export class SagaFailedError extends SagaOutcomeError {
  constructor(details: OutcomeDetails) {
    super(
      "run.failed",
      `run "${details.runId}" failed${atStep(details)}: ${messageOf(details.cause)}; everything was undone`,
      details,
    );
  }
}

/** Somebody asked before the pivot and everything was undone. Code `run.cancelled`. */
export class SagaCancelledError extends SagaOutcomeError {
  readonly by?: string;
  readonly reason?: string;

  constructor(details: OutcomeDetails & { readonly by?: string; readonly reason?: string }) {
    super(
      "run.cancelled",
      `run "${details.runId}" was cancelled${details.by === undefined ? "" : ` by ${details.by}`}; everything was undone`,
      details,
    );
    if (details.by !== undefined) this.by = details.by;
    if (details.reason !== undefined) this.reason = details.reason;
  }
}

/** `maxDuration` passed before the pivot and everything was undone. Code `run.timed_out`. */
export class SagaTimedOutError extends SagaOutcomeError {
  constructor(details: OutcomeDetails) {
    super(
      "run.timed_out",
      `run "${details.runId}" took longer than its saga's maxDuration; everything was undone`,
      details,
    );
  }
}

/** The rollback ran to its end and some compensation failed for good. Code `run.compensation_failed`. */
export class CompensationFailedError extends SagaOutcomeError {
  readonly compensationErrors: readonly { readonly step: string; readonly error: unknown }[];

  constructor(details: OutcomeDetails) {
    super(
      "run.compensation_failed",
      `run "${details.runId}" rolled back, but these steps are still to be undone: ${(details.owed ?? []).join(", ")}. ` +
        "An operator can `retry` the run or `resolve` each step as undone.",
      details,
    );
    this.compensationErrors = details.compensationErrors ?? [];
  }
}

/** The pivot is done and a later step failed for good. Code `run.forward_incomplete`. */
export class ForwardIncompleteError extends SagaOutcomeError {
  constructor(details: OutcomeDetails) {
    super(
      "run.forward_incomplete",
      `run "${details.runId}" is past its pivot and failed for good${atStep(details)}: ${messageOf(details.cause)}. ` +
        `It can't be undone: an operator can \`retry\` the run${details.step === undefined ? "" : " or `resolve` the step as done"}.`,
      details,
    );
  }
}

/** The pivot's outcome is unknown and can't be found out. Code `run.in_doubt`. */
export class RunInDoubtError extends SagaOutcomeError {
  constructor(details: OutcomeDetails) {
    super(
      "run.in_doubt",
      `nobody can tell whether pivot "${details.step}" of run "${details.runId}" happened: ${messageOf(details.cause)}. ` +
        "Find out, then `resolve` it as done or not_done; or `retry`.",
      details,
    );
  }
}
