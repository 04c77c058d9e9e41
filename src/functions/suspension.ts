// A SUSPENSION: what a function's pending calls are rejected with when nobody drives its run any more. It is no failure: the
// run goes on from its journal, perhaps elsewhere (design 2.3).

import { hasBrand, SagaError } from "../errors/saga-error.js";

const brand: unique symbol = Symbol.for("rubicon-saga.suspension") as never;

/** The run was parked, or is another worker's. Let it through: whatever the function does about it is not recorded. */
export class Suspension extends SagaError {
  /** The call that was waiting. */
  readonly step: string;

  constructor(step: string) {
    super("function.suspended", `the run stops here for now, waiting at "${step}"; let this through`);
    this.step = step;
    Object.defineProperty(this, brand, { value: true });
  }
}

/**
 * Tells whether an error caught in a function is no failure, but says that the run stops here for now and will be gone on
 * with later: throw it on.
 */
export function isSuspension(error: unknown): error is Suspension {
  return hasBrand(error, brand);
}
