// When a schedule fires: cron in its zone over the nights on which clocks change, intervals, and what is refused.

import fc from "fast-check";
import { nextFirings } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { newestFirings, nextFiring } from "../../../src/schedules/timing.js";

/** Firings from one instant, exclusive, to another, inclusive. */
function between(cron: string, timeZone: string, from: string, to: string): string[] {
  const firings = nextFirings({ cron, timeZone, from: new Date(from), count: 500 });
  return firings.map((firing) => firing.toISOString()).filter((at) => at <= new Date(to).toISOString());
}

/** `2025-03-30 03:00` as the clock on the wall has it. */
function onTheWall(at: string | Date, timeZone: string): string {
  return new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" }).format(new Date(at));
}

const faultsOf = (options: object): string[] => {
  try {
    nextFirings(options as never);
  } catch (error: any) {
    expect(error).toMatchObject({ name: "OptionsInvalidError", code: "options.invalid" });
    return error.faults.map(({ at, fault }: { at: string; fault: string }) => `${at}: ${fault}`);
  }
  throw new Error("it was accepted");
};

const from = new Date("2025-03-01T00:00:00Z");

describe("CRN-1: the nights on which clocks change", () => {
  test("CRN-1: Berlin, spring: 02:30 is left out, and the firing comes once, at 03:00", () => {
    expect(between("30 2 * * *", "Europe/Berlin", "2025-03-28T12:00Z", "2025-03-31T12:00Z")).toEqual([
      "2025-03-29T01:30:00.000Z",
      "2025-03-30T01:00:00.000Z",
      "2025-03-31T00:30:00.000Z",
    ]);
    expect(onTheWall("2025-03-30T01:00:00.000Z", "Europe/Berlin")).toBe("2025-03-30 03:00");
  });

  test("CRN-1: Berlin, autumn: there are two 02:30, and the firing comes once, at the first", () => {
    expect(between("30 2 * * *", "Europe/Berlin", "2025-10-25T12:00Z", "2025-10-27T12:00Z")).toEqual([
      "2025-10-26T00:30:00.000Z",
      "2025-10-27T01:30:00.000Z",
    ]);
  });

  test("CRN-1: New York, spring and autumn: once a day", () => {
    expect(between("30 2 * * *", "America/New_York", "2025-03-08T12:00Z", "2025-03-10T12:00Z")).toEqual([
      "2025-03-09T07:00:00.000Z",
      "2025-03-10T06:30:00.000Z",
    ]);
    expect(between("30 1 * * *", "America/New_York", "2025-11-01T12:00Z", "2025-11-03T12:00Z")).toEqual([
      "2025-11-02T05:30:00.000Z",
      "2025-11-03T06:30:00.000Z",
    ]);
  });

  test("CRN-1: of several fixed times each fires once; those that are left out fire together, once", () => {
    expect(between("30 1,3 * * *", "America/New_York", "2025-11-02T04:00Z", "2025-11-02T12:00Z")).toEqual([
      "2025-11-02T05:30:00.000Z",
      "2025-11-02T08:30:00.000Z",
    ]);
    expect(between("0,30 2 * * *", "Europe/Berlin", "2025-03-29T12:00Z", "2025-03-30T12:00Z")).toEqual([
      "2025-03-30T01:00:00.000Z",
    ]);
  });

  test("CRN-1: a rhythm goes with the clock: on through both nights, a quarter of an hour apart", () => {
    for (const night of ["2025-03-30T00:00:00Z", "2025-10-25T23:00:00Z"]) {
      const start = new Date(night);
      const firings = nextFirings({ cron: "*/15 * * * *", timeZone: "Europe/Berlin", from: start, count: 16 });
      expect(firings.map((firing) => (firing.getTime() - start.getTime()) / 900_000)).toEqual(
        Array.from({ length: 16 }, (_, index) => index + 1),
      );
    }
  });

  const nights = [
    ["Europe/Berlin", "2025-03-29T12:00Z"],
    ["Europe/Berlin", "2025-10-25T12:00Z"],
    ["America/New_York", "2025-03-08T18:00Z"],
    ["America/New_York", "2025-11-01T18:00Z"],
    ["America/Santiago", "2025-09-06T18:00Z"],
    ["America/Santiago", "2025-04-05T18:00Z"],
    ["Africa/Cairo", "2025-04-24T12:00Z"],
    ["Asia/Beirut", "2025-10-25T12:00Z"],
    ["America/Havana", "2025-11-01T18:00Z"],
    ["Australia/Lord_Howe", "2025-04-05T06:00Z"],
  ].map(([timeZone, noon]) => ({ timeZone: timeZone!, noon: noon! }));
  const crons = [
    "30 2 * * *",
    "0,30 2 * * *",
    "30 0 * * *",
    "0 0 * * *",
    "15 2,3 * * *",
    "0 */2 * * *",
    "*/20 * * * *",
  ];

  test("CRN-1: from whichever instant one asks, the next firing is the next of one series, and the last one too", () => {
    const asked = fc.record({
      night: fc.constantFrom(...nights),
      cron: fc.constantFrom(...crons),
      offsetMs: fc.integer({ min: 0, max: 86_400_000 }),
    });
    fc.assert(
      fc.property(asked, ({ night: { timeZone, noon }, cron, offsetMs }) => {
        const timing = { kind: "cron", cron, timeZone } as const;
        const start = new Date(noon).getTime();
        const series = nextFirings({ cron, timeZone, from: new Date(start), count: 150 }).map((each) => each.getTime());
        const at = start + offsetMs;
        expect(nextFiring(timing, at)).toBe(series.find((each) => each > at));
        const before = series.filter((each) => each <= at).slice(-3);
        expect(newestFirings(timing, { dueAt: start + 1, upTo: at, count: 3 })).toEqual(before);
      }),
      { numRuns: 400 },
    );
  });
});

describe("CRN-3: zones whose clocks change at midnight", () => {
  test("CRN-3: Santiago: one firing a calendar day, ten in the window, on the day that begins at 01:00 at 01:00", () => {
    const firings = between("0 0 * * *", "America/Santiago", "2025-09-01T03:59:59Z", "2025-09-10T12:00Z");
    const wall = firings.map((at) => onTheWall(at, "America/Santiago"));
    expect(wall).toEqual(
      Array.from({ length: 10 }, (_, day) => {
        const date = `2025-09-${String(day + 1).padStart(2, "0")}`;
        return date === "2025-09-07" ? `${date} 01:00` : `${date} 00:00`;
      }),
    );
  });

  test.each([
    ["Africa/Cairo", "0 0 * * *", "2025-04-23T12:00Z", ["2025-04-24 00:00", "2025-04-25 01:00", "2025-04-26 00:00"]],
    ["Africa/Cairo", "0 0 * * *", "2025-10-29T12:00Z", ["2025-10-30 00:00", "2025-10-31 00:00", "2025-11-01 00:00"]],
    ["Africa/Cairo", "0 0 1 * *", "2025-03-15T12:00Z", ["2025-04-01 00:00", "2025-05-01 00:00", "2025-06-01 00:00"]],
    ["Asia/Beirut", "0 0 * * *", "2025-03-28T12:00Z", ["2025-03-29 00:00", "2025-03-30 01:00", "2025-03-31 00:00"]],
    ["Asia/Beirut", "0 0 * * *", "2025-10-24T12:00Z", ["2025-10-25 00:00", "2025-10-26 00:00", "2025-10-27 00:00"]],
    ["Asia/Beirut", "0 0 1 * *", "2025-02-15T12:00Z", ["2025-03-01 00:00", "2025-04-01 00:00", "2025-05-01 00:00"]],
    ["America/Havana", "0 0 * * *", "2025-11-01T12:00Z", ["2025-11-02 00:00", "2025-11-03 00:00", "2025-11-04 00:00"]],
  ])("CRN-3: %s, %s from %s: one firing a day", (timeZone, cron, start, wall) => {
    const firings = nextFirings({ cron, timeZone, from: new Date(start), count: 3 });
    expect(firings.map((at) => onTheWall(at, timeZone))).toEqual(wall);
  });
});

describe("CRN-6: a cron for a date that never comes", () => {
  test.each(["0 0 30 2 *", "0 0 31 4,6 *", "0 0 30 2 +MON"])("CRN-6: %s is refused at once: never fires", (cron) => {
    const before = performance.now();
    expect(faultsOf({ cron, from, count: 1 })[0]).toContain("never fires");
    expect(performance.now() - before).toBeLessThan(50);
  });

  test("CRN-6: 29 February is found in 2028, and over the turn of a century that has none", () => {
    const find = (after: string) => nextFirings({ cron: "0 0 29 2 *", from: new Date(after), count: 1 })[0];
    expect(find("2025-03-01T00:00Z")).toEqual(new Date("2028-02-29T00:00Z"));
    expect(find("2096-03-01T00:00Z")).toEqual(new Date("2104-02-29T00:00Z"));
  });
});

describe("nextFirings", () => {
  test("is exclusive of `from`, to the millisecond", () => {
    const first = (at: string) => nextFirings({ cron: "0 0 * * *", from: new Date(at), count: 1 })[0];
    expect(first("2025-03-01T00:00:00.000Z")).toEqual(new Date("2025-03-02T00:00Z"));
    expect(first("2025-02-28T23:59:59.999Z")).toEqual(new Date("2025-03-01T00:00Z"));
  });

  test("takes six fields, seconds first, and is in UTC unless a zone is named", () => {
    const firings = nextFirings({ cron: "*/20 0 12 * * *", from, count: 4 });
    expect(firings.map((each) => each.toISOString().slice(5, 19))).toEqual([
      "03-01T12:00:00",
      "03-01T12:00:20",
      "03-01T12:00:40",
      "03-02T12:00:00",
    ]);
  });

  test("an interval is counted from `from`, whatever the clocks of people do", () => {
    expect(nextFirings({ every: "90m", from, count: 3 })).toEqual([
      new Date("2025-03-01T01:30Z"),
      new Date("2025-03-01T03:00Z"),
      new Date("2025-03-01T04:30Z"),
    ]);
  });

  test("ends with the year 2999 for cron, and with what a Date can hold", () => {
    expect(nextFirings({ cron: "0 0 1 1 *", from: new Date("2997-06-01"), count: 5 })).toHaveLength(2);
    expect(nextFirings({ every: "36500d", from: new Date(8.64e15 - 1), count: 5 })).toEqual([]);
  });

  test("all that is wrong is told at once", () => {
    expect(
      faultsOf({ cron: "61 * * * *", every: "1h", timeZone: "Nowhere/City", from: "now", count: 0, form: 1 }),
    ).toEqual([
      expect.stringContaining("form: is not an option; did you mean from?"),
      expect.stringContaining("every: can't be given together with `cron`"),
      expect.stringContaining('cron: "61 * * * *": Invalid value for minute'),
      expect.stringContaining('timeZone: "Nowhere/City" is not known here; give an IANA name'),
      expect.stringContaining('from: "now" is not a valid Date'),
      expect.stringContaining("count: 0 is not a whole number from 1 to 10000"),
    ]);
  });

  test.each([
    [{}, "cron: is missing"],
    [{ every: "1h", timeZone: "UTC" }, "timeZone: goes with `cron`"],
    [{ every: "999ms" }, 'every: must be at least "1s"'],
    [{ every: 0 }, "every: 0 is not more than zero"],
    [{ cron: "@daily" }, "give five fields"],
    [{ cron: "2030-01-01T00:00:00" }, "give five fields"],
    [{ cron: "0 0 0 1 1 * 2030" }, "give five fields"],
    [{ cron: "" }, "give five fields"],
    [{ cron: 5 }, "give five fields"],
    [{ cron: `${"0,".repeat(200)}0 * * * *` }, "give five fields"],
    [{ cron: "0 0 * *\0 *" }, "cron: "],
    [{ cron: "0 0 * * *", timeZone: "+01:00" }, "is no time zone"],
    [{ cron: "0 0 * * *", timeZone: "" }, "is no time zone"],
    [{ cron: "0 0 * * *", timeZone: "UTC\0" }, "is not known here"],
    [{ cron: "0 0 * * *", timeZone: 3 }, "is no time zone"],
  ])("refuses %j", (timing, fault) => {
    expect(faultsOf({ ...timing, from, count: 1 }).join("\n")).toContain(fault);
  });

  test.each([
    [{ from: new Date(Number.NaN), count: 1 }, "from: "],
    [{ from, count: 1.5 }, "count: "],
    [{ from, count: 10_001 }, "count: "],
  ])("refuses %j", (rest, fault) => {
    expect(faultsOf({ cron: "0 0 * * *", ...rest }).join("\n")).toContain(fault);
  });
});
