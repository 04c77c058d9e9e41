// THE ONLY LOOP: load, decide, perform, append. First run and recovery are the same code. It chooses nothing: what to do
// is `decide`'s, what an outcome becomes is `record`'s, who may go on is told by the number that an append takes.

import { whyStop } from "../core/abort.js";
import type { Attempted, RunBody } from "../core/action.js";
import { decide } from "../core/decide.js";
import type { Entry, StoredValue } from "../core/entry.js";
import type { Policies } from "../core/policies.js";
import { projectionOf, touchesRun } from "../core/projection.js";
import { type RecordContext, record, settle, type Threw } from "../core/record.js";
import { foldEntries, foldRows, type RunState } from "../core/state.js";
import type { Logger, SagaDefinition, Transaction } from "../definition/saga.js";
import type { AbortReason } from "../errors/step-errors.js";
import type { AppendResult, Journal, Offer, RunHeader } from "../journal/journal.js";
import type { Clock } from "../platform/clock.js";
import type { Chance } from "../platform/ids.js";
import { type Performance, type PerformTools, perform, runOutputOf, threwOutcome } from "./perform.js";

/** An open transaction of the journal's database, for one attempt of a transactional step. */
export interface OpenTransaction {
  readonly tx: Transaction;
  /** Appends inside the transaction; nothing is visible before `commit`. */
  append(offer: Offer): Promise<AppendResult>;
  /** The rows after `after`, as seen from inside. */
  rowsAfter(header: RunHeader, after: number): ReturnType<Journal["rowsAfter"]>;
  /** `unknown`: the answer was lost; the commit may have happened, or still happen. */
  commit(): Promise<"committed" | "unknown">;
  /** Undoes it. A body that may still be using it loses its connection. */
  undo(): Promise<void>;
  /** Whether its connection broke: then nothing that its body says counts. */
  readonly broken: boolean;
  /** Whether the body ended the transaction by itself (a COMMIT of its own): then nobody knows what stands. */
  readonly left: boolean;
}

export interface Transactions {
  begin(options: { readonly forMs: number }): Promise<OpenTransaction>;
}

/** What drives runs: the parts that all runs of a worker share. */
export interface Driving {
  readonly journal: Journal;
  readonly transactions?: Transactions;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly logger: Logger;
  readonly worker: string;
  readonly performTools: Omit<PerformTools, "note">;
  /** Resolves once bodies may start (a worker without its lock starts none); rejects never. */
  readonly mayStart: () => Promise<void>;
  readonly stopping: () => boolean;
  readonly onAbandoned: (run: { readonly runId: string; readonly step: string }, body: Promise<void>) => void;
}

/** A run that this process has taken up: `state` includes its `taken_up`. */
export interface TakenRun {
  readonly saga: SagaDefinition;
  readonly header: RunHeader;
  readonly state: RunState;
  readonly token: string;
  readonly policies: Policies;
}

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
  #driving: Driving;
  #state: RunState;
  #lost = false;
  #performing: { action: Attempted; performance: Performance } | undefined;
  #reading: Promise<void> = Promise.resolve();
  #wake: () => void = () => {};
  #poked = false;

  constructor(driving: Driving, run: TakenRun) {
    this.#driving = driving;
    this.run = run;
    this.#state = run.state;
    this.end = this.#loop();
  }

  get state(): RunState {
    return this.#state;
  }

  /** Somebody else wrote to the run: read it, and stop what should not go on. */
  poke(): void {
    this.#poked = true;
    this.#wake();
    if (this.#performing === undefined) return;
    this.#reading = this.#reading.then(() => this.#readAndStop()).catch((error: unknown) => {
      this.#driving.logger.warn({ err: error, runId: this.run.header.runId }, "could not read what was written to a run; its next append will");
    });
  }

  /** Aborts what is under way: the worker closes, or has lost the run. Nothing more is begun. */
  abort(reason: "shutdown" | "lost"): void {
    if (reason === "lost") this.#lost = true;
    this.#wake();
    this.#performing?.performance.abort(reason);
  }

  async #loop(): Promise<DriveEnd> {
    for (;;) {
      if (this.#poked) await this.#read();
      if (this.#lost || this.#state.owner?.token !== this.run.token) return { kind: "lost", state: this.#state };
      const action = decide(this.run.saga.shape, this.#state, this.#context());
      // What has to be written before anything is done: the turn, the pivot's entry, the end, the parking.
      const before = this.#state;
      await this.#offer((state) => settle(this.run.saga.shape, state, [], this.#context()));
      if (this.#state === before) {
        if (action.kind === "wait") await this.#sleep(action.until);
        else if (action.kind === "run" || action.kind === "reconcile") await this.#attempt(action);
      }
      if (this.#state.owner === undefined) return { kind: "released", state: this.#state };
    }
  }

  async #attempt(action: Attempted): Promise<void> {
    await this.#driving.mayStart();
    // 1.7: before a second or later attempt, and after any wait, an ask may be in the journal already.
    if (action.kind === "reconcile" || action.attempt > 1) {
      const before = this.#state.last;
      await this.#read();
      if (this.#state.last !== before) return;
    }
    if (this.#lost || this.#driving.stopping()) return;
    const step = this.run.saga.shape.steps.find((candidate) => candidate.name === action.step)!;
    if (step.transactional && action.kind === "run") await this.#attemptInTransaction(action);
    else {
      const { outcome, runOutput } = await this.#perform(action);
      await this.#offer((state) => record(this.run.saga.shape, state, action, outcome, this.#context()), runOutput);
    }
  }

  async #attemptInTransaction(action: RunBody): Promise<void> {
    const { saga, header } = this.run;
    const step = saga.steps.find((candidate) => candidate.name === action.step)!;
    const open = await this.#driving.transactions!.begin({ forMs: step.timeoutMs + step.graceMs });
    const { outcome, runOutput } = await this.#perform(action, open.tx);
    let threw: Threw | undefined = outcome.kind === "threw" ? outcome : undefined;
    if (threw === undefined) {
      try {
        // 1.10: the number is taken last, with the commit; a lost number is decided about again inside the transaction.
        const row = await this.#offerThrough(open, (state) => record(saga.shape, state, action, outcome, this.#context()), runOutput);
        if (row === undefined) return await open.undo();
        const at = this.#state.last;
        if ((await open.commit()) === "unknown") return await this.#settleLostCommit(action, at);
        this.#state = row;
        return;
      } catch (error) {
        // What the database says at the end (a deferred constraint, a deadlock) is the step's own failure.
        threw = threwOutcome({ error }, step, this.#driving.performTools);
      }
    }
    await open.undo();
    // The library's own trouble with the database is never an attempt of a step.
    if (open.broken) {
      this.#driving.logger.warn({ runId: header.runId, step: step.name }, "the database went away in a transactional step; its transaction is void");
      await this.#read();
      return;
    }
    const undone: Threw = { ...threw, happened: open.left ? "maybe" : "no" };
    await this.#offer((state) => record(saga.shape, state, action, undone, this.#context()));
  }

  /**
   * CRASH: the commit's answer was lost. Its row may be there, or still come. An entry of ours at the same number settles
   * it: if it gets in, the transaction can't commit any more; if not, the row that is there tells.
   */
  async #settleLostCommit(action: RunBody, at: number): Promise<void> {
    const { step, direction, attempt } = action;
    await this.#offer((state) => {
      if (state.last !== at) return [];
      const { attempts, failures } = direction === "forward" ? state.steps[step]!.forward : state.steps[step]!.undo;
      const error = { name: "StoreError", code: "store.unavailable", message: "the answer to the commit was lost; it did not commit" };
      const { doubt, final } = state.steps[step]!;
      const retryAt = this.#driving.journal.now();
      return [{ kind: "attempt_failed", step, direction, attempt, attempts, counted: false, failures, error, doubt, final, retryAt }];
    });
  }

  async #perform(action: Attempted, tx?: Transaction): ReturnType<typeof perform>["outcome"] {
    const { saga, header } = this.run;
    this.note = undefined;
    const tools = { ...this.#driving.performTools, note: (value: unknown) => void (this.note = value) };
    const performance = perform({ saga, header, state: this.#state }, action, tools, tx);
    this.#performing = { action, performance };
    if (this.#poked) this.poke();
    const cancelDeadline = this.#armDeadline(action, performance);
    const performed = await performance.outcome;
    cancelDeadline();
    this.#performing = undefined;
    await this.#reading;
    if (performed.abandoned !== undefined) this.#driving.onAbandoned({ runId: header.runId, step: action.step }, performed.abandoned);
    return performed;
  }

  #armDeadline(action: Attempted, performance: Performance): () => void {
    const { deadlineAt } = this.run.policies;
    if (deadlineAt === Number.POSITIVE_INFINITY) return () => {};
    return this.#driving.clock.after(Math.max(0, deadlineAt - this.#driving.journal.now()), () => {
      const reason = whyStop(this.#state, this.run.token, action, { now: deadlineAt, policies: this.run.policies });
      if (reason !== undefined) performance.abort(reason);
    });
  }

  /**
   * Offers what `make` wants written, again and again to newer states while the number is lost, until it is in, or there is
   * nothing to write any more.
   */
  async #offer(make: (state: RunState) => readonly Entry[] | undefined, runOutput?: StoredValue): Promise<void> {
    const written = await this.#offerThrough(this.#driving.journal, make, runOutput);
    if (written !== undefined) this.#state = written;
  }

  /** The state after the row, not yet adopted; undefined when nothing was written and what was read has been adopted. */
  async #offerThrough(
    journal: Pick<Journal, "append" | "rowsAfter">,
    make: (state: RunState) => readonly Entry[] | undefined,
    runOutput?: StoredValue,
  ): Promise<RunState | undefined> {
    const { saga, header, token } = this.run;
    for (;;) {
      const state = this.#state;
      const entries = make(state);
      if (entries === undefined) return undefined;
      if (entries.length === 0) return state;
      const row = this.#withRunOutput(entries, runOutput);
      const after = foldEntries(saga.shape, state, row, this.#driving.journal.now());
      const result = await journal.append({
        header,
        number: state.last + 1,
        nonce: this.#driving.chance.id(),
        writer: token,
        entries: row,
        ...(touchesRun(row) ? { projection: projectionOf(saga.shape, after) } : {}),
      });
      if (result.kind === "appended") return foldRows(saga.shape, state, [result.row]);
      this.#state = foldRows(saga.shape, state, await journal.rowsAfter(header, state.last));
      // 1.2: a zombie drops what it had and stops, never adopting and going on.
      if (this.#state.owner?.token !== token) return undefined;
    }
  }

  #withRunOutput(entries: readonly Entry[], runOutput: StoredValue | undefined): readonly Entry[] {
    return entries.map((entry) => {
      if (entry.kind !== "finished" || entry.status !== "completed") return entry;
      const { saga, header } = this.run;
      const before = foldEntries(saga.shape, this.#state, entries.slice(0, -1), 0);
      return { ...entry, output: runOutput ?? runOutputOf({ saga, header, state: before }, this.#driving.performTools) };
    });
  }

  async #read(): Promise<void> {
    this.#poked = false;
    const { saga, header } = this.run;
    const state = this.#state;
    const rows = await this.#driving.journal.rowsAfter(header, state.last);
    if (this.#state === state) this.#state = foldRows(saga.shape, state, rows);
  }

  async #readAndStop(): Promise<void> {
    await this.#read();
    const performing = this.#performing;
    if (performing === undefined) return;
    const now = this.#driving.journal.now();
    const reason: AbortReason | undefined = whyStop(this.#state, this.run.token, performing.action, { now, policies: this.run.policies });
    if (reason !== undefined) performing.performance.abort(reason);
  }

  #sleep(until: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#driving.clock.after(Math.max(0, until - this.#driving.journal.now()), () => this.#wake());
      this.#wake = () => {
        cancel();
        this.#wake = () => {};
        resolve();
      };
    });
  }

  #context(): RecordContext {
    const { journal, chance, worker, stopping } = this.#driving;
    return { now: journal.now(), policies: this.run.policies, random: chance.random(), worker, stopping: stopping() };
  }
}
