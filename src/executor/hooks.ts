// WHAT DIFFERS BETWEEN EXECUTORS: who takes a run up, how others hear of what was written, who can be told what.

import type { RunState } from "../core/state.js";
import type { Shape } from "../definition/shape.js";
import type { Begun, CheckSame, RunHeader, RunStart } from "../journal/journal.js";
import type { StartOptions } from "./executor.js";

/** Why no live worker can take a run up; empty when one can. */
export type Availability = (run: {
  readonly saga: string;
  readonly version: number;
  readonly shape: Shape;
}) => readonly string[];

export interface ExecutorHooks {
  /** Records the run and sees to it that it is driven: at once, where `soon` and a slot allow it. */
  begin(
    start: RunStart,
    options: { readonly soon: boolean; readonly tx?: StartOptions["tx"] },
  ): Promise<{ header: RunHeader; created: boolean }>;
  /** Records runs of one saga, all or none, as {@link Journal.startMany} does, and sees to it that they are driven. */
  beginMany(
    starts: readonly RunStart[],
    options: { readonly check: CheckSame; readonly tx?: StartOptions["tx"] },
  ): Promise<readonly Begun[]>;
  /** Somebody begins to wait for the run's end: from now on its waiters are woken. */
  watch(header: RunHeader): Promise<void>;
  /** An operator's append is in. */
  written(header: RunHeader, state: RunState): void;
  availability(): Promise<Availability>;
  /** What an attempt under way in this process noted. */
  noteOf(header: RunHeader): unknown;
  close(graceMs: number): Promise<void>;
}
