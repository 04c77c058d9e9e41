// SCHEDULES, as callers see them (design 2.3): put under an id, looked at, paused, removed, fired by hand.

import type { InputOf, Saga } from "../definition/define-saga.js";
import type { ScheduleInput, SchedulePolicies, ScheduleTiming } from "../definition/schedules.js";
import type { RunHandle } from "./handle.js";

/** What `put` takes. */
export type PutSchedule<S extends Saga> = ScheduleTiming &
  SchedulePolicies &
  ScheduleInput<InputOf<S>> & {
    /** 1 to 150 characters, without NUL. */
    readonly id: string;
    /** A saga that is registered with this executor. */
    readonly target: S;
  };

/** How a schedule stands. */
export interface ScheduleView {
  readonly id: string;
  /** What it starts. */
  readonly saga: string;
  readonly version: number;
  readonly input: unknown;
  /** Either `cron` and `timeZone`, or `every`, as one would write it. */
  readonly cron?: string;
  readonly timeZone?: string;
  readonly every?: string;
  readonly missed: "skip" | "once" | "all";
  readonly overlap: "allow" | "skip";
  readonly paused: boolean;
  /** Absent while it is paused, and when it never fires again. */
  readonly nextFiring?: Date;
  /** The newest one, by the clock or by `trigger`. `scheduledFor`: when it was due. */
  readonly lastFiring?: { readonly scheduledFor: Date; readonly runId: string };
  /** The newest firing that was let go: missed, or a run of an earlier one was live. */
  readonly lastSkipped?: { readonly scheduledFor: Date; readonly why: "missed" | "overlap" };
  readonly createdAt: Date;
  /** When `put` last changed something of it. */
  readonly changedAt: Date;
}

/**
 * Schedules of the executor's tenant. Any client may use all verbs; workers fire (in process: this executor does). A firing
 * is a run with an id made of the schedule's and the instant it was due: `firingOf(runId)` tells both. It fires exactly once
 * over all workers: the run and the schedule's next firing are written in one transaction.
 */
export interface Schedules {
  /**
   * Makes a schedule, or changes the one with that id. One that does not change is left as it is. Only another timing moves
   * its next firing; whether it is paused stays.
   *
   * @throws OptionsInvalidError with all faults (a cron that can't fire: "never fires"), InputInvalidError, `saga.unknown`,
   * `value.unserializable`, `value.too_large`
   */
  put<S extends Saga>(schedule: PutSchedule<S>): Promise<ScheduleView>;
  get(id: string): Promise<ScheduleView | undefined>;
  /** All of them, by id. */
  list(): Promise<readonly ScheduleView[]>;
  /** It does not fire until it is resumed. @throws UsageError `schedule.not_found` */
  pause(id: string): Promise<ScheduleView>;
  /** It goes on from now: what fell due while it was paused is not fired. @throws UsageError `schedule.not_found` */
  resume(id: string): Promise<ScheduleView>;
  /** Whether there was one. Runs that it started go on. */
  remove(id: string): Promise<boolean>;
  /** Fires it now, once, whether or not it is paused or a run is live; its next firing stays. @throws UsageError `schedule.not_found` */
  trigger(id: string): Promise<RunHandle<unknown>>;
}
