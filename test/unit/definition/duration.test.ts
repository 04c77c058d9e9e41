// DURATIONS, as people write them.

import { describe, expect, it } from "vitest";
import { type Duration, durationMs, durationText, readDuration } from "../../../src/definition/duration.js";
import { isSagaError, type SagaError } from "../../../src/errors/saga-error.js";

describe("a duration", () => {
  it.each<[Duration, number]>([
    ["250ms", 250],
    ["30s", 30_000],
    ["15m", 900_000],
    ["24h", 86_400_000],
    ["7d", 604_800_000],
    ["0s", 0],
    ["1.5h", 5_400_000],
    ["2.3s", 2_300],
    [0, 0],
    [-0, 0],
    [1_500, 1_500],
    [2 ** 40, 2 ** 40],
    ["36500d", 3_153_600_000_000],
  ])("%o is %d milliseconds", (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });

  it("is whole milliseconds, and what is more than zero stays more than zero", () => {
    expect(durationMs(0.2)).toBe(1);
    expect(durationMs("0.1ms")).toBe(1);
    expect(durationMs(10.6)).toBe(11);
    expect(durationMs("4.35h")).toBe(15_660_000);
  });

  it.each<[unknown, string]>([
    ["15x", `"15x" is not a duration`],
    ["", `"" is not a duration`],
    ["15", `"15" is not a duration`],
    [" 15s", `" 15s" is not a duration`],
    ["15 s", `"15 s" is not a duration`],
    ["15s\n", `"15s\\n" is not a duration`],
    ["1e3s", `"1e3s" is not a duration`],
    ["0x10s", `"0x10s" is not a duration`],
    ["-5s", `"-5s" is not a duration`],
    ["Infinity", `"Infinity" is not a duration`],
    [Number.NaN, "NaN is not a duration"],
    [-1, "-1 is negative"],
    [Number.NEGATIVE_INFINITY, "-Infinity is negative"],
    [Number.POSITIVE_INFINITY, "Infinity is not allowed here"],
    ["36501d", `"36501d" is longer than 36500d`],
    [1e300, "1e+300 is longer than 36500d"],
    [null, "null is not a duration"],
    [undefined, "undefined is not a duration"],
    [{}, "an object is not a duration"],
    [["5s"], "an array is not a duration"],
    [5n, "a bigint is not a duration"],
    [true, "true is not a duration"],
  ])("%o is refused, and the fault says what would be right", (value, why) => {
    expect(readDuration(value)).toEqual({
      fault: `${why}; give a duration such as "250ms", "30s", "15m", "24h", "7d", or a number of milliseconds`,
    });
  });

  it("may be Infinity only where that is allowed", () => {
    expect(durationMs(Number.POSITIVE_INFINITY, "timeout", { infinite: true })).toBe(Number.POSITIVE_INFINITY);
    expect(readDuration("x", { infinite: true })).toEqual({ fault: expect.stringMatching(/, or Infinity$/) });
    expect(readDuration(Number.NEGATIVE_INFINITY, { infinite: true })).toHaveProperty("fault");
  });

  it("may be zero except where it has to be positive", () => {
    expect(readDuration(0, { positive: true })).toEqual({ fault: expect.stringContaining("0 is not more than zero") });
    expect(readDuration("0s", { positive: true })).toHaveProperty("fault");
    expect(readDuration(1, { positive: true })).toEqual({ ms: 1 });
  });

  it("throws a coded error that names the option", () => {
    const thrown = caught(() => durationMs("15x" as Duration, "timeout"));
    expect(isSagaError(thrown, "options.invalid")).toBe(true);
    expect((thrown as SagaError).message).toContain(`timeout: "15x" is not a duration`);
    expect((caught(() => durationMs(-1)) as SagaError).message).toContain("duration: -1 is negative");
  });

  it.each<[number, string]>([
    [0, "0ms"],
    [250, "250ms"],
    [1_500, "1500ms"],
    [2_000, "2s"],
    [90_000, "90s"],
    [60_000, "1m"],
    [5_400_000, "90m"],
    [7_200_000, "2h"],
    [172_800_000, "2d"],
    [Number.POSITIVE_INFINITY, "Infinity"],
  ])("of %d milliseconds is shown as %s", (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });
});

function caught(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
