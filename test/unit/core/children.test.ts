// 1.3: a child is a run of its own: its parent begins it, waits for its end, and has it undone when it turns back itself.

import { describe, expect, test } from "vitest";
import type { EndStatus } from "../../../src/core/entry.js";
import type { ChildLook } from "../../../src/core/policies.js";
import { decideRecall } from "../../../src/core/recall.js";
import { aborted, computed, returned, type Story, story, threw } from "./story.js";

const output = { format: "text", text: "of the child" };
const ended = (status: EndStatus): ChildLook["ended"] => ({
  status,
  ...(status === "completed" ? { output } : { error: { name: "Error", message: "in the child" } }),
});

/** A parent whose child was begun and is live. */
function parent(names: string): Story {
  const run = story(names);
  while (run.awaited().kind !== "look") {
    const action = run.begins();
    run.offers(action, action.kind === "compute" ? computed.child() : returned());
  }
  return run.looks();
}

describe("a parent", () => {
  test("records its child before it begins it, and parks until that ends", () => {
    const run = parent("c1 k c2");
    expect(run.begun).toEqual(["do c1", "compute input of k", "look k"]);
    expect(run.lastKinds).toEqual(["parked"]);
    run.takenUp().looks(ended("completed"));
    expect(run.lastEntry).toMatchObject({ kind: "child_finished", status: "completed", output });
    expect(run.state.steps.k).toMatchObject({ done: { output } });
    run.goesWell();
    expect(run.status).toBe("completed");
  });

  test("ends with its child when that was the last element", () => {
    const run = parent("c1 k");
    run.takenUp().looks({ status: "completed" });
    expect(run.lastKinds).toEqual(["child_finished", "finished"]);
  });

  test("loses no attempt and doubts nothing while it waits for its child", () => {
    const run = story("k|c1").comesTo(computed.child()).looks();
    run.begins();
    run.takenUp();
    expect(run.state.steps).toMatchObject({ k: { doubt: false, forward: { attempts: 0 } }, c1: { doubt: true } });
  });

  test.for([
    ["failed", "definite"],
    ["cancelled", "definite"],
    ["timed_out", "definite"],
    ["compensation_failed", "in_doubt"],
    ["forward_incomplete", "in_doubt"],
    ["in_doubt", "in_doubt"],
  ] as const)("whose child ended %s fails for good, %s", ([status, doubt]) => {
    const run = parent("c1 k");
    run.takenUp().looks(ended(status));
    expect(run.rows.at(-1)!.entries).toMatchObject([
      { kind: "child_finished", status },
      { kind: "step_failed", doubt, error: { code: "child.failed", cause: { message: "in the child" } } },
      { kind: "rollback_started", cause: "failure" },
    ]);
  });
});

describe("a parent that turns back", () => {
  test("has its completed child undone before what came before it", () => {
    const run = parent("c1 k c2");
    run.takenUp().looks(ended("completed"));
    run.comesTo(threw.definitely);
    run.looks();
    expect(run.lastKinds).toEqual(["parked"]);
    expect(run.row.status).toBe("compensating");
    run.takenUp().looks(ended("cancelled"));
    run.goesWell();
    expect(run.begun.slice(-3)).toEqual(["look k", "look k", "undo c1"]);
    expect(run.status).toBe("failed");
  });

  test("waits for its live child to be stopped", () => {
    const run = parent("c1 k");
    expect(run.cancelled()).toMatchObject({ verdict: "cancelling" });
    run.takenUp().looks();
    expect(run.row.status).toBe("compensating");
    run.takenUp().looks(ended("cancelled"));
    run.goesWell();
    expect(run.status).toBe("cancelled");
  });

  test("owes what its child could not undo; an operator tries again, or settles it", () => {
    const run = parent("c1 k c2");
    run.takenUp().looks(ended("completed"));
    run.comesTo(threw.definitely).looks(ended("compensation_failed"));
    run.goesWell();
    expect(run.row).toMatchObject({ status: "compensation_failed", owed: ["k"] });
    run.retried();
    run.looks(ended("cancelled"));
    run.awaited();
    expect(run.status).toBe("failed");
  });

  test("looks again at a child that failed, and finds it undone", () => {
    const run = parent("c1 k");
    run.takenUp().looks(ended("failed")).looks(ended("failed"));
    run.goesWell();
    expect(run.status).toBe("failed");
    expect(run.begun.at(-1)).toBe("undo c1");
  });

  test("has the other child of a pair stopped when one fails", () => {
    const run = story("ka|kb").comesTo(computed.child("a")).looks().comesTo(computed.child("b"));
    run.takenUp().looks(ended("failed"));
    expect(run.lastKinds).toContain("rollback_started");
    run.looks().takenUp().looks(ended("cancelled"));
    run.looks(ended("failed"));
    run.awaited();
    expect(run.status).toBe("failed");
    expect(run.begun.slice(2)).toEqual(["compute input of kb", "look ka", "look kb", "look kb", "look ka"]);
  });

  test("does not look at a child that never was begun", () => {
    const run = story("c1 k").returns();
    run.offers(run.begins(), threw.definitely);
    expect(run.next()).toMatchObject({ kind: "run", step: "c1", direction: "compensate" });
  });
});

describe("a retried parent, past its pivot", () => {
  const failing = (status: EndStatus): Story => {
    const run = parent("P k");
    run.takenUp().looks(ended(status));
    expect(run.status).toBe("forward_incomplete");
    expect(run.retried()).toBeUndefined();
    return run;
  };

  test("has a child that undid everything run anew, under an id of its own", () => {
    const run = failing("failed");
    expect(run.state.steps.k).toMatchObject({ earlierChildren: 1 });
    expect(run.state.steps.k).not.toHaveProperty("child");
    run.comesTo(computed.child("another")).looks(ended("completed"));
    expect(run.status).toBe("completed");
  });

  test("looks again at one that an operator may have finished meanwhile", () => {
    const run = failing("forward_incomplete");
    expect(run.state.steps.k).toMatchObject({ earlierChildren: 0, child: { runId: "child" } });
    run.looks(ended("completed"));
    expect(run.status).toBe("completed");
  });

  test("keeps a completed child, and one that still runs", () => {
    const run = story("P ka|kb r1").comesTo(returned(), computed.child("a")).looks(ended("completed"));
    run.comesTo(computed.child("b")).looks();
    expect(run.retried()).toContain("nothing of it");
    const incomplete = story("P k r1").comesTo(returned(), computed.child()).looks(ended("completed"));
    incomplete.comesTo(threw.definitely);
    incomplete.retried();
    expect(incomplete.state.steps.k).toMatchObject({ child: { ended: "completed" }, done: { output } });
    const live = story("P k|r1").comesTo(returned(), computed.child()).looks().comesTo(threw.definitely);
    expect(live.status).toBe("forward_incomplete");
    live.retried();
    expect(live.state.steps.k).toMatchObject({ child: { runId: "child" }, earlierChildren: 0 });
  });
});

describe("a child that its parent takes back", () => {
  const operator = { by: "parent run p" };
  const recall = (run: Story): readonly unknown[] => {
    const entries = decideRecall(run.shape, run.state, operator);
    if (entries.length > 0) run.append(entries);
    return entries;
  };

  test("turns back although it had completed, and ends cancelled", () => {
    const run = story("c1 c2").returns(2);
    expect(recall(run)).toHaveLength(2);
    expect(run.row).toMatchObject({ status: "compensating", claim: "free", dueAt: run.now });
    run.goesWell();
    expect(run.begun).toEqual(["do c1", "do c2", "undo c2", "undo c1"]);
    expect(run.status).toBe("cancelled");
    expect(recall(run)).toEqual([]);
  });

  test("ends at once where nothing has to be undone", () => {
    const run = story("c1n").returns();
    recall(run);
    expect(run.lastKinds).toEqual(["recalled", "rollback_started", "finished"]);
    expect(run.status).toBe("cancelled");
  });

  test("is an operator's when its undoing fails", () => {
    const run = story("c1").returns();
    recall(run);
    run.comesTo(threw.definitely);
    expect(run.row).toMatchObject({ status: "compensation_failed", owed: ["c1"] });
    run.retried();
    run.goesWell();
    expect(run.status).toBe("cancelled");
  });

  test("stays as it is when it had passed a pivot of its own", () => {
    expect(recall(story("c1 P").returns(2))).toEqual([]);
  });

  test("is asked to stop while it is live, once", () => {
    const run = story("c1 c2").returns();
    expect(recall(run)).toEqual([{ kind: "cancel_requested", by: "parent run p" }]);
    expect(recall(run)).toEqual([]);
    run.goesWell();
    expect(run.status).toBe("cancelled");
    const past = story("P r1").returns();
    expect(recall(past)).toMatchObject([{ kind: "cancel_refused", pivot: "P" }]);
    expect(recall(past)).toEqual([]);
  });

  test("is left alone when it turns back anyway, or ended otherwise", () => {
    const turning = story("c1 c2").comesTo(returned(), threw.definitely);
    expect(recall(turning)).toEqual([]);
    turning.goesWell();
    expect(recall(turning)).toEqual([]);
  });
});

test("a child that ended without an error to tell of fails its parent with its status", () => {
  const run = parent("k");
  run.takenUp().looks({ status: "failed" });
  expect(run.rows.at(-1)!.entries[1]).toMatchObject({ error: { message: 'the child of step "k" ended failed' } });
});

test("a worker that stops gives a parent back that waits for its child, beside a body that it gave up", () => {
  const run = parent("c1|k");
  expect(run.lastKinds).toEqual(["parked"]);
  const beside = story("c1|k");
  beside.beginsAll();
  beside.ends("k", computed.child());
  beside.looks();
  beside.stopping = true;
  beside.ends("c1", aborted("shutdown"));
  expect(beside.lastKinds).toEqual(["handed_over"]);
  expect(beside.state.steps).toMatchObject({ c1: { doubt: true }, k: { doubt: false } });
});
