// A saga's declared schedules: kept as they were written, frozen; what is no list of objects is refused with the rest.

import { defineSaga, step } from "rubicon-saga";
import { describe, expect, test } from "vitest";

const steps = [step({ name: "a", nothingToUndo: true, run: async (_: object) => {} })] as const;
const define = (schedules: unknown) => defineSaga({ name: "s", version: 1, steps, schedules: schedules as never });

describe("schedules that a saga declares", () => {
  test("are kept as they were written, and can't be changed", () => {
    const written = [{ every: "1h" }, { id: "b", cron: "what?" }];
    const { schedules } = define(written);
    expect(schedules).toEqual(written);
    written[0]!.every = "2h";
    expect(schedules![0]).toEqual({ every: "1h" });
    expect(Object.isFrozen(schedules) && schedules!.every(Object.isFrozen)).toBe(true);
  });

  test("are absent where none are declared, and no part of the shape", () => {
    expect(define(undefined)).not.toHaveProperty("schedules");
    expect(define([{ every: "1h" }]).shape).toEqual(define(undefined).shape);
  });

  test.each([
    [{ every: "1h" }, "schedules: "],
    ["nightly", "schedules: "],
    [[null, { every: "1h" }, 3], "schedules[0]: null is not an object"],
    [[null, { every: "1h" }, 3], "schedules[2]: 3 is not an object"],
  ])("are not %j", (schedules, fault) => {
    expect(() => define(schedules)).toThrow(fault);
  });
});
