// What a parent knows of its child: its own crashes are never the child's.

import { describe, expect, test } from "vitest";
import type { Entry } from "../../../src/core/entry.js";
import { foldRows } from "../../../src/core/fold.js";
import { projectionOf } from "../../../src/core/projection.js";
import { initialState } from "../../../src/core/state.js";
import type { Shape } from "../../../src/definition/shape.js";

const shape: Shape = {
  steps: [
    { name: "kid", kind: "compensatable", undone: true, transactional: false, element: "child" },
    { name: "c", kind: "compensatable", undone: true, transactional: false },
  ],
};
const value = { format: "test", text: "" };
const taken = (token: string, from?: string): Entry => ({
  ...{ kind: "taken_up", worker: "w", token, crash: from !== undefined },
  ...(from === undefined ? {} : { from }),
});
const stateAfter = (...entries: Entry[]) =>
  foldRows(
    shape,
    initialState(shape, 0),
    entries.map((entry, index) => ({ number: index + 1, at: index, nonce: `${index}`, entries: [entry] })),
  );

const begun: Entry[] = [taken("a"), { kind: "child_started", step: "kid", runId: "run/kid", input: value }];
const turned: Entry[] = [
  ...begun,
  { kind: "child_finished", step: "kid", status: "completed", output: value },
  { kind: "step_failed", step: "c", attempts: 1, error: { name: "E", message: "no" }, doubt: "definite" },
  { kind: "rollback_started", cause: "failure" },
];

describe("a parent whose worker dies again and again", () => {
  // PSN-1: a suspect parked until its child ends would be left there.
  test.each([
    ["waits for its child's end", begun],
    ["has its child undone", turned],
  ])("while it %s is no suspect: nothing of its own was under way", (_what, entries) => {
    const state = stateAfter(...entries, taken("b", "a"), taken("c", "b"), taken("d", "c"));
    expect(state.underWay).toEqual([]);
    expect(projectionOf(shape, state).crashes).toBe(0);
    expect(state.steps.kid!.doubt).toBe(false);
  });

  test("in a step of its own is one", () => {
    const state = stateAfter(
      ...begun,
      { kind: "child_finished", step: "kid", status: "completed", output: value },
      taken("b", "a"),
      taken("c", "b"),
    );
    expect(projectionOf(shape, state).crashes).toBe(2);
  });
});
