// EVERY VERB OF THE SEAM over a journal: what both executors have in common. What differs (who takes a run up, how others
// hear of what was written) is handed in as `hooks`.

import type { RunStatus } from "../core/projection.js";
import type { EndOfRun } from "../core/outcome.js";
import { endOf } from "../core/outcome.js";
import type { RunState } from "../core/state.js";
import type { InputOf, OutputOf, Saga } from "../definition/define-saga.js";
import { durationMs } from "../definition/duration.js";
import type { SagaDefinition } from "../definition/saga.js";
import type { Shape } from "../definition/shape.js";
import { InputInvalidError, OptionsInvalidError, RunNotFoundError, UsageError } from "../errors/usage-errors.js";
import type { Journal, LoadedRun, RunHeader, RunLine, RunStart } from "../journal/journal.js";
import type { Values } from "../journal/codec.js";
import type { Clock } from "../platform/clock.js";
import type { Chance } from "../platform/ids.js";
import { checkOutput } from "./context.js";
import type {
  CancelAnswer,
  CloseOptions,
  HistoryEntry,
  ListOptions,
  ResolveOptions,
  RunOutcome,
  RunPage,
  RunSummary,
  RunView,
  SagaExecutor,
  StartOptions,
  WaitOptions,
} from "./executor.js";
import type { RunHandle } from "./handle.js";
import { foldRun, type KnownRun, type Operating, requestCancel, resolve, retry } from "./operating.js";
import { outcomeOf } from "./outcome-of.js";
import { runOutputOf } from "./perform.js";
import type { Registry } from "./registry.js";
import { checkSameRun, prepareStart } from "./starting.js";
import { parseValue } from "./validate.js";
import { historyOf, viewOf } from "./view.js";
import type { Waiters } from "./waiting.js";

/** Why no live worker can take a run up; empty when one can. */
export type Availability = (run: { readonly saga: string; readonly version: number; readonly shape: Shape }) => readonly string[];

export interface ExecutorHooks {
  /** Records the run and sees to it that it is driven: at once, where `soon` and a slot allow it. */
  begin(start: RunStart, options: { readonly soon: boolean; readonly tx?: StartOptions["tx"] }): Promise<{ header: RunHeader; created: boolean }>;
  /** An operator's append is in. */
  written(header: RunHeader, state: RunState): void;
  availability(): Promise<Availability>;
  /** What an attempt under way in this process noted. */
  noteOf(runId: string): unknown;
  close(graceMs: number): Promise<void>;
}

export interface ExecutorParts {
  readonly journal: Journal;
  readonly registry: Registry;
  readonly values: Values;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly waiters: Waiters;
  readonly hooks: ExecutorHooks;
}

const defaultGraceMs = 10_000;
const mostListed = 1_000;

export class JournalExecutor implements SagaExecutor {
  readonly #parts: ExecutorParts;
  readonly #operating: Operating;
  #closing: Promise<void> | undefined;

  constructor(parts: ExecutorParts) {
    this.#parts = parts;
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
    return this.#start(saga, input, options, false);
  }

  async execute<S extends Saga>(saga: S, input: InputOf<S>, options: StartOptions & WaitOptions = {}): Promise<OutputOf<S>> {
    const handle = await this.#start(saga, input, options, true);
    return handle.result(options);
  }

  async #start<S extends Saga>(saga: S, input: unknown, options: StartOptions, soon: boolean): Promise<RunHandle<OutputOf<S>>> {
    this.#checkOpen();
    const { registry, values, journal, chance, hooks } = this.#parts;
    const known: SagaDefinition = registry.require(saga);
    const freshId = () => chance.runId(journal.now());
    const start = await prepareStart(known, input, options, { ...values, freshId });
    const { header, created } = await hooks.begin(start, { soon, ...(options.tx === undefined ? {} : { tx: options.tx }) });
    if (!created) checkSameRun(start, header);
    return this.#handle<OutputOf<S>>(header, created);
  }

  async find(runId: string): Promise<RunHandle<unknown> | undefined> {
    const loaded = await this.#parts.journal.load(runId);
    return loaded && this.#handle(loaded.header, false);
  }

  #handle<Output>(header: RunHeader, created: boolean): RunHandle<Output> {
    const outcome = (options: WaitOptions = {}) => this.#outcome(header, options) as Promise<RunOutcome<Output>>;
    const result = async (options: WaitOptions = {}) => {
      const end = await outcome(options);
      if (end.status === "completed") return end.output;
      throw end.error;
    };
    return Object.freeze({ id: header.runId, created, outcome, result });
  }

  async #outcome(header: RunHeader, options: WaitOptions): Promise<RunOutcome<unknown>> {
    const { journal, waiters, clock, values } = this.#parts;
    const look = async (): Promise<EndOfRun | undefined> => {
      const loaded = await journal.load(header.runId);
      // A run started in a transaction that was rolled back, or pruned meanwhile.
      if (loaded === undefined) throw new RunNotFoundError(header.runId);
      const { state } = foldRun(loaded);
      return endOf(header.shape, state);
    };
    const end = await waiters.until(header.runId, look, {
      clock,
      ...(options.timeout === undefined ? {} : { timeoutMs: durationMs(options.timeout, "timeout") }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    return outcomeOf(header, end, values.decode);
  }

  async requestCancel(runId: string, operator: { readonly by: string; readonly reason?: string }): Promise<CancelAnswer> {
    const { by, reason } = checkOperator("requestCancel", operator);
    return requestCancel(this.#operating, runId, reason === undefined ? { by } : { by, reason });
  }

  async get(runId: string): Promise<RunView | undefined> {
    const { journal, values, hooks } = this.#parts;
    const loaded = await journal.load(runId);
    if (loaded === undefined) return undefined;
    const blocked = (await hooks.availability())(loaded.header);
    return viewOf(loaded, { decode: values.tryDecode, now: journal.now(), blocked, note: hooks.noteOf(runId) });
  }

  async history(runId: string): Promise<readonly HistoryEntry[]> {
    return historyOf(await this.#require(runId), this.#parts.values.tryDecode);
  }

  async list(options: ListOptions = {}): Promise<RunPage> {
    const limit = options.limit ?? 50;
    if (!Number.isInteger(limit) || limit < 1 || limit > mostListed)
      throw new OptionsInvalidError("list", [{ at: "limit", fault: `must be a whole number from 1 to ${mostListed}` }]);
    const wanted = options.status === undefined ? undefined : [options.status].flat();
    const blockedOf = await this.#parts.hooks.availability();
    const runs: RunSummary[] = [];
    let { cursor } = options;
    // `blocked` is derived, so it is filtered here; other statuses are filtered where the rows are.
    for (;;) {
      const { lines, cursor: next } = await this.#parts.journal.list({
        limit: limit - runs.length,
        ...(wanted === undefined ? {} : { status: storedStatuses(wanted) }),
        ...(options.saga === undefined ? {} : { saga: options.saga }),
        ...(cursor === undefined ? {} : { cursor }),
      });
      runs.push(...lines.map((line) => summaryOf(line, blockedOf)).filter((run) => wanted?.includes(run.status) ?? true));
      cursor = next;
      if (cursor === undefined || runs.length >= limit) return cursor === undefined ? { runs } : { runs, cursor };
    }
  }

  async retry(runId: string, operator: { readonly by: string }): Promise<void> {
    return retry(this.#operating, runId, checkOperator("retry", operator).by);
  }

  async resolve(runId: string, options: ResolveOptions): Promise<void> {
    const { by } = checkOperator("resolve", options);
    const { step, as, note, output } = options;
    if (!["done", "not_done", "undone"].includes(as))
      throw new OptionsInvalidError("resolve", [{ at: "as", fault: 'must be "done", "not_done" or "undone"' }]);
    const resolution = { step, as, by, ...(note === undefined ? {} : { note }) };
    return resolve(this.#operating, runId, resolution, async (run) => (as === "done" ? this.#settledOutput(run, step, output) : undefined));
  }

  /** What an operator says that a step gave: checked like the step's own, where the saga is known here. */
  async #settledOutput({ header, state }: KnownRun, stepName: string, output: unknown) {
    const { registry, values } = this.#parts;
    const saga = registry.find(header);
    const step = "steps" in saga ? saga.steps.find((candidate) => candidate.name === stepName) : undefined;
    if (!("steps" in saga) || step === undefined) return values.encode(output);
    const parsed = step.output === undefined ? { value: output } : await parseValue(step.output, output);
    if (parsed.faults !== undefined) throw new InputInvalidError(header.saga, parsed.faults);
    checkOutput(step, parsed.value, {});
    const stored = values.encode(parsed.value);
    const done = { output: stored, attempt: 1 };
    const after = { ...state, steps: { ...state.steps, [stepName]: { ...state.steps[stepName]!, done } } };
    // The saga's own output must be computable from it, or the run could never end.
    if (saga.steps.at(-1)?.name === stepName) runOutputOf({ saga, header, state: after }, values);
    return stored;
  }

  close(options: CloseOptions = {}): Promise<void> {
    const graceMs = options.grace === undefined ? defaultGraceMs : durationMs(options.grace, "grace");
    this.#closing ??= this.#parts.hooks.close(graceMs);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new UsageError("executor.closed", "this executor is closed; make a new one");
  }

  async #require(runId: string): Promise<LoadedRun> {
    const loaded = await this.#parts.journal.load(runId);
    if (loaded === undefined) throw new RunNotFoundError(runId);
    return loaded;
  }
}

function checkOperator(verb: string, operator: { readonly by?: unknown; readonly reason?: unknown } | undefined): { by: string; reason?: string } {
  const { by, reason } = operator ?? {};
  if (typeof by !== "string" || by.length === 0 || by.length > 500)
    throw new OptionsInvalidError(verb, [{ at: "by", fault: "must say who asks: 1 to 500 characters" }]);
  if (reason !== undefined && typeof reason !== "string") throw new OptionsInvalidError(verb, [{ at: "reason", fault: "must be a string" }]);
  return reason === undefined ? { by } : { by, reason };
}

const liveStatuses: readonly RunStatus[] = ["pending", "running", "waiting", "compensating"];

function storedStatuses(wanted: readonly (RunStatus | "blocked")[]): RunStatus[] {
  const stored = wanted.flatMap((status) => (status === "blocked" ? liveStatuses : [status]));
  return [...new Set(stored)];
}

function summaryOf(line: RunLine, blockedOf: Availability): RunSummary {
  const blocked = line.endedAt === undefined && blockedOf(line).length > 0;
  return {
    id: line.runId,
    saga: line.saga,
    version: line.version,
    status: blocked ? "blocked" : line.status,
    owed: line.owed,
    createdAt: new Date(line.createdAt),
    ...(line.endedAt === undefined ? {} : { endedAt: new Date(line.endedAt) }),
    ...(line.cancelRequestedAt === undefined ? {} : { cancelRequestedAt: new Date(line.cancelRequestedAt) }),
    ...(line.cancelRefusedAt === undefined ? {} : { cancelRefusedAt: new Date(line.cancelRefusedAt) }),
  };
}
