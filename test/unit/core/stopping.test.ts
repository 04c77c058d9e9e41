// 1.7: what `requestCancel` answers, row by row of its table, and that the answer holds.

import { describe, expect, test } from "vitest";
import { aborted, returned, Story, story, threw } from "./story.js";

describe("cancelled: not driven, and nothing to undo", () => {
  test("CXL-6: a run that nobody has claimed ends at once, in the row of the ask", () => {
    const run = new Story("c1 P");
    expect(run.cancelled()).toEqual({ verdict: "cancelled", requestedAt: run.now });
    expect(run.lastKinds).toEqual(["cancel_requested", "finished"]);
    expect(run.row).toMatchObject({ status: "cancelled", claim: "ended", cancelRequestedAt: run.now });
  });

  test("a parked run whose steps need no undoing ends at once", () => {
    const run = story("c1n c2").comesTo(returned(), { ...threw.neverCalled, retryAfterMs: 60_000 });
    expect(run.cancelled()).toMatchObject({ verdict: "cancelled" });
    expect(run.begun).toEqual(["do c1n", "do c2"]);
  });
});

describe("cancelling: before the pivot", () => {
  test("CXL-5: a parked run that has something to undo is due at once, undone, and ends cancelled", () => {
    const run = story("c1 c2").comesTo(returned(), { ...threw.neverCalled, retryAfterMs: 86_400_000 });
    expect(run.cancelled()).toMatchObject({ verdict: "cancelling", requestedAt: run.now });
    expect(run.row.dueAt).toBe(run.now);
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do c2", "undo c1"]);
    expect(run.status).toBe("cancelled");
  });

  test("CMP-3: no step in backoff is tried again once the ask is in", () => {
    const run = story("c1 c2").comesTo(returned(), { ...threw.maybe, retryAfterMs: 5_000 });
    run.now += 2_000;
    expect(run.cancelled()).toMatchObject({ verdict: "cancelling" });
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do c2", "undo c2", "undo c1"]);
    expect(run.status).toBe("cancelled");
  });

  test("a step that returns after the ask is recorded, then compensated", () => {
    const run = story("c1 c2");
    const action = run.begins();
    run.cancelled();
    run.offers(action, returned());
    expect(run.lastKinds).toEqual(["step_completed", "rollback_started"]);
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "undo c1"]);
    expect(run.status).toBe("cancelled");
  });

  test("CXL-8: a step that was aborted may have happened, is compensated, and used up no attempt", () => {
    const run = story("c1");
    const action = run.begins();
    run.cancelled();
    run.offers(action, aborted("cancelled"));
    expect(run.lastKinds).toEqual(["attempt_failed", "rollback_started"]);
    expect(run.state.steps.c1).toMatchObject({ doubt: true, forward: { attempts: 0 } });
    run.goesWell();
    expect(run.status).toBe("cancelled");
  });

  test("keeps who asked, and why", () => {
    const run = story("c1");
    run.begins();
    run.cancelled("ana", "customer called");
    expect(run.state.cancel).toEqual({ by: "ana", reason: "customer called", at: run.now });
  });

  test("the ask is the cause, whatever the step that it aborted says, and however late the deadline", () => {
    const run = story("c1 c2", { deadlineAt: 1_000_500 }).returns();
    const action = run.begins();
    run.cancelled();
    run.now += 1_000;
    run.offers(action, threw.definitely);
    expect(run.state.rollback).toBe("cancel");
    run.goesWell();
    expect(run.status).toBe("cancelled");
  });

  test("the ask beats a failure that its owner has not recorded", () => {
    const run = story("c1", { policies: { c1: { retry: { ...fast, maxAttempts: 1 } } } });
    run.begins();
    run.cancelled();
    run.takenUp().goesWell();
    expect(run.status).toBe("cancelled");
  });

  test("CXL-4: an ask that comes before the pivot's entry keeps the pivot from starting", () => {
    const run = story("c1 P");
    const action = run.begins();
    expect(run.cancelled()).toMatchObject({ verdict: "cancelling" });
    run.offers(action, returned());
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "undo c1"]);
    expect(run.row.cancelRefusedAt).toBeUndefined();
  });

  test("CXL-11: asking again answers the same, is recorded, and moves no stamp", () => {
    const run = story("c1 c2").returns();
    run.begins();
    const requestedAt = run.now;
    for (const by of ["ana", "bo", "cy"]) {
      expect(run.cancelled(by)).toEqual({ verdict: "cancelling", requestedAt });
      run.now += 1_000;
    }
    expect(run.state.cancel).toMatchObject({ by: "ana", at: requestedAt });
    expect(run.rows.filter(({ entries }) => entries[0]!.kind === "cancel_requested")).toHaveLength(3);
    run.takenUp().goesWell();
    expect(run.rows.flatMap(({ entries }) => entries).filter(({ kind }) => kind === "rollback_started")).toHaveLength(
      1,
    );
    expect(run.cancelled()).toEqual({ verdict: "finished", status: "cancelled" });
  });

  test("asking again once it turned back for the ask is still cancelling", () => {
    const run = story("c1 c2").returns();
    run.cancelled();
    run.next();
    expect(run.cancelled("bo")).toMatchObject({ verdict: "cancelling" });
  });

  test("ends compensation_failed where a compensation fails for good", () => {
    const run = story("c1 c2").returns();
    run.cancelled();
    run.comesTo(threw.definitely);
    expect(run.status).toBe("compensation_failed");
  });
});

describe("refused: the pivot is entered", () => {
  test("CXL-4: an ask that comes after the pivot's entry is refused, stamped, and the saga completes", () => {
    const run = story("c1 P r1").returns();
    run.begins();
    const refusedAt = run.now;
    expect(run.cancelled()).toEqual({ verdict: "refused", pivot: "P", refusedAt });
    run.now += 1_000;
    expect(run.cancelled()).toEqual({ verdict: "refused", pivot: "P", refusedAt });
    run.takenUp().goesWell();
    expect(run.status).toBe("completed");
    expect(run.row).toMatchObject({ cancelRefusedAt: refusedAt });
    expect(run.row.cancelRequestedAt).toBeUndefined();
  });

  test("a pivot that refused an ask and then definitely fails ends failed, the stamp kept", () => {
    const run = story("c1 P").returns();
    const action = run.begins();
    run.cancelled();
    run.offers(action, threw.definitely);
    run.goesWell();
    expect(run.status).toBe("failed");
    expect(run.row.cancelRefusedAt).toBeDefined();
  });

  test("a transactional pivot refuses only once it has committed", () => {
    const run = story("Pt r1");
    run.begins();
    expect(run.cancelled()).toMatchObject({ verdict: "cancelling" });
    const committed = story("Pt r1").returns();
    expect(committed.cancelled()).toMatchObject({ verdict: "refused", pivot: "Pt" });
  });
});

describe("rolling_back: for another cause", () => {
  test("is recorded, and the cause stays", () => {
    const run = story("c1 c2").comesTo(returned(), threw.definitely);
    expect(run.cancelled()).toEqual({ verdict: "rolling_back", cause: "failure" });
    expect(run.row.cancelRequestedAt).toBe(run.now);
    run.goesWell();
    expect(run.status).toBe("failed");
  });

  test("after the deadline as well", () => {
    const run = story("c1 c2", { deadlineAt: 1_000_001 }).returns();
    run.now += 10;
    run.next();
    expect(run.cancelled()).toEqual({ verdict: "rolling_back", cause: "deadline" });
    run.goesWell();
    expect(run.status).toBe("timed_out");
  });

  test("also while the owner has yet to turn, because an operator said that the pivot did not happen", () => {
    const run = story("c1 P").comesTo(returned(), threw.maybe);
    expect(run.resolved("P", "not_done")).toBeUndefined();
    expect(run.cancelled()).toEqual({ verdict: "rolling_back", cause: "failure" });
    run.goesWell();
    expect(run.status).toBe("failed");
  });
});

describe("finished", () => {
  test("CXL-3: nothing is written and nothing is stamped", () => {
    const completed = story("c1").returns();
    const failed = story("c1").comesTo(threw.definitely);
    for (const run of [completed, failed]) {
      const rows = run.rows.length;
      expect(run.cancelled()).toEqual({ verdict: "finished", status: run.status });
      expect(run.rows).toHaveLength(rows);
      expect(run.row.cancelRequestedAt).toBeUndefined();
      expect(run.row.cancelRefusedAt).toBeUndefined();
    }
  });

  test("CXL-1: the last step's row and an ask want one number, and only one gets it", () => {
    const asked = story("c1");
    const action = asked.begins();
    expect(asked.cancelled()).toMatchObject({ verdict: "cancelling" });
    asked.offers(action, returned());
    asked.goesWell();
    expect(asked.status).toBe("cancelled");
    const recorded = story("c1").returns();
    expect(recorded.cancelled()).toEqual({ verdict: "finished", status: "completed" });
  });
});

const fast = { maxAttempts: 8, firstDelayMs: 0, maxDelayMs: 0, factor: 1 };
