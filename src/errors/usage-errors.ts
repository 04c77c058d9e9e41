// ERRORS THAT THE DEVELOPER MENDS. Thrown at once, all faults together, never journaled (design 4.5).

import { SagaError, type SagaErrorOptions } from "./saga-error.js";

/** One fault of a definition or of options: where it is, and what to do about it. */
export interface Fault {
  /** The step's name, the option's path, or the field. */
  readonly at: string;
  readonly fault: string;
}

/** In a message; the error itself has them all. */
const mostListed = 100;

function listed(heading: string, faults: readonly Fault[]): string {
  const lines = faults.slice(0, mostListed).map((fault) => `  - ${fault.at}: ${fault.fault}`);
  const more = faults.length > mostListed ? [`  - and ${faults.length - mostListed} more, in \`faults\``] : [];
  return [heading, ...lines, ...more].join("\n");
}

/** A definition breaks the table of 1.1. `faults` holds all of them. Code `saga.invalid`. */
export class SagaInvalidError extends SagaError {
  readonly faults: readonly Fault[];

  constructor(saga: string, faults: readonly Fault[]) {
    super("saga.invalid", listed(`saga "${saga}" can't be defined:`, faults));
    this.faults = faults;
  }
}

/** Unknown or wrong options. `faults` holds all of them. Code `options.invalid`. */
export class OptionsInvalidError extends SagaError {
  readonly faults: readonly Fault[];

  constructor(what: string, faults: readonly Fault[]) {
    super("options.invalid", listed(`${what} can't take these options:`, faults));
    this.faults = faults;
  }
}

/** The input of a run does not fit the saga's schema; no run was made. Code `input.invalid`. */
export class InputInvalidError extends SagaError {
  readonly faults: readonly Fault[];

  constructor(saga: string, faults: readonly Fault[]) {
    super("input.invalid", listed(`saga "${saga}" does not accept this input; no run was started:`, faults));
    this.faults = faults;
  }
}

/** The payload of a signal does not fit the schema of the wait for it; nothing was sent. Code `signal.invalid`. */
export class SignalInvalidError extends SagaError {
  readonly faults: readonly Fault[];

  constructor(signal: string, faults: readonly Fault[]) {
    super("signal.invalid", listed(`signal "${signal}" does not take this payload:`, faults));
    this.faults = faults;
  }
}

const orGetItBack = "Use another id, or the same saga and input to get that run back.";
/** In what an existing run differs from the one that was to be started. */
const differences = {
  saga: { what: "", remedy: orGetItBack },
  input: { what: ", with another input", remedy: orGetItBack },
  parent: {
    what: ", but not as this run's child",
    remedy: "Start runs of your own under ids that no child would have.",
  },
} as const;

/** The id is taken by a run of another saga or with another input (1.9). Code `run.conflict`. */
export class RunConflictError extends SagaError {
  readonly runId: string;
  readonly saga: string;

  constructor(
    runId: string,
    existing: { readonly saga: string; readonly version: number },
    difference: keyof typeof differences,
  ) {
    const { what, remedy } = differences[difference];
    super(
      "run.conflict",
      `run "${runId}" exists already: saga "${existing.saga}" version ${existing.version}${what}. ${remedy}`,
    );
    this.runId = runId;
    this.saga = existing.saga;
  }
}

/** There is no such run, or it is another tenant's. Code `run.not_found`. */
export class RunNotFoundError extends SagaError {
  readonly runId: string;

  constructor(runId: string) {
    super("run.not_found", `there is no run "${runId}"`);
    this.runId = runId;
  }
}

/** A value that the codec can't round-trip. Code `value.unserializable`. */
export class SerializationError extends SagaError {
  /** Where in the value, for example `$.user.avatar`. */
  readonly path: string;

  constructor(path: string, why: string, options: SagaErrorOptions = {}) {
    super(
      "value.unserializable",
      `the value at ${path} can't be stored (${why}). Stored values are JSON, undefined, Date, Map, Set, BigInt, RegExp and typed arrays.`,
      options,
    );
    this.path = path;
  }
}

/** A value larger than the limit. Code `value.too_large`. */
export class PayloadTooLargeError extends SagaError {
  /** Bytes of UTF-8. */
  readonly size: number;
  /** Bytes of UTF-8. */
  readonly limit: number;

  constructor(size: number, limit: number) {
    super(
      "value.too_large",
      `a value of ${size} bytes is over the limit of ${limit}. Store it elsewhere and pass a reference, or raise \`maxValueBytes\`.`,
    );
    this.size = size;
    this.limit = limit;
  }
}

/** Any other wrong call. Its code says which. */
export class UsageError extends SagaError {}
