// WHICH FIRINGS ARE DUE, and which of them are let go: the policies for what was missed and for what overlaps. Pure.

import { newestFirings, nextFiring, type Timing } from "./timing.js";

/** What becomes of firings that fell due while no worker looked. */
export type MissedPolicy = "skip" | "once" | "all";

/** What becomes of a firing while the run of an earlier one is live. */
export type OverlapPolicy = "allow" | "skip";

/**
 * After a night without workers the report is still wanted, once: `skip` would lose it without a word, and `all` would
 * send a hundred.
 */
export const defaultMissed: MissedPolicy = "once";

/** Each firing happens unless its schedule says otherwise: letting one go is a loss, and has to be chosen. */
export const defaultOverlap: OverlapPolicy = "allow";

/** With `all`, the most firings that one look makes up for: the newest. More would bury the workers in what is stale. */
export const mostMadeUpFor = 100;

/** With `skip`, how late a firing may be and still count as on time: a look, a takeover, a short restart, in milliseconds. */
export const onTimeMs = 10_000;

export interface DueSchedule {
  readonly timing: Timing;
  readonly missed: MissedPolicy;
  readonly overlap: OverlapPolicy;
  /** The stored next firing: not later than `now`. */
  readonly dueAt: number;
  readonly now: number;
  /** Whether a run of an earlier firing is live. */
  readonly busy: boolean;
}

/** The newest firing that was let go, and why. */
export interface LetGo {
  readonly at: number;
  readonly why: "missed" | "overlap";
}

export interface FiringPlan {
  /** Instants to fire for, oldest first. */
  readonly fire: readonly number[];
  readonly skipped?: LetGo;
  /** Undefined: it never fires again. */
  readonly nextAt: number | undefined;
}

/** What a look at a due schedule does. All that it says is to be made true in one transaction, or not at all. */
export function planFirings(due: DueSchedule): FiringPlan {
  const { timing, dueAt, now, busy, overlap } = due;
  const nextAt = nextFiring(timing, now, dueAt);
  const found = newestFirings(timing, { dueAt, upTo: now, count: mostMadeUpFor + 1 });
  // Another worker's tables of time zones said so, and it is what people were shown.
  const passed = found.length === 0 ? [dueAt] : found;
  const wanted = wantedOf(due, passed);
  if (overlap === "allow") return { fire: wanted, ...missedOf(passed, wanted), nextAt };
  // The first one's run is live as soon as it is fired, and the others are then let go.
  const fire = busy ? [] : wanted.slice(0, 1);
  if (wanted.length > fire.length) return { fire, skipped: { at: wanted.at(-1)!, why: "overlap" }, nextAt };
  return { fire, ...missedOf(passed, wanted), nextAt };
}

function wantedOf({ missed, now }: DueSchedule, passed: readonly number[]): readonly number[] {
  const newest = passed.at(-1)!;
  switch (missed) {
    case "skip":
      return now - newest <= onTimeMs ? [newest] : [];
    case "once":
      return [newest];
    case "all":
      return passed.slice(-mostMadeUpFor);
  }
}

function missedOf(passed: readonly number[], wanted: readonly number[]): { readonly skipped?: LetGo } {
  const at = passed.at(-1 - wanted.length);
  return at === undefined ? {} : { skipped: { at, why: "missed" } };
}
