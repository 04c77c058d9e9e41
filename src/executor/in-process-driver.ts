// WHO DRIVES RUNS IN THIS PROCESS, and when: a timer for each run that nobody drives, a drive for each that is due. A timer
// is a hint: what it finds in the journal decides.

import { foldEntries, foldRows } from "../core/fold.js";
import { projectionOf } from "../core/projection.js";
import type { RunState } from "../core/state.js";
import { takeUp } from "../core/take-up.js";
import { UsageError } from "../errors/usage-errors.js";
import type { Values } from "../journal/codec.js";
import type { Begun, CheckSame, RunHeader, RunStart } from "../journal/journal.js";
import type { MemoryJournal } from "../journal/memory-journal.js";
import { Children } from "./children.js";
import { Drive, type Driving } from "./drive.js";
import type { Availability, ExecutorHooks } from "./hooks.js";
import { Lanes } from "./lanes.js";
import { foldRun } from "./operating.js";
import { type PolicyOptions, policiesOf } from "./policies-of.js";
import type { Registry } from "./registry.js";
import type { Waiters } from "./waiting.js";

export interface InProcessParts {
  readonly driving: Omit<Driving, "stopping" | "children">;
  readonly registry: Registry;
  readonly policies: PolicyOptions;
  readonly waiters: Waiters;
  readonly journal: MemoryJournal;
  readonly values: Pick<Values, "encode" | "decode">;
}

export class InProcessDriver implements ExecutorHooks {
  readonly #parts: InProcessParts;
  readonly #driving: Driving;
  readonly #drives = new Map<string, Drive>();
  readonly #timers = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  readonly #lanes = new Lanes();
  /** What has begun and has to be over before `close` is. */
  readonly #busy = new Set<Promise<void>>();
  /** Runs one of whose children ended since they were last taken up. */
  readonly #toldOfChild = new Set<string>();
  #stopping = false;

  constructor(parts: InProcessParts) {
    this.#parts = parts;
    const written = (header: RunHeader, state: RunState) => {
      if (state.finished !== undefined) parts.waiters.wake(header.runId);
      this.written(header, state);
    };
    const children = new Children({
      operatingFor: () => ({ journal: parts.journal, nonce: () => parts.driving.chance.id(), written }),
      values: parts.values,
      begin: (start) => this.begin(start, { soon: false }),
    });
    this.#driving = { ...parts.driving, children, stopping: () => this.#stopping };
  }

  async begin(
    start: RunStart,
    options: { readonly soon: boolean; readonly tx?: unknown },
  ): Promise<{ header: RunHeader; created: boolean }> {
    refuseTransaction(options.tx);
    const { header, created } = await this.#parts.journal.start(start);
    if (created) this.#takeUpAt(header, header.startAt);
    return { header, created };
  }

  async beginMany(
    starts: readonly RunStart[],
    options: { readonly check: CheckSame; readonly tx?: unknown },
  ): Promise<readonly Begun[]> {
    refuseTransaction(options.tx);
    const begun = await this.#parts.journal.startMany(starts, options.check);
    for (const { header, created } of begun) if (created) this.#takeUpAt(header, header.startAt);
    return begun;
  }

  written(header: RunHeader, state: RunState): void {
    const drive = this.#drives.get(header.runId);
    if (drive !== undefined) drive.poke();
    if (state.finished !== undefined) this.#ended(header);
    else if (state.owner === undefined) this.#takeUpAt(header, state.dueAt);
  }

  /** Waiters are woken from where the run is driven: this process. */
  async watch(): Promise<void> {}

  async availability(): Promise<Availability> {
    return (run) => {
      const found = this.#parts.registry.find(run);
      return "steps" in found ? [] : found;
    };
  }

  noteOf({ runId }: RunHeader): unknown {
    return this.#drives.get(runId)?.note;
  }

  async close(graceMs: number): Promise<void> {
    this.#stopping = true;
    for (const runId of [...this.#timers.keys()]) this.#forget(runId);
    // What sleeps between two attempts need not sleep on.
    for (const drive of this.#drives.values()) drive.poke();
    const cancel = this.#driving.clock.after(graceMs, () => {
      for (const drive of this.#drives.values()) drive.abort("shutdown");
    });
    await Promise.all(this.#busy);
    cancel();
  }

  /** Its place goes to the next in its lane. */
  #leave(header: RunHeader): void {
    for (const next of this.#lanes.leave(header, this.#limitOf(header))) this.#takeUpAt(next, next.startAt);
  }

  #limitOf(header: RunHeader): number {
    const saga = this.#parts.registry.find(header);
    return ("steps" in saga ? saga.concurrency?.limit : undefined) ?? Number.POSITIVE_INFINITY;
  }

  #forget(runId: string): void {
    this.#timers.get(runId)?.cancel();
    this.#timers.delete(runId);
  }

  /** Looks at the run at that instant, unless it is looked at sooner anyway. */
  #takeUpAt(header: RunHeader, at: number): void {
    const { runId } = header;
    if (this.#stopping || (this.#timers.get(runId)?.at ?? Number.POSITIVE_INFINITY) <= at) return;
    this.#forget(runId);
    const cancel = this.#driving.clock.after(Math.max(0, at - this.#parts.journal.now()), () => {
      this.#timers.delete(runId);
      const taking = this.#takeUp(header)
        .catch((error: unknown) => this.#driving.logger.error({ err: error, runId }, "a run could not be driven"))
        .finally(() => this.#busy.delete(taking));
      this.#busy.add(taking);
    });
    this.#timers.set(runId, { at, cancel });
  }

  async #takeUp(header: RunHeader): Promise<void> {
    const { journal, registry, policies } = this.#parts;
    const saga = registry.find(header);
    if (!("steps" in saga)) return;
    const token = this.#driving.chance.id();
    const entries = takeUp({ worker: this.#driving.worker(), token });
    for (;;) {
      const { state } = foldRun((await journal.load(header.runId))!);
      if (this.#stopping || state.finished !== undefined || state.owner !== undefined) return;
      const told = this.#toldOfChild.has(header.runId);
      if (state.dueAt > journal.now() && !told) return this.#takeUpAt(header, state.dueAt);
      if (!this.#lanes.enter(header, this.#limitOf(header))) return;
      const projection = projectionOf(header.shape, foldEntries(header.shape, state, entries, journal.now()));
      const offer = { header, number: state.last + 1, nonce: token, writer: token, entries, projection };
      const result = await journal.append(offer);
      if (result.kind === "taken") continue;
      // It looks from now on. While its number was another's, it was still to be told.
      this.#toldOfChild.delete(header.runId);
      const taken = { saga, header, token, state: foldRows(header.shape, state, [result.row]) };
      return this.#drive(new Drive(this.#driving, { ...taken, policies: policiesOf(saga, policies, header.startAt) }));
    }
  }

  async #drive(drive: Drive): Promise<void> {
    const { header } = drive.run;
    this.#drives.set(header.runId, drive);
    try {
      await drive.end;
    } finally {
      if (this.#drives.get(header.runId) === drive) this.#drives.delete(header.runId);
    }
    // Others may have written since the drive last read.
    const { state } = foldRun((await this.#parts.journal.load(header.runId))!);
    if (state.finished === undefined) {
      if (state.owner === undefined) this.#takeUpAt(header, this.#toldOfChild.has(header.runId) ? 0 : state.dueAt);
      return;
    }
    this.#parts.waiters.wake(header.runId);
    this.#ended(header);
  }

  /** Nobody looks at it any more, but its parent, whatever that waits for. */
  #ended(header: RunHeader): void {
    this.#forget(header.runId);
    this.#toldOfChild.delete(header.runId);
    this.#leave(header);
    const parent = header.parent === undefined ? undefined : this.#parts.journal.headerOf(header.parent);
    if (parent === undefined) return;
    const drive = this.#drives.get(parent.runId);
    if (drive !== undefined) drive.poke();
    this.#toldOfChild.add(parent.runId);
    this.#takeUpAt(parent, 0);
  }
}

function refuseTransaction(tx: unknown): void {
  if (tx === undefined) return;
  throw new UsageError(
    "executor.unsupported",
    "inProcessExecutor has no database to join the caller's transaction in; use durableExecutor",
  );
}
