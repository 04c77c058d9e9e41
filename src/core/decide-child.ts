// WHAT A PARENT DOES ABOUT ITS CHILD: waits for its end, or has it undone (design 1.3). The child decides about itself in its
// own journal; here only what its end means for the parent. Part of `decide`.

import type { ErrorRecord } from "../errors/error-record.js";
import type { Action, Append, LookAtChild, Wait } from "./action.js";
import { type EndStatus, farFuture } from "./entry.js";
import type { ChildLook, DecideContext } from "./policies.js";
import type { Unit } from "./state.js";

/** Going forward: the child's output is the step's, and what a child did not bring about fails the step for good. */
export function decideChild({ name }: Unit, context: DecideContext): Action {
  const look = lookAt(name, "forward", context);
  if (look.kind !== "seen") return look;
  const { status, output } = look;
  if (status === "completed")
    return append({ kind: "child_finished", step: name, status, ...(output === undefined ? {} : { output }) });
  const doubt = isUndone(status) ? "definite" : "in_doubt";
  return append(
    { kind: "child_finished", step: name, status },
    { kind: "step_failed", step: name, attempts: 1, error: errorOf(name, look), doubt },
  );
}

/** Rolling back: it is undone when it ended with everything undone; one that could not do so is an operator's. */
export function undoChild({ name }: Unit, context: DecideContext): Action {
  const look = lookAt(name, "compensate", context);
  if (look.kind !== "seen") return look;
  return isUndone(look.status)
    ? append({ kind: "step_compensated", step: name, attempt: 1 })
    : append({ kind: "compensation_failed", step: name, attempts: 1, error: errorOf(name, look) });
}

/** What is known of how the child ended. */
type Seen = { readonly kind: "seen" } & NonNullable<ChildLook["ended"]>;

function lookAt(
  step: string,
  direction: ChildLook["direction"],
  { children }: DecideContext,
): LookAtChild | Wait | Seen {
  const look = children?.[step];
  if (look?.direction !== direction) return { kind: "look", step, direction };
  return look.ended === undefined ? { kind: "wait", until: farFuture } : { kind: "seen", ...look.ended };
}

function isUndone(status: EndStatus): boolean {
  return status === "failed" || status === "cancelled" || status === "timed_out";
}

function errorOf(step: string, { status, error }: Seen): ErrorRecord {
  return {
    name: "ChildFailedError",
    code: "child.failed",
    message: `the child of step "${step}" ended ${status}`,
    ...(error === undefined ? {} : { cause: error }),
  };
}

function append(...entries: Append["entries"]): Append {
  return { kind: "append", entries };
}
