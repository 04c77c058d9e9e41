// 1.3: what is decided once and recorded: how long a sleep lasts, and whether a conditional step runs at all.

import { describe, expect, test } from "vitest";
import { farFuture } from "../../../src/core/entry.js";
import { isWaiting } from "../../../src/core/units.js";
import { aborted, computed, returned, story, threw } from "./story.js";

const hour = 3_600_000;

describe("a sleep", () => {
  test("parks the run until the instant that was recorded, then the saga goes on", () => {
    const run = story("z1 c1").comesTo(computed.for(hour));
    expect(run.lastKinds).toEqual(["timer_started", "parked"]);
    expect(run.row).toMatchObject({ status: "waiting", dueAt: run.now + hour });
    const { now } = run;
    run.goesWell();
    expect(run.now).toBe(now + hour);
    expect(run.begun).toEqual(["compute for of z1", "do c1"]);
    expect(run.status).toBe("completed");
  });

  test("keeps its instant over a crash, and leaves nothing in doubt", () => {
    const run = story("z1 c1").comesTo(computed.for(500));
    const until = run.now + 500;
    run.now += 100;
    run.takenUp();
    expect(run.state.steps.z1).toMatchObject({ waitUntil: until, doubt: false, forward: { attempts: 0 } });
    expect(run.next()).toEqual({ kind: "wait", until });
  });

  test("of no length, or less, is over at once; one past the end of time lasts until then", () => {
    expect(story("z1 c1").comesTo(computed.for(-5)).lastKinds).toEqual(["timer_started", "timer_fired"]);
    const endless = story("z1").comesTo(computed.for(Number.POSITIVE_INFINITY));
    expect(endless.row.dueAt).toBe(farFuture);
  });

  test("ends the saga with its own row when it is the last element", () => {
    const run = story("c1 z1").comesTo(returned(), computed.for(hour));
    run.now += hour;
    run.takenUp().next();
    expect(run.lastKinds).toEqual(["timer_fired", "finished"]);
  });

  test("is over before the deadline decides only if it woke before", () => {
    const run = story("c1 z1 c2", { deadlineAt: 1_000_000 + hour }).comesTo(returned(), computed.for(2 * hour));
    expect(run.row.dueAt).toBe(1_000_000 + hour);
    run.goesWell();
    expect(run.status).toBe("timed_out");
    expect(run.begun).toEqual(["do c1", "compute for of z1", "undo c1"]);
  });

  test("is cancelled at once where nothing was done yet, and is not tried again: nothing of it failed", () => {
    const run = story("z1 c1").comesTo(computed.for(hour));
    expect(run.retried()).toContain("nothing of it has failed");
    expect(run.cancelled()).toMatchObject({ verdict: "cancelled" });
  });
});

describe("what is computed", () => {
  test("is tried again when it throws, with the step's own budget, and then fails the step definitely", () => {
    const once = { retry: { maxAttempts: 2, firstDelayMs: 0, maxDelayMs: 0, factor: 1 } };
    const run = story("c1 z1", { policies: { z1: once } }).comesTo(returned(), threw.maybe);
    expect(run.lastEntry).toMatchObject({ kind: "attempt_failed", doubt: false });
    run.comesTo(threw.maybe);
    expect(run.rows.at(-1)!.entries[0]).toMatchObject({ kind: "step_failed", attempts: 2, doubt: "definite" });
    run.goesWell();
    expect(run.begun.at(-1)).toBe("undo c1");
  });

  test("leaves a fresh budget to what comes after it", () => {
    const run = story("c1i").comesTo(threw.notNow, computed.holds);
    expect(run.state.steps.c1i!.forward.attempts).toBe(0);
  });

  test("counts as an attempt, without doubt, when it takes its process down; and as none when it was handed over", () => {
    const run = story("z1").crashes();
    expect(run.state.steps.z1).toMatchObject({ doubt: false, forward: { attempts: 1, crashes: 1 } });
    run.begins();
    run.takenUp(false);
    expect(run.state.steps.z1).toMatchObject({ doubt: false, forward: { attempts: 1, interrupted: false } });
  });

  test("ends a crash loop definitely", () => {
    const twice = { retry: { maxAttempts: 2, firstDelayMs: 0, maxDelayMs: 0, factor: 1 } };
    const run = story("z1", { policies: { z1: twice } }).crashes(2);
    run.awaited();
    expect(run.status).toBe("failed");
    expect(run.begun).toEqual(["compute for of z1", "compute for of z1"]);
  });

  test("counts the crashes of a conditional wait's condition as well", () => {
    const run = story("wi").crashes();
    expect(isWaiting({ ...run.shape.steps[0]! }, run.state)).toBe(false);
    expect(run.state.steps.wi!.forward.crashes).toBe(1);
  });

  test("is dropped when the saga was told to stop meanwhile: nothing more is begun", () => {
    const asked = story("c1 k1").returns();
    const action = asked.begins();
    asked.cancelled();
    asked.offers(action, computed.child());
    expect(asked.lastKinds).toEqual(["rollback_started"]);
    const late = story("c1 k1", { deadlineAt: 1_000_010 }).returns();
    const input = late.begins();
    late.now += 10;
    late.offers(input, computed.child());
    expect(late.lastKinds).toEqual(["rollback_started"]);
  });

  test("is nobody's attempt when it was told to stop; a worker that stops parks the run", () => {
    const run = story("z1");
    const action = run.begins();
    run.stopping = true;
    run.offers(action, aborted("shutdown"));
    expect(run.lastKinds).toEqual(["parked"]);
    expect(run.state.steps.z1).toMatchObject({ doubt: false, forward: { attempts: 0, interrupted: false } });
  });

  test("that timed out is an attempt that failed", () => {
    const run = story("z1");
    run.offers(run.begins(), aborted("timeout"));
    expect(run.lastEntry).toMatchObject({ kind: "attempt_failed", doubt: false });
  });
});

describe("a conditional step", () => {
  test("runs when its condition holds, and is compensated like any other", () => {
    const run = story("c1i c2").comesTo(computed.holds, returned(), threw.definitely).goesWell();
    expect(run.begun).toEqual(["compute when of c1i", "do c1i", "do c2", "undo c1i"]);
  });

  test("that is skipped is done, gives nothing, and is not compensated", () => {
    const run = story("c1i c2").comesTo(computed.skipped, threw.definitely).goesWell();
    expect(run.begun).toEqual(["compute when of c1i", "do c2"]);
    expect(run.state.steps.c1i).toMatchObject({ done: { attempt: 0 }, holds: false });
    expect(run.state.steps.c1i!.done).not.toHaveProperty("output");
    expect(run.row).toMatchObject({ status: "failed", owed: [] });
  });

  test("that is skipped as the last one ends the saga in the row that says so", () => {
    const run = story("c1 c2i").comesTo(returned(), computed.skipped);
    expect(run.lastKinds).toEqual(["condition_decided", "finished"]);
    expect(run.status).toBe("completed");
  });

  test("is in doubt after a crash only once its condition was recorded, and the verdict stays", () => {
    const run = story("c1i").crashes();
    expect(run.state.steps.c1i).toMatchObject({ doubt: false });
    run.comesTo(computed.holds).crashes();
    expect(run.state.steps.c1i).toMatchObject({ doubt: true, holds: true });
    run.cancelled();
    run.goesWell();
    expect(run.begun.at(-1)).toBe("undo c1i");
  });

  test("after the pivot is an operator's when its condition can't be told", () => {
    const run = story("P r1i").comesTo(returned(), threw.definitely);
    expect(run.status).toBe("forward_incomplete");
    run.retried();
    run.comesTo(computed.skipped);
    expect(run.status).toBe("completed");
  });

  test("sleeps, waits, lists or runs a child only where its condition holds", () => {
    const run = story("zi wi ei ki").comesTo(computed.skipped, computed.skipped, computed.skipped, computed.skipped);
    expect(run.status).toBe("completed");
    const both = story("zi c1").comesTo(computed.holds, computed.for(0), returned());
    expect(both.status).toBe("completed");
  });
});
