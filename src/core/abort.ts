// WHETHER WHAT IS UNDER WAY SHOULD STOP, given what others have written meanwhile (design 1.4, 1.7). Pure.

import type { AbortReason } from "../errors/step-errors.js";
import type { Attempted } from "./action.js";
import type { DecideContext } from "./policies.js";
import type { RunState } from "./state.js";

/** The reason to abort `action`, which the holder of `token` performs; undefined to let it go on. */
export function whyStop(
  state: RunState,
  token: string,
  action: Attempted,
  context: DecideContext,
): AbortReason | undefined {
  if (state.owner?.token !== token) return "lost";
  const step = state.steps[action.step]!;
  // 1.8: no ask and no deadline aborts a rollback; an operator's word settles one step of it.
  if (state.rollback !== undefined) return step.undone ? "resolved" : undefined;
  if (step.done !== undefined || step.failed !== undefined) return "resolved";
  if (state.cancel !== undefined) return "cancelled";
  if (state.failure !== undefined || context.replay?.unwanted.has(action.step)) return "sibling_failed";
  return !state.pivotEntered && context.now >= context.policies.deadlineAt ? "deadline" : undefined;
}
