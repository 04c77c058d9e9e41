// WHAT WAITING LEAVES IN A RUN'S STATE: conditions, timers, signals, lists and children (design 1.3). Part of the fold.

import type { Shape } from "../definition/shape.js";
import type { Entry, SignalReceived } from "./entry.js";
import { cleared } from "./fold-words.js";
import { type RunState, type SignalLine, type StepState, untouched, withStep } from "./state.js";
import { itemUnits, stageOf, unitOf } from "./units.js";

type WaitEntry = Extract<
  Entry,
  {
    readonly kind:
      | "condition_decided"
      | `timer_${"started" | "fired"}`
      | `signal_${"received" | "awaited" | "consumed" | "rejected" | "timed_out"}`
      | "items_listed"
      | `child_${"started" | "finished"}`;
  }
>;

export function foldWait(shape: Shape, state: RunState, entry: WaitEntry, at: number): RunState {
  switch (entry.kind) {
    case "condition_decided":
      return withStep(state, entry.step, (step) => ({
        ...computed(step),
        holds: entry.holds,
        ...(entry.holds ? {} : { done: { attempt: 0 } }),
      }));
    case "timer_started":
      return withStep(state, entry.step, (step) => ({ ...computed(step), waitUntil: entry.until }));
    case "signal_awaited":
      return withStep(state, entry.step, (step) => ({ ...step, waitUntil: entry.until }));
    case "timer_fired":
    case "signal_timed_out":
      return withStep(state, entry.step, (step) => ({ ...cleared(step), done: { attempt: 1 } }));
    case "signal_received":
      return received(shape, state, entry, at);
    case "signal_consumed":
      return withoutFirst(
        shape,
        withStep(state, entry.step, (step) => ({ ...cleared(step), done: { output: entry.payload, attempt: 1 } })),
        entry.step,
      );
    case "signal_rejected":
      return withoutFirst(shape, withStep(state, entry.step, computed), entry.step);
    case "items_listed":
      return listed(shape, state, entry);
    case "child_started":
      return withStep(state, entry.step, (step) => ({
        ...computed(step),
        child: { runId: entry.runId, input: entry.input },
      }));
    case "child_finished":
      return withStep(state, entry.step, (step) => {
        const ended = { ...step, child: { ...step.child!, ended: entry.status } };
        return entry.status === "completed"
          ? { ...cleared(ended), done: { output: entry.output!, attempt: 1 } }
          : ended;
      });
  }
}

/** What had to be computed is: the budget of the body, or of the next computing, is untouched. */
function computed(step: StepState): StepState {
  return { ...step, forward: untouched.forward };
}

const noSignals: SignalLine = { pending: [], dedupeKeys: [] };

/** Whoever waits for it is due at once; who does not finds it later. */
function received(shape: Shape, state: RunState, entry: SignalReceived, at: number): RunState {
  const line = state.signals[entry.signal] ?? noSignals;
  const pending = [...line.pending, { received: state.last + 1, payload: entry.payload }];
  const dedupeKeys = entry.dedupeKey === undefined ? line.dedupeKeys : [...line.dedupeKeys, entry.dedupeKey];
  const signals = { ...state.signals, [entry.signal]: { pending, dedupeKeys } };
  const awaited = stageOf(shape, state).some(
    ({ name, signal }) => signal === entry.signal && state.steps[name]!.waitUntil !== undefined,
  );
  const due = awaited && state.owner === undefined ? { dueAt: Math.min(at, state.dueAt) } : {};
  return { ...state, signals, ...due };
}

function withoutFirst(shape: Shape, state: RunState, step: string): RunState {
  const { signal } = unitOf(shape, state, step);
  const line = state.signals[signal!]!;
  return { ...state, signals: { ...state.signals, [signal!]: { ...line, pending: line.pending.slice(1) } } };
}

function listed(shape: Shape, state: RunState, entry: Extract<Entry, { readonly kind: "items_listed" }>): RunState {
  const element = shape.steps.find(({ name }) => name === entry.step)!;
  const units = itemUnits(element, entry.count);
  const items = { stored: entry.items, units, concurrency: entry.concurrency };
  const steps = { ...state.steps, ...Object.fromEntries(units.map(({ name }) => [name, untouched])) };
  return withStep({ ...state, steps }, entry.step, (step) => ({
    ...computed(step),
    items,
    ...(entry.count === 0 ? { done: { attempt: 1 } } : {}),
  }));
}
