// HOW A RUN ENDED, told from its state: what `outcome()` and `get` say, before values are decoded (design 1.4).

import type { Shape } from "../definition/shape.js";
import type { ErrorRecord } from "../errors/error-record.js";
import type { Cause, EndStatus, StoredValue } from "./entry.js";
import type { Failure, RunState } from "./state.js";
import { owedSteps, stageOf } from "./units.js";

export interface EndOfRun {
  readonly status: EndStatus;
  /** Of a completed run. */
  readonly output?: StoredValue;
  /** Why it turned back, if it did. */
  readonly cause?: Cause;
  /** The step whose failure brought the end, or turned the run back, and its error. */
  readonly failure?: Failure;
  readonly cancelledBy?: { readonly by: string; readonly reason?: string };
  /** Steps still to be undone, in the order in which they would be. */
  readonly owed: readonly string[];
  readonly compensationErrors: readonly { readonly step: string; readonly error: ErrorRecord }[];
}

/** The end of a run, or undefined while it is live. */
export function endOf(shape: Shape, state: RunState): EndOfRun | undefined {
  if (state.finished === undefined) return undefined;
  const { status, output } = state.finished;
  // What is past its pivot, or has completed, owes nothing of what it did.
  const owed = state.rollback === undefined ? [] : owedSteps(shape, state);
  const compensationErrors = owed.flatMap((step) => {
    const error = state.steps[step]!.undoFailed;
    return error === undefined ? [] : [{ step, error }];
  });
  const cause = state.rollback ?? (status === "cancelled" ? "cancel" : undefined);
  return {
    status,
    owed,
    compensationErrors,
    ...(output === undefined ? {} : { output }),
    ...(cause === undefined ? {} : { cause }),
    ...(state.failure === undefined ? {} : { failure: state.failure }),
    ...(state.cancel === undefined ? {} : { cancelledBy: state.cancel }),
  };
}

/** The error worth showing first: of the failed step, or of what is being tried again. */
export function presentError(shape: Shape, state: RunState): ErrorRecord | undefined {
  if (state.failure !== undefined) return state.failure.error;
  return stageOf(shape, state)
    .map(({ name }) => state.steps[name]!.forward.lastError)
    .find((error) => error !== undefined);
}
