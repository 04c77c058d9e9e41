// WHAT A SIGNAL COMES TO when it is sent (design 2.2): it is a fact in the run's journal, or the sender is told why not. Needs
// only shape and journal; what the payload is, is the reader's to check once more.

import type { Shape } from "../definition/shape.js";
import type { Cause, EndStatus, Entry, StoredValue } from "./entry.js";
import type { RunState } from "./state.js";
import { isToTurn } from "./verbs.js";

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

export function decideSignal(shape: Shape, state: RunState, signal: Signal): SignalDecision {
  if (state.finished !== undefined)
    return { entries: [], answer: { verdict: "finished", status: state.finished.status } };
  const asked = state.cancel === undefined ? undefined : "cancel";
  const cause = state.rollback ?? asked ?? (isToTurn(shape, state) ? "failure" : undefined);
  if (cause !== undefined) return { entries: [], answer: { verdict: "rolling_back", cause } };
  const known = signal.dedupeKey !== undefined && state.signals[signal.signal]?.dedupeKeys.includes(signal.dedupeKey);
  if (known) return { entries: [], answer: { verdict: "duplicate" } };
  return { entries: [{ kind: "signal_received", ...signal }], answer: { verdict: "received" } };
}

/** The names of the signals that a saga can wait for. */
export function awaitedSignals(shape: Shape): readonly string[] {
  return [...new Set(shape.steps.flatMap(({ signal }) => signal ?? []))];
}
