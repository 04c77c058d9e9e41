// WHICH POLICIES A RUN IS DECIDED WITH: the step's own, else the executor's, else the defaults of 1.6.

import { defaultMaxAsks, defaultRetry, type Policies, type RetryPolicy, type StepPolicy } from "../core/policies.js";
import type { RetryOverride, SagaDefinition, StepDefinition } from "../definition/saga.js";
import type { StepKind } from "../definition/shape.js";

/** What the executor's options say for all its sagas. */
export interface PolicyOptions {
  readonly retry: RetryOverride;
  readonly compensationRetry: RetryOverride;
  readonly maxCrashes: number;
}

/** `startAt`: from when `maxDuration` counts, in milliseconds since the epoch. */
export function policiesOf(saga: SagaDefinition, options: PolicyOptions, startAt: number): Policies {
  const steps = saga.steps.flatMap((step, index): [string, StepPolicy][] => {
    const { kind } = saga.shape.steps[index]!;
    const own: [string, StepPolicy] = [step.name, stepPolicy(step, kind, options)];
    return step.each === undefined ? [own] : [own, [`${step.name}/`, stepPolicy(step.each.step, kind, options)]];
  });
  return {
    steps: Object.fromEntries(steps),
    maxCrashes: options.maxCrashes,
    deadlineAt: saga.maxDurationMs === undefined ? Number.POSITIVE_INFINITY : startAt + saga.maxDurationMs,
  };
}

/** The policy of one step, or call of a function. */
export function stepPolicy(step: StepDefinition, kind: StepKind, options: PolicyOptions): StepPolicy {
  return {
    retry: merged(defaultRetry[kind], options.retry, step.retry),
    compensationRetry: merged(defaultRetry.compensation, options.compensationRetry, step.compensationRetry),
    maxAsks: step.reconcile === undefined ? 0 : defaultMaxAsks,
    attemptMs: step.timeoutMs + step.graceMs,
    ...(step.wait?.withinMs === undefined ? {} : { withinMs: step.wait.withinMs }),
    ...(step.wait?.onTimeout === "fail" ? { failsOnTimeout: true } : {}),
  };
}

/** A default cap gives way to a longer first delay that somebody asked for; a cap that somebody asked for gives way to none. */
function merged(base: RetryPolicy, ...overrides: readonly RetryOverride[]): RetryPolicy {
  const asked: RetryOverride = Object.assign({}, ...overrides);
  const policy: RetryPolicy = { ...base, ...asked };
  return asked.maxDelayMs === undefined && policy.firstDelayMs > policy.maxDelayMs
    ? { ...policy, maxDelayMs: policy.firstDelayMs }
    : policy;
}
