// 1.4, 1.7, 1.8: when what is under way should stop.

import { describe, expect, test } from "vitest";
import { whyStop } from "../../../src/core/abort.js";
import type { AbortReason } from "../../../src/errors/step-errors.js";
import { returned, type Story, story, threw } from "./story.js";

/** `meanwhile`: what others do while the next body is under way. */
function stops(run: Story, meanwhile: () => void = () => {}, token?: string): AbortReason | undefined {
  const action = run.begins();
  const mine = token ?? run.state.owner!.token;
  meanwhile();
  return whyStop(run.state, mine, action, run.context);
}

describe("a forward body is stopped", () => {
  test("by nothing, as long as nobody wrote and no deadline passed", () => {
    expect(stops(story("c1"))).toBeUndefined();
  });

  test("when the run is another's, or nobody's any more", () => {
    const taken = story("c1");
    expect(stops(taken, () => taken.takenUp())).toBe("lost");
    const givenUp = story("c1");
    expect(stops(givenUp, () => givenUp.append([{ kind: "handed_over", worker: "w1" }]))).toBe("lost");
    expect(stops(story("c1"), () => {}, "another")).toBe("lost");
  });

  test("when the run was asked to stop, but not when that was refused", () => {
    const asked = story("c1 P");
    expect(stops(asked, () => asked.cancelled())).toBe("cancelled");
    const refused = story("P");
    expect(stops(refused, () => refused.cancelled())).toBeUndefined();
  });

  test("when an operator settled its step", () => {
    const done = story("P r1").comesTo(returned(), threw.maybe);
    expect(stops(done, () => done.resolved("r1", "done"))).toBe("resolved");
    const notDone = story("P").comesTo(threw.maybe);
    expect(stops(notDone, () => notDone.resolved("P", "not_done"))).toBe("resolved");
  });

  test("by the deadline before the pivot is entered, not after", () => {
    const before = story("c1", { deadlineAt: 1_000_010 });
    expect(stops(before, () => (before.now += 10))).toBe("deadline");
    const after = story("P", { deadlineAt: 1_000_010 });
    expect(stops(after, () => (after.now += 10))).toBeUndefined();
  });

  test("and so is an ask of `reconcile`", () => {
    const run = story("c1", { policies: { c1: { maxAsks: 8 } } }).comesTo(threw.maybe);
    expect(stops(run, () => run.cancelled())).toBe("cancelled");
  });
});

describe("a compensation", () => {
  const rollingBack = (options = {}) => story("c1 c2", options).comesTo(returned(), threw.definitely);

  test("CXL-10: is not stopped by an ask", () => {
    const run = rollingBack();
    expect(stops(run, () => run.cancelled())).toBeUndefined();
  });

  test("is not stopped by the deadline", () => {
    const run = rollingBack({ deadlineAt: 1_000_010 });
    expect(stops(run, () => (run.now += 10))).toBeUndefined();
  });

  test("is stopped when an operator said that it is undone, or when the run is another's", () => {
    const resolved = rollingBack();
    expect(stops(resolved, () => resolved.resolved("c1", "undone"))).toBe("resolved");
    const taken = rollingBack();
    expect(stops(taken, () => taken.takenUp())).toBe("lost");
  });

  test("nor does an ask to stop end the question that is asked before it", () => {
    const run = story("c1", { policies: { c1: { maxAsks: 8, retry: once } } }).comesTo(threw.maybe);
    expect(run.state.rollback).toBe("failure");
    expect(stops(run, () => run.cancelled())).toBeUndefined();
  });
});

const once = { maxAttempts: 1, firstDelayMs: 0, maxDelayMs: 0, factor: 1 };
