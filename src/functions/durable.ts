// WHAT A FUNCTION GETS to do things with: `d`, as types (design 2.3).

import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { InputOf, OutputOf, Saga } from "../definition/define-saga.js";
import type { Duration } from "../definition/duration.js";
import type { RetryOptions } from "../definition/retry-options.js";
import type { AttemptPolicy, Classification, Reconciliation, RunTools } from "../definition/saga.js";
import type { GivenBy, Undo } from "../definition/step-options.js";
import type { Waited } from "../definition/wait-for-signal.js";

type MaybePromise<T> = T | PromiseLike<T>;

/** The body of a call: with a schema it gives what the schema accepts. A conditional as a whole, so that it is inferred. */
export type CallBody<Returned, Schema> = Schema extends StandardSchemaV1
  ? (tools: RunTools) => MaybePromise<StandardSchemaV1.InferInput<Schema>>
  : (tools: RunTools) => MaybePromise<Returned>;

type Accepted<Returned, Schema> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Schema> : Returned;

/** Options that calls of `d.step` and `d.pivot` share; they mean what they mean for a saga's steps. */
export interface CallOptions<Returned, Schema> {
  /** Parses what `run` gives, once, when it is recorded. One that refuses a recorded value later ends the run. */
  readonly output?: Schema;
  readonly retry?: RetryOptions | undefined;
  /** More than zero; `Infinity` for no limit. Default 60 s. */
  readonly timeout?: Duration | undefined;
  /** Default 5 s. */
  readonly grace?: Duration | undefined;
  readonly classifyError?: ((error: unknown) => Classification) | undefined;
  readonly policy?: AttemptPolicy | undefined;
  /** Asks the outside world whether the call happened, when that is in doubt. */
  readonly reconcile?:
    | ((tools: RunTools) => MaybePromise<Reconciliation<NoInfer<Accepted<Returned, Schema>>>>)
    | undefined;
}

/** How a step is undone has to be said. After the pivot nothing is: say `nothingToUndo: true` there too. */
export type UndoOptions<Given> =
  | {
      /** Undoes it when the run rolls back, also when it is in doubt whether the step happened. Not after the pivot. */
      readonly compensate: (undo: Undo<Given>) => unknown;
      readonly compensationRetry?: RetryOptions | undefined;
      readonly nothingToUndo?: undefined;
    }
  | {
      readonly nothingToUndo: true;
      readonly compensate?: "a step has `compensate` or `nothingToUndo`, not both";
      readonly compensationRetry?: undefined;
    };

/** Options of `d.waitForSignal`. */
export interface WaitOptions<Schema, Within, OnTimeout> {
  /** Parses what was sent with the signal; one that it refuses is not received. */
  readonly payload?: Schema;
  /** From the moment when the wait begins. Default: without limit. */
  readonly within?: Within | undefined;
  /** No signal in time: `give` gives `{ received: false }`; `fail` rejects. Default `give`. */
  readonly onTimeout?: OnTimeout | undefined;
  /** The name under which the signal is sent. Default: the call's name. */
  readonly signal?: string | undefined;
}

type AllOf<T> = { -readonly [K in keyof T]: Awaited<T[K]> };

/**
 * What a function does things with. Every call has a name, which is the only one of its kind in a run: under it what came
 * of the call is recorded, and returned when the function is run again from the top. Await nothing else: what else a
 * function does is done again each time.
 */
export interface Durable {
  /**
   * Does something in the outside world. What it gives is recorded. A failure that is known not to have happened rejects,
   * and may be caught; one in doubt turns the run back, and is never told.
   */
  step<Returned, Schema extends StandardSchemaV1 | undefined = undefined>(
    name: string,
    run: CallBody<Returned, Schema>,
    options: CallOptions<Returned, Schema> & UndoOptions<GivenBy<Returned, Schema>>,
  ): Promise<GivenBy<Returned, Schema>>;
  /** Passes the point of no return: alone, with no other call in flight, and once in a run. */
  pivot<Returned, Schema extends StandardSchemaV1 | undefined = undefined>(
    name: string,
    run: CallBody<Returned, Schema>,
    options?: CallOptions<Returned, Schema>,
  ): Promise<GivenBy<Returned, Schema>>;
  /** Sleeps; holds no worker meanwhile. */
  sleep(name: string, duration: Duration): Promise<void>;
  /** Waits for a signal; one that was sent before counts. Holds no worker meanwhile. */
  waitForSignal<
    Schema extends StandardSchemaV1 | undefined = undefined,
    Within extends Duration | undefined = undefined,
    const OnTimeout extends "give" | "fail" | undefined = undefined,
  >(name: string, options?: WaitOptions<Schema, Within, OnTimeout>): Promise<Waited<Schema, Within, OnTimeout>>;
  /** Runs another saga, or function, to its end. Rolling back, what it did is undone. */
  child<S extends Saga>(name: string, saga: S, input: InputOf<NoInfer<S>>): Promise<OutputOf<S>>;
  /** Starts an independent run, exactly once. It is not waited for, and not undone. Default `id`: one of the call's own. */
  start<S extends Saga>(
    name: string,
    saga: S,
    input: InputOf<NoInfer<S>>,
    options?: { readonly id?: string | undefined },
  ): Promise<{ readonly id: string }>;
  /**
   * Waits for calls that run beside each other. When one fails, those of them that are calls themselves are aborted, all
   * are awaited, and it rejects with the first failure.
   */
  all<const T extends readonly unknown[]>(calls: T): Promise<AllOf<T>>;
  all<T extends Readonly<Record<string, unknown>>>(calls: T): Promise<AllOf<T>>;
  /** The time, recorded: it is the same one each time. Default `name`: by the count of calls. */
  now(name?: string): Promise<Date>;
  /** An id, the same one each time. Default `name`: by the count of calls; give one where calls may be added before. */
  uuid(name?: string): string;
}
