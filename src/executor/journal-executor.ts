// EVERY VERB OF THE SEAM over a journal: what both executors have in common. What differs (who takes a run up, how others
// hear of what was written) is handed in as `hooks`.

import { type EndOfRun, endOf } from "../core/outcome.js";
import type { InputOf, OutputOf, Saga } from "../definition/define-saga.js";
import { isSagaError } from "../errors/saga-error.js";
import { RunNotFoundError, UsageError } from "../errors/usage-errors.js";
import type { Values } from "../journal/codec.js";
import type { Journal, LoadedRun, RunHeader } from "../journal/journal.js";
import type { Clock } from "../platform/clock.js";
import type { Chance } from "../platform/ids.js";
import {
  parseGrace,
  parseList,
  parseOperator,
  parseResolve,
  parseSignal,
  parseStart,
  parseStartMany,
  parseWait,
} from "./call-options.js";
import type {
  CancelAnswer,
  CloseOptions,
  HistoryEntry,
  ListOptions,
  ResolveOptions,
  RunPage,
  RunView,
  SagaExecutor,
  SendOptions,
  SignalAnswer,
  StartManyOptions,
  StartOptions,
} from "./executor.js";
import type { RunHandle, RunOutcome, WaitOptions } from "./handle.js";
import type { ExecutorHooks } from "./hooks.js";
import { listRuns } from "./listing.js";
import { foldRun, loadRun, type Operating, requestCancel, resolve, retry } from "./operating.js";
import { outcomeOf } from "./outcome-of.js";
import { whyUnreadable } from "./readable.js";
import type { Registry } from "./registry.js";
import type { ScheduleBook } from "./schedule-book.js";
import type { Schedules } from "./schedules.js";
import { Scheduling } from "./scheduling.js";
import { settledOutput } from "./settled-output.js";
import { sendSignal } from "./signalling.js";
import { checkSameRun, prepareStart } from "./starting.js";
import { prepareStarts } from "./starting-many.js";
import { historyOf, unreadableView, viewOf } from "./view.js";
import type { Waiters } from "./waiting.js";

export type { Availability, ExecutorHooks } from "./hooks.js";

export interface ExecutorParts {
  readonly journal: Journal;
  readonly registry: Registry;
  readonly values: Values;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly waiters: Waiters;
  readonly hooks: ExecutorHooks;
  readonly schedules: {
    readonly book: ScheduleBook;
    readonly declared: Promise<void>;
    /** No more firings. */
    readonly close: () => Promise<void>;
  };
}

export class JournalExecutor implements SagaExecutor {
  readonly #parts: ExecutorParts;
  readonly schedules: Schedules;
  readonly #operating: Operating;
  #closing: Promise<void> | undefined;

  constructor(parts: ExecutorParts) {
    this.#parts = parts;
    this.schedules = new Scheduling({
      ...parts,
      ...parts.schedules,
      open: () => this.#checkOpen(),
      find: (runId) => this.find(runId),
    });
    this.#operating = {
      journal: parts.journal,
      nonce: () => parts.chance.id(),
      written: (header, state) => {
        if (state.finished !== undefined) parts.waiters.wake(header.runId);
        parts.hooks.written(header, state);
      },
    };
  }

  async start<S extends Saga>(saga: S, input: InputOf<S>, options: StartOptions = {}): Promise<RunHandle<OutputOf<S>>> {
    return this.#start(saga, input, parseStart("start", options), false);
  }

  async startMany<S extends Saga>(
    saga: S,
    inputs: readonly InputOf<S>[],
    options: StartManyOptions<InputOf<S>> = {},
  ): Promise<readonly RunHandle<OutputOf<S>>[]> {
    const { tx, ...request } = parseStartMany(options);
    this.#checkOpen();
    const { registry, values, journal, chance, hooks } = this.#parts;
    const freshId = () => chance.runId(journal.now());
    const starts = await prepareStarts(registry.require(saga), inputs, request, { ...values, freshId });
    this.#checkOpen();
    if (starts.length === 0) return [];
    const begun = await hooks.beginMany(starts, { check: checkSameRun, ...(tx === undefined ? {} : { tx }) });
    return begun.map(({ header, created }) => this.#handle<OutputOf<S>>(header, created));
  }

  async execute<S extends Saga>(
    saga: S,
    input: InputOf<S>,
    options: StartOptions & WaitOptions = {},
  ): Promise<OutputOf<S>> {
    const parsed = parseStart("execute", options);
    const { signal, timeout } = options;
    signal?.throwIfAborted();
    const handle = await this.#start(saga, input, parsed, true);
    return handle.result({
      ...(signal === undefined ? {} : { signal }),
      ...(timeout === undefined ? {} : { timeout }),
    });
  }

  async #start<S extends Saga>(
    saga: S,
    input: unknown,
    options: ReturnType<typeof parseStart>,
    soon: boolean,
  ): Promise<RunHandle<OutputOf<S>>> {
    this.#checkOpen();
    const { registry, values, journal, chance, hooks } = this.#parts;
    const freshId = () => chance.runId(journal.now());
    const start = await prepareStart(registry.require(saga), input, options, { ...values, freshId });
    // A schema may take its time.
    this.#checkOpen();
    const { tx } = options;
    const { header, created } = await hooks.begin(start, { soon, ...(tx === undefined ? {} : { tx }) });
    if (!created) checkSameRun(start, header);
    return this.#handle<OutputOf<S>>(header, created);
  }

  async find(runId: string): Promise<RunHandle<unknown> | undefined> {
    const loaded = await loadRun(this.#parts.journal, runId);
    return loaded && this.#handle(loaded.header, false);
  }

  #handle<Output>(header: RunHeader, created: boolean): RunHandle<Output> {
    const outcome = async (options: WaitOptions = {}) =>
      this.#outcome(header, parseWait(options)) as Promise<RunOutcome<Output>>;
    const result = async (options: WaitOptions = {}) => {
      const end = await outcome(options);
      if (end.status === "completed") return end.output;
      throw end.error;
    };
    return Object.freeze({ id: header.runId, created, outcome, result });
  }

  async #outcome(header: RunHeader, limits: ReturnType<typeof parseWait>): Promise<RunOutcome<unknown>> {
    const { journal, waiters, clock, values, hooks } = this.#parts;
    let watching = this.#closing !== undefined;
    const look = async (): Promise<EndOfRun | undefined> => {
      if (!watching) await hooks.watch(header);
      watching = true;
      const loaded = await journal.load(header.runId);
      // A run started in a transaction that was rolled back, or pruned meanwhile.
      if (loaded === undefined) throw new RunNotFoundError(header.runId);
      return endOf(header.shape, foldRun(loaded).state);
    };
    // What closing cuts short is told by closing itself.
    const lookWhileOpen = () =>
      look().catch((error) => (this.#closing === undefined ? Promise.reject(error) : undefined));
    const end = await waiters.until(header.runId, lookWhileOpen, { clock, ...limits });
    return outcomeOf(header, end, values.decode);
  }

  async requestCancel(
    runId: string,
    operator: { readonly by: string; readonly reason?: string },
  ): Promise<CancelAnswer> {
    return requestCancel(this.#operating, runId, parseOperator("requestCancel", operator));
  }

  async signal(runId: string, signal: string, payload?: unknown, options: SendOptions = {}): Promise<SignalAnswer> {
    const sent = { runId, signal, payload, ...parseSignal(signal, options) };
    return (await sendSignal({ ...this.#parts, operating: this.#operating }, sent)) ?? { verdict: "not_found" };
  }

  async get(runId: string): Promise<RunView | undefined> {
    const { journal, values, hooks } = this.#parts;
    let loaded: LoadedRun | undefined;
    try {
      loaded = await loadRun(journal, runId);
    } catch (error) {
      if (!isSagaError(error, "journal.unreadable")) throw error;
      return unreadableView((await journal.find(runId))!, error.message, values.tryDecode);
    }
    if (loaded === undefined) return undefined;
    const blocked = [...(await hooks.availability())(loaded.header), ...(await this.#unreadable(loaded))];
    return viewOf(loaded, { decode: values.tryDecode, now: journal.now(), blocked, note: hooks.noteOf(loaded.header) });
  }

  /** What of the run's values this executor's own code can't read, where it knows the saga. */
  async #unreadable(loaded: LoadedRun): Promise<readonly string[]> {
    const { registry, values } = this.#parts;
    const saga = registry.find(loaded.header);
    return "steps" in saga ? whyUnreadable(saga, foldRun(loaded), values.decode) : [];
  }

  async history(runId: string): Promise<readonly HistoryEntry[]> {
    const { journal, values } = this.#parts;
    const loaded = await loadRun(journal, runId);
    if (loaded === undefined) throw new RunNotFoundError(runId);
    return historyOf(await journal.allRows(loaded.header), values.tryDecode);
  }

  async list(options: ListOptions = {}): Promise<RunPage> {
    const listing = parseList(options);
    return listRuns(this.#parts.journal, await this.#parts.hooks.availability(), listing);
  }

  async retry(runId: string, operator: { readonly by: string }): Promise<void> {
    return retry(this.#operating, runId, parseOperator("retry", operator).by);
  }

  async resolve(runId: string, options: ResolveOptions): Promise<void> {
    const { step, as, output, by, note } = parseResolve(options);
    const resolution = { step, as, by, ...(note === undefined ? {} : { note }) };
    return resolve(this.#operating, runId, resolution, async (run) =>
      as === "done" ? settledOutput(run, { step, output }, this.#parts) : undefined,
    );
  }

  async close(options: CloseOptions = {}): Promise<void> {
    const graceMs = parseGrace(options);
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    try {
      await this.#parts.schedules.close();
      await this.#parts.hooks.close(graceMs);
    } finally {
      this.#parts.waiters.close(
        closed("it waits for no run any more; what has not ended goes on where a worker drives it"),
      );
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw closed("make a new one");
  }
}

function closed(hint: string): UsageError {
  return new UsageError("executor.closed", `this executor is closed; ${hint}`);
}
