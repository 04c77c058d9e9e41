// 1.5: what may or may not have happened.

import { describe, expect, test } from "vitest";
import type { StepPolicy } from "../../../src/core/policies.js";
import { aborted, cannotTell, notHappened, returned, story, threw } from "./story.js";

const at = (maxAttempts: number, more: Partial<StepPolicy> = {}): Partial<StepPolicy> => ({
  retry: { maxAttempts, firstDelayMs: 0, maxDelayMs: 0, factor: 1 },
  ...more,
});

describe("a step in doubt", () => {
  test("is tried again", () => {
    const run = story("c1").comesTo(threw.maybe, returned());
    expect(run.begun).toEqual(["do c1", "do c1"]);
    expect(run.status).toBe("completed");
  });

  test("is no longer in doubt once it returned", () => {
    const run = story("c1 c2").comesTo(threw.maybe, returned());
    expect(run.state.steps.c1).toMatchObject({ doubt: false });
  });

  test("stays in doubt when a later attempt definitely fails", () => {
    const run = story("c1").comesTo(threw.maybe, threw.definitely);
    expect(run.rows.at(-1)!.entries[0]).toMatchObject({ kind: "step_failed", doubt: "in_doubt" });
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do c1", "undo c1"]);
  });

  test("CMP-10: is compensated as well, then what was done before it", () => {
    const run = story("c1 c2", { policies: { c2: at(1) } })
      .comesTo(returned(), threw.maybe)
      .goesWell();
    expect(run.begun).toEqual(["do c1", "do c2", "undo c2", "undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("CMP-10: is left alone where nothing has to be undone", () => {
    const run = story("c1n", { policies: { c1n: at(1) } }).comesTo(threw.maybe);
    expect(run.status).toBe("failed");
    expect(run.begun).toEqual(["do c1n"]);
  });

  test("is in doubt after a crash, and stays so while it is parked", () => {
    const run = story("c1").crashes().comesTo(threw.definitely);
    expect(run.state.steps.c1).toMatchObject({ doubt: true });
    const parked = story("c1").comesTo({ ...threw.maybe, retryAfterMs: 60_000 });
    expect(parked.row.status).toBe("waiting");
    parked.awaited();
    expect(parked.state.steps.c1).toMatchObject({ doubt: true });
  });

  test("is in doubt after a crash that followed a parking", () => {
    const run = story("c1").comesTo({ ...threw.neverCalled, retryAfterMs: 60_000 });
    run.begins();
    run.takenUp();
    expect(run.state.steps.c1).toMatchObject({ doubt: true });
  });

  test("is compensated no sooner than its lost attempt could have ended", () => {
    const run = story("c1", { policies: { c1: at(1) } });
    run.begins();
    const begun = run.now;
    run.now += 30_000;
    run.takenUp();
    expect(run.next()).toEqual({ kind: "wait", until: begun + 60_000 });
    expect(run.lastKinds).toEqual(["step_failed", "rollback_started", "parked"]);
  });

  test("is compensated at once where an attempt has no limit and its owner was declared dead", () => {
    const run = story("c1", { policies: { c1: at(1, { attemptMs: Number.POSITIVE_INFINITY }) } });
    run.begins();
    run.takenUp();
    expect(run.next()).toMatchObject({ kind: "run", direction: "compensate" });
  });
});

describe("maxAttempts: 1", () => {
  test("means never begun twice: after a crash the step fails in doubt", () => {
    const run = story("c1", { policies: { c1: at(1) } }).crashes();
    run.next();
    expect(run.rows.at(-1)!.entries[0]).toMatchObject({
      kind: "step_failed",
      attempts: 1,
      doubt: "in_doubt",
      error: { name: "CrashLoopError", message: 'step "c1" took its process down, or lost it, 1 time in a row' },
    });
  });

  test("means never begun twice: after a hand-over, which counts nothing, too", () => {
    const run = story("c1", { policies: { c1: at(1) } });
    run.offers(run.begins(), aborted("shutdown"));
    run.takenUp().next();
    expect(run.rows.at(-1)!.entries[0]).toMatchObject({
      kind: "step_failed",
      attempts: 0,
      doubt: "in_doubt",
      error: { message: 'step "c1" was interrupted and may not be begun again' },
    });
  });

  test("holds after `reconcile` said that it did not happen: then the pivot definitely failed", () => {
    const run = story("c1 P", { policies: { P: at(1, { maxAsks: 8 }) } }).returns();
    run.offers(run.begins(), aborted("shutdown"));
    run.comesTo(notHappened).goesWell();
    expect(run.begun).toEqual(["do c1", "do P", "ask P", "undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("holds for a compensation: after a hand-over it is owed", () => {
    const run = story("c1 c2", { policies: { c1: { compensationRetry: { ...once } } } });
    run.comesTo(returned(), threw.definitely);
    run.offers(run.begins(), aborted("shutdown"));
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do c2", "undo c1"]);
    expect(run.status).toBe("compensation_failed");
    expect(run.row.owed).toEqual(["c1"]);
  });

  test("lets a transactional step begin again, whose transaction was undone", () => {
    const run = story("c1t", { policies: { c1t: at(1) } });
    run.offers(run.begins(), aborted("shutdown"));
    run.goesWell();
    expect(run.begun).toEqual(["do c1t", "do c1t"]);
    expect(run.status).toBe("completed");
  });
});

const once = { maxAttempts: 1, firstDelayMs: 0, maxDelayMs: 0, factor: 1 };

describe("reconcile", () => {
  const asked = { maxAsks: 2 };

  test("is asked instead of running a step in doubt again; what happened completes the step", () => {
    const run = story("c1 c2", { policies: { c1: at(8, asked) } }).comesTo(threw.maybe, returned());
    expect(run.begun).toEqual(["do c1", "ask c1"]);
    expect(run.state.steps.c1).toMatchObject({ done: { attempt: 1 }, doubt: false });
  });

  test("counts a recorded happening as the first attempt where none was counted", () => {
    const run = story("P", { policies: { P: at(8, asked) } });
    run.offers(run.begins(), aborted("shutdown"));
    run.comesTo(returned("found"));
    expect(run.rows.at(-1)!.entries[0]).toMatchObject({ kind: "step_completed", attempt: 1 });
  });

  test("is not asked where nothing is in doubt", () => {
    const run = story("c1", { policies: { c1: at(8, asked) } }).comesTo(threw.notNow, returned());
    expect(run.begun).toEqual(["do c1", "do c1"]);
  });

  test("`not happened` lets the step be tried again, or fail definitely", () => {
    const run = story("c1", { policies: { c1: at(8, asked) } }).comesTo(threw.maybe, notHappened, threw.definitely);
    expect(run.begun).toEqual(["do c1", "ask c1", "do c1"]);
    expect(run.status).toBe("failed");
  });

  test("never has the body run again while it can't tell; with its budget used up the step fails in doubt", () => {
    const run = story("c1", { policies: { c1: at(8, asked) } }).comesTo(threw.maybe, cannotTell, cannotTell);
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "ask c1", "ask c1", "undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("an ask that throws can't tell: it is asked again when its error says so, and the error is kept", () => {
    const run = story("c1", { policies: { c1: at(8, asked) } }).comesTo(threw.maybe);
    const wait = run.now + 500;
    run.comesTo({ ...threw.maybe, retryAfterMs: 500 });
    expect(run.rows.at(-1)!.entries[0]).toMatchObject({ answer: "cannot_tell", asks: 1, askAt: wait, error: {} });
    expect(run.next()).toEqual({ kind: "wait", until: wait });
  });

  test("an ask that its worker's close cut off is no ask", () => {
    const run = story("c1", { policies: { c1: at(8, asked) } }).comesTo(threw.maybe);
    run.offers(run.begins(), aborted("shutdown"));
    expect(run.lastKinds).toEqual(["parked"]);
    expect(run.state.steps.c1!.asks).toBe(0);
  });

  test("an ask that took its process down is one", () => {
    const run = story("P", { policies: { P: at(Number.POSITIVE_INFINITY, asked) } }).comesTo(threw.maybe);
    run.crashes(2).goesWell();
    expect(run.begun).toEqual(["do P", "ask P", "ask P"]);
    expect(run.status).toBe("in_doubt");
  });

  test("is asked no sooner than the lost attempt could have ended", () => {
    const run = story("c1", { policies: { c1: at(8, asked) } });
    run.begins();
    const begun = run.now;
    run.takenUp();
    expect(run.next()).toEqual({ kind: "wait", until: begun + 60_000 });
    run.awaited();
    expect(run.now).toBe(begun + 60_000);
  });

  test("is asked before a step in doubt is compensated: what happened is undone with its output", () => {
    const run = story("c1", { policies: { c1: at(1, asked) } }).comesTo(threw.maybe, returned("found"));
    expect(run.begun).toEqual(["do c1", "ask c1"]);
    expect(run.state).toMatchObject({ rollback: "failure", steps: { c1: { done: { output: { text: "found" } } } } });
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "ask c1", "undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("spares the compensation of what did not happen", () => {
    const run = story("c1", { policies: { c1: at(1, asked) } }).comesTo(threw.maybe, notHappened);
    expect(run.begun).toEqual(["do c1", "ask c1"]);
    expect(run.status).toBe("failed");
  });

  test("a body has no answer to give", () => {
    const run = story("c1");
    expect(() => run.comesTo(notHappened)).toThrow(TypeError);
  });
});

describe("the pivot in doubt", () => {
  const unlimited = at(Number.POSITIVE_INFINITY);

  test("is tried again without limit while its errors say so", () => {
    const run = story("c1 P", { policies: { P: unlimited } }).returns();
    run.comesTo(...Array.from({ length: 50 }, () => threw.maybe), returned());
    expect(run.status).toBe("completed");
  });

  test("is not rolled back by a terminal error: without a `reconcile` the run ends in_doubt at once", () => {
    const run = story("c1 P", { policies: { P: unlimited } }).comesTo(returned(), threw.maybe, threw.definitely);
    expect(run.lastKinds).toEqual(["step_failed", "finished"]);
    expect(run.status).toBe("in_doubt");
    expect(run.row.owed).toEqual([]);
  });

  test("is asked about within its budget after a terminal error, then the run ends in_doubt", () => {
    const run = story("c1 P", { policies: { P: { ...unlimited, maxAsks: 2 } } });
    run.comesTo(returned(), threw.maybeForGood, cannotTell, cannotTell);
    expect(run.begun).toEqual(["do c1", "do P", "ask P", "ask P"]);
    expect(run.status).toBe("in_doubt");
  });

  test("goes forward when `reconcile` finds it", () => {
    const run = story("P r1", { policies: { P: { ...unlimited, maxAsks: 2 } } });
    run.comesTo(threw.maybeForGood, returned(), returned());
    expect(run.begun).toEqual(["do P", "ask P", "do r1"]);
    expect(run.status).toBe("completed");
  });

  test("rolls back when `reconcile` promises that it did not happen, after a terminal error", () => {
    const run = story("c1 P", { policies: { P: { ...unlimited, maxAsks: 2 } } });
    run.comesTo(returned(), threw.maybeForGood, notHappened).goesWell();
    expect(run.begun).toEqual(["do c1", "do P", "ask P", "undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("is asked about when its budget is used up", () => {
    const run = story("P", { policies: { P: at(1, { maxAsks: 2 }) } }).comesTo(threw.maybe, returned());
    expect(run.begun).toEqual(["do P", "ask P"]);
    expect(run.status).toBe("completed");
  });

  test("PIV-3: a crash in its body, then an ask: refused, tried again, completed, nothing undone", () => {
    const run = story("c1 P").returns();
    run.begins();
    expect(run.cancelled()).toMatchObject({ verdict: "refused", pivot: "P" });
    run.takenUp().goesWell();
    expect(run.begun).toEqual(["do c1", "do P", "do P"]);
    expect(run.status).toBe("completed");
    expect(run.row.cancelRefusedAt).toBeDefined();
  });
});

describe("a transactional step", () => {
  test("is never in doubt: not after a crash, not after a hand-over, not by what its error says", () => {
    const crashed = story("c1t").crashes();
    expect(crashed.state.steps.c1t).toMatchObject({ doubt: false, forward: { attempts: 1 } });
    const handedOver = story("c1t");
    handedOver.offers(handedOver.begins(), aborted("shutdown"));
    expect(handedOver.state.steps.c1t!.doubt).toBe(false);
    const threwMaybe = story("c1t").comesTo(threw.maybe);
    expect(threwMaybe.state.steps.c1t!.doubt).toBe(false);
    expect(story("c1t").comesTo(threw.maybeForGood).begun).toEqual(["do c1t"]);
  });

  test("whose crash loop ends it failed definitely", () => {
    const run = story("c1 Pt", { maxCrashes: 2 }).returns().crashes(2).goesWell();
    expect(run.begun).toEqual(["do c1", "do Pt", "do Pt", "undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("commits nothing once its saga was asked to stop, and that is no attempt", () => {
    const run = story("c1t Pt").returns();
    const action = run.begins();
    expect(run.cancelled()).toMatchObject({ verdict: "cancelling" });
    expect(run.offers(action, returned())).toBe(false);
    run.goesWell();
    expect(run.begun).toEqual(["do c1t", "do Pt", "undo c1t"]);
    expect(run.status).toBe("cancelled");
    expect(run.state.steps.Pt!.forward.attempts).toBe(0);
  });
});
