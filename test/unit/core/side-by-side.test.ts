// 1.2, 1.5, 1.7: what runs at once: all of it counts when its owner is lost, and the saga turns only when none of it runs.

import { describe, expect, test } from "vitest";
import { whyStop } from "../../../src/core/abort.js";
import { decide } from "../../../src/core/decide.js";
import { record, settle } from "../../../src/core/record.js";
import { aborted, cannotTell, computed, returned, type Story, story, threw } from "./story.js";

const fast = { maxAttempts: 8, firstDelayMs: 0, maxDelayMs: 0, factor: 1 };
const once = { ...fast, maxAttempts: 1 };

/** With all of the pair in hand. */
function both(names: string, options: Parameters<typeof story>[1] = {}): Story {
  const run = story(names, options);
  while (run.hands.length < 2) {
    run.beginsAll();
    if (run.hands.length < 2) run.offers(run.hands[0]!, returned());
  }
  return run;
}

function stops(run: Story): (string | undefined)[] {
  return run.hands.map((action) => whyStop(run.state, run.state.owner!.token, action, run.context));
}

describe("steps side by side", () => {
  test("are begun together, and what follows begins only when both are done", () => {
    const run = both("c1|c2 c3");
    expect(run.begun).toEqual(["do c1", "do c2"]);
    run.ends("c2");
    expect(run.next()).toMatchObject({ kind: "wait" });
    run.ends("c1");
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do c2", "do c3"]);
  });

  test("are undone in the reverse order of the list, not of time", () => {
    const run = both("c1|c2 c3");
    run.ends("c2");
    run.ends("c1");
    run.comesTo(threw.definitely).goesWell();
    expect(run.begun.slice(3)).toEqual(["undo c2", "undo c1"]);
  });

  test("are each tried again while the other one goes on", () => {
    const run = both("c1|c2", { policies: { c1: { retry: fast } } });
    run.ends("c1", threw.notNow);
    expect(run.awaited()).toMatchObject({ kind: "run", step: "c1", attempt: 2 });
    run.goesBeside();
    expect(run.status).toBe("completed");
  });

  test("are waited for beside a backoff that would park the run alone", () => {
    const run = both("c1|c2");
    run.ends("c1", { ...threw.notNow, retryAfterMs: 60_000 });
    expect(run.lastKinds).toEqual(["attempt_failed"]);
    expect(run.next()).toEqual({ kind: "wait", until: run.now + 60_000 });
    run.ends("c2");
    expect(run.lastKinds).toEqual(["step_completed", "parked"]);
  });

  test("before the pivot hold the pivot up until both are done", () => {
    const run = both("c1|c2 P");
    run.ends("c1");
    expect(run.lastKinds).toEqual(["step_completed"]);
    run.ends("c2");
    expect(run.lastKinds).toEqual(["step_completed", "pivot_entered"]);
  });
});

describe("an owner that is lost with two bodies in hand", () => {
  test("leaves both in doubt, each with the attempt counted", () => {
    const run = both("c1|c2");
    run.takenUp();
    for (const name of ["c1", "c2"])
      expect(run.state.steps[name]).toMatchObject({ doubt: true, forward: { attempts: 1, crashes: 1 } });
    expect(run.row.crashes).toBe(1);
  });

  test("leaves only those in doubt that were not told of", () => {
    const run = both("c1|c2");
    run.ends("c2");
    run.takenUp();
    expect(run.state.steps).toMatchObject({ c1: { doubt: true }, c2: { doubt: false, forward: { attempts: 0 } } });
  });

  test("has both compensated when the saga turns back, the later one of the list first", () => {
    const run = both("c1|c2", { policies: { c1: { retry: once }, c2: { retry: once } } });
    run.takenUp();
    run.now += 100_000;
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do c2", "undo c2", "undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("counts crashes of a transactional one, which is never in doubt", () => {
    const run = both("c1t|c2");
    run.takenUp();
    expect(run.state.steps.c1t).toMatchObject({ doubt: false, forward: { crashes: 1 } });
    expect(run.state.steps.c2).toMatchObject({ doubt: true });
  });

  test("after an ask leaves in doubt what was still under way, and nothing else", () => {
    const run = both("c1|c2");
    run.cancelled();
    run.ends("c1", aborted("cancelled", threw.notNow));
    run.takenUp();
    expect(run.state.steps).toMatchObject({ c1: { doubt: false }, c2: { doubt: true } });
    run.now += 100_000;
    run.goesWell();
    expect(run.status).toBe("cancelled");
    expect(run.begun.slice(2)).toEqual(["undo c2"]);
  });

  test("after an operator's `retried` still has both in doubt", () => {
    const run = both("c1|c2");
    run.ends("c1", { ...threw.notNow, retryAfterMs: 60_000 });
    run.cancelled();
    run.retried();
    run.takenUp();
    expect(run.state.steps.c2).toMatchObject({ doubt: true });
  });
});

describe("an ask to stop while two run", () => {
  test("aborts both; the one that returns is recorded, and the turn waits for the other", () => {
    const run = both("c1|c2");
    expect(run.cancelled()).toMatchObject({ verdict: "cancelling" });
    expect(stops(run)).toEqual(["cancelled", "cancelled"]);
    run.ends("c1");
    expect(run.lastKinds).toEqual(["step_completed"]);
    expect(run.next()).toMatchObject({ kind: "wait" });
    run.ends("c2", aborted("cancelled"));
    expect(run.lastKinds).toEqual(["attempt_failed", "rollback_started"]);
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do c2", "undo c2", "undo c1"]);
    expect(run.status).toBe("cancelled");
  });

  test("wins over a last pair that both returned", () => {
    const run = both("c1|c2");
    run.cancelled();
    run.ends("c1");
    run.ends("c2");
    run.goesWell();
    expect(run.status).toBe("cancelled");
  });
});

describe("the deadline while two run", () => {
  test("aborts both, and the turn is written with the last of them", () => {
    const run = both("c1|c2 c3", { deadlineAt: 1_000_100 });
    expect(run.next()).toEqual({ kind: "wait", until: 1_000_100 });
    run.now += 100;
    expect(stops(run)).toEqual(["deadline", "deadline"]);
    run.ends("c1", aborted("deadline"));
    expect(run.lastKinds).toEqual(["attempt_failed"]);
    run.ends("c2");
    expect(run.lastKinds).toEqual(["step_completed", "rollback_started"]);
    run.goesWell();
    expect(run.status).toBe("timed_out");
    expect(run.begun.slice(2)).toEqual(["undo c2", "undo c1"]);
  });

  test("loses to a pair that was the last, when both returned within their grace", () => {
    const run = both("c1|c2", { deadlineAt: 1_000_100 });
    run.now += 200;
    run.ends("c1");
    run.ends("c2");
    expect(run.status).toBe("completed");
  });
});

describe("a step that fails beside another", () => {
  test("has the other aborted, and compensated when that left it in doubt", () => {
    const run = both("c1|c2 c3");
    run.ends("c1", threw.definitely);
    expect(run.lastKinds).toEqual(["step_failed"]);
    expect(stops(run)).toEqual(["sibling_failed"]);
    run.ends("c2", aborted("sibling_failed"));
    expect(run.lastKinds).toEqual(["attempt_failed", "rollback_started"]);
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do c2", "undo c2"]);
    expect(run.status).toBe("failed");
  });

  test("is the cause, whatever the other one comes to then", () => {
    const run = both("c1|c2");
    run.ends("c2", threw.definitely);
    run.ends("c1", threw.maybeForGood);
    expect(run.lastKinds).toEqual(["attempt_failed", "rollback_started"]);
    expect(run.state.failure).toMatchObject({ step: "c2" });
    expect(run.state.steps.c1).toMatchObject({ doubt: true });
    run.goesWell();
    expect(run.begun.slice(2)).toEqual(["undo c1"]);
  });

  test("has a transactional one beside it committed, then compensated", () => {
    const run = both("c1|c2t");
    run.ends("c1", threw.definitely);
    run.ends("c2t");
    run.goesWell();
    expect(run.begun.slice(2)).toEqual(["undo c2t"]);
  });

  test("beats a later ask: it is rolling back already, and nothing is tried again", () => {
    const run = both("c1|c2");
    run.ends("c1", threw.definitely);
    expect(run.cancelled()).toEqual({ verdict: "rolling_back", cause: "failure" });
    expect(run.retried()).toContain("nothing of it");
    expect(run.resolved("c1", "done")).toBeDefined();
    run.ends("c2", aborted("sibling_failed"));
    run.goesWell();
    expect(run.status).toBe("failed");
  });

  test("leaves the other one of a lost pair in doubt although it had failed", () => {
    const run = both("c1|c2");
    run.ends("c1", threw.definitely);
    run.takenUp();
    expect(run.state.steps).toMatchObject({ c1: { doubt: false }, c2: { doubt: true } });
    run.now += 100_000;
    run.goesWell();
    expect(run.begun.slice(2)).toEqual(["undo c2"]);
  });
});

describe("after the pivot", () => {
  test("a failure waits for the other one, then the run is an operator's", () => {
    const run = both("P r1|r2");
    run.ends("r1", threw.definitely);
    expect(stops(run)).toEqual(["sibling_failed"]);
    run.ends("r2", aborted("sibling_failed"));
    expect(run.lastKinds).toEqual(["attempt_failed", "finished"]);
    expect(run.status).toBe("forward_incomplete");
    run.retried();
    run.goesWell();
    expect(run.begun).toEqual(["do P", "do r1", "do r2", "do r1", "do r2"]);
    expect(run.status).toBe("completed");
  });

  test("an ask is refused also between a failure and the end that it brings", () => {
    const run = both("P r1|r2");
    run.ends("r1", threw.definitely);
    expect(run.cancelled()).toMatchObject({ verdict: "refused", pivot: "P" });
    run.ends("r2");
    expect(run.status).toBe("forward_incomplete");
  });

  test("what failed can be tried again, or settled, while the other one still runs", () => {
    const again = both("P r1|r2");
    again.ends("r1", threw.definitely);
    expect(again.retried()).toBeUndefined();
    expect(again.awaited()).toMatchObject({ kind: "run", step: "r1", attempt: 1 });
    again.goesBeside();
    expect(again.status).toBe("completed");
    const settled = both("P r1|r2");
    settled.ends("r1", threw.definitely);
    expect(settled.resolved("r1", "done")).toBeUndefined();
    settled.ends("r2");
    expect(settled.status).toBe("completed");
  });

  test("settling the other one leaves the failure as it was", () => {
    const run = both("P r1|r2");
    run.ends("r1", threw.definitely);
    run.ends("r2", aborted("sibling_failed"));
    expect(run.resolved("r2", "done")).toBeUndefined();
    run.awaited();
    expect(run.status).toBe("forward_incomplete");
    expect(run.state.failure).toMatchObject({ step: "r1" });
    expect(run.resolved("r1", "done")).toBeUndefined();
    run.goesWell();
    expect(run.status).toBe("completed");
  });

  test("what an operator settled while it ran ends before anything else begins", () => {
    const run = both("P r1|r2 r3", { policies: { r1: { retry: fast } } });
    run.ends("r1", threw.maybe);
    run.begins();
    expect(run.resolved("r1", "done")).toBeUndefined();
    run.ends("r2");
    expect(run.next()).toMatchObject({ kind: "wait" });
    expect(stops(run)).toEqual(["resolved"]);
    expect(run.ends("r1")).toBe(false);
    run.goesWell();
    expect(run.begun.at(-1)).toBe("do r3");
  });

  test("a last pair of which one was settled while it ran ends when that one has ended", () => {
    const run = both("P r1|r2", { policies: { r1: { retry: fast } } });
    run.ends("r1", threw.maybe);
    run.begins();
    run.resolved("r1", "done");
    run.ends("r2");
    expect(run.lastKinds).toEqual(["step_completed"]);
    run.ends("r1");
    run.awaited();
    expect(run.lastKinds).toEqual(["finished"]);
  });
});

describe("a worker that stops with two bodies in hand", () => {
  const stopping = (names: string, options: Parameters<typeof story>[1] = {}): Story => {
    const run = both(names, options);
    run.stopping = true;
    return run;
  };

  test("hands the run over with the last of them: what was given up is in doubt, what returned is done", () => {
    const run = stopping("c1|c2");
    expect(run.ends("c1", aborted("shutdown"))).toBe(false);
    run.ends("c2");
    expect(run.lastKinds).toEqual(["step_completed", "handed_over"]);
    expect(run.state.steps).toMatchObject({
      c1: { doubt: true, forward: { attempts: 0, interrupted: true } },
      c2: { doubt: false, done: {} },
    });
    run.stopping = false;
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do c2", "do c1"]);
  });

  test("leaves no doubt about what failed without having happened, nor about what would have been next", () => {
    const failed = stopping("c1|c2");
    failed.ends("c1", aborted("shutdown"));
    failed.ends("c2", threw.notNow);
    expect(failed.lastKinds).toEqual(["attempt_failed", "handed_over"]);
    expect(failed.state.steps.c2).toMatchObject({ doubt: false, forward: { attempts: 1, interrupted: false } });
  });

  test("gives both up in one hand-over", () => {
    const run = stopping("c1|c2");
    run.ends("c1", aborted("shutdown"));
    run.ends("c2", aborted("shutdown"));
    expect(run.lastKinds).toEqual(["handed_over"]);
    expect(run.state.steps).toMatchObject({ c1: { doubt: true }, c2: { doubt: true } });
  });

  test("never parks beside a body that it was given up with: an ask that was aborted says nothing", () => {
    const options = { policies: { c1: { maxAsks: 2, retry: fast } } };
    const asking = (): Story => {
      const run = both("c1|c2", options);
      run.ends("c1", threw.maybe);
      run.begins();
      run.stopping = true;
      return run;
    };
    const first = asking();
    expect(first.ends("c1", aborted("shutdown"))).toBe(false);
    first.ends("c2");
    expect(first.lastKinds).toEqual(["step_completed", "parked"]);
    const last = asking();
    last.ends("c2", aborted("shutdown"));
    last.ends("c1", aborted("shutdown"));
    expect(last.lastKinds).toEqual(["handed_over"]);
    expect(last.state.steps).toMatchObject({ c1: { doubt: true }, c2: { doubt: true } });
    const told = asking();
    told.ends("c1", cannotTell);
    told.ends("c2", aborted("shutdown"));
    expect(told.lastKinds).toEqual(["handed_over"]);
  });

  test("leaves a failure beside what it gave up to its next owner", () => {
    const run = stopping("c1|c2");
    run.ends("c1", aborted("shutdown"));
    run.ends("c2", threw.definitely);
    expect(run.lastKinds).toEqual(["step_failed", "handed_over"]);
    run.stopping = false;
    run.takenUp();
    run.now += 100_000;
    run.goesWell();
    expect(run.begun.slice(2)).toEqual(["undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("parks when both returned, and begins nothing more", () => {
    const run = stopping("c1|c2 c3");
    run.ends("c1");
    run.ends("c2");
    expect(run.lastKinds).toEqual(["step_completed", "parked"]);
    expect(run.row.dueAt).toBe(run.now);
  });
});

test("an outcome that became void beside another body writes nothing, and the other goes on", () => {
  const run = both("P r1|r2", { policies: { r2: { retry: fast } } });
  run.ends("r2", threw.maybe);
  run.begins();
  run.resolved("r2", "done");
  expect(run.ends("r2", threw.definitely)).toBe(false);
  run.ends("r1");
  expect(run.status).toBe("completed");
});

test("a sleep and a wait run beside a step, and the first of them that is due wakes the run", () => {
  const run = story("z|w|c1");
  run.comesTo(computed.for(60_000), { ...threw.notNow, retryAfterMs: 90_000 });
  expect(run.row).toMatchObject({ status: "waiting", dueAt: run.now + 60_000 });
  run.sent("w");
  expect(run.row.dueAt).toBe(run.now);
  run.comesTo(computed.payload());
  expect(run.row.dueAt).toBe(run.now + 60_000);
  run.goesWell();
  expect(run.status).toBe("completed");
});

test("a compensation that a retry put before the one in hand waits for that one to end", () => {
  const run = story("c1 c2 c3").comesTo(returned(), returned(), threw.definitely, threw.definitely);
  run.begins();
  expect(run.retried()).toBeUndefined();
  expect(run.next()).toMatchObject({ kind: "wait" });
  run.ends("c1");
  run.goesWell();
  expect(run.begun.slice(3)).toEqual(["undo c2", "undo c1", "undo c2"]);
  expect(run.status).toBe("failed");
});

test("an owner that does not say what it has in hand has nothing", () => {
  const run = both("c1|c2");
  const { busy: _busy, children: _children, givenUp: _givenUp, ...context } = run.context;
  expect(decide(run.shape, run.state, context)).toMatchObject({ kind: "run", step: "c1" });
  expect(settle(run.shape, run.state, [], context)).toEqual([]);
  const [action] = run.hands;
  expect(record(run.shape, run.state, action!, aborted("shutdown"), context)).toMatchObject([{ kind: "handed_over" }]);
  const asking = both("c1|c2", { policies: { c1: { maxAsks: 2, retry: fast } } });
  asking.ends("c1", threw.maybe);
  const ask = asking.begins();
  expect(record(asking.shape, asking.state, ask, aborted("shutdown"), context)).toMatchObject([{ kind: "parked" }]);
  const back = story("c1 c2").comesTo(returned(), threw.definitely);
  expect(decide(back.shape, back.state, { now: back.now, policies: back.policies })).toMatchObject({ kind: "run" });
});
