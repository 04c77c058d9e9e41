// 1.3, 1.8: what is done for each item of a list: the list is recorded once, and each item is a step of its own.

import { describe, expect, test } from "vitest";
import { itemUnits, toCompute, unitOf } from "../../../src/core/units.js";
import { aborted, computed, returned, type Story, story, threw } from "./story.js";

const fast = { maxAttempts: 8, firstDelayMs: 0, maxDelayMs: 0, factor: 1 };

/** A list of `count` items in the middle of a saga, as many in hand as may be. */
function listed(count: number, concurrency: number, options: Parameters<typeof story>[1] = {}): Story {
  const run = story("c1 e c2", options).comesTo(returned(), computed.over(count, concurrency));
  run.beginsAll();
  return run;
}

describe("a list", () => {
  test("is done item by item, in order, then what follows it", () => {
    const run = story("e c2").comesTo(computed.over(2)).goesWell();
    expect(run.begun).toEqual(["compute over of e", "do e/0", "do e/1", "do c2"]);
    expect(run.state.steps.e).toMatchObject({ done: { attempt: 1 } });
    expect(run.status).toBe("completed");
  });

  test("of no items is done, also as the last element", () => {
    const run = story("c1 e").comesTo(returned(), computed.over(0));
    expect(run.lastKinds).toEqual(["items_listed", "finished"]);
  });

  test("is not computed again after a crash, and what was under way of it is in doubt", () => {
    const run = listed(3, 2);
    run.takenUp();
    expect(run.state.steps).toMatchObject({ "e/0": { doubt: true }, "e/1": { doubt: true }, "e/2": { doubt: false } });
    run.goesWell();
    expect(run.begun.filter((what) => what === "compute over of e")).toHaveLength(1);
    expect(run.status).toBe("completed");
  });

  test("whose condition was decided asks nobody about its items", () => {
    const run = story("ei").comesTo(computed.holds, computed.over(1)).goesWell();
    expect(run.begun).toEqual(["compute when of ei", "compute over of ei", "do ei/0"]);
    expect(run.status).toBe("completed");
  });

  test("is undone in reverse, only the items that were done or are in doubt, before what came before it", () => {
    const run = story("c1 e")
      .comesTo(returned(), computed.over(3), returned(), returned(), threw.definitely)
      .goesWell();
    expect(run.begun.slice(5)).toEqual(["undo e/1", "undo e/0", "undo c1"]);
    expect(run.row).toMatchObject({ status: "failed", owed: [] });
  });

  test("names the items that are still owed", () => {
    const run = story("e c1").comesTo(computed.over(2), returned(), returned(), threw.definitely, threw.definitely);
    run.goesWell();
    expect(run.row).toMatchObject({ status: "compensation_failed", owed: ["e/1"] });
    expect(run.resolved("e/1", "undone")).toBeUndefined();
    expect(run.status).toBe("failed");
  });

  test("goes by the policy of its items, not by its own", () => {
    const once = { ...fast, maxAttempts: 1 };
    const run = story("e", { policies: { "e/": { retry: once } } }).comesTo(computed.over(1), threw.notNow);
    expect(run.rows.at(-1)!.entries[0]).toMatchObject({ kind: "step_failed", step: "e/0" });
  });

  test("after the pivot is finished by an operator, item by item", () => {
    const run = story("P e").comesTo(returned(), computed.over(2), threw.definitely);
    expect(run.status).toBe("forward_incomplete");
    expect(run.resolved("e", "done")).toContain("its steps are P, e/0, e/1");
    expect(run.resolved("e/0", "done")).toBeUndefined();
    run.goesWell();
    expect(run.begun.slice(2)).toEqual(["do e/0", "do e/1"]);
    const last = story("P e").comesTo(returned(), computed.over(1), threw.definitely);
    last.resolved("e/0", "done");
    last.awaited();
    expect(last.status).toBe("completed");
  });
});

describe("items side by side", () => {
  test("are as many as may be, and the next one begins when one is done", () => {
    const run = listed(4, 2);
    expect(run.begun.slice(2)).toEqual(["do e/0", "do e/1"]);
    run.ends("e/1");
    expect(run.beginsAll()).toEqual(["do e/0", "do e/2"]);
    run.goesBeside();
    expect(run.status).toBe("completed");
  });

  test("hold their place while they wait to be tried again", () => {
    const run = listed(4, 2);
    run.ends("e/0", { ...threw.notNow, retryAfterMs: 60_000 });
    run.ends("e/1");
    expect(run.beginsAll()).toEqual(["do e/2"]);
    run.ends("e/2");
    expect(run.beginsAll()).toEqual(["do e/3"]);
    run.ends("e/3");
    expect(run.lastKinds).toEqual(["step_completed", "parked"]);
    run.goesWell();
    expect(run.begun.slice(-2)).toEqual(["do e/0", "do c2"]);
  });

  test("begin no more once one of them failed for good", () => {
    const run = listed(4, 2);
    run.ends("e/0", threw.definitely);
    expect(run.next()).toMatchObject({ kind: "wait" });
    run.ends("e/1");
    expect(run.lastKinds).toEqual(["step_completed", "rollback_started"]);
    run.goesWell();
    expect(run.begun.slice(4)).toEqual(["undo e/1", "undo c1"]);
  });

  test("that were not begun when the run was handed over are not in doubt", () => {
    const run = listed(4, 2);
    run.stopping = true;
    run.ends("e/0", aborted("shutdown"));
    run.ends("e/1");
    expect(run.lastKinds).toEqual(["step_completed", "handed_over"]);
    expect(run.state.steps).toMatchObject({
      "e/0": { doubt: true },
      "e/2": { doubt: false, forward: { interrupted: false } },
    });
  });

  test("are handed over with the last of three", () => {
    const run = listed(3, 3);
    run.stopping = true;
    run.ends("e/0", aborted("shutdown"));
    run.ends("e/1");
    expect(run.lastKinds).toEqual(["step_completed"]);
    run.ends("e/2");
    expect(run.lastKinds).toEqual(["step_completed", "handed_over"]);
    expect(run.state.steps).toMatchObject({ "e/0": { doubt: true }, "e/1": { doubt: false }, "e/2": { doubt: false } });
  });

  test("beside another step in one group are all of them waited for", () => {
    const run = story("e|c1").comesTo(computed.over(2, 2));
    expect(run.beginsAll()).toEqual(["do e/0", "do e/1", "do c1"]);
    run.takenUp();
    expect(run.state.steps).toMatchObject({ "e/0": { doubt: true }, "e/1": { doubt: true }, c1: { doubt: true } });
    run.goesBeside();
    expect(run.status).toBe("completed");
  });
});

test("an item is found by its name, and knows its element", () => {
  const run = listed(1, 1);
  expect(unitOf(run.shape, run.state, "e/0")).toEqual(itemUnits(run.shape.steps[1]!, 1)[0]);
  expect(toCompute(run.shape.steps[1]!, run.state)).toBeUndefined();
  expect(unitOf(run.shape, run.state, "e/0")).toMatchObject({ of: "e", kind: "compensatable", undone: true });
});
