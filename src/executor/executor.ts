// THE SEAM: what every executor offers, in process or on Postgres (design 2.2). A saga runs the same behind it.

import type { Cause, EndStatus, Entry } from "../core/entry.js";
import type { RunStatus } from "../core/projection.js";
import type { InputOf, OutputOf, Saga } from "../definition/define-saga.js";
import type { Duration } from "../definition/duration.js";
import type { Attributes } from "../journal/journal.js";
import type { RunHandle, WaitOptions } from "./handle.js";
import type { Schedules } from "./schedules.js";

export type { Attributes } from "../journal/journal.js";
export type { RunOutcome, WaitOptions } from "./handle.js";

export interface StartOptions {
  /** 1 to 200 characters, no NUL. Default: a UUIDv7. The same id, saga and input gives back the same run (1.9). */
  readonly id?: string;
  /** Not before this instant. Default: now. `maxDuration` counts from here. */
  readonly startAt?: Date;
  /** A head start in seconds, -86,400 to 86,400. Default 0. */
  readonly priority?: number;
  /** What the run can be found by: at most 64 keys, 8 KiB as JSON. Default: nothing. The first start's are kept (1.9). */
  readonly attributes?: Attributes;
  /** The caller's own transaction, in which the run begins to exist: anything with `query(text, values)`. Durable only. */
  readonly tx?: { query(text: string, values: any[]): Promise<{ rows: any[] }> };
}

/** Of all runs that `startMany` starts; what is a function is asked for each, with its input as it was passed. */
export interface StartManyOptions<Input = unknown> extends Omit<StartOptions, "id" | "attributes"> {
  /** Default: UUIDv7s. Two inputs of one id have to be the same. */
  readonly id?: (input: Input, index: number) => string;
  readonly attributes?: Attributes | ((input: Input, index: number) => Attributes);
}

/** The answer to an ask to stop: final when the call returns (1.7). Instants are Dates. */
export interface CancelAnswer {
  readonly verdict: "cancelled" | "cancelling" | "refused" | "rolling_back" | "finished" | "not_found";
  /** With `cancelled` and `cancelling`: the first ask's instant. */
  readonly requestedAt?: Date;
  /** With `refused`: the pivot's name and the instant of the first refusal. */
  readonly pivot?: string;
  readonly refusedAt?: Date;
  /** With `rolling_back`. */
  readonly cause?: Cause;
  /** With `finished`. */
  readonly status?: EndStatus;
}

export interface SendOptions {
  /** 1 to 500 characters: a second signal of that name with the same key is a `duplicate`, and changes nothing. */
  readonly dedupeKey?: string;
}

/** What became of a signal: final when the call returns. All but `received` leave the run as it is. */
export interface SignalAnswer {
  readonly verdict: "received" | "duplicate" | "rolling_back" | "finished" | "not_found";
  /** With `rolling_back`. */
  readonly cause?: Cause;
  /** With `finished`. */
  readonly status?: EndStatus;
}

/** What `get` tells of a run. */
export interface RunView {
  readonly id: string;
  readonly saga: string;
  readonly version: number;
  /** `blocked` is derived: no live worker can claim it, see `blocked`. */
  readonly status: RunStatus | "blocked";
  /** Why no worker can take the run up, a line each. */
  readonly blocked?: readonly string[];
  readonly input: unknown;
  readonly attributes?: Attributes;
  readonly output?: unknown;
  /** The error that ended it, or turned it back, or that the present step last failed with. */
  readonly error?: unknown;
  /** What the present step last failed with in the present direction: while it rolls back, the compensation's error. */
  readonly lastError?: unknown;
  /** The step that is next or under way, or whose failure ended the run, and in which direction. */
  readonly step?: string;
  readonly direction?: "forward" | "compensate";
  /** Executions of that step used up so far. */
  readonly attempts: number;
  /** When it is tried again or looked at next, if it waits. */
  readonly nextAttemptAt?: Date;
  /** Why it waits, for people. */
  readonly waiting?: string;
  /** Progress noted by the attempt under way in this process. */
  readonly note?: unknown;
  /** Why it turned back. */
  readonly cause?: Cause;
  /** Steps still to be undone, in the order in which they would be. */
  readonly owed: readonly string[];
  readonly cancelRequestedAt?: Date;
  readonly cancelRefusedAt?: Date;
  /** The worker that drives it. */
  readonly worker?: string;
  readonly createdAt: Date;
  readonly startAt: Date;
  readonly endedAt?: Date;
}

/** One entry of a run's journal, its values decoded; a value that can't be read is an {@link Undecodable}. */
export interface HistoryEntry {
  /** The number of the row that carries it; entries of one row share it. */
  readonly number: number;
  readonly at: Date;
  readonly entry: Entry;
  /** The decoded output, where the entry carries one. */
  readonly output?: unknown;
}

export interface ListOptions {
  readonly status?: (RunStatus | "blocked") | readonly RunStatus[];
  readonly saga?: string;
  /** Runs that have all of these. */
  readonly attributes?: Attributes;
  /** 1 to 1,000. Default 50. */
  readonly limit?: number;
  /** What the page before gave as `cursor`. */
  readonly cursor?: string;
}

/** A line of `list`: newest first. */
export interface RunSummary {
  readonly id: string;
  readonly saga: string;
  readonly version: number;
  readonly status: RunStatus | "blocked";
  readonly attributes?: Attributes;
  readonly createdAt: Date;
  readonly endedAt?: Date;
  readonly cancelRequestedAt?: Date;
  readonly cancelRefusedAt?: Date;
  readonly owed: readonly string[];
}

export interface RunPage {
  readonly runs: readonly RunSummary[];
  /** Pass it on to get the next page; absent on the last one. */
  readonly cursor?: string;
}

export interface ResolveOptions {
  readonly step: string;
  readonly as: "done" | "not_done" | "undone";
  /** With `done`: what the step would have given. Default: nothing. */
  readonly output?: unknown;
  readonly by: string;
  readonly note?: string;
}

export interface CloseOptions {
  /** How long running attempts may still take before they are aborted. Default "10s". */
  readonly grace?: Duration;
}

/** Runs sagas. See each method; all verbs but `start` and `execute` work from shape and journal alone. */
export interface SagaExecutor extends AsyncDisposable {
  readonly schedules: Schedules;
  start<S extends Saga>(saga: S, input: InputOf<S>, options?: StartOptions): Promise<RunHandle<OutputOf<S>>>;
  /**
   * Starts a run for each of up to 100,000 inputs, in one transaction: all or none. Handles in the order of the inputs.
   * @throws InputInvalidError with the faults of all inputs, each with its place; RunConflictError
   */
  startMany<S extends Saga>(
    saga: S,
    inputs: readonly InputOf<S>[],
    options?: StartManyOptions<InputOf<S>>,
  ): Promise<readonly RunHandle<OutputOf<S>>[]>;
  /** `start` and `result` in one; begins here and now if a slot is free. */
  execute<S extends Saga>(saga: S, input: InputOf<S>, options?: StartOptions & WaitOptions): Promise<OutputOf<S>>;
  /** A handle of a run that exists, or `undefined`. */
  find(runId: string): Promise<RunHandle<unknown> | undefined>;
  requestCancel(runId: string, operator: { readonly by: string; readonly reason?: string }): Promise<CancelAnswer>;
  /**
   * Sends a signal: it waits in line, first in, first consumed, until the run waits for it; also before the run has begun.
   * @throws SignalInvalidError, UsageError `signal.unknown`, SerializationError, PayloadTooLargeError; nothing was sent
   */
  signal(runId: string, signal: string, payload?: unknown, options?: SendOptions): Promise<SignalAnswer>;
  get(runId: string): Promise<RunView | undefined>;
  /** @throws RunNotFoundError */
  history(runId: string): Promise<readonly HistoryEntry[]>;
  list(options?: ListOptions): Promise<RunPage>;
  /** @throws RunNotFoundError, `retry.not_applicable` */
  retry(runId: string, operator: { readonly by: string }): Promise<void>;
  /** @throws RunNotFoundError, `resolve.not_applicable`, `output.invalid`, OptionsInvalidError */
  resolve(runId: string, options: ResolveOptions): Promise<void>;
  close(options?: CloseOptions): Promise<void>;
}
