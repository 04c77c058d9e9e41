// 1.1, 1.3, 1.10: steps, the pivot, and what a failure for good comes to by the place of its step.

import { describe, expect, test } from "vitest";
import { aborted, returned, story, threw } from "./story.js";

describe("going forward", () => {
  test("steps run once each, in the order of the list, and the end is in the last one's row", () => {
    const run = story("c1 c2 P r1").returns(4);
    expect(run.begun).toEqual(["do c1", "do c2", "do P", "do r1"]);
    expect(run.status).toBe("completed");
    expect(run.lastKinds).toEqual(["step_completed", "finished"]);
  });

  test("the pivot is entered in the row of the completion before it, before its body begins", () => {
    const run = story("c1 P").returns();
    expect(run.lastKinds).toEqual(["step_completed", "pivot_entered"]);
    expect(run.begins()).toEqual({ kind: "run", step: "P", direction: "forward", attempt: 1 });
  });

  test("a pivot that is the first step is entered in a row of its own", () => {
    const run = story("P r1");
    run.next();
    expect(run.lastKinds).toEqual(["pivot_entered"]);
  });

  test("a transactional pivot is entered in the row of its own completion", () => {
    const run = story("c1 Pt r1").returns();
    expect(run.lastKinds).toEqual(["step_completed"]);
    run.returns();
    expect(run.lastKinds).toEqual(["pivot_entered", "step_completed"]);
  });

  test("a run that ended stays ended", () => {
    const run = story("c1").returns();
    expect(run.next()).toEqual({ kind: "ended" });
  });
});

describe("what a failure for good comes to", () => {
  test("before the pivot: the saga rolls back, in one row, and ends failed", () => {
    const run = story("c1 c2").comesTo(returned(), threw.definitely);
    expect(run.lastKinds).toEqual(["step_failed", "rollback_started"]);
    run.returns();
    expect(run.begun).toEqual(["do c1", "do c2", "undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("with nothing to undo it ends failed in the row of the failure", () => {
    const run = story("c1").comesTo(threw.definitely);
    expect(run.lastKinds).toEqual(["step_failed", "rollback_started", "finished"]);
    expect(run.status).toBe("failed");
  });

  test("CMP-11: what never began is not undone, nor is what definitely failed", () => {
    const run = story("c1 c2 c3").comesTo(threw.definitely);
    expect(run.begun).toEqual(["do c1"]);
    expect(run.status).toBe("failed");
    expect(run.row.owed).toEqual([]);
  });

  test("a saga without a pivot rolls back wherever it fails", () => {
    const run = story("c1 c2 c3").comesTo(returned(), returned(), threw.definitely).goesWell();
    expect(run.begun).toEqual(["do c1", "do c2", "do c3", "undo c2", "undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("the pivot, definitely: the saga rolls back and ends failed", () => {
    const run = story("c1 P r1").comesTo(returned(), threw.definitely).goesWell();
    expect(run.begun).toEqual(["do c1", "do P", "undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("PIV-1: after the pivot the saga is forward_incomplete, and nothing is ever undone", () => {
    const run = story("c1 P r1 r2").comesTo(returned(), returned(), threw.definitely);
    expect(run.lastKinds).toEqual(["step_failed", "finished"]);
    expect(run.status).toBe("forward_incomplete");
    expect(run.retried()).toBeUndefined();
    expect(run.status).toBe("running");
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do P", "do r1", "do r1", "do r2"]);
    expect(run.status).toBe("completed");
  });
});

test("what the abort of a lost owner made of an attempt is not recorded", () => {
  const run = story("c1");
  expect(run.offers(run.begins(), aborted("lost", threw.definitely))).toBe(false);
});

describe("a worker that closes", () => {
  test("hands over the step that it aborted, and it may have happened", () => {
    const run = story("c1");
    const action = run.begins();
    run.stopping = true;
    run.offers(action, aborted("shutdown"));
    expect(run.lastKinds).toEqual(["handed_over"]);
    expect(run.state.steps.c1).toMatchObject({ doubt: true, forward: { attempts: 0 } });
    expect(run.row).toMatchObject({ claim: "free", status: "running", dueAt: run.now });
  });

  test("PSN-3: uses up no attempt of it, however often", () => {
    const run = story("c1", { policies: { c1: { retry: { ...fast, maxAttempts: 2 } } } });
    for (let time = 0; time < 6; time += 1) {
      const action = run.begins();
      run.stopping = true;
      run.offers(action, aborted("shutdown"));
      run.stopping = false;
    }
    run.returns();
    expect(run.status).toBe("completed");
  });

  test("records what returned within the grace, and gives back what comes next", () => {
    const run = story("c1 c2");
    const action = run.begins();
    run.stopping = true;
    run.offers(action, returned());
    expect(run.lastKinds).toEqual(["step_completed", "parked"]);
    expect(run.row).toMatchObject({ claim: "free", dueAt: run.now });
  });

  test("does not enter a pivot that it will not begin", () => {
    const run = story("c1 P");
    const action = run.begins();
    run.stopping = true;
    run.offers(action, returned());
    expect(run.lastKinds).toEqual(["step_completed", "parked"]);
  });

  test("gives back a run whose next try has to wait for when that is due", () => {
    const run = story("c1");
    const action = run.begins();
    run.stopping = true;
    run.offers(action, threw.notNow);
    expect(run.lastKinds).toEqual(["attempt_failed", "parked"]);
    expect(run.row.dueAt).toBeGreaterThan(run.now);
  });

  test("records a definite failure of what it aborted, without counting it", () => {
    const run = story("c1");
    const action = run.begins();
    run.stopping = true;
    run.offers(action, aborted("shutdown", threw.notNow));
    expect(run.lastKinds).toEqual(["attempt_failed", "parked"]);
    expect(run.state.steps.c1).toMatchObject({ doubt: false, forward: { attempts: 0, failures: 1 } });
  });

  test("hands over a compensation, which is tried again", () => {
    const run = story("c1 c2").comesTo(returned(), threw.definitely);
    const action = run.begins();
    run.stopping = true;
    run.offers(action, aborted("shutdown", threw.definitely));
    expect(run.lastKinds).toEqual(["handed_over"]);
    run.stopping = false;
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do c2", "undo c1", "undo c1"]);
    expect(run.status).toBe("failed");
  });
});

const fast = { maxAttempts: 8, firstDelayMs: 0, maxDelayMs: 0, factor: 1 };
