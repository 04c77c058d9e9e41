// THE ONLY LOOP: load, decide, perform, append. First run and recovery are the same code. It chooses nothing: what to do
// is `decide`'s, what an outcome becomes is `record`'s, who may go on is told by the number that an append takes.

import { whyStop } from "../core/abort.js";
import type { Attempted, LookAtChild } from "../core/action.js";
import { decide } from "../core/decide.js";
import { farFuture } from "../core/entry.js";
import { isLeftOpen, record, settle } from "../core/record.js";
import type { RunState } from "../core/state.js";
import type { SagaDefinition, Transaction } from "../definition/saga.js";
import type { AbortReason } from "../errors/step-errors.js";
import { bodyOf } from "./bodies.js";
import { InHand } from "./in-hand.js";
import { type Driving, OwnedRun, type TakenRun } from "./owned-run.js";
import { type PerformedOutcome, perform } from "./perform.js";
import { lookAgainAfterMs, whyUnreadable } from "./readable.js";
import { Replay } from "./replay.js";
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
  readonly #driving: Driving;
  readonly #hand = new InHand();
  readonly #owned: OwnedRun;
  /** Of a function's run. */
  readonly #replay: Replay | undefined;
  #lost = false;
  #reading: Promise<void> = Promise.resolve();
  #wake: () => void = () => {};
  #woken = false;
  #fault: { readonly error: unknown } | undefined;
  #pokes = 0;
  #heardPokes = 0;

  constructor(driving: Driving, run: TakenRun) {
    this.#driving = driving;
    this.run = run;
    const moved = () => {
      this.#stopWhatShould();
      this.#wakeUp();
    };
    this.#replay = run.saga.function && new Replay({ driving, run, begin: run.saga.function, moved });
    const holding = (except: string | undefined) => ({ ...this.#hand.holding(except), ...this.#replay?.told() });
    this.#owned = new OwnedRun(driving, run, { holding });
    this.end = this.#toItsEnd().finally(() => this.#replay?.suspend(this.state));
  }

  get state(): RunState {
    return this.#owned.state;
  }

  /** The last progress that an attempt under way noted. */
  get note(): unknown {
    return this.#hand.note;
  }

  /** A body was begun, and what came of it is not in the journal. */
  get unrecorded(): boolean {
    return this.#hand.unrecorded;
  }

  /** How long what is in hand may go on once it was aborted, in milliseconds. */
  get longestGraceMs(): number {
    return Math.max(0, ...this.#hand.steps.map((step) => bodyOf(this.#saga, step)!.step.graceMs));
  }

  /** Somebody else wrote to the run, its child ended, or the worker stops: look again, and stop what should not go on. */
  poke(): void {
    this.#pokes += 1;
    this.#wakeUp();
    if (!this.#hand.isBusy) return;
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
    this.#wakeUp();
    this.#hand.abort(() => reason);
  }

  /** Whoever drives it next begins no body beside one that is in this hand: it is over only when the hand is empty. */
  async #toItsEnd(): Promise<DriveEnd> {
    try {
      await this.#loop();
    } catch (error) {
      this.#fault ??= { error };
    }
    this.#stopWhatShould();
    await this.#hand.empty();
    if (this.#fault !== undefined) throw this.#fault.error;
    return { kind: this.state.owner === undefined ? "released" : "lost", state: this.state };
  }

  async #loop(): Promise<void> {
    const { saga } = this.run;
    const owned = this.#owned;
    await this.#giveBackIfUnreadable();
    for (;;) {
      if (this.#hand.isBusy) await this.#reading;
      else if (this.#isPoked && !owned.isLost) await this.#read();
      if (this.#lost || owned.isLost || this.#fault !== undefined) return;
      this.#woken = false;
      const before = owned.state;
      const action = decide(saga.shape, before, owned.context());
      // What has to be written before anything is done: the turn, the pivot's entry, the end, the parking.
      await owned.offer((state) => settle(saga.shape, state, [], owned.context()));
      if (owned.state !== before) continue;
      if (action.kind === "look") await this.#look(action);
      else if (action.kind === "run" || action.kind === "reconcile" || action.kind === "compute")
        await this.#begin(action);
      else if (action.kind === "replay") await this.#goOn();
      else if (action.kind === "wait") await this.#sleep(action.until);
      // While the worker stops, some rows are not written before what is in hand has ended.
      else await this.#sleep(farFuture);
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

  /** A saga whose list is what its function has asked for so far. */
  get #saga(): SagaDefinition {
    return this.#replay?.saga ?? this.run.saga;
  }

  /** The function goes on with what was recorded; where nothing was, until it moves of itself. */
  async #goOn(): Promise<void> {
    const went = await this.#replay!.goOn(this.state);
    this.#stopWhatShould();
    if (went) return;
    const cancel = this.#replay!.warnWhenLong();
    const { pivotEntered, rollback } = this.state;
    await this.#sleep(pivotEntered || rollback !== undefined ? farFuture : this.run.policies.deadlineAt);
    cancel();
  }

  async #look({ step, direction }: LookAtChild): Promise<void> {
    const { header } = this.run;
    const { child } = this.state.steps[step]!;
    const definition = bodyOf(this.#saga, step)!.step.child!;
    this.#hand.saw(step, await this.#driving.children.look(header, definition, child!, direction));
  }

  /** Begins it, and leaves it in hand. */
  async #begin(action: Attempted): Promise<void> {
    const owned = this.#owned;
    const before = owned.state;
    await this.#driving.mayStart();
    // 1.7: before a second or later attempt, and after any wait, an ask may be in the journal already.
    if (this.#isPoked || action.kind === "reconcile" || action.attempt > 1) await this.#read();
    // Not while a row is on its way: it was made without knowing of this body, and may turn the saga, or give it back.
    const held = await owned.inTurn(async () => {
      if (owned.state !== before) return false;
      if (!this.#mayBegin()) return true;
      this.#take(action);
      return false;
    });
    // While the worker stops, what is in hand still has to end.
    if (held) await this.#sleep(farFuture);
  }

  #take(action: Attempted): void {
    const attempt = this.#attempt(action)
      .catch((error: unknown) => {
        this.#fault ??= { error };
      })
      .then(() => {
        this.#hand.release(action.step);
        this.#wakeUp();
      });
    this.#hand.take(action, attempt);
  }

  async #attempt(action: Attempted): Promise<void> {
    const { saga, token } = this.run;
    const { step } = bodyOf(this.#saga, action.step)!;
    const owned = this.#owned;
    if (step.transaction && action.kind === "run") {
      const { run } = this;
      const driving = this.#driving;
      const performInside = (tx: Transaction) => this.#perform(action, tx);
      const mayBegin = () => this.#mayBegin() && this.#whyStop(action) === undefined;
      const over = () => this.#hand.release(action.step);
      await attemptInTransaction({ driving, run, owned, step, action, perform: performInside, mayBegin, over });
    } else {
      const { outcome, runOutput } = await this.#perform(action);
      const recorded = (state: RunState) => record(saga.shape, state, action, outcome, owned.context(action.step));
      await owned.offer(recorded, runOutput, () => {
        const aborted = outcome.kind === "threw" ? outcome.aborted : undefined;
        if (isLeftOpen(action, outcome) && owned.state.owner?.token === token) this.#hand.giveUp(action.step);
        // What the abort of a run that may be lost made of it is recorded by nobody.
        else if (aborted !== "lost") this.#hand.recorded(action.step);
        this.#hand.release(action.step);
      });
    }
    this.#stopWhatShould();
  }

  /** False once the worker stops, has lost the run, or others wrote to it: the loop looks again. */
  #mayBegin(): boolean {
    return !this.#lost && !this.#isPoked && !this.#driving.stopping();
  }

  async #perform(action: Attempted, tx?: Transaction): Promise<PerformedOutcome> {
    const { header } = this.run;
    const saga = this.#saga;
    const { performTools, logger, onAbandoned } = this.#driving;
    const note = (value: unknown) => this.#hand.noted(performance, value);
    const performance = perform({ saga, header, state: this.state }, action, { ...performTools, note }, tx);
    this.#hand.performs(action, performance, { unrecorded: tx === undefined && action.kind !== "compute" });
    const cancelDeadline = this.#armDeadline();
    const performed = await performance.outcome;
    cancelDeadline();
    this.#hand.performed(action.step);
    await this.#reading;
    const fields = { runId: header.runId, step: action.step };
    if (performed.error !== undefined) logger.info({ ...fields, err: performed.error.thrown }, "an attempt failed");
    if (performed.abandoned !== undefined) onAbandoned(fields, performed.abandoned);
    return performed;
  }

  #armDeadline(): () => void {
    const { deadlineAt } = this.run.policies;
    if (deadlineAt === Number.POSITIVE_INFINITY) return () => {};
    const { clock, journal } = this.#driving;
    return clock.after(Math.max(0, deadlineAt - journal.now()), () => this.#stopWhatShould(deadlineAt));
  }

  /** What others wrote has not been read yet. */
  get #isPoked(): boolean {
    return this.#pokes !== this.#heardPokes;
  }

  async #read(): Promise<void> {
    const pokes = this.#pokes;
    try {
      await this.#owned.read();
    } finally {
      this.#heardPokes = pokes;
      this.#hand.forgetChildren();
    }
  }

  async #readAndStop(): Promise<void> {
    await this.#read();
    this.#stopWhatShould();
  }

  /** `at`: an instant that has come, whatever the clock says. */
  #stopWhatShould(at = 0): void {
    this.#hand.abort((action) => this.#whyStop(action, at));
  }

  #whyStop(action: Attempted, at = 0): AbortReason | undefined {
    const { policies, token } = this.run;
    const context = { now: Math.max(at, this.#driving.journal.now()), policies, ...this.#replay?.told() };
    return whyStop(this.state, token, action, context);
  }

  #wakeUp(): void {
    this.#woken = true;
    this.#wake();
  }

  /** Until that instant, or until something is to be looked at. */
  #sleep(until: number): Promise<void> {
    const idle = this.#driving.stopping() && !this.#hand.isBusy;
    if (this.#woken || this.#isPoked || this.#lost || idle) return Promise.resolve();
    const { clock, journal } = this.#driving;
    return new Promise((resolve) => {
      const cancel = clock.after(Math.max(0, until - journal.now()), () => this.#wakeUp());
      this.#wake = () => {
        cancel();
        this.#wake = () => {};
        resolve();
      };
    });
  }
}
