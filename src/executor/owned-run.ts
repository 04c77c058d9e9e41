// A RUN IN ITS OWNER'S HAND: its state as last read, and how more is written to it: one row at the next number (design
// 1.2). What is written is the core's to say; here it is offered until it is in, or is no longer right.

import type { Entry, StoredValue } from "../core/entry.js";
import { foldEntries, foldRows } from "../core/fold.js";
import type { Policies } from "../core/policies.js";
import { projectionOf, touchesRun } from "../core/projection.js";
import type { RecordContext } from "../core/record.js";
import type { RunState } from "../core/state.js";
import type { Logger, SagaDefinition } from "../definition/saga.js";
import type { Journal, Offer, RunHeader } from "../journal/journal.js";
import type { Clock } from "../platform/clock.js";
import type { Chance } from "../platform/ids.js";
import type { Children } from "./children.js";
import { type PerformTools, runOutputOf } from "./perform.js";
import type { PolicyOptions } from "./policies-of.js";
import type { Transactions } from "./transactions.js";

/** What drives runs: the parts that all runs of a worker share. */
export interface Driving {
  readonly journal: Journal;
  readonly transactions?: Transactions;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly logger: Logger;
  /** The worker's present id. */
  readonly worker: () => string;
  readonly performTools: Omit<PerformTools, "note">;
  readonly children: Pick<Children, "look" | "launch">;
  /** What the calls of functions are tried again by, where they do not say so. */
  readonly policies: PolicyOptions;
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

/** What the owner has in hand, apart from one unit, and what it knows of the run's children, and of its function. */
export interface Hand {
  holding(
    except: string | undefined,
  ): Pick<RecordContext, "busy" | "givenUp" | "children" | "replay"> & Partial<Pick<RecordContext, "policies">>;
}

/** What should be written, given the newest state; nothing where nothing is right any more. */
export type Make = (state: RunState) => readonly Entry[] | undefined;

export class OwnedRun {
  readonly #driving: Driving;
  readonly #run: TakenRun;
  readonly #hand: Hand;
  #state: RunState;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(driving: Driving, run: TakenRun, hand: Hand) {
    this.#driving = driving;
    this.#run = run;
    this.#hand = hand;
    this.#state = run.state;
  }

  get state(): RunState {
    return this.#state;
  }

  /** Whether somebody else has taken the run up, as far as was read. */
  get isLost(): boolean {
    return this.#state.owner?.token !== this.#run.token;
  }

  /** What a decision about the run needs, as of now. `recorded`: the unit whose outcome it is about. */
  context(recorded?: string): RecordContext {
    const { journal, chance, worker, stopping } = this.#driving;
    return {
      now: journal.now(),
      policies: this.#run.policies,
      random: chance.random(),
      worker: worker(),
      stopping: stopping(),
      ...this.#hand.holding(recorded),
    };
  }

  /** One append at a time: what runs side by side takes its numbers one after the other. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Reads what others have written, until now at least. */
  async read(): Promise<void> {
    const { saga, header } = this.#run;
    for (;;) {
      const state = this.#state;
      const rows = await this.#driving.journal.rowsAfter(header, state.last);
      // A row of one's own that came in meanwhile may not have been read, nor what came after it.
      if (this.#state !== state) continue;
      this.#state = foldRows(saga.shape, state, rows);
      return;
    }
  }

  /**
   * Offers what `make` wants written, again and again to newer states while the number is lost, until it is in, or there is
   * nothing to write any more. `over` is called then, before anybody else's turn: the next row has to be made knowing it.
   */
  offer(make: Make, runOutput?: StoredValue, over: () => void = () => {}): Promise<void> {
    return this.inTurn(() => this.#offer(make, runOutput).then(over));
  }

  async #offer(make: Make, runOutput: StoredValue | undefined): Promise<void> {
    const { saga, header } = this.#run;
    const { journal } = this.#driving;
    // 1.2: a zombie drops what it had and stops, never adopting and going on, whenever it has read that it is one.
    while (!this.isLost) {
      const state = this.#state;
      const entries = make(state);
      if (entries === undefined || entries.length === 0) return;
      const result = await journal.append(this.offerOf(state, entries, runOutput));
      if (result.kind === "appended") {
        this.adopt(foldRows(saga.shape, state, [result.row]));
        return;
      }
      this.adopt(foldRows(saga.shape, state, await journal.rowsAfter(header, state.last)));
    }
  }

  /** The row that writes these entries after `state`. */
  offerOf(state: RunState, made: readonly Entry[], runOutput: StoredValue | undefined): Offer {
    const { saga, header, token } = this.#run;
    const { journal, chance } = this.#driving;
    const entries = this.#withRunOutput(state, made, runOutput);
    const offer = { header, number: state.last + 1, nonce: chance.id(), writer: token, entries };
    if (!touchesRun(entries)) return offer;
    return { ...offer, projection: projectionOf(saga.shape, foldEntries(saga.shape, state, entries, journal.now())) };
  }

  /** Takes over what is now known to have been written. A reading may have been faster, and seen what came after it. */
  adopt(state: RunState): void {
    if (state.last > this.#state.last) this.#state = state;
  }

  #withRunOutput(state: RunState, entries: readonly Entry[], runOutput: StoredValue | undefined): readonly Entry[] {
    return entries.map((entry) => {
      if (entry.kind !== "finished" || entry.status !== "completed" || entry.output !== undefined) return entry;
      const output = runOutput ?? this.#computedOutput(state, entries.slice(0, -1));
      return output === undefined ? entry : { ...entry, output };
    });
  }

  /**
   * The run's output where no body has just computed it: an operator settled the last step. One who knew no definition may
   * have given what the saga's `output` can't work with; then the run, all of whose steps are done, ends without one.
   */
  #computedOutput(last: RunState, before: readonly Entry[]): StoredValue | undefined {
    const { saga, header } = this.#run;
    const { performTools, logger } = this.#driving;
    const state = foldEntries(saga.shape, last, before, 0);
    try {
      return runOutputOf({ saga, header, state }, performTools);
    } catch (error) {
      logger.error(
        { err: error, runId: header.runId },
        "the saga's output could not be computed; the run ends without",
      );
      return undefined;
    }
  }
}
