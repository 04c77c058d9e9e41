// TRYING OUR OWN STATEMENTS AGAIN. The only importer of `p-retry`. A statement given to it must be safe to run twice: the
// answer of the first try may have been lost after its commit (design 1.2, 3.2).

import pRetry from "p-retry";
import { classifySqlError } from "./sql-error.js";

export interface RetryOptions {
  /** How long to go on trying, in milliseconds. `Infinity`: until `given` says stop. */
  readonly patienceMs: number;
  /** Asked before each further try; false gives up with the last error. */
  readonly wanted: () => boolean;
  /** Called with each failure that is tried again. */
  readonly onRetry?: (error: unknown, attempt: number) => void;
}

/** Calls `attempt` until it succeeds, fails for good, or patience is at its end. Throws what it threw last, as it was. */
export async function retryStatement<T>(attempt: (number: number) => Promise<T>, options: RetryOptions): Promise<T> {
  return pRetry(attempt, {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: 20,
    factor: 2,
    maxTimeout: 2_000,
    randomize: true,
    maxRetryTime: options.patienceMs,
    shouldRetry: ({ error }) => options.wanted() && classifySqlError(error)?.transient === true,
    onFailedAttempt: ({ error, attemptNumber }) => options.onRetry?.(error, attemptNumber),
  });
}
