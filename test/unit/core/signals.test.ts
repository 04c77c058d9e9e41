// 1.3, 2.2: signals are facts in the journal of the run that they are for, whether or not anybody waits yet.

import { describe, expect, test } from "vitest";
import { farFuture } from "../../../src/core/entry.js";
import { awaitedSignals } from "../../../src/core/signalling.js";
import { aborted, computed, returned, shapeOf, story, threw } from "./story.js";

const day = 86_400_000;
const within = { policies: { w: { withinMs: day } } };

describe("a wait for a signal", () => {
  test("parks the run without limit, and a signal wakes it", () => {
    const run = story("w c1");
    run.next();
    expect(run.lastKinds).toEqual(["signal_awaited", "parked"]);
    expect(run.row.dueAt).toBe(farFuture);
    run.now += 5_000;
    expect(run.sent("w", "yes")).toEqual({ verdict: "received" });
    expect(run.row.dueAt).toBe(run.now);
    run.comesTo(computed.payload("yes"));
    expect(run.lastEntry).toMatchObject({ kind: "signal_consumed", received: 3, payload: { text: "yes" } });
    run.goesWell();
    expect(run.status).toBe("completed");
  });

  test("takes a signal that came before anybody waited", () => {
    const run = story("c1 w");
    run.sent("w", "early");
    expect(run.row.claim).toBe("owned");
    run.comesTo(returned(), computed.payload("early"));
    expect(run.lastKinds).toEqual(["signal_consumed", "finished"]);
  });

  test("leaves a signal of another name, and one that comes while the run is parked for something else", () => {
    const run = story("c1 w").comesTo({ ...threw.notNow, retryAfterMs: 60_000 });
    const { dueAt } = run.row;
    run.sent("w");
    run.sent("other");
    expect(run.row.dueAt).toBe(dueAt);
    expect(run.state.signals).toMatchObject({
      w: { pending: [{ received: 3 }] },
      other: { pending: [{ received: 4 }] },
    });
  });

  test("takes them first in, first out, each once", () => {
    const run = story("w:1 w:2");
    run.sent("w", "a");
    run.sent("w", "b");
    run.comesTo(computed.payload("a"), computed.payload("b"));
    const got = run.rows.flatMap(({ entries }) => entries.filter(({ kind }) => kind === "signal_consumed"));
    expect(got).toMatchObject([
      { step: "w:1", received: 2 },
      { step: "w:2", received: 3 },
    ]);
    expect(run.status).toBe("completed");
  });

  test("is not fooled when a wait beside it got the signal that it was computing for", () => {
    const run = story("w:1|w:2");
    run.sent("w", "a");
    expect(run.beginsAll()).toEqual(["compute payload of w:1", "compute payload of w:2"]);
    run.sent("w", "b");
    expect(run.ends("w:1", computed.payload("a"))).toBe(true);
    expect(run.ends("w:2", computed.payload("a"))).toBe(false);
    run.comesTo(computed.payload("b"));
    expect(run.rows.at(-1)!.entries[0]).toMatchObject({ kind: "signal_consumed", step: "w:2", received: 5 });
    expect(run.status).toBe("completed");
  });

  test("turns away what does not fit, and goes on waiting until its deadline", () => {
    const run = story("w", within);
    run.next();
    const until = run.now + day;
    run.sent("w", "bad");
    run.comesTo(threw.definitely);
    expect(run.lastKinds).toEqual(["signal_rejected", "parked"]);
    expect(run.row).toMatchObject({ status: "waiting", dueAt: until });
    run.sent("w", "good");
    run.comesTo(computed.payload("good"));
    expect(run.status).toBe("completed");
  });

  test("is not failed by a payload that timed out, nor by a worker that stops", () => {
    const run = story("w");
    run.sent("w");
    const action = run.begins();
    run.stopping = true;
    run.offers(action, aborted("shutdown"));
    expect(run.lastKinds).toEqual(["parked"]);
    run.stopping = false;
    run.comesTo(aborted("timeout"));
    expect(run.lastKinds).toEqual(["signal_rejected", "parked"]);
  });
});

describe("the deadline of a wait", () => {
  test("counts from the first wait, whatever happens meanwhile", () => {
    const run = story("w", within);
    run.next();
    const until = run.now + day;
    run.now += 1_000;
    run.takenUp().next();
    expect(run.row.dueAt).toBe(until);
    run.now = until;
    run.takenUp().next();
    expect(run.lastKinds).toEqual(["signal_timed_out", "finished"]);
    expect(run.state.steps.w).toMatchObject({ done: { attempt: 1 } });
  });

  test("loses to a signal that has a lower number, also past its instant", () => {
    const run = story("w", within);
    run.next();
    run.now += day;
    run.takenUp();
    expect(run.sent("w", "just in time")).toEqual({ verdict: "received" });
    run.comesTo(computed.payload("just in time"));
    expect(run.lastKinds).toEqual(["signal_consumed", "finished"]);
  });

  test("wins over a signal that has a higher one: it stays in line", () => {
    const run = story("w c1", within);
    run.next();
    run.now += day;
    run.takenUp().next();
    expect(run.lastKinds).toEqual(["signal_timed_out"]);
    expect(run.sent("w")).toEqual({ verdict: "received" });
    run.goesWell();
    expect(run.status).toBe("completed");
    expect(run.state.signals.w!.pending).toHaveLength(1);
  });

  test("fails the step definitely where the saga says so: before the pivot it rolls back", () => {
    const run = story("c1 w", { policies: { w: { withinMs: day, failsOnTimeout: true } } });
    run.returns().next();
    run.now += day;
    run.takenUp().next();
    expect(run.rows.at(-1)!.entries).toMatchObject([
      { kind: "step_failed", doubt: "definite", error: { code: "signal.timed_out" } },
      { kind: "rollback_started", cause: "failure" },
    ]);
    run.goesWell();
    expect(run.status).toBe("failed");
  });

  test("after the pivot is an operator's: they say what came instead", () => {
    const run = story("P w", { policies: { w: { withinMs: day, failsOnTimeout: true } } });
    run.returns().next();
    run.now += day;
    run.takenUp().next();
    expect(run.status).toBe("forward_incomplete");
    expect(run.resolved("w", "done")).toBeUndefined();
    run.goesWell();
    expect(run.status).toBe("completed");
  });
});

describe("a sender", () => {
  test("is told of a duplicate by its key, also of one that was consumed", () => {
    const run = story("w c1");
    expect(run.sent("w", "a", "key")).toEqual({ verdict: "received" });
    expect(run.sent("w", "a", "key")).toEqual({ verdict: "duplicate" });
    run.comesTo(computed.payload("a"));
    expect(run.sent("w", "a", "key")).toEqual({ verdict: "duplicate" });
    expect(run.sent("w", "a", "another")).toEqual({ verdict: "received" });
    expect(run.sent("w", "a")).toEqual({ verdict: "received" });
  });

  test("is told that the run turns back, and why, or how it ended", () => {
    const asked = story("c1 w").returns();
    asked.cancelled();
    const settled = story("P w").comesTo(threw.maybe);
    settled.begins();
    expect(settled.resolved("P", "not_done")).toBeUndefined();
    expect(settled.sent("w")).toEqual({ verdict: "rolling_back", cause: "failure" });
    expect(asked.sent("w")).toEqual({ verdict: "rolling_back", cause: "cancel" });
    const failing = story("c1 c2").comesTo(returned(), threw.definitely);
    expect(failing.sent("w")).toEqual({ verdict: "rolling_back", cause: "failure" });
    failing.goesWell();
    expect(failing.sent("w")).toEqual({ verdict: "finished", status: "failed" });
    const beside = story("c1|c2");
    beside.beginsAll();
    beside.ends("c1", threw.definitely);
    expect(beside.sent("w")).toEqual({ verdict: "rolling_back", cause: "failure" });
  });

  test("is heard by a run that will end incomplete, because an operator may have it go on", () => {
    const run = story("P r1|r2 w").returns();
    run.beginsAll();
    run.ends("r1", threw.definitely);
    expect(run.sent("w")).toEqual({ verdict: "received" });
  });

  test("can be told which names a saga waits for", () => {
    expect(awaitedSignals(shapeOf("w:1 c1 w:2 wx"))).toEqual(["w", "wx"]);
  });
});
