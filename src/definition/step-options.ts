// WHAT A STEP SAYS OF ITSELF, as types: the options of `step` and `pivot`. Which type is inferred from what is the point
// of this file; nothing here exists at run time.

import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Duration } from "./duration.js";
import type { RetryOptions } from "./retry-options.js";
import type { AttemptPolicy, Classification, Reconciliation, RunTools, Transaction, UndoToolsBase } from "./saga.js";

/** A value, or a promise of one. */
type MaybePromise<T> = T | PromiseLike<T>;

/** Stands for an option that was not given, where its absence has to be told apart in a type. */
export interface Absent {
  readonly absent: "rubicon-saga.absent";
}

/** What `run` gets beside its context; a transactional step gets its transaction too. */
export type StepTools<Transactional = false> = Transactional extends true
  ? RunTools & { readonly tx: Transaction }
  : RunTools;

/**
 * What `compensate` gets beside its context: whether the step happened, with what it gave, or may have happened (1.5). A
 * transactional step is never in doubt.
 */
export type Undo<Output, Transactional = false> = Transactional extends true
  ? { readonly outcome: "done"; readonly output: Output } & UndoToolsBase & { readonly tx: Transaction }
  : (
      | { readonly outcome: "done"; readonly output: Output }
      | { readonly outcome: "in_doubt"; readonly output: undefined }
    ) &
      UndoToolsBase;

/** What `run` has to return: what the schema accepts, where there is one. A conditional as a whole, so that literals stay. */
type StepBody<Context, Returned, Transactional, Schema> = Schema extends StandardSchemaV1
  ? (context: Context, tools: StepTools<Transactional>) => MaybePromise<StandardSchemaV1.InferInput<Schema>>
  : (context: Context, tools: StepTools<Transactional>) => MaybePromise<Returned>;

/** What later steps and the compensation get: what the schema makes of it, where there is one. */
export type GivenBy<Returned, Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Schema>
  : Returned;

/** What `reconcile` gives as the output: the same as `run`. */
type Accepted<Returned, Schema> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Schema> : Returned;

/** Options that steps and pivots share. */
interface AttemptOptions<Name extends string, Context, Returned, Transactional, Schema> {
  /**
   * 1 to 200 characters, the only step of that name in a saga. No `/` and no control characters, since idempotency keys
   * are `runId/step`, `runId/step/compensate` and, of a forEach's item, `runId/step/index`; for the same reason neither
   * `compensate` nor a whole number.
   */
  readonly name: Name;
  /**
   * Does it. What it needs of the context is the type of its first parameter; what it returns, a plain object or
   * nothing, is merged into the context of later steps. TypeScript infers from left to right: write it before
   * `compensate` and `reconcile`, which take their types from it.
   */
  readonly run: StepBody<Context, Returned, Transactional, Schema>;
  /**
   * Asks the outside world whether the step happened, when that is in doubt (1.5). `{ happened: false }` promises that it
   * has not and will not any more; `undefined` means: can't tell. Not for transactional steps, which are never in doubt.
   */
  readonly reconcile?:
    | ((
        context: Context,
        tools: RunTools,
      ) => Transactional extends true
        ? `step '${Name}': a transactional step is never in doubt, so it takes no reconcile`
        : MaybePromise<Reconciliation<NoInfer<Accepted<Returned, Schema>>>>)
    | undefined;
  /** Parses what `run` and `reconcile` give, once, when it is recorded. Any Standard Schema. Default: it is taken as it is. */
  readonly output?: Schema;
  /** When and how often `run` is tried again. Default: the executor's, see {@link RetryOptions}. */
  readonly retry?: RetryOptions | undefined;
  /** How long an attempt may take before its `signal` aborts. More than zero; `Infinity` for no limit. Default 60 s. */
  readonly timeout?: Duration | undefined;
  /** How long an aborted attempt may still take to settle before it is abandoned, in doubt. Default 5 s. */
  readonly grace?: Duration | undefined;
  /** What an error of this step means (1.6). Default: the executor's. */
  readonly classifyError?: ((error: unknown) => Classification) | undefined;
  /** Around each attempt: a cockatiel policy, for a breaker or bulkhead that runs share. It may call the body once. */
  readonly policy?: AttemptPolicy | undefined;
  /** Whether the step's SQL and its entry commit in one transaction (1.10). Its functions then get `tx`. Default: no. */
  readonly transaction?: Transactional;
}

/** What {@link step} takes. */
export interface StepOptions<
  Name extends string,
  Context,
  Returned,
  Undone,
  Nothing,
  Transactional,
  Schema,
  Asked,
  Verdict,
> extends AttemptOptions<Name, Context, Returned, Transactional, Schema> {
  /**
   * Whether the step runs at all: a pure function of the context, asked once, when its turn comes; the answer is recorded.
   * Where it is false the step gives nothing, and what it would have given is `undefined`. Default: it always runs.
   */
  readonly when?: ((context: Asked) => Verdict) | undefined;
  /**
   * Undoes it when the saga rolls back: also when it is in doubt whether the step happened, and then there may be nothing
   * to undo. Required before a pivot and in a saga without one, unless there is `nothingToUndo`; refused after a pivot.
   */
  readonly compensate?:
    | ((context: Context, undo: Undo<GivenBy<Returned, Schema>, Transactional>) => Undone)
    | undefined;
  /** Says that rolling back may leave the step as it is: it only reads, or what it leaves does no harm. */
  readonly nothingToUndo?: Nothing;
  /** When and how often `compensate` is tried again. Default: the executor's; no limit to attempts. */
  readonly compensationRetry?: RetryOptions | undefined;
}

/** What {@link pivot} takes. */
export interface PivotOptions<Name extends string, Context, Returned, Transactional, Schema>
  extends AttemptOptions<Name, Context, Returned, Transactional, Schema> {
  readonly compensate?: `pivot '${Name}': a pivot can't be undone, so it takes no compensate`;
  readonly nothingToUndo?: `pivot '${Name}': a pivot can't be undone, so it takes no nothingToUndo`;
  readonly compensationRetry?: `pivot '${Name}': a pivot can't be undone, so it takes no compensationRetry`;
  readonly when?: `pivot '${Name}': a saga that has a pivot always passes it, or rolls back, so it takes no when`;
}

/** How a step answers "how is it undone?". `both` and `neither` are faults, `neither` only where it may be rolled back. */
export type Undoing = "compensate" | "nothingToUndo" | "neither" | "both" | "pivot";

/** Reads the answer off what was inferred for `compensate`'s return and for `nothingToUndo`. */
export type UndoingBy<Undone, Nothing> =
  IsAbsent<Undone> extends true
    ? Nothing extends true
      ? "nothingToUndo"
      : "neither"
    : Nothing extends true
      ? "both"
      : "compensate";

/** What a step needs of the context: what `run` needs, and what `when` needs where there is one. */
export type StepNeeds<Context, Asked, Verdict> = IsAbsent<Verdict> extends true ? Context : Context & Asked;

/** Whether a type parameter was left at its default, {@link Absent}; `any` and `never` were not. */
export type IsAbsent<T> = [T] extends [Absent]
  ? [Absent] extends [T]
    ? 0 extends 1 & T
      ? false
      : true
    : false
  : false;
