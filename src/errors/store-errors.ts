// ERRORS OF THE LIBRARY'S OWN DATABASE WORK. Never recorded as a step's failure (design 4.5).

import { SagaError } from "./saga-error.js";

/** The database can't be used: unreachable, read-only, without a right, not migrated, too new. The code says which. */
export class StoreError extends SagaError {}

/** This process no longer owns the run; another worker drives it. Code `run.lost`. */
export class RunLostError extends SagaError {
  readonly runId: string;

  constructor(runId: string) {
    super("run.lost", `run "${runId}" was taken over by another worker`);
    this.runId = runId;
  }
}
