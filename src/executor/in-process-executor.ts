// SAGAS IN THIS PROCESS, without a database: the same core, loop and verbs over a journal in memory. A peer of the durable
// executor in all but survival: when the process dies, its runs are gone.

import type { Entry } from "../core/entry.js";
import { projectionOf } from "../core/projection.js";
import { foldEntries, foldRows, type RunState } from "../core/state.js";
import type { SagaDefinition } from "../definition/saga.js";

import { Values } from "../journal/codec.js";
import type { RunHeader, RunStart } from "../journal/journal.js";
import { MemoryJournal } from "../journal/memory-journal.js";
import { Drive, type Driving } from "./drive.js";
import type { SagaExecutor } from "./executor.js";
import { JournalExecutor } from "./journal-executor.js";
import { foldRun } from "./operating.js";
import { type InProcessOptions, parseInProcessOptions, policyOptions } from "./options.js";
import { type PolicyOptions, policiesOf } from "./policies-of.js";
import { Registry } from "./registry.js";
import { Waiters } from "./waiting.js";
import { UsageError } from "../errors/usage-errors.js";

/**
 * Runs sagas in this process. Nothing survives it: use it for tests, scripts and development, and `durableExecutor` where
 * money moves.
 *
 * @throws OptionsInvalidError, UsageError `saga.duplicate`, `executor.unsupported` (a transactional step needs a database)
 */
export function inProcessExecutor(options: InProcessOptions): SagaExecutor {
  const parsed = parseInProcessOptions(options);
  const { sagas, logger, classifyError } = parsed;
  const { clock, chance } = parsed.platform;
  const policies = policyOptions(parsed);
  const journal = new MemoryJournal({ clock, chance });
  const values = new Values({ maxValueBytes: parsed.maxValueBytes, ...(parsed.codec === undefined ? {} : { codec: parsed.codec }) });
  const registry = new Registry(sagas, { transactions: false });
  const waiters = new Waiters();
  const driver = new InProcessDriver({
    driving: {
      journal,
      clock,
      chance,
      logger,
      worker: "in-process",
      performTools: { clock, logger, encode: values.encode, decode: values.decode, ...(classifyError === undefined ? {} : { classifyError }) },
      mayStart: async () => {},
      onAbandoned: (run) => logger.warn(run, "a body outlived its grace and was abandoned; what it still does is dropped"),
    },
    registry,
    policies,
    waiters,
    journal,
  });
  return new JournalExecutor({ journal, registry, values, clock, chance, waiters, hooks: driver });
}

interface InProcessParts {
  readonly driving: Omit<Driving, "stopping">;
  readonly registry: Registry;
  readonly policies: PolicyOptions;
  readonly waiters: Waiters;
  readonly journal: MemoryJournal;
}

/** Takes runs up when they are due, in this process. */
class InProcessDriver {
  readonly #parts: InProcessParts;
  readonly #driving: Driving;
  readonly #drives = new Map<string, Drive>();
  readonly #timers = new Map<string, () => void>();
  #stopping = false;

  constructor(parts: InProcessParts) {
    this.#parts = parts;
    this.#driving = { ...parts.driving, stopping: () => this.#stopping };
  }

  async begin(start: RunStart, options: { readonly tx?: unknown }): Promise<{ header: RunHeader; created: boolean }> {
    if (options.tx !== undefined)
      throw new UsageError("executor.unsupported", "inProcessExecutor has no database to join the caller's transaction in; use durableExecutor");
    const { header, created } = await this.#parts.journal.start(start);
    if (created) this.#takeUpAt(header, header.startAt);
    return { header, created };
  }

  written(header: RunHeader, state: RunState): void {
    const drive = this.#drives.get(header.runId);
    if (drive !== undefined) drive.poke();
    else if (state.finished === undefined) this.#takeUpAt(header, state.dueAt);
    else this.#forget(header.runId);
  }

  async availability() {
    return (run: { saga: string; version: number; shape: SagaDefinition["shape"] }): readonly string[] => {
      const found = this.#parts.registry.find(run);
      return "steps" in found ? [] : found;
    };
  }

  noteOf(runId: string): unknown {
    return this.#drives.get(runId)?.note;
  }

  async close(graceMs: number): Promise<void> {
    this.#stopping = true;
    for (const runId of [...this.#timers.keys()]) this.#forget(runId);
    const ends = [...this.#drives.values()].map((drive) => drive.end);
    const cancel = this.#driving.clock.after(graceMs, () => {
      for (const drive of this.#drives.values()) drive.abort("shutdown");
    });
    await Promise.allSettled(ends);
    cancel();
  }

  #forget(runId: string): void {
    this.#timers.get(runId)?.();
    this.#timers.delete(runId);
  }

  #takeUpAt(header: RunHeader, at: number): void {
    this.#forget(header.runId);
    if (this.#stopping) return;
    const cancel = this.#driving.clock.after(Math.max(0, at - this.#parts.journal.now()), () => {
      this.#timers.delete(header.runId);
      this.#takeUp(header).catch((error: unknown) => this.#driving.logger.error({ err: error, runId: header.runId }, "a run could not be driven"));
    });
    this.#timers.set(header.runId, cancel);
  }

  async #takeUp(header: RunHeader): Promise<void> {
    const { journal, registry, policies } = this.#parts;
    const saga = registry.find(header);
    if (!("steps" in saga)) return;
    const token = this.#driving.chance.id();
    const entry: Entry = { kind: "taken_up", worker: this.#driving.worker, token, crash: false };
    for (;;) {
      const { state } = foldRun((await journal.load(header.runId))!);
      if (state.finished !== undefined || state.owner !== undefined) return;
      const projection = projectionOf(header.shape, foldEntries(header.shape, state, [entry], journal.now()));
      const result = await journal.append({ header, number: state.last + 1, nonce: token, writer: token, entries: [entry], projection });
      if (result.kind === "taken") continue;
      const taken = { saga, header, token, state: foldRows(header.shape, state, [result.row]) };
      return this.#drive(new Drive(this.#driving, { ...taken, policies: policiesOf(saga, policies, header.startAt) }));
    }
  }

  async #drive(drive: Drive): Promise<void> {
    const { header } = drive.run;
    this.#drives.set(header.runId, drive);
    try {
      const { state } = await drive.end;
      this.#drives.delete(header.runId);
      if (state.finished !== undefined) this.#parts.waiters.wake(header.runId);
      else if (state.owner === undefined) this.#takeUpAt(header, state.dueAt);
    } finally {
      this.#drives.delete(header.runId);
    }
  }
}
