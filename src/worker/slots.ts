// WHAT THIS WORKER DRIVES: the runs in its slots, what was abandoned, which of them is a suspect. Knows no SQL.

import type { RunState } from "../core/state.js";
import type { Logger } from "../definition/saga.js";
import { Drive, type Driving, type TakenRun } from "../executor/drive.js";
import type { RunHeader } from "../journal/journal.js";

export interface SlotsOptions {
  readonly slots: number;
  readonly logger: Logger;
  /** A run left its slot. `state` is what this process last knew of it. */
  readonly onFree: (header: RunHeader, state: RunState) => void;
}

export class Slots {
  readonly #options: SlotsOptions;
  readonly #driving: Driving;
  readonly #drives = new Map<string, Drive>();
  readonly #suspects = new Set<string>();
  /** Tokens whose drive failed by a fault of the library's: a body may have begun under them. */
  readonly #faulted = new Set<string>();
  readonly #abandoned = new Map<Promise<void>, { readonly runId: string; readonly step: string }>();

  constructor(options: SlotsOptions, driving: Omit<Driving, "onAbandoned">) {
    this.#options = options;
    this.#driving = { ...driving, onAbandoned: (run, body) => this.#abandon(run, body) };
  }

  /** How many runs may still be taken: none while as many abandoned bodies as slots go on by themselves (1.6). */
  get free(): number {
    if (this.#abandoned.size >= this.#options.slots) return 0;
    return Math.max(0, this.#options.slots - this.#drives.size);
  }

  get used(): number {
    return this.#drives.size;
  }

  get hasSuspect(): boolean {
    return this.#suspects.size > 0;
  }

  /** Bodies that outlived their grace and still go on, by run and step. */
  get abandoned(): readonly { readonly runId: string; readonly step: string }[] {
    return [...this.#abandoned.values()];
  }

  has(key: string): boolean {
    return this.#drives.has(key);
  }

  /** Whether a body may have begun under this token, though nobody drives the run any more. */
  mayHaveBegun(token: string): boolean {
    return this.#faulted.has(token);
  }

  noteOf(runId: string): unknown {
    for (const drive of this.#drives.values()) if (drive.run.header.runId === runId) return drive.note;
    return undefined;
  }

  take(run: TakenRun, options: { readonly suspect: boolean }): void {
    const { key } = run.header;
    const drive = new Drive(this.#driving, run);
    this.#drives.set(key, drive);
    if (options.suspect) this.#suspects.add(key);
    drive.end.then(
      ({ kind, state }) => {
        if (kind === "lost")
          this.#options.logger.warn(
            { runId: run.header.runId },
            "a run was lost to another worker; what was in hand is dropped",
          );
        this.#leave(key, drive, state);
      },
      (error: unknown) => {
        this.#faulted.add(run.token);
        this.#options.logger.error(
          { err: error, runId: run.header.runId },
          "a run could not be driven on; it will be taken up again",
        );
        this.#leave(key, drive, drive.state);
      },
    );
  }

  /** Others wrote to these runs. */
  poke(keys: readonly string[]): void {
    for (const key of keys) this.#drives.get(key)?.poke();
  }

  /** Everything in a slot looks anew at what it is to do: the worker stops. */
  pokeAll(): void {
    for (const drive of this.#drives.values()) drive.poke();
  }

  /** The runs and steps whose bodies are under way. */
  get underWay(): readonly { readonly runId: string; readonly step: string | undefined }[] {
    return [...this.#drives.values()].map((drive) => ({
      runId: drive.run.header.runId,
      step: drive.state.underWay?.step,
    }));
  }

  abortAll(reason: "shutdown" | "lost"): void {
    for (const drive of this.#drives.values()) drive.abort(reason);
  }

  /** Resolves when no run is in a slot any more. */
  async empty(): Promise<void> {
    while (this.#drives.size > 0) await Promise.allSettled([...this.#drives.values()].map((drive) => drive.end));
  }

  #leave(key: string, drive: Drive, state: RunState): void {
    // The same run may have been taken again by the time that its old drive settles.
    if (this.#drives.get(key) === drive) {
      this.#drives.delete(key);
      this.#suspects.delete(key);
    }
    this.#options.onFree(drive.run.header, state);
  }

  #abandon(run: { readonly runId: string; readonly step: string }, body: Promise<void>): void {
    this.#options.logger.warn(
      { ...run, abandoned: this.#abandoned.size + 1 },
      "a body outlived its grace and was abandoned; what it still does is dropped",
    );
    this.#abandoned.set(body, run);
    void body.then(() => this.#abandoned.delete(body));
  }
}
