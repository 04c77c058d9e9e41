// A firing's run id tells which firing it is.

import { firingOf } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { firingId, longestScheduleId, scheduleIdFault, triggerId } from "../../../src/schedules/firing-id.js";

const at = new Date("2026-03-29T01:00:00.000Z");

describe("a firing's run id", () => {
  test.each(["nightly", "a@b", "night~ly", "two\nlines", "x@2026-03-29T01:00:00.000Z"])(
    "tells schedule and instant: %j",
    (schedule) => {
      expect(firingOf(firingId(schedule, at.getTime()))).toEqual({ schedule, scheduledFor: at, triggered: false });
      const id = triggerId(schedule, at.getTime(), "0198f0aa-1111-7222-8333-abcdefabcdef");
      expect(firingOf(id)).toEqual({ schedule, scheduledFor: at, triggered: true });
    },
  );

  test("is the same for the same firing, and another for each trigger", () => {
    expect(firingId("nightly", at.getTime())).toBe("nightly@2026-03-29T01:00:00.000Z");
    expect(triggerId("nightly", at.getTime(), "one-1")).not.toBe(triggerId("nightly", at.getTime(), "two-2"));
  });

  test("fits into a run's id, however long the schedule's", () => {
    expect(triggerId("x".repeat(longestScheduleId), at.getTime(), "0123456789abcdef").length).toBeLessThanOrEqual(200);
  });

  test.each(["order-1", "nightly@", "@2026-03-29T01:00:00.000Z", "nightly@2026-13-99T01:00:00.000Z"])(
    "of other runs it tells nothing: %s",
    (id) => {
      expect(firingOf(id)).toBeUndefined();
    },
  );
});

describe("a schedule's id", () => {
  test("is 1 to 150 characters", () => {
    expect(scheduleIdFault("x")).toBeUndefined();
    expect(scheduleIdFault("x".repeat(150))).toBeUndefined();
  });

  test.each([
    ["", "is empty"],
    ["x".repeat(151), "has 151 characters"],
    ["a\0b", "NUL"],
    ["\ud800", "surrogate"],
    [7, "no string"],
  ])("is not %j", (id, fault) => {
    expect(scheduleIdFault(id)).toContain(fault);
  });
});
