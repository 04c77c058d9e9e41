// RETRY OPTIONS, as people write them.

import { describe, expect, it } from "vitest";
import { readRetry } from "../../../src/definition/retry-options.js";

describe("retry options", () => {
  it("become milliseconds, and what is absent stays absent", () => {
    expect(readRetry({ maxAttempts: 3, firstDelay: "1s", maxDelay: "1m", factor: 1.5 }, "retry")).toEqual({
      retry: { maxAttempts: 3, firstDelayMs: 1_000, maxDelayMs: 60_000, factor: 1.5 },
      faults: [],
    });
    for (const nothing of [undefined, {}, { maxAttempts: undefined, factor: undefined, firstDelay: undefined }])
      expect(readRetry(nothing, "retry")).toStrictEqual({ retry: {}, faults: [] });
  });

  it.each([1, 3, Number.POSITIVE_INFINITY])("accept maxAttempts %d", (maxAttempts) => {
    expect(readRetry({ maxAttempts }, "retry")).toEqual({ retry: { maxAttempts }, faults: [] });
  });

  it.each([0, -1, 2.5, Number.NaN, Number.NEGATIVE_INFINITY, "3", null])("refuse maxAttempts %o", (maxAttempts) => {
    const { retry, faults } = readRetry({ maxAttempts }, "retry");
    expect(retry).toEqual({});
    expect(faults).toEqual([
      { at: "retry.maxAttempts", fault: expect.stringContaining("is not a whole number from 1, or Infinity") },
    ]);
  });

  it("accept factor 1, a constant delay", () => {
    expect(readRetry({ factor: 1 }, "retry")).toEqual({ retry: { factor: 1 }, faults: [] });
  });

  it.each([0.5, 0, -2, Number.NaN, Number.POSITIVE_INFINITY, "2"])("refuse factor %o", (factor) => {
    const { faults } = readRetry({ factor }, "compensationRetry");
    expect(faults).toEqual([{ at: "compensationRetry.factor", fault: expect.stringContaining("not a finite number") }]);
  });

  it("accept no delay at all", () => {
    expect(readRetry({ firstDelay: 0, maxDelay: 0 }, "retry").faults).toEqual([]);
  });

  it("refuse a first delay that is longer than the longest", () => {
    expect(readRetry({ firstDelay: "2s", maxDelay: "1s" }, "retry").faults).toEqual([
      { at: "retry.firstDelay", fault: "is longer than maxDelay" },
    ]);
    expect(readRetry({ firstDelay: "1h" }, "retry").faults).toEqual([]);
  });

  it("refuse with all faults at once", () => {
    const { faults } = readRetry(
      { maxAttempts: 0, factor: 0, firstDelay: -1, maxDelay: Infinity, atempts: 3 },
      "retry",
    );
    expect(faults.map((fault) => fault.at).sort()).toEqual(
      ["atempts", "factor", "firstDelay", "maxAttempts", "maxDelay"].map((name) => `retry.${name}`),
    );
  });

  it.each([3, "3", null, true])("are an object, not %o", (value) => {
    expect(readRetry(value, "retry").faults).toEqual([
      { at: "retry", fault: expect.stringMatching(/is not an object with maxAttempts/) },
    ]);
  });
});
