// 1.3, 1.4, 1.6: what the run's row shows of its journal, and how a run is taken up and over.

import { describe, expect, test } from "vitest";
import { foldRows } from "../../../src/core/fold.js";
import { endOf, presentError } from "../../../src/core/outcome.js";
import { touchesRun } from "../../../src/core/projection.js";
import { initialState } from "../../../src/core/state.js";
import { suspectAfterCrashes, takeOver } from "../../../src/core/take-up.js";
import { returned, Story, story, threw } from "./story.js";

describe("the run's row", () => {
  test("shows a run that nobody has claimed as pending, due when it may begin", () => {
    const { shape } = new Story("c1");
    const state = initialState(shape, 5_000);
    expect(foldRows(shape, state, [])).toBe(state);
    expect(new Story("c1").row).toEqual({ status: "pending", claim: "free", dueAt: 0, crashes: 0, owed: [] });
  });

  test("shows who drives it", () => {
    expect(story("c1").row).toMatchObject({ status: "running", claim: "owned", owner: "t0" });
  });

  test("says nothing is owed by a run that completed, or is past its pivot", () => {
    expect(story("c1").returns().row.owed).toEqual([]);
    expect(story("c1 P r1").comesTo(returned(), returned(), threw.definitely).row.owed).toEqual([]);
  });

  test("counts the crashes in a row of what is next, forward and back", () => {
    const run = story("c1 c2 c3").returns(2).crashes(2);
    expect(run.row.crashes).toBe(2);
    run.comesTo(threw.definitely);
    expect(run.row.crashes).toBe(0);
    run.returns().crashes();
    expect(run.row.crashes).toBe(1);
    run.goesWell();
    expect(run.row.crashes).toBe(0);
    expect(story("c1").returns().row.crashes).toBe(0);
  });

  test("is written with whatever changes it, and not with a step's completion", () => {
    const touching = (run: Story): boolean => touchesRun(run.rows.at(-1)!.entries);
    expect(touching(story("c1"))).toBe(true);
    expect(touching(story("c1 P").returns())).toBe(false);
    expect(touching(story("c1 P").comesTo(threw.notNow))).toBe(false);
    expect(touching(story("c1").returns())).toBe(true);
  });
});

describe("a takeover", () => {
  test("PSN-1: parks a suspect for a growing time before it is driven on", () => {
    const run = story("P").crashes(suspectAfterCrashes - 1);
    expect(run.lastKinds).toEqual(["taken_up"]);
    run.crashes();
    expect(run.lastKinds).toEqual(["taken_up", "parked"]);
    const first = run.row.dueAt - run.now;
    run.crashes();
    expect(run.row.dueAt - run.now).toBe(first * 2);
  });

  test("waits no longer than a minute, jittered between half and whole", () => {
    const run = story("P", { maxCrashes: 100 }).crashes(12);
    expect(run.row.dueAt - run.now).toBe(30_000);
    const [, parked] = takeOver(
      run.takenUp().shape,
      run.state,
      { worker: "w", token: "t", crash: true },
      { now: 0, random: 0.999 },
    );
    expect(parked).toMatchObject({ kind: "parked", until: 59_970 });
  });

  test("of a run that was given up meanwhile is no crash", () => {
    const run = story("c1").comesTo({ ...threw.notNow, retryAfterMs: 60_000 });
    const taker = { worker: "w2", token: "t9", crash: true };
    const entries = takeOver(run.shape, run.state, taker, { now: run.now, random: 0 });
    expect(entries).toEqual([{ kind: "taken_up", worker: "w2", token: "t9", crash: false }]);
  });
});

describe("how a run ended", () => {
  const ended = (run: Story) => endOf(run.shape, run.state);

  test("is not told while it is live", () => {
    expect(ended(story("c1"))).toBeUndefined();
  });

  test("is told with its output", () => {
    const run = story("c1");
    run.append([
      { kind: "step_completed", step: "c1", output: { format: "text", text: "1" }, attempt: 1 },
      { kind: "finished", status: "completed", output: { format: "text", text: "all" } },
    ]);
    expect(ended(run)).toEqual({
      status: "completed",
      owed: [],
      compensationErrors: [],
      output: { format: "text", text: "all" },
    });
  });

  test("is told with its cause, the step that failed, and what is owed with its errors", () => {
    const once = { maxAttempts: 1, firstDelayMs: 0, maxDelayMs: 0, factor: 1 };
    const run = story("c1 c2 c3", { policies: { c1: { compensationRetry: once } } });
    run.comesTo(returned(), returned(), threw.definitely, returned(), threw.definitely);
    expect(ended(run)).toEqual({
      status: "compensation_failed",
      cause: "failure",
      failure: { step: "c3", error: { name: "Error", message: "no" } },
      owed: ["c1"],
      compensationErrors: [{ step: "c1", error: { name: "Error", message: "no" } }],
    });
  });

  test("is told with who asked, also where it never turned back", () => {
    const run = new Story("c1");
    run.cancelled();
    expect(ended(run)).toMatchObject({ status: "cancelled", cause: "cancel", cancelledBy: { by: "ana" } });
  });

  test("owes, without an error, what no compensation was tried for", () => {
    const run = story("c1 c2 c3").comesTo(returned(), returned(), threw.definitely);
    const state = { ...run.state, finished: { status: "compensation_failed" as const, at: 0 } };
    expect(endOf(run.shape, state)).toMatchObject({ owed: ["c2", "c1"], compensationErrors: [] });
  });
});

describe("the error worth showing", () => {
  const shown = (run: Story) => presentError(run.shape, run.state);

  test("is that of the step that failed, or of the one that is being tried again", () => {
    expect(shown(story("c1"))).toBeUndefined();
    expect(shown(story("c1").comesTo(threw.notNow))).toEqual({ name: "Error", message: "no" });
    expect(shown(story("c1").comesTo(threw.definitely))).toEqual({ name: "Error", message: "no" });
    expect(shown(story("c1").returns())).toBeUndefined();
  });
});
