// SAGAS TO EXPLORE, in a short notation: `c` a compensatable step, `P` the pivot, `r` a retriable one; then, in any order,
// `?` it has a `reconcile`, `n` nothing to undo, `t` transactional, `1` never begun twice, `*` tried without limit, `i` it
// runs only if its condition holds. `z` sleeps, `w` waits for a signal, `k` runs a child, `e` is done for two items one after
// the other, `E` for both at once. What a bar joins runs side by side: `c|c`.

import type { Policies, RetryPolicy, StepPolicy } from "../../src/core/policies.js";
import type { ElementKind, Shape, StepShape } from "../../src/definition/shape.js";

/** The instant at which everything in the model happens: waiting moves the journal's instants instead of the clock. */
export const now = 1_000_000_000;

/** Nobody waits until then, or later: the deadline comes as a move of its own. */
export const never = 1_500_000_000;

/** What the peer asks for when it wants to be left alone: long enough to park the run. */
export const longDelayMs = 5_000;
/** Short enough to be spent in process. */
export const shortDelayMs = 500;

export interface Explored {
  readonly notation: string;
  readonly shape: Shape;
  /** What may have an effect outside: the plain steps, and in the place of a list its items. */
  readonly units: readonly StepShape[];
  readonly hasPivot: boolean;
  /**
   * `tombstones`: a lost effect may land at any later time, but never under a key that was voided. `bounded`: keys can't
   * be voided, and a lost effect lands within its attempt's limit or never.
   */
  readonly peer: "tombstones" | "bounded";
  /** How many disturbances a run may meet. */
  readonly disturbances: number;
  readonly kinds: ReadonlySet<Disturbance>;
  /** By whether the deadline has passed, and whether a deploy has changed the budgets. */
  readonly policies: Readonly<Record<PoliciesName, Policies>>;
  /** What the rules may judge by: without budgets where a deploy may have changed them. */
  readonly judged: { readonly before: Policies; readonly after: Policies };
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
  "deploy",
  "signal",
] as const;
export type Disturbance = (typeof disturbanceKinds)[number];

export type PoliciesName = "before" | "after" | "deployed before" | "deployed after";

export interface ExploreOptions {
  readonly peer?: Explored["peer"];
  readonly disturbances?: number;
  readonly kinds?: readonly Disturbance[];
}

export function explored(notation: string, options: ExploreOptions = {}): Explored {
  const peer = options.peer ?? "tombstones";
  const groups = notation.split(" ").map((group) => group.split("|"));
  const marks = groups.flat();
  const placeOf = groups.flatMap((group, index) => group.map(() => index));
  const pivotAt = marks.findIndex((mark) => mark.startsWith("P"));
  const steps = marks.map((mark, index): StepShape => {
    const kind = index === pivotAt ? "pivot" : pivotAt >= 0 && index > pivotAt ? "retriable" : "compensatable";
    const element = elements[mark[0]!];
    const place = placeOf[index]!;
    return {
      name: `${index + 1}`,
      kind,
      undone: kind === "compensatable" && !mark.includes("n") && element !== "sleep" && element !== "signal",
      transactional: mark.includes("t"),
      ...(element && { element }),
      ...(element === "signal" && { signal: "s" }),
      ...(groups[place]!.length > 1 && { parallel: place }),
      ...(mark.includes("i") && { conditional: true }),
    };
  });
  const kinds = new Set(options.kinds ?? disturbanceKinds.filter((kind) => kind !== "deploy" && kind !== "signal"));
  const policies = (deadlineAt: number, change: (policy: StepPolicy) => StepPolicy = (policy) => policy): Policies => ({
    steps: Object.fromEntries(
      marks.flatMap((mark, index) =>
        [`${index + 1}`, `${index + 1}/`].map((name) => [name, change(stepPolicy(mark, peer))]),
      ),
    ),
    maxCrashes: 2,
    deadlineAt,
  });
  const [far, passed] = [now * 2, now];
  const judged = kinds.has("deploy") ? unlimited : undefined;
  return {
    notation,
    shape: { steps },
    units: steps.flatMap((step) => (step.element === undefined ? [step] : itemsOf(step))),
    hasPivot: pivotAt >= 0,
    peer,
    disturbances: options.disturbances ?? 2,
    kinds,
    policies: {
      before: policies(far),
      after: policies(passed),
      "deployed before": policies(far, deployed),
      "deployed after": policies(passed, deployed),
    },
    judged: { before: policies(far, judged), after: policies(passed, judged) },
  };
}

const elements: Readonly<Record<string, ElementKind>> = { z: "sleep", w: "signal", e: "each", E: "each", k: "child" };

/** How many items a list has. */
export const itemCount = 2;

function itemsOf({ name, kind, undone, transactional, element }: StepShape): readonly StepShape[] {
  if (element !== "each") return [];
  return Array.from({ length: itemCount }, (_, item) => ({ name: `${name}/${item}`, kind, undone, transactional }));
}

/** How many items of that list may be under way at once. */
export function concurrencyOf({ notation }: Explored, name: string): number {
  return notation.split(/[ |]/)[Number(name) - 1]!.startsWith("E") ? 2 : 1;
}

/** The policy of a step, or of an item. */
export function policyFor(policies: Policies, name: string): StepPolicy {
  return policies.steps[name] ?? policies.steps[name.slice(0, name.indexOf("/") + 1)]!;
}

/** The other budget, and `reconcile` taken away or added. */
function deployed(policy: StepPolicy): StepPolicy {
  const maxAttempts = policy.retry.maxAttempts === 2 ? 1 : 2;
  const retry = { ...policy.retry, maxAttempts };
  return { ...policy, retry, compensationRetry: retry, maxAsks: policy.maxAsks > 0 ? 0 : 2 };
}

function unlimited(policy: StepPolicy): StepPolicy {
  const retry = { ...policy.retry, maxAttempts: Number.POSITIVE_INFINITY };
  return { ...policy, retry, compensationRetry: retry, maxAsks: Number.POSITIVE_INFINITY };
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
    ...(mark.startsWith("w") && { withinMs: longDelayMs, failsOnTimeout: mark.includes("!") }),
  };
}
