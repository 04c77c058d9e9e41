import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { backoffMs, maxRetryAfterMs } from "../../../src/core/backoff.js";
import { defaultRetry } from "../../../src/core/policies.js";

const policy = { maxAttempts: 8, firstDelayMs: 250, maxDelayMs: 30_000, factor: 2 };
const day = 24 * 60 * 60 * 1_000;

describe("the wait before the next try", () => {
  test.for([
    [1, 125, 250],
    [2, 250, 500],
    [3, 500, 1_000],
    [8, 15_000, 30_000],
    [80, 15_000, 30_000],
  ])(
    "doubles from 250 ms to 30 s, jittered between half and whole: failure %i waits %i to %i ms",
    ([failures, half, whole]) => {
      expect(backoffMs(policy, failures!, 0)).toBe(half);
      expect(backoffMs(policy, failures!, 0.999_999_999)).toBe(whole);
    },
  );

  test("grows to 15 minutes for compensations and after the pivot", () => {
    expect(backoffMs(defaultRetry.compensation, 100, 0.999_999_999)).toBe(15 * 60_000);
    expect(backoffMs(defaultRetry.retriable, 100, 0.999_999_999)).toBe(15 * 60_000);
  });

  test("ERR-6: is finite, not negative and not over the cap, after however many failures", () => {
    const policies = fc.record({
      maxAttempts: fc.constant(8),
      firstDelayMs: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1e9, noNaN: true })),
      maxDelayMs: fc.double({ min: 0, max: 1e12, noNaN: true }),
      factor: fc.oneof(fc.constant(10), fc.double({ min: 1, max: 1e6, noNaN: true })),
    });
    const chance = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
    fc.assert(
      fc.property(policies, fc.integer({ min: 0, max: 100_000 }), chance, (drawn, failures, random) => {
        const wait = backoffMs(drawn, failures, random);
        expect(Number.isFinite(wait)).toBe(true);
        expect(wait).toBeGreaterThanOrEqual(0);
        expect(wait).toBeLessThanOrEqual(Math.ceil(drawn.maxDelayMs));
      }),
    );
  });

  test("ERR-6: is the cap where the growth overflows", () => {
    const steep = { ...policy, firstDelayMs: 1_000, factor: 10, maxDelayMs: 60_000 };
    expect(backoffMs(steep, 400, 0)).toBe(30_000);
    expect(backoffMs({ ...steep, firstDelayMs: 0 }, 400, 0)).toBe(30_000);
  });

  test("ERR-14: spreads those who failed at the same moment", () => {
    const waits = Array.from({ length: 200 }, (_, index) =>
      backoffMs({ ...policy, firstDelayMs: 1_000 }, 1, index / 200),
    );
    const busiest = waits.map((wait) => waits.filter((other) => other >= wait && other < wait + 100).length);
    expect(Math.max(...busiest)).toBeLessThanOrEqual(40);
  });

  test("is never shorter than what the other side asked for, however jittered", () => {
    expect(backoffMs(policy, 1, 0, 7_000)).toBe(7_000);
    expect(backoffMs(policy, 80, 0, 7_000)).toBe(15_000);
  });

  test("takes no more than 24 hours from the other side", () => {
    expect(maxRetryAfterMs).toBe(day);
    expect(backoffMs(policy, 1, 0, 30 * day)).toBe(day);
  });
});
