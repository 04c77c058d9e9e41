// SAGAS TO EXPLORE, in a short notation: `c` a compensatable step, `P` the pivot, `r` a retriable one; then, in any order,
// `?` it has a `reconcile`, `n` nothing to undo, `t` transactional, `1` never begun twice, `*` tried without limit.

import type { Policies, RetryPolicy, StepPolicy } from "../../src/core/policies.js";
import type { Shape, StepShape } from "../../src/definition/shape.js";

/** The instant at which everything in the model happens: waiting moves the journal's instants instead of the clock. */
export const now = 1_000_000_000;

/** What the peer asks for when it wants to be left alone: long enough to park the run. */
export const longDelayMs = 5_000;
/** Short enough to be spent in process. */
export const shortDelayMs = 500;

export interface Explored {
  readonly notation: string;
  readonly shape: Shape;
  readonly hasPivot: boolean;
  /**
   * `tombstones`: a lost effect may land at any later time, but never under a key that was voided. `bounded`: keys can't
   * be voided, and a lost effect lands within its attempt's limit or never.
   */
  readonly peer: "tombstones" | "bounded";
  /** How many disturbances a run may meet. */
  readonly disturbances: number;
  readonly kinds: ReadonlySet<Disturbance>;
  readonly policies: { readonly before: Policies; readonly after: Policies };
}

const disturbanceKinds = [
  "crash",
  "takeover",
  "shutdown",
  "cancel",
  "deadline",
  "retry",
  "resolve",
  "lost answer",
] as const;
export type Disturbance = (typeof disturbanceKinds)[number];

export interface ExploreOptions {
  readonly peer?: Explored["peer"];
  readonly disturbances?: number;
  readonly kinds?: readonly Disturbance[];
}

export function explored(notation: string, options: ExploreOptions = {}): Explored {
  const peer = options.peer ?? "tombstones";
  const marks = notation.split(" ");
  const pivotAt = marks.findIndex((mark) => mark.startsWith("P"));
  const steps = marks.map((mark, index): StepShape => {
    const kind = index === pivotAt ? "pivot" : pivotAt >= 0 && index > pivotAt ? "retriable" : "compensatable";
    return {
      name: `${index + 1}`,
      kind,
      undone: kind === "compensatable" && !mark.includes("n"),
      transactional: mark.includes("t"),
    };
  });
  const policy = (deadlineAt: number): Policies => ({
    steps: Object.fromEntries(marks.map((mark, index) => [`${index + 1}`, stepPolicy(mark, peer)])),
    maxCrashes: 2,
    deadlineAt,
  });
  return {
    notation,
    shape: { steps },
    hasPivot: pivotAt >= 0,
    peer,
    disturbances: options.disturbances ?? 2,
    kinds: new Set(options.kinds ?? disturbanceKinds),
    policies: { before: policy(now * 2), after: policy(now) },
  };
}

function stepPolicy(mark: string, peer: Explored["peer"]): StepPolicy {
  const maxAttempts = mark.includes("*") ? Number.POSITIVE_INFINITY : mark.includes("1") ? 1 : 2;
  // No delay of its own: the model's answers say whether the next try is at once or after a parking.
  const retry: RetryPolicy = { maxAttempts, firstDelayMs: 0, maxDelayMs: 0, factor: 1 };
  return {
    retry,
    compensationRetry: retry,
    maxAsks: mark.includes("?") ? 2 : 0,
    attemptMs: peer === "bounded" ? 2_000 : 0,
  };
}
