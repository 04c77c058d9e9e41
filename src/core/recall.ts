// HOW A PARENT HAS ITS CHILD UNDONE: a live child is asked to stop, a completed one is taken back, and one that has ended
// otherwise is left as it is (design 1.3). The entries are for the child's journal.

import type { Shape } from "../definition/shape.js";
import type { Entry } from "./entry.js";
import type { RunState } from "./state.js";
import { decideCancel, type Operator, withEnd } from "./verbs.js";

export function decideRecall(shape: Shape, state: RunState, operator: Operator): readonly Entry[] {
  if (state.finished?.status === "completed") {
    // 1.8: nothing turns back past its pivot; the parent owes what it can't undo, and an operator settles that.
    if (state.pivotEntered) return [];
    return withEnd(shape, state, [
      { kind: "recalled", by: operator.by },
      { kind: "rollback_started", cause: "cancel" },
    ]);
  }
  // It was asked already, or turns back anyway.
  if (state.cancel !== undefined || state.rollback !== undefined || state.cancelRefusedAt !== undefined) return [];
  return decideCancel(shape, state, operator).entries;
}
