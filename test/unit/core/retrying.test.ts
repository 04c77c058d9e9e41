// 1.6: budgets, crash loops, parking.

import { describe, expect, test } from "vitest";
import { defaultRetry, parkAfterMs, type RetryPolicy } from "../../../src/core/policies.js";
import { aborted, returned, type Story, story, threw } from "./story.js";

const times = (maxAttempts: number): RetryPolicy => ({ maxAttempts, firstDelayMs: 0, maxDelayMs: 0, factor: 1 });

function failing(run: Story, outcome = threw.notNow): Story {
  while (run.awaited().kind !== "ended") run.comesTo(run.state.rollback === undefined ? outcome : returned());
  return run;
}

describe("a budget", () => {
  test.for([1, 2, 3, 8])("ERR-8: maxAttempts %i is that many executions, numbered from 1", (maxAttempts) => {
    const run = failing(story("c1", { policies: { c1: { retry: times(maxAttempts) } } }));
    expect(run.begun).toHaveLength(maxAttempts);
    expect(run.rows.at(-1)!.entries[0]).toMatchObject({ kind: "step_failed", attempts: maxAttempts });
  });

  test("ERR-8: the default is 8 before the pivot, and none for the pivot, after it and for compensations", () => {
    expect(failing(story("c1")).begun).toHaveLength(8);
    for (const kind of ["pivot", "retriable", "compensation"] as const)
      expect(defaultRetry[kind].maxAttempts).toBe(Number.POSITIVE_INFINITY);
  });

  test("LSE-5: an attempt that timed out counts", () => {
    const run = story("c1", { policies: { c1: { retry: times(2) } } });
    run.comesTo(aborted("timeout"), aborted("timeout")).goesWell();
    expect(run.begun).toEqual(["do c1", "do c1", "undo c1"]);
  });

  test("an attempt whose body was never called uses up nothing, but the delay grows", () => {
    const run = story("c1", { policies: { c1: { retry: { ...defaultRetry.compensatable, maxAttempts: 2 } } } });
    run.comesTo(...Array.from({ length: 5 }, () => threw.neverCalled));
    expect(run.state.steps.c1!.forward).toMatchObject({ attempts: 0, failures: 5 });
    expect(run.state.steps.c1!.forward.retryAt - run.now).toBe(2_000);
  });

  test("a crash uses up one", () => {
    const run = story("c1", { policies: { c1: { retry: times(2) } } })
      .crashes(2)
      .goesWell();
    expect(run.begun).toEqual(["do c1", "do c1", "undo c1"]);
  });

  test("a takeover that may be the taker's own fault uses up none", () => {
    const run = story("c1", { policies: { c1: { retry: times(2) } } });
    for (let time = 0; time < 3; time += 1) {
      run.begins();
      run.takenUp(false);
    }
    expect(run.state.steps.c1).toMatchObject({ doubt: true, forward: { attempts: 0 } });
  });

  test("is reported as it is, when an owner is lost that had nothing left to try", () => {
    const run = story("c1", { policies: { c1: { retry: times(1) } } })
      .crashes()
      .takenUp();
    run.awaited();
    expect(run.state.steps.c1!.forward.attempts).toBe(1);
    expect(run.rows.flatMap(({ entries }) => entries)).toContainEqual(
      expect.objectContaining({ kind: "step_failed", attempts: 1 }),
    );
  });

  test("CMP-8: is counted per step and direction", () => {
    const run = story("c1 c2", {
      policies: { c1: { compensationRetry: times(3) }, c2: { retry: times(3) } },
    });
    run.comesTo(returned(), threw.notNow, threw.notNow, threw.notNow);
    run.comesTo(threw.notNow, threw.maybe, returned());
    expect(run.begun).toEqual(["do c1", "do c2", "do c2", "do c2", "undo c1", "undo c1", "undo c1"]);
    expect(run.status).toBe("failed");
  });
});

describe("a step that takes its process down", () => {
  test("PSN-1: ends after maxCrashes in a row where its attempts are unlimited", () => {
    const run = story("P r1", { maxCrashes: 3 }).returns().crashes(3).goesWell();
    expect(run.begun).toEqual(["do P", "do r1", "do r1", "do r1"]);
    expect(run.status).toBe("forward_incomplete");
    expect(run.state.failure!.error).toMatchObject({
      name: "CrashLoopError",
      code: "step.crash_loop",
      message: 'step "r1" took its process down, or lost it, 3 times in a row',
    });
  });

  test("keeps the error that its body threw before as the cause", () => {
    const run = story("P r1", { maxCrashes: 2 }).returns().comesTo(threw.notNow).crashes(2).goesWell();
    expect(run.state.failure!.error).toMatchObject({ name: "CrashLoopError", cause: { message: "no" } });
  });

  test("is told by its body's own error where that was the last word", () => {
    const run = story("P r1", { maxCrashes: 2 }).returns().crashes().comesTo(threw.definitely);
    expect(run.state.failure!.error).toEqual({ name: "Error", message: "no" });
  });

  test("has its crashes counted in a row only: a throw begins anew", () => {
    const run = story("P r1", { maxCrashes: 2 }).returns();
    for (let time = 0; time < 5; time += 1) run.crashes().comesTo(threw.notNow);
    run.goesWell();
    expect(run.status).toBe("completed");
  });

  test("PSN-3: begins anew with each step that is recorded", () => {
    const run = story("P r1 r2 r3", { maxCrashes: 2 });
    for (let step = 0; step < 4; step += 1) run.crashes().returns();
    expect(run.status).toBe("completed");
  });

  test("leaves an owed compensation when it is a compensation", () => {
    const run = story("c1 c2", { maxCrashes: 2 }).comesTo(returned(), threw.definitely).crashes(2).goesWell();
    expect(run.status).toBe("compensation_failed");
    expect(run.row.owed).toEqual(["c1"]);
  });

  test("ends the pivot in_doubt where it can't be asked about", () => {
    const run = story("P", { maxCrashes: 2 }).crashes(2).goesWell();
    expect(run.status).toBe("in_doubt");
  });
});

describe("a wait", () => {
  const waiting = (ms: number) => story("c1").comesTo({ ...threw.notNow, retryAfterMs: ms });

  test("under a second is spent in process", () => {
    const run = waiting(parkAfterMs - 1);
    expect(run.lastKinds).toEqual(["attempt_failed"]);
    expect(run.next()).toEqual({ kind: "wait", until: run.now + parkAfterMs - 1 });
    expect(run.status).toBe("running");
  });

  test("of a second or more parks the run, in the row of the failure", () => {
    const run = waiting(parkAfterMs);
    expect(run.lastKinds).toEqual(["attempt_failed", "parked"]);
    expect(run.row).toMatchObject({ status: "waiting", claim: "free", dueAt: run.now + parkAfterMs });
  });

  test("is not shortened by being claimed too early", () => {
    const run = waiting(60_000);
    const due = run.row.dueAt;
    run.now += 10_000;
    run.takenUp().next();
    expect(run.lastKinds).toEqual(["parked"]);
    expect(run.row.dueAt).toBe(due);
  });

  test("ends at the deadline, where that is sooner", () => {
    const run = story("c1", { deadlineAt: 1_030_000 }).comesTo({ ...threw.notNow, retryAfterMs: 60_000 });
    expect(run.row.dueAt).toBe(1_030_000);
  });
});
