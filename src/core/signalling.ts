// WHAT A SIGNAL COMES TO when it is sent (design 2.2): it is a fact in the run's journal, or the sender is told why not. Needs
// only shape and journal; what the payload is, is the reader's to check once more.

import type { Shape } from "../definition/shape.js";
import type { Cause, EndStatus, Entry, StoredValue } from "./entry.js";
import type { RunState } from "./state.js";

export type SignalVerdict =
  | { readonly verdict: "received" | "duplicate" }
  | { readonly verdict: "rolling_back"; readonly cause: Cause }
  | { readonly verdict: "finished"; readonly status: EndStatus };

export interface SignalDecision {
  readonly entries: readonly Entry[];
  /** True once the entries are in. */
  readonly answer: SignalVerdict;
}

export interface Signal {
  readonly signal: string;
  readonly payload: StoredValue;
  readonly dedupeKey?: string;
}

export function decideSignal(state: RunState, signal: Signal): SignalDecision {
  if (state.finished !== undefined)
    return { entries: [], answer: { verdict: "finished", status: state.finished.status } };
  const cause = state.rollback ?? (state.cancel !== undefined ? "cancel" : state.failure && "failure");
  // After the pivot a step that failed for good is an operator's: nothing is turned back, and the run may go on.
  if (cause !== undefined && !(cause === "failure" && state.rollback === undefined && state.pivotEntered))
    return { entries: [], answer: { verdict: "rolling_back", cause } };
  const known = signal.dedupeKey !== undefined && state.signals[signal.signal]?.dedupeKeys.includes(signal.dedupeKey);
  if (known) return { entries: [], answer: { verdict: "duplicate" } };
  return { entries: [{ kind: "signal_received", ...signal }], answer: { verdict: "received" } };
}

/** The names of the signals that a saga can wait for. */
export function awaitedSignals(shape: Shape): readonly string[] {
  return [...new Set(shape.steps.flatMap(({ signal }) => signal ?? []))];
}
