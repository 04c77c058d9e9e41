import { defineSaga, step } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { parseDurableOptions } from "../../../src/worker/options.js";

const saga = defineSaga({
  name: "s",
  version: 1,
  steps: [step({ name: "a", run: async (_context: object) => {}, nothingToUndo: true })],
});
const parse = (worker?: unknown, more: object = {}) =>
  parseDurableOptions({ sagas: [saga], database: "postgresql://h/d", worker, ...more } as never);

/** Where each fault is. */
function faultsOf(work: () => unknown): string[] {
  try {
    work();
  } catch (error) {
    expect(error).toMatchObject({ code: "options.invalid" });
    return (error as { faults: { at: string }[] }).faults.map(({ at }) => at);
  }
  return [];
}

describe("worker options", () => {
  test("have defaults: 100 slots, a lease of 30 s, a beat of 5 s, a poll of 1 s, five crashes", () => {
    const worker = { slots: 100, leaseMs: 30_000, beatMs: 5_000, pollMs: 1_000, maxCrashes: 5 };
    expect(parse().worker).toEqual(worker);
    expect(parse({}).worker).toEqual(worker);
  });

  test("tenants are 1 to 100 names that can be stored; one that is named twice counts once", () => {
    expect(parse({ tenants: ["a", "", "a"] }).worker).toMatchObject({ tenants: ["a", ""] });
    for (const wrong of [[], "a", [7], Array.from({ length: 101 }, String)])
      expect(faultsOf(() => parse({ tenants: wrong }))[0]).toMatch(/^worker\.tenants/);
    for (const wrong of ["x".repeat(201), "a\0", "\ud800"]) {
      expect(faultsOf(() => parse({ tenants: [wrong] }))).toEqual(["worker.tenants.0"]);
      expect(faultsOf(() => parse({}, { tenant: wrong }))).toEqual(["tenant"]);
    }
  });

  test("a shorter lease has a shorter beat, durations are read in any unit", () => {
    expect(parse({ lease: "6s", poll: "250ms", slots: 1 }).worker).toMatchObject({
      leaseMs: 6_000,
      beatMs: 1_000,
      pollMs: 250,
      slots: 1,
    });
    expect(parse({ lease: "10m" }).worker).toMatchObject({ leaseMs: 600_000, beatMs: 5_000 });
  });

  test("false makes a client of it, which is told apart", () => {
    expect(parse(false).worker).toBe(false);
  });

  test("what can't work is refused, each fault by its place, all at once", () => {
    for (const slots of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 10_001, "5", null])
      expect(faultsOf(() => parse({ slots }))).toEqual(["worker.slots"]);
    for (const at of ["lease", "beat", "poll"])
      for (const value of [0, -1, "soon", Number.NaN, Number.POSITIVE_INFINITY, null])
        expect(faultsOf(() => parse({ [at]: value }))).toContain(`worker.${at}`);
    for (const maxCrashes of [0, -1, 1.5, Number.NaN])
      expect(faultsOf(() => parse({ maxCrashes }))).toEqual(["worker.maxCrashes"]);
    expect(faultsOf(() => parse({ slots: 0, poll: -1 }))).toEqual(["worker.slots", "worker.poll"]);
  });

  test("a lease under half a second, or a beat longer than a third of it, loses runs for nothing", () => {
    expect(faultsOf(() => parse({ lease: 499 }))).toEqual(["worker.lease"]);
    expect(faultsOf(() => parse({ lease: 500 }))).toEqual([]);
    expect(faultsOf(() => parse({ lease: "30s", beat: 10_001 }))).toEqual(["worker.beat"]);
    expect(faultsOf(() => parse({ lease: "30s", beat: "10s" }))).toEqual([]);
    expect(faultsOf(() => parse({ lease: 100, beat: "10s" }))).toEqual(["worker.lease", "worker.beat"]);
  });

  test("an unknown option is named", () => {
    expect(() => parse({ slot: 3 })).toThrow(/slot/);
    expect(() => parse(true)).toThrow(/worker/);
  });
});
