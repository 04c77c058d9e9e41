import { describe, expect, test } from "vitest";
import { defineSaga } from "../../../src/definition/define-saga.js";
import type { RetryOptions } from "../../../src/definition/retry-options.js";
import type { RetryOverride } from "../../../src/definition/saga.js";
import { pivot, step } from "../../../src/definition/step.js";
import { policiesOf } from "../../../src/executor/policies-of.js";

const run = () => {};

function policies(own: RetryOptions = {}, executor: { retry?: RetryOverride; compensationRetry?: RetryOverride } = {}) {
  const saga = defineSaga({
    name: "saga",
    version: 1,
    steps: [
      step({ name: "S1", run, compensate: run, retry: own, compensationRetry: own, timeout: 10, grace: 5 }),
      pivot({ name: "P", run, reconcile: () => undefined, timeout: Number.POSITIVE_INFINITY }),
      step({ name: "S3", run }),
    ],
    maxDuration: "2h",
  });
  return policiesOf(saga, { retry: {}, compensationRetry: {}, maxCrashes: 5, ...executor }, 1_000);
}

describe("the policies of a run", () => {
  test("by default: 8 attempts before the pivot, no limit from it on and for compensations", () => {
    const { steps, maxCrashes, deadlineAt } = policies();
    const unlimited = Number.POSITIVE_INFINITY;
    expect(steps.S1!.retry).toEqual({ maxAttempts: 8, firstDelayMs: 250, maxDelayMs: 30_000, factor: 2 });
    expect(steps.P!.retry).toEqual({ maxAttempts: unlimited, firstDelayMs: 250, maxDelayMs: 30_000, factor: 2 });
    expect(steps.S3!.retry).toEqual({ maxAttempts: unlimited, firstDelayMs: 250, maxDelayMs: 900_000, factor: 2 });
    expect(steps.S1!.compensationRetry).toEqual({
      maxAttempts: unlimited,
      firstDelayMs: 250,
      maxDelayMs: 900_000,
      factor: 2,
    });
    expect({ maxCrashes, deadlineAt }).toEqual({ maxCrashes: 5, deadlineAt: 1_000 + 7_200_000 });
  });

  test("a step's own goes before the executor's, which goes before the default, one by one", () => {
    const { steps } = policies(
      { factor: 3 },
      { retry: { factor: 4, maxAttempts: 2 }, compensationRetry: { maxAttempts: 9 } },
    );
    expect(steps.S1!.retry).toMatchObject({ factor: 3, maxAttempts: 2, firstDelayMs: 250 });
    expect(steps.S3!.retry).toMatchObject({ factor: 4, maxAttempts: 2 });
    expect(steps.S1!.compensationRetry).toMatchObject({ factor: 3, maxAttempts: 9 });
  });

  test("a longer first delay lifts the default cap, and no cap that was asked for", () => {
    expect(policies({ firstDelay: "1m" }).steps.S1!.retry).toMatchObject({
      firstDelayMs: 60_000,
      maxDelayMs: 60_000,
    });
    expect(policies({ maxDelay: 100 }).steps.S1!.retry).toMatchObject({ firstDelayMs: 250, maxDelayMs: 100 });
    expect(policies({ firstDelay: "1m" }, { retry: { maxDelayMs: 500 } }).steps.S1!.retry.maxDelayMs).toBe(500);
  });

  test("an attempt can last as long as its timeout and its grace; only a step with a reconcile is asked", () => {
    const { steps } = policies();
    expect([steps.S1!.attemptMs, steps.P!.attemptMs, steps.S3!.attemptMs]).toEqual([
      15,
      Number.POSITIVE_INFINITY,
      65_000,
    ]);
    expect([steps.S1!.maxAsks, steps.P!.maxAsks]).toEqual([0, 8]);
  });
});
