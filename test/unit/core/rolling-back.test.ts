// 1.8 and the deadline of 1.9.

import { describe, expect, test } from "vitest";
import { aborted, returned, Story, story, threw } from "./story.js";

const done3 = [returned(), returned(), returned(), threw.definitely];

describe("a rollback", () => {
  test("CMP-12: undoes one step after the other, last one first, and skips what needs no undoing", () => {
    const run = story("c1 c2n c3 c4")
      .comesTo(...done3)
      .goesWell();
    expect(run.begun.slice(4)).toEqual(["undo c3", "undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("CMP-13: goes by the list and never by time", () => {
    const run = story("c1 c2 c3 c4")
      .crashes()
      .comesTo(...done3)
      .goesWell();
    expect(new Set(run.rows.map(({ at }) => at)).size).toBeLessThan(run.rows.length);
    expect(run.begun.slice(5)).toEqual(["undo c3", "undo c2", "undo c1"]);
  });

  test("CMP-1: resumes after a crash at the first compensation not recorded, and runs no recorded one again", () => {
    const run = story("c1 c2 c3 c4")
      .comesTo(...done3)
      .returns()
      .crashes()
      .goesWell();
    expect(run.begun.slice(4)).toEqual(["undo c3", "undo c2", "undo c2", "undo c1"]);
    expect(run.status).toBe("failed");
    expect(run.state.failure).toEqual({ step: "c4", error: { name: "Error", message: "no" } });
  });

  test("CMP-5: tries a compensation again before it goes on to the next", () => {
    const run = story("c1 c2 c3").comesTo(returned(), returned(), threw.definitely);
    run.comesTo(threw.notNow);
    expect(run.status).toBe("compensating");
    expect(run.state.steps.c2!.undo).toMatchObject({ attempts: 1, lastError: { message: "no" } });
    run.comesTo(threw.maybe);
    expect(run.awaited()).toMatchObject({ kind: "run", direction: "compensate", attempt: 3 });
    run.goesWell();
    expect(run.begun.slice(3)).toEqual(["undo c2", "undo c2", "undo c2", "undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("CMP-6: goes on when a compensation fails for good, and names what is still owed", () => {
    const run = story("c1 c2 c3 c4")
      .comesTo(...done3)
      .comesTo(returned(), threw.definitely, returned());
    expect(run.begun.slice(4)).toEqual(["undo c3", "undo c2", "undo c1"]);
    expect(run.status).toBe("compensation_failed");
    expect(run.row.owed).toEqual(["c2"]);
  });

  test("CMP-7: starts no second rollback, when its last compensation fails for good", () => {
    const run = story("c1 c2 c3")
      .comesTo(returned(), returned(), threw.definitely)
      .comesTo(returned(), threw.definitely);
    expect(run.begun.slice(3)).toEqual(["undo c2", "undo c1"]);
    expect(run.lastKinds).toEqual(["compensation_failed", "finished"]);
    expect(run.status).toBe("compensation_failed");
    expect(run.next()).toEqual({ kind: "ended" });
  });

  test("CMP-14: undoes a step that succeeded on a later attempt, once, with that attempt's output", () => {
    const run = story("c1 c2").comesTo(threw.notNow, returned("second"), threw.definitely);
    expect(run.state.steps.c1!.done).toEqual({ output: { format: "text", text: "second" }, attempt: 2 });
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do c1", "do c2", "undo c1"]);
  });

  test("waits for a compensation in backoff, parked", () => {
    const run = story("c1 c2").comesTo(returned(), threw.definitely, { ...threw.notNow, retryAfterMs: 60_000 });
    expect(run.lastKinds).toEqual(["attempt_failed", "parked"]);
    expect(run.row).toMatchObject({ status: "compensating", claim: "free", dueAt: run.now + 60_000 });
    run.goesWell();
    expect(run.status).toBe("failed");
  });

  test("has no deadline", () => {
    const run = story("c1 c2", { deadlineAt: 1_000_001 }).comesTo(returned(), threw.definitely);
    run.now += 1_000;
    run.goesWell();
    expect(run.status).toBe("failed");
  });
});

describe("maxDuration", () => {
  const options = { deadlineAt: 1_005_000 };

  test("passed in mid-step: the step is aborted, everything is undone, timed_out", () => {
    const run = story("c1 c2", options).returns();
    const action = run.begins();
    run.now += 10_000;
    run.offers(action, aborted("deadline"));
    expect(run.lastKinds).toEqual(["attempt_failed", "rollback_started"]);
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do c2", "undo c2", "undo c1"]);
    expect(run.status).toBe("timed_out");
  });

  test("is the cause also when the step that it aborted then throws a terminal error", () => {
    const run = story("c1", options);
    const action = run.begins();
    run.now += 10_000;
    run.offers(action, aborted("deadline", threw.maybeForGood));
    run.goesWell();
    expect(run.status).toBe("timed_out");
  });

  test("passed while pending: no step runs", () => {
    const run = new Story("c1", options);
    run.now += 10_000;
    run.takenUp().next();
    expect(run.begun).toEqual([]);
    expect(run.status).toBe("timed_out");
  });

  test("loses to a failure that is in the journal before it", () => {
    const run = story("c1 c2", options).returns();
    const action = run.begins();
    run.now += 10_000;
    run.offers(action, threw.definitely);
    run.goesWell();
    expect(run.status).toBe("failed");
  });

  test("loses to a last step that returned", () => {
    const run = story("c1", options);
    const action = run.begins();
    run.now += 10_000;
    run.offers(action, returned());
    expect(run.status).toBe("completed");
  });

  test("turns the saga back after a step that returned and was not the last", () => {
    const run = story("c1 P", options);
    const action = run.begins();
    run.now += 10_000;
    run.offers(action, returned());
    expect(run.lastKinds).toEqual(["step_completed", "rollback_started"]);
    run.goesWell();
    expect(run.status).toBe("timed_out");
  });

  test("loses to a pivot that was entered", () => {
    const run = story("c1 P r1", options).returns();
    run.now += 10_000;
    run.comesTo(threw.maybe);
    run.goesWell();
    expect(run.status).toBe("completed");
  });
});
