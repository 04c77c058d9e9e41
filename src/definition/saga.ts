// A DEFINED SAGA AS DATA: what the executor reads of it. Made by `defineSaga`, frozen. The types that users meet are in
// `step` and `define-saga`; here everything is already checked.

import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { ElementKind, Shape, StepShape } from "./shape.js";

/** Partial retry options of a step, in milliseconds. What is absent is filled in from the executor and the defaults. */
export interface RetryOverride {
  readonly maxAttempts?: number;
  readonly firstDelayMs?: number;
  readonly maxDelayMs?: number;
  readonly factor?: number;
}

/** The part of pino's interface that the library uses. */
export interface Logger {
  debug(fields: object, message?: string): void;
  info(fields: object, message?: string): void;
  warn(fields: object, message?: string): void;
  error(fields: object, message?: string): void;
}

/** What a transactional step works with: SQL in the transaction in which its entry commits. Refuses use after the attempt. */
export interface Transaction {
  query<R = any>(text: string, values?: readonly unknown[]): Promise<{ rows: R[]; rowCount: number | null }>;
}

/** What `run` gets beside its context. */
export interface RunTools {
  /** The idempotency key: `runId/step`, a tenant's `tenant/runId/step/`; the same over attempts, crashes and workers (1.5). */
  readonly key: string;
  /** Aborts at the timeout, when the run is asked to stop, is lost, or its worker closes. Its `reason` is a `StepAborted`. */
  readonly signal: AbortSignal;
  /** From 1. */
  readonly attempt: number;
  readonly runId: string;
  readonly log: Logger;
  /** Progress, shown by `get` while the attempt lasts. Not journaled. */
  readonly note: (value: unknown) => void;
}

/** What `compensate` gets beside its context. */
export interface UndoToolsBase extends RunTools {
  /** The key of the forward step: leave a tombstone under it, so that a late do is refused (1.10). */
  readonly forwardKey: string;
  readonly cause: "failure" | "cancel" | "deadline";
}

export type Reconciliation<Output> =
  | { readonly happened: true; readonly output: Output }
  | { readonly happened: false }
  | undefined;

/** What a custom classifier answers; the default one is `classifyError` of the public door. */
export interface Classification {
  readonly retryable: boolean;
  readonly happened: "no" | "maybe";
  /** Not before: milliseconds from now. */
  readonly retryAfterMs?: number;
  /** False when the body was never called, so that no attempt is used up. Default true. */
  readonly counted?: boolean;
}

/** Around an attempt: a cockatiel policy, or anything with its `execute`. It may call the body once. */
export interface AttemptPolicy {
  execute<T>(body: (context: { readonly signal: AbortSignal }) => PromiseLike<T> | T, signal?: AbortSignal): Promise<T>;
}

/** One element of a saga's list, ready to be executed. */
export interface StepDefinition {
  readonly name: string;
  readonly pivot: boolean;
  /** The body of a step. Of other elements what has to be computed: how long to sleep, the items, the child's input. */
  readonly run: (context: any, tools: any) => unknown;
  readonly compensate?: (context: any, undo: any) => unknown;
  readonly nothingToUndo: boolean;
  readonly reconcile?: (context: any, tools: any) => unknown;
  readonly output?: StandardSchemaV1;
  /** The key of the context under which its output goes; absent: merged into the context. */
  readonly into?: string;
  readonly retry: RetryOverride;
  readonly compensationRetry: RetryOverride;
  /** Default 60,000. `Infinity` allowed. */
  readonly timeoutMs: number;
  /** Default 5,000. */
  readonly graceMs: number;
  readonly classifyError?: (error: unknown) => Classification;
  readonly policy?: AttemptPolicy;
  readonly transaction: boolean;
  /** Absent: a step, whose `run` is its body. */
  readonly element?: ElementKind;
  /** Of a step: whether it runs at all. Pure; its verdict is recorded. */
  readonly when?: (context: any) => unknown;
  /** Members of one `parallel` share it: its place in the list as it was written, from 0. */
  readonly parallel?: number;
  /** How long a `sleep` is, in milliseconds, where the context has no say in it; its `run` gives the same. */
  readonly sleepMs?: number;
  readonly wait?: SignalWait;
  readonly each?: EachItem;
  /** The saga that a `child` element runs; `run` then gives its input. */
  readonly child?: SagaDefinition;
}

/** What a `signal` element waits for. */
export interface SignalWait {
  readonly signal: string;
  readonly payload?: StandardSchemaV1;
  /** Counted from the first wait, in milliseconds; absent: without limit. */
  readonly withinMs?: number;
  /** `fail`: no signal in time is a terminal, definite failure. Default: a value that the saga can branch on. */
  readonly onTimeout: "give" | "fail";
}

/** What an `each` element does with each item of the list that its `run` gives. */
export interface EachItem {
  /** Its functions get the item as their context; its name is not used. */
  readonly step: StepDefinition;
  /** How many items may be under way at once, from 1. */
  readonly concurrency: number;
}

/** How many runs go at once, over all workers: of the saga, or of those with the same key. */
export interface Concurrency {
  readonly limit: number;
  readonly key?: (input: any) => string;
}

/** A saga, defined and frozen. */
export interface SagaDefinition {
  readonly name: string;
  /** From 1. */
  readonly version: number;
  readonly input?: StandardSchemaV1;
  readonly steps: readonly StepDefinition[];
  readonly shape: Shape;
  readonly maxDurationMs?: number;
  readonly concurrency?: Concurrency;
  /** The saga's own output; default: all outputs merged. */
  readonly output?: (context: any) => unknown;
  /** As they were declared; the executor checks what they say. */
  readonly schedules?: readonly object[];
  /** Of a durable function, whose `steps` are empty: begins it from the top. */
  readonly function?: (input: unknown, host: FunctionHost) => FunctionReplay;
}

/** What a call of a function asks for, told as an element of a list would be. */
export interface FunctionCall {
  readonly step: StepDefinition;
  readonly shape: StepShape;
}

/** What a function's replay is lent by whoever drives its run. */
export interface FunctionHost {
  readonly runId: string;
  /** Whether it is another run's child: that one may still take back what it did. */
  readonly isChild: boolean;
  readonly log: Logger;
  /** Milliseconds since the epoch, database time. */
  readonly now: () => number;
  /** Starts a run on its own, or finds the one of that id; absent `id`: one that belongs to the call. */
  readonly start: (saga: SagaDefinition, input: unknown, call: string, id: string | undefined) => Promise<string>;
  /** It asked for something, gave something up, or ended. */
  readonly moved: () => void;
}

/** A function on its way from the top: it asks, it is given what was recorded, and goes on from there. */
export interface FunctionReplay {
  /** All calls so far, in the order in which they were made. */
  readonly calls: readonly FunctionCall[];
  /** Of them those that were not given their outcome yet. */
  readonly waiting: readonly FunctionCall[];
  /** What `d.all` does not want any more, with the call whose failure is why. */
  readonly unwanted: ReadonlyMap<string, string | undefined>;
  readonly end: FunctionEnd | undefined;
  give(call: string, outcome: CallOutcome): void;
  /** It can't go on: it ends with this error, and is not told. */
  refuse(error: unknown, call: string): void;
  /** Nothing more is given: what it waits for is rejected with a suspension, so that its `finally` blocks run. */
  suspend(): void;
}

/** `step`: the call whose failure it let through. */
export type FunctionEnd =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: unknown; readonly step?: string };

export type CallOutcome =
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "failed"; readonly error: Error };
