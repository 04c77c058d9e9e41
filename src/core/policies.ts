// WHAT THE WORKER'S OWN DEFINITION ADDS TO A DECISION: budgets, timeouts, whether there is a `reconcile`. Not part of the
// journal, so that a deploy may change it (design 1.2, 1.6).

import type { StepShape } from "../definition/shape.js";
import type { ErrorRecord } from "../errors/error-record.js";
import type { Direction, EndStatus, StoredValue } from "./entry.js";
import type { Unit } from "./state.js";

/** When and how often to try again. */
export interface RetryPolicy {
  /** Executions, not retries: 3 means 3. From 1; `Infinity` allowed. */
  readonly maxAttempts: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** What the delay grows by each time; at least 1. */
  readonly factor: number;
}

export interface StepPolicy {
  readonly retry: RetryPolicy;
  readonly compensationRetry: RetryPolicy;
  /** How often `reconcile` may be asked before the step counts as in doubt for good; 0 when there is no `reconcile`. */
  readonly maxAsks: number;
  /** How long an attempt can last: its timeout and its grace, in milliseconds. `Infinity` allowed. */
  readonly attemptMs: number;
  /** How long to wait for a signal, in milliseconds; absent: without limit. */
  readonly withinMs?: number;
  /** That no signal in time fails the step for good. */
  readonly failsOnTimeout?: boolean;
}

export interface Policies {
  /** By the names of elements; for the items of one, by its name followed by "/". */
  readonly steps: Readonly<Record<string, StepPolicy>>;
  /** Crashes in a row that end a step whose attempts are unlimited. */
  readonly maxCrashes: number;
  /** When `maxDuration` has passed: milliseconds since the epoch, database time; `Infinity` when there is none. */
  readonly deadlineAt: number;
}

/** What a decision needs beside shape and journal. */
export interface DecideContext {
  /** Milliseconds since the epoch, database time. */
  readonly now: number;
  readonly policies: Policies;
  /** The units whose bodies the owner has in hand, apart from the one whose outcome it records. Default: none. */
  readonly busy?: readonly string[];
  /** What the owner has read of its children since it was last told of something; by step. Default: nothing. */
  readonly children?: Readonly<Record<string, ChildLook>>;
  /** What a function has done with what it was given. Absent: not begun, or just going on. */
  readonly replay?: Replayed;
}

/** A function as its owner sees it, at rest. */
export interface Replayed {
  /** What it waits for, in the order in which it asked. */
  readonly asked: readonly StepShape[];
  /** What it gave up, and the step whose failure was the reason. */
  readonly unwanted: ReadonlyMap<string, string | undefined>;
  /** The steps whose undoing it has told. */
  readonly undoable: ReadonlySet<string>;
  readonly end?: ReplayEnd;
  /** It could not be given something that is recorded: it has come less far than it did before. */
  readonly cutShort: boolean;
}

export type ReplayEnd =
  | { readonly kind: "returned"; readonly output: StoredValue }
  | { readonly kind: "threw"; readonly error: ErrorRecord; readonly step?: string };

/** What became of a child when it was looked at, going in that direction. */
export interface ChildLook {
  readonly direction: Direction;
  /** Absent while it is live. */
  readonly ended?: { readonly status: EndStatus; readonly output?: StoredValue; readonly error?: ErrorRecord };
}

/** The policy of a unit. */
export function policyOf(policies: Policies, unit: Unit): StepPolicy {
  return policies.steps[unit.of === undefined ? unit.name : `${unit.of}/`]!;
}

/** A wait up to this long is spent in process; a longer one parks the run (1.6). */
export const parkAfterMs = 1_000;

/** How often `reconcile` is asked before it counts as unable to tell (1.5). */
export const defaultMaxAsks = 8;

const minute = 60_000;

/** Defaults of 1.6. Before the pivot a step gives up after 8 executions; the pivot, what follows it, and compensations never do. */
export const defaultRetry = {
  compensatable: { maxAttempts: 8, firstDelayMs: 250, maxDelayMs: 30_000, factor: 2 },
  pivot: { maxAttempts: Number.POSITIVE_INFINITY, firstDelayMs: 250, maxDelayMs: 30_000, factor: 2 },
  retriable: { maxAttempts: Number.POSITIVE_INFINITY, firstDelayMs: 250, maxDelayMs: 15 * minute, factor: 2 },
  compensation: { maxAttempts: Number.POSITIVE_INFINITY, firstDelayMs: 250, maxDelayMs: 15 * minute, factor: 2 },
} as const satisfies Record<string, RetryPolicy>;
