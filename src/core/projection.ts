// WHAT THE RUN'S ROW SHOWS of its journal. The journal decides and the row follows in the same statement; an append that
// changes nothing here touches no row (design 3.1).

import type { Shape } from "../definition/shape.js";
import type { EndStatus, Entry } from "./entry.js";
import type { RunState } from "./state.js";
import { nextOwed, owedSteps, stageOf } from "./units.js";

/** The statuses of 1.4. `blocked` is derived by the reader and never stored. */
export type RunStatus = "pending" | "running" | "waiting" | "compensating" | EndStatus;

export interface Projection {
  readonly status: RunStatus;
  /** Whether somebody drives the run, it may be claimed from `dueAt` on, or it has ended. */
  readonly claim: "owned" | "free" | "ended";
  readonly dueAt: number;
  /** The token of the owner. */
  readonly owner?: string;
  readonly cancelRequestedAt?: number;
  readonly cancelRefusedAt?: number;
  /** Crashes in a row of what is next: from the second on, the run is taken up late and one at a time (1.6). */
  readonly crashes: number;
  /** Steps still to be undone, once the run has ended. */
  readonly owed: readonly string[];
}

export function projectionOf(shape: Shape, state: RunState): Projection {
  return {
    status: statusOf(state),
    claim: state.finished !== undefined ? "ended" : state.owner !== undefined ? "owned" : "free",
    dueAt: state.dueAt,
    ...(state.owner === undefined ? {} : { owner: state.owner.token }),
    ...(state.cancelRequestedAt === undefined ? {} : { cancelRequestedAt: state.cancelRequestedAt }),
    ...(state.cancelRefusedAt === undefined ? {} : { cancelRefusedAt: state.cancelRefusedAt }),
    crashes: crashesInARow(shape, state),
    owed: state.finished === undefined || state.rollback === undefined ? [] : owedSteps(shape, state),
  };
}

export function statusOf(state: RunState): RunStatus {
  if (state.finished !== undefined) return state.finished.status;
  if (state.rollback !== undefined) return "compensating";
  if (!state.begun) return "pending";
  return state.parked ? "waiting" : "running";
}

/** Of what runs side by side, the most. */
export function crashesInARow(shape: Shape, state: RunState): number {
  if (state.rollback !== undefined) {
    const owed = nextOwed(shape, state);
    return owed === undefined ? 0 : state.steps[owed.name]!.undo.crashes;
  }
  return Math.max(0, ...stageOf(shape, state).map(({ name }) => state.steps[name]!.forward.crashes));
}

const touching: ReadonlySet<Entry["kind"]> = new Set<Entry["kind"]>([
  "taken_up",
  "handed_over",
  "parked",
  "rollback_started",
  "signal_received",
  "recalled",
  "cancel_requested",
  "cancel_refused",
  "resolved",
  "retried",
  "finished",
]);

/** Whether a row with these entries changes what the run's row shows. A step's completion does not. */
export function touchesRun(entries: readonly Entry[]): boolean {
  return entries.some((entry) => touching.has(entry.kind));
}
