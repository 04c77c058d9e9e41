// 1.4: what an operator may retry and settle, and what that comes to.

import { describe, expect, test } from "vitest";
import { aborted, returned, Story, type StoryOptions, story, threw } from "./story.js";

const once = { maxAttempts: 1, firstDelayMs: 0, maxDelayMs: 0, factor: 1 };
const owing: StoryOptions = { policies: { c1: { compensationRetry: once }, c2: { compensationRetry: once } } };

/** [c1 c2 c3]: c3 failed, and both compensations did. */
const owed = () =>
  story("c1 c2 c3", owing).comesTo(returned(), returned(), threw.definitely, threw.definitely, threw.definitely);
const forwardIncomplete = () => story("c1 P r1 r2").comesTo(returned(), returned(), threw.definitely);
const inDoubt = (maxAsks = 0) =>
  story("c1 P r1", { policies: { P: { retry: once, maxAsks } } }).comesTo(returned(), threw.maybe);

describe("retry", () => {
  test("tries what failed after the pivot again, with a fresh budget", () => {
    const run = forwardIncomplete();
    expect(run.retried()).toBeUndefined();
    expect(run.row).toMatchObject({ status: "running", claim: "free", dueAt: run.now });
    run.goesWell();
    expect(run.status).toBe("completed");
  });

  test("tries failed compensations again, last one first, and the clean word follows", () => {
    const run = owed();
    expect(run.row.owed).toEqual(["c2", "c1"]);
    run.retried();
    expect(run.status).toBe("compensating");
    run.goesWell();
    expect(run.begun.slice(-2)).toEqual(["undo c2", "undo c1"]);
    expect(run.status).toBe("failed");
    expect(run.state.failure!.step).toBe("c3");
  });

  test("asks about a pivot in doubt, then tries it under a fresh budget", () => {
    const run = inDoubt(1).comesTo({ kind: "answered", answer: "cannot_tell" });
    expect(run.status).toBe("in_doubt");
    run.retried();
    run.comesTo({ kind: "answered", answer: "not_happened" }, returned()).goesWell();
    expect(run.begun).toEqual(["do c1", "do P", "ask P", "ask P", "do P", "do r1"]);
    expect(run.status).toBe("completed");
  });

  test("tries a pivot in doubt again where nobody can be asked; it stays in doubt", () => {
    const run = inDoubt();
    run.retried();
    run.comesTo(threw.definitely);
    expect(run.status).toBe("in_doubt");
  });

  test("means now, on a parked run in backoff", () => {
    const run = story("c1").comesTo({ ...threw.notNow, retryAfterMs: 60_000 });
    expect(run.retried()).toBeUndefined();
    expect(run.row.dueAt).toBe(run.now);
    run.takenUp();
    expect(run.next()).toMatchObject({ kind: "run", attempt: 1 });
  });

  test("means now, on a run whose owner sleeps through a short backoff", () => {
    const run = story("c1").comesTo({ ...threw.notNow, retryAfterMs: 500 });
    expect(run.next()).toMatchObject({ kind: "wait" });
    run.retried();
    expect(run.next()).toMatchObject({ kind: "run" });
  });

  test("means now, on a compensation in backoff, and on an ask before it", () => {
    const undoing = story("c1 c2").comesTo(returned(), threw.definitely, { ...threw.notNow, retryAfterMs: 60_000 });
    expect(undoing.retried()).toBeUndefined();
    const asking = story("c1", { policies: { c1: { retry: once, maxAsks: 8 } } });
    asking.comesTo(threw.maybe, { ...threw.maybe, retryAfterMs: 60_000 });
    expect(asking.retried()).toBeUndefined();
    expect(asking.row.dueAt).toBe(asking.now);
  });

  test("during a rollback tries a failed compensation again without waiting for the others", () => {
    const run = story("c1 c2 c3", owing).comesTo(returned(), returned(), threw.definitely, threw.definitely);
    const action = run.begins();
    expect(run.retried()).toBeUndefined();
    run.offers(action, returned());
    run.goesWell();
    expect(run.begun.slice(3)).toEqual(["undo c2", "undo c1", "undo c2"]);
    expect(run.status).toBe("failed");
  });

  test("during a rollback leaves the compensation under way charged for, should its owner be lost", () => {
    const run = story("c1 c2 c3", owing).comesTo(returned(), returned(), threw.definitely, threw.definitely);
    run.begins();
    run.retried();
    run.takenUp();
    run.goesWell();
    expect(run.begun.slice(3)).toEqual(["undo c2", "undo c1"]);
    expect(run.row).toMatchObject({ status: "compensation_failed", owed: ["c2", "c1"] });
    const twice = story("c1 c2 c3").comesTo(returned(), returned(), threw.definitely, threw.definitely);
    twice.begins();
    twice.retried();
    twice.retried();
    expect(twice.takenUp().state.steps).toMatchObject({ c1: { undo: { attempts: 1 } }, c2: { undo: { attempts: 1 } } });
  });

  test("keeps what the rolling back saga knows of the step that failed in doubt", () => {
    const run = story("c1", { policies: { c1: { retry: once } } }).comesTo(threw.maybe, threw.definitely);
    expect(run.status).toBe("compensation_failed");
    run.retried();
    expect(run.state.steps.c1).toMatchObject({ doubt: true, failed: "in_doubt" });
    run.goesWell();
    expect(run.status).toBe("failed");
  });

  test.for(["completed", "failed", "cancelled", "timed_out"])("is refused on a run that ended %s", (status) => {
    const run = new Story("c1", { deadlineAt: 1_000_000 + (status === "timed_out" ? 0 : 1) });
    if (status === "cancelled") run.cancelled();
    else if (status === "timed_out") run.takenUp().next();
    else run.takenUp().comesTo(status === "completed" ? returned() : threw.definitely);
    expect(run.status).toBe(status);
    expect(run.retried()).toMatch(`it ended ${status}, which is consistent`);
  });

  test("a run that was given back, though nothing of it failed, is due now", () => {
    const run = story("c1");
    run.append([{ kind: "parked", until: run.now + 60_000 }]).retried();
    expect(run.lastKinds).toEqual(["retried"]);
    expect(run.row.dueAt).toBeLessThanOrEqual(run.now);
    // It is due as it is.
    const due = story("c1");
    expect(due.append([{ kind: "parked", until: due.now }]).retried()).toMatch("nothing of it has failed");
  });

  test("is refused where nothing has failed and nothing waits", () => {
    expect(new Story("c1").retried()).toMatch("nothing of it has failed");
    expect(story("c1 c2").returns().retried()).toMatch("nothing of it has failed");
    const rollingBack = story("c1 c2").comesTo(returned(), threw.definitely);
    expect(rollingBack.retried()).toMatch("nothing of it has failed");
  });

  test("is refused once an operator said that the pivot did not happen", () => {
    const run = story("P").comesTo({ ...threw.maybe, retryAfterMs: 500 });
    run.resolved("P", "not_done");
    expect(run.retried()).toMatch("nothing of it has failed");
  });

  test("keeps an ask that won before it", () => {
    const run = story("c1").comesTo({ ...threw.notNow, retryAfterMs: 500 });
    run.cancelled();
    run.retried();
    run.goesWell();
    expect(run.status).toBe("cancelled");
  });
});

describe("resolve as done", () => {
  test("a pivot in doubt goes forward with the operator's output", () => {
    const run = inDoubt();
    expect(run.resolved("P", "done")).toBeUndefined();
    expect(run.state.steps.P!.done!.output!.text).toBe("by hand");
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do P", "do r1"]);
    expect(run.status).toBe("completed");
  });

  test("a step after the pivot that failed is done", () => {
    const run = forwardIncomplete();
    run.resolved("r1", "done");
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do P", "do r1", "do r2"]);
    expect(run.status).toBe("completed");
  });

  test("while it is being retried, its late outcome is dropped", () => {
    const run = story("P r1 r2").comesTo(returned(), threw.maybe);
    const action = run.begins();
    expect(run.resolved("r1", "done")).toBeUndefined();
    expect(run.offers(action, threw.maybe)).toBe(false);
    expect(run.offers(action, returned("late"))).toBe(false);
    run.goesWell();
    expect(run.state.steps.r1!.done!.output!.text).toBe("by hand");
    expect(run.status).toBe("completed");
  });

  test("the last step of a parked run: whoever takes it up ends it", () => {
    const run = story("P").comesTo({ ...threw.maybe, retryAfterMs: 60_000 });
    run.resolved("P", "done");
    expect(run.row).toMatchObject({ status: "running", claim: "free", dueAt: run.now });
    run.goesWell();
    expect(run.begun).toEqual(["do P"]);
    expect(run.status).toBe("completed");
  });
});

describe("resolve as not_done", () => {
  test("a pivot in doubt rolls back, and the turn is in the operator's row", () => {
    const run = inDoubt();
    expect(run.resolved("P", "not_done")).toBeUndefined();
    expect(run.lastKinds).toEqual(["resolved", "rollback_started"]);
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do P", "undo c1"]);
    expect(run.status).toBe("failed");
    expect(run.state.failure).toEqual({ step: "P", error: { name: "Error", message: "no" } });
  });

  test("ends the run at once where there is nothing to undo", () => {
    const run = story("P", { policies: { P: { retry: once } } }).comesTo(threw.maybe);
    run.resolved("P", "not_done");
    expect(run.lastKinds).toEqual(["resolved", "rollback_started", "finished"]);
    expect(run.status).toBe("failed");
  });

  test("leaves the turn to an owner that drives the run", () => {
    const run = story("c1 P").comesTo(returned(), threw.maybe);
    const action = run.begins();
    run.resolved("P", "not_done");
    expect(run.lastKinds).toEqual(["resolved"]);
    expect(run.offers(action, threw.maybe)).toBe(false);
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do P", "do P", "undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("names the operator as the error where no attempt said anything", () => {
    const run = story("c1 P").returns().crashes();
    run.resolved("P", "not_done");
    expect(run.state.failure!.error).toEqual({
      name: "ResolvedByOperator",
      message: "ana said that it did not happen",
    });
  });

  test("can't be taken back before the turn", () => {
    const run = story("P").comesTo(threw.maybe);
    run.resolved("P", "not_done");
    expect(run.resolved("P", "done")).toMatch("about to roll back");
    expect(run.resolved("P", "not_done")).toMatch("about to roll back");
  });
});

describe("resolve as undone", () => {
  test("with nothing else owed the run ends by its cause, in the operator's row", () => {
    const run = story("c1 c2", owing).comesTo(returned(), threw.definitely, threw.definitely);
    expect(run.status).toBe("compensation_failed");
    expect(run.resolved("c1", "undone")).toBeUndefined();
    expect(run.lastKinds).toEqual(["resolved", "finished"]);
    expect(run.row).toMatchObject({ status: "failed", owed: [] });
  });

  test("with more owed it stays compensation_failed, and names what is left", () => {
    const run = owed();
    run.resolved("c2", "undone");
    expect(run.row).toMatchObject({ status: "compensation_failed", owed: ["c1"] });
    run.resolved("c1", "undone");
    expect(run.status).toBe("failed");
  });

  test("keeps the cause of a cancelled run", () => {
    const run = story("c1 c2", owing).returns();
    run.cancelled();
    run.comesTo(threw.definitely);
    run.resolved("c1", "undone");
    expect(run.status).toBe("cancelled");
  });

  test("while the compensation is being tried, its late outcome is dropped and the rollback goes on", () => {
    const run = story("c1 c2 c3").comesTo(returned(), returned(), threw.definitely, threw.maybe);
    const action = run.begins();
    expect(run.resolved("c2", "undone")).toBeUndefined();
    expect(run.offers(action, threw.maybe)).toBe(false);
    run.goesWell();
    expect(run.begun.slice(3)).toEqual(["undo c2", "undo c2", "undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("on a parked rollback with more to undo leaves the rest to whoever takes it up", () => {
    const run = story("c1 c2 c3").comesTo(returned(), returned(), threw.definitely);
    run.comesTo({ ...threw.notNow, retryAfterMs: 60_000 });
    run.resolved("c2", "undone");
    expect(run.lastKinds).toEqual(["resolved"]);
    expect(run.row.dueAt).toBe(run.now);
    run.goesWell();
    expect(run.status).toBe("failed");
  });
});

describe("resolve is refused", () => {
  test("for a step that the saga does not have, and says which it has", () => {
    expect(story("c1 P").resolved("c9", "done")).toBe('the saga has no step "c9"; its steps are c1, P');
  });

  test("for a step before the pivot, unless its compensation is owed", () => {
    const run = story("c1 P").comesTo(threw.maybe);
    expect(run.resolved("c1", "done")).toMatch("settles itself");
    expect(run.resolved("c1", "undone")).toMatch("no compensation");
  });

  test("as not_done for what is no pivot", () => {
    expect(forwardIncomplete().resolved("r1", "not_done")).toBe("only a pivot can be settled as not_done");
  });

  test("as undone for what is undone already", () => {
    const run = story("c1 c2 c3", owing).comesTo(returned(), returned(), threw.definitely, returned());
    expect(run.resolved("c2", "undone")).toMatch("no compensation");
  });

  test("for a step that has not begun, or is at its first attempt", () => {
    expect(story("c1 P").resolved("P", "done")).toMatch("neither failed nor is it being retried");
    const atPivot = story("c1 P").returns();
    atPivot.begins();
    expect(atPivot.resolved("P", "done")).toMatch("neither failed nor is it being retried");
    expect(story("P r1").returns().resolved("r1", "done")).toMatch("neither failed");
  });

  test("for a step that is done, and for a saga that is rolling back", () => {
    expect(story("P r1").returns().resolved("P", "done")).toBe('"P" is done');
    const run = story("c1 P").comesTo(returned(), threw.definitely);
    expect(run.resolved("P", "done")).toBe("the saga is rolling back");
  });
});

test("a pivot whose attempts used up nothing can be settled: it was handed over, or never called", () => {
  const handedOver = story("P");
  handedOver.offers(handedOver.begins(), aborted("shutdown"));
  expect(handedOver.resolved("P", "done")).toBeUndefined();
  expect(story("P").comesTo(threw.neverCalled).resolved("P", "done")).toBeUndefined();
});
