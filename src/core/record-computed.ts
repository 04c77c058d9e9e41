// WHAT A COMPUTED VALUE BECOMES in the journal: the verdict, the instant of waking, the list, the child, the signal that fits
// (design 1.3). Recorded once: nothing of it is computed again. Part of `record`.

import { type Entry, farFuture, type StoredValue } from "./entry.js";
import type { RunState, Unit } from "./state.js";
import { pendingSignal } from "./units.js";

/** What one of an element's pure functions, or its schema, gave. */
export type Computed = { readonly kind: "computed" } & (
  | { readonly what: "when"; readonly holds: boolean }
  /** In milliseconds, from when it is recorded. */
  | { readonly what: "for"; readonly ms: number }
  | { readonly what: "over"; readonly items: StoredValue; readonly count: number; readonly concurrency: number }
  | { readonly what: "input"; readonly runId: string; readonly input: StoredValue }
  /** As the schema made it. */
  | { readonly what: "payload"; readonly payload: StoredValue }
);

export function computedEntry(unit: Unit, state: RunState, computed: Computed, now: number): Entry {
  const step = unit.name;
  switch (computed.what) {
    case "when":
      return { kind: "condition_decided", step, holds: computed.holds };
    case "for":
      return { kind: "timer_started", step, until: Math.min(Math.ceil(now + computed.ms), farFuture) };
    case "over": {
      const { items, count, concurrency } = computed;
      return { kind: "items_listed", step, items, count, concurrency };
    }
    case "input":
      return { kind: "child_started", step, runId: computed.runId, input: computed.input };
    case "payload":
      return {
        kind: "signal_consumed",
        step,
        received: pendingSignal(unit, state)!.received,
        payload: computed.payload,
      };
  }
}
