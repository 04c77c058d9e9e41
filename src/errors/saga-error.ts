// WHAT EVERY ERROR OF THE LIBRARY HAS: a stable code, a message that says what, where and what to do, and a brand that
// survives a second copy of the package. Knows nothing of runs, journals or databases.

/** Set on every error of the library. `Symbol.for`, so that a second copy of the package or another realm knows it too. */
const brand: unique symbol = Symbol.for("rubicon-saga.error") as never;

/** Options shared by all errors of the library. */
export interface SagaErrorOptions {
  readonly cause?: unknown;
}

/**
 * The base of all errors that the library throws. `code` is stable and is what programs should look at; `message` is for
 * people and may change.
 */
export class SagaError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options: SagaErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.name = new.target.name;
    Object.defineProperty(this, brand, { value: true });
  }
}

/**
 * Tells whether `error` is one of the library's, and, with `code`, whether it is that one. Works across copies of the
 * package, where `instanceof` does not.
 *
 * @example isSagaError(error, "run.conflict")
 */
export function isSagaError(error: unknown, code?: string): error is SagaError {
  if (!hasBrand(error, brand)) return false;
  return code === undefined || (error as SagaError).code === code;
}

/** Reads a brand without trusting the value: a hostile proxy may throw from any trap. */
export function hasBrand(value: unknown, symbol: symbol): boolean {
  if (typeof value !== "object" || value === null) return false;
  try {
    return (value as Record<symbol, unknown>)[symbol] === true;
  } catch {
    return false;
  }
}
