// What a look at a due schedule does: the policies for what was missed and for what overlaps.

import { describe, expect, test } from "vitest";
import { type DueSchedule, mostMadeUpFor, onTimeMs, planFirings } from "../../../src/schedules/plan.js";

const noon = Date.UTC(2026, 0, 1, 12);
const minute = 60_000;
const everyMinute = { kind: "every", everyMs: minute } as const;

const plan = (due: Partial<DueSchedule>) =>
  planFirings({
    timing: everyMinute,
    missed: "once",
    overlap: "allow",
    dueAt: noon,
    now: noon + 20,
    busy: false,
    ...due,
  });

/** Three firings and a half have gone by: 12:00, 12:01, 12:02, 12:03. */
const late = noon + 3.5 * minute;

describe("a firing that is on time", () => {
  test.each(["skip", "once", "all"] as const)("fires, with `%s` too, and the next one follows", (missed) => {
    expect(plan({ missed })).toEqual({ fire: [noon], nextAt: noon + minute });
  });

  test("is due at its very instant", () => {
    expect(plan({ now: noon })).toEqual({ fire: [noon], nextAt: noon + minute });
  });
});

describe("firings that fell due while no worker looked", () => {
  test("CRN-4: `once` makes up for the newest, and goes on on the beat", () => {
    expect(plan({ missed: "once", now: late })).toEqual({
      fire: [noon + 3 * minute],
      skipped: { at: noon + 2 * minute, why: "missed" },
      nextAt: noon + 4 * minute,
    });
  });

  test("CRN-4: `skip` lets them all go, and remembers the newest of them", () => {
    expect(plan({ missed: "skip", now: late })).toEqual({
      fire: [],
      skipped: { at: noon + 3 * minute, why: "missed" },
      nextAt: noon + 4 * minute,
    });
  });

  test("`skip` counts as on time what is up to ten seconds late", () => {
    expect(onTimeMs).toBe(10_000);
    expect(plan({ missed: "skip", now: noon + onTimeMs }).fire).toEqual([noon]);
    expect(plan({ missed: "skip", now: noon + onTimeMs + 1 }).fire).toEqual([]);
    expect(plan({ missed: "skip", now: noon + minute + 5 })).toEqual({
      fire: [noon + minute],
      skipped: { at: noon, why: "missed" },
      nextAt: noon + 2 * minute,
    });
  });

  test("CRN-4: `all` makes up for each, oldest first", () => {
    expect(plan({ missed: "all", now: late })).toEqual({
      fire: [0, 1, 2, 3].map((minutes) => noon + minutes * minute),
      nextAt: noon + 4 * minute,
    });
  });

  test("`all` makes up for the 100 newest, after a year as well, without counting through it", () => {
    for (const timing of [everyMinute, { kind: "cron", cron: "* * * * *", timeZone: "Europe/Berlin" } as const]) {
      const now = noon + 365 * 1440 * minute;
      const before = performance.now();
      const { fire, skipped, nextAt } = plan({ timing, missed: "all", now });
      expect(performance.now() - before).toBeLessThan(1_000);
      expect(fire).toEqual(Array.from({ length: mostMadeUpFor }, (_, index) => now - (99 - index) * minute));
      expect(skipped).toEqual({ at: now - 100 * minute, why: "missed" });
      expect(nextAt).toBe(now + minute);
    }
  });

  test("a cron's are those of its zone", () => {
    const timing = { kind: "cron", cron: "30 2 * * *", timeZone: "Europe/Berlin" } as const;
    const dueAt = Date.UTC(2025, 2, 29, 1, 30);
    const { fire, nextAt } = plan({ timing, missed: "all", dueAt, now: Date.UTC(2025, 2, 31, 12) });
    expect(fire).toEqual([dueAt, Date.UTC(2025, 2, 30, 1), Date.UTC(2025, 2, 31, 0, 30)]);
    expect(nextAt).toBe(Date.UTC(2025, 3, 1, 0, 30));
  });

  test("a next firing that the zone's tables here do not know of was promised all the same", () => {
    const timing = { kind: "cron", cron: "0 3 * * *", timeZone: "UTC" } as const;
    expect(plan({ timing })).toEqual({ fire: [noon], nextAt: Date.UTC(2026, 0, 2, 3) });
  });
});

describe("overlap", () => {
  test("`skip`: while a run is live nothing fires, and the schedule goes on", () => {
    expect(plan({ overlap: "skip", busy: true })).toEqual({
      fire: [],
      skipped: { at: noon, why: "overlap" },
      nextAt: noon + minute,
    });
  });

  test("`skip`: without a live run it fires", () => {
    expect(plan({ overlap: "skip" })).toEqual({ fire: [noon], nextAt: noon + minute });
  });

  test("`skip`: of several that are made up for the first fires; its run is in the way of the others", () => {
    expect(plan({ overlap: "skip", missed: "all", now: late })).toEqual({
      fire: [noon],
      skipped: { at: noon + 3 * minute, why: "overlap" },
      nextAt: noon + 4 * minute,
    });
  });

  test("`skip`: what was missed is told as missed", () => {
    expect(plan({ overlap: "skip", missed: "skip", now: late, busy: true }).skipped).toEqual({
      at: noon + 3 * minute,
      why: "missed",
    });
  });

  test("`allow`: a live run is in nobody's way", () => {
    expect(plan({ overlap: "allow", busy: true }).fire).toEqual([noon]);
  });
});
