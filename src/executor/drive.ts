// THE ONLY LOOP: load, decide, perform, append. First run and recovery are the same code. It chooses nothing: what to do
// is `decide`'s, what an outcome becomes is `record`'s, who may go on is told by the number that an append takes.

import { whyStop } from "../core/abort.js";
import type { Attempted } from "../core/action.js";
import { decide } from "../core/decide.js";
import { record, settle } from "../core/record.js";
import type { RunState } from "../core/state.js";
import type { Transaction } from "../definition/saga.js";
import { type Driving, OwnedRun, type TakenRun } from "./owned-run.js";
import { type Performance, type PerformedOutcome, perform } from "./perform.js";
import { lookAgainAfterMs, whyUnreadable } from "./readable.js";
import { attemptInTransaction } from "./transactional-attempt.js";

export type { Driving, TakenRun } from "./owned-run.js";

/** `lost`: somebody else drives it. `released`: parked, handed over or ended; `state` tells which. */
export interface DriveEnd {
  readonly kind: "released" | "lost";
  readonly state: RunState;
}

export class Drive {
  readonly run: TakenRun;
  /** Settles when this process no longer drives the run. Rejects only for a fault of the library's own. */
  readonly end: Promise<DriveEnd>;
  /** The last progress that the attempt under way noted. */
  note: unknown;
  /** A body was begun, and what came of it is not in the journal. */
  unrecorded = false;
  readonly #driving: Driving;
  readonly #owned: OwnedRun;
  #lost = false;
  #performing: { readonly action: Attempted; readonly performance: Performance } | undefined;
  #reading: Promise<void> = Promise.resolve();
  #wake: () => void = () => {};
  #poked = false;

  constructor(driving: Driving, run: TakenRun) {
    this.#driving = driving;
    this.run = run;
    this.#owned = new OwnedRun(driving, run);
    this.end = this.#loop();
  }

  get state(): RunState {
    return this.#owned.state;
  }

  /** Somebody else wrote to the run, or the worker stops: look again, and stop what should not go on. */
  poke(): void {
    this.#poked = true;
    this.#wake();
    if (this.#performing === undefined) return;
    this.#reading = this.#reading
      .then(() => this.#readAndStop())
      .catch((error: unknown) => {
        const fields = { err: error, runId: this.run.header.runId };
        this.#driving.logger.warn(fields, "could not read what was written to a run; its next append will");
      });
  }

  /** Aborts what is under way: the worker closes, or has lost the run. Nothing more is begun. */
  abort(reason: "shutdown" | "lost"): void {
    if (reason === "lost") this.#lost = true;
    this.#wake();
    this.#performing?.performance.abort(reason);
  }

  async #loop(): Promise<DriveEnd> {
    const { saga } = this.run;
    const owned = this.#owned;
    await this.#giveBackIfUnreadable();
    for (;;) {
      if (owned.state.owner === undefined) return { kind: "released", state: owned.state };
      if (this.#poked) await this.#read();
      if (this.#lost || owned.isLost) return { kind: "lost", state: owned.state };
      const before = owned.state;
      const action = decide(saga.shape, before, owned.context());
      // What has to be written before anything is done: the turn, the pivot's entry, the end, the parking.
      await owned.offer((state) => settle(saga.shape, state, [], owned.context()));
      if (owned.state === before) {
        if (action.kind === "wait") await this.#sleep(action.until);
        else if (action.kind === "run" || action.kind === "reconcile") await this.#attempt(action);
      }
    }
  }

  /** 1.4: a run whose values this code can't read is blocked: it is given back untouched, for whoever can. */
  async #giveBackIfUnreadable(): Promise<void> {
    const { saga, header } = this.run;
    const { journal, logger, performTools } = this.#driving;
    const reasons = await whyUnreadable(saga, { header, state: this.state }, performTools.decode);
    if (reasons.length === 0) return;
    logger.error({ runId: header.runId, reasons }, "a run's values can't be read by this worker; the run is blocked");
    const until = Math.ceil(journal.now() + lookAgainAfterMs(journal.now() - header.startAt));
    await this.#owned.offer(() => [{ kind: "parked", until }]);
  }

  async #attempt(action: Attempted): Promise<void> {
    const { saga } = this.run;
    const owned = this.#owned;
    await this.#driving.mayStart();
    // 1.7: before a second or later attempt, and after any wait, an ask may be in the journal already.
    if (this.#poked || action.kind === "reconcile" || action.attempt > 1) {
      const before = owned.state.last;
      await this.#read();
      if (owned.state.last !== before) return;
    }
    if (!this.#mayBegin()) return;
    const step = saga.steps.find((candidate) => candidate.name === action.step)!;
    if (step.transaction && action.kind === "run") {
      const { run } = this;
      const driving = this.#driving;
      const perform = (tx: Transaction) => this.#perform(action, tx);
      return attemptInTransaction({ driving, run, owned, step, action, perform, mayBegin: () => this.#mayBegin() });
    }
    this.unrecorded = true;
    const { outcome, runOutput } = await this.#perform(action);
    await owned.offer((state) => record(saga.shape, state, action, outcome, owned.context()), runOutput);
    // What the abort of a run that may be lost made of it is recorded by nobody.
    this.unrecorded = outcome.kind === "threw" && outcome.aborted === "lost";
  }

  /** False once the worker stops, has lost the run, or others wrote to it: the loop looks again. */
  #mayBegin(): boolean {
    return !this.#lost && !this.#poked && !this.#driving.stopping();
  }

  async #perform(action: Attempted, tx?: Transaction): Promise<PerformedOutcome> {
    const { saga, header } = this.run;
    const { performTools, logger, onAbandoned } = this.#driving;
    // What a body says after its attempt is over is nobody's progress.
    const note = (value: unknown) => {
      if (this.#performing?.performance === performance) this.note = value;
    };
    const performance = perform({ saga, header, state: this.state }, action, { ...performTools, note }, tx);
    this.#performing = { action, performance };
    const cancelDeadline = this.#armDeadline(action, performance);
    const performed = await performance.outcome;
    cancelDeadline();
    this.#performing = undefined;
    this.note = undefined;
    await this.#reading;
    const fields = { runId: header.runId, step: action.step };
    if (performed.error !== undefined) logger.info({ ...fields, err: performed.error.thrown }, "an attempt failed");
    if (performed.abandoned !== undefined) onAbandoned(fields, performed.abandoned);
    return performed;
  }

  #armDeadline(action: Attempted, performance: Performance): () => void {
    const { policies, token } = this.run;
    const { deadlineAt } = policies;
    if (deadlineAt === Number.POSITIVE_INFINITY) return () => {};
    const { clock, journal } = this.#driving;
    return clock.after(Math.max(0, deadlineAt - journal.now()), () => {
      const reason = whyStop(this.state, token, action, { now: deadlineAt, policies });
      if (reason !== undefined) performance.abort(reason);
    });
  }

  async #read(): Promise<void> {
    this.#poked = false;
    await this.#owned.read();
  }

  async #readAndStop(): Promise<void> {
    await this.#read();
    if (this.#performing === undefined) return;
    const { action, performance } = this.#performing;
    const reason = whyStop(this.state, this.run.token, action, this.#owned.context());
    if (reason !== undefined) performance.abort(reason);
  }

  /** Until that instant, or until something is to be looked at. */
  #sleep(until: number): Promise<void> {
    if (!this.#mayBegin()) return Promise.resolve();
    const { clock, journal } = this.#driving;
    return new Promise((resolve) => {
      const cancel = clock.after(Math.max(0, until - journal.now()), () => this.#wake());
      this.#wake = () => {
        cancel();
        this.#wake = () => {};
        resolve();
      };
    });
  }
}
