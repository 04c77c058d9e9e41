import { describe, expect, test } from "vitest";
import { Lanes } from "../../../src/executor/lanes.js";
import type { RunHeader } from "../../../src/journal/journal.js";

const run = (key: string, given: Partial<RunHeader> = {}) =>
  ({ key, runId: key, saga: "s", lane: "l", startAt: 0, priority: 0, ...given }) as RunHeader;
const keys = (runs: readonly RunHeader[]) => runs.map(({ key }) => key);

describe("places in lanes", () => {
  test("are had at once while there are any, and kept; who leaves makes room for the first in rank", () => {
    const lanes = new Lanes();
    expect([lanes.enter(run("a"), 2), lanes.enter(run("b"), 2), lanes.enter(run("a"), 2)]).toEqual([true, true, true]);
    expect(lanes.enter(run("c", { startAt: 5 }), 2)).toBe(false);
    expect(lanes.enter(run("d", { startAt: 4 }), 2)).toBe(false);
    expect(lanes.enter(run("e", { startAt: 1_000, priority: 1 }), 2)).toBe(false);
    expect(lanes.enter(run("c", { startAt: 5 }), 2)).toBe(false);
    expect(keys(lanes.leave(run("a"), 2))).toEqual(["e"]);
    expect(lanes.enter(run("e"), 2)).toBe(true);
    expect(keys(lanes.leave(run("b"), 2))).toEqual(["d"]);
    expect(keys(lanes.leave(run("d"), 2))).toEqual(["c"]);
    expect(keys(lanes.leave(run("c"), 2))).toEqual([]);
  });

  test("one that leaves the queue makes no room; one that leaves twice makes it once", () => {
    const lanes = new Lanes();
    lanes.enter(run("a"), 1);
    for (const key of ["b", "c", "d"]) lanes.enter(run(key), 1);
    expect(keys(lanes.leave(run("b"), 1))).toEqual([]);
    expect(keys(lanes.leave(run("a"), 1))).toEqual(["c"]);
    expect(keys(lanes.leave(run("a"), 1))).toEqual([]);
    expect(keys(lanes.leave(run("c"), 1))).toEqual(["d"]);
  });

  test("are a saga's and a lane's own; who has no lane needs none", () => {
    const lanes = new Lanes();
    const apart = [run("a"), run("b", { saga: "t" }), run("c", { lane: "m" })];
    const { lane: _, ...unlimited } = run("d");
    expect(apart.map((each) => lanes.enter(each, 1))).toEqual([true, true, true]);
    expect([lanes.enter(unlimited, 1), lanes.enter({ ...unlimited, key: "e" }, 1)]).toEqual([true, true]);
    expect(lanes.leave(unlimited, 1)).toEqual([]);
    expect(lanes.enter(run("f"), 1)).toBe(false);
  });
});
