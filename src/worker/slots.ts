// WHAT THIS WORKER DRIVES: the runs in its slots, those on their way there, what was abandoned, which of them is a suspect.
// Knows no SQL.

import { crashesInARow } from "../core/projection.js";
import type { RunState } from "../core/state.js";
import { suspectAfterCrashes } from "../core/take-up.js";
import type { Logger } from "../definition/saga.js";
import { Drive, type Driving, type TakenRun } from "../executor/drive.js";
import type { RunHeader } from "../journal/journal.js";

export interface SlotsOptions {
  readonly slots: number;
  readonly logger: Logger;
  /** A run left its slot. `state` is what this process last knew of it. */
  readonly onFree: (header: RunHeader, state: RunState) => void;
  /** Places that were held are not any more. */
  readonly onRelease: () => void;
}

/** Slots held for runs that are on their way, so that nobody else fills them. */
export interface Places {
  readonly count: number;
  /** A run may come under this token: nobody else takes it for one that was left lying. */
  expect(token: string): void;
  /** What was to come is in its slot, or does not come. Once. */
  release(): void;
}

/** What became of a run that nobody here drives, though the table says it is ours. */
export type LeftRun = "untouched" | "begun";

export class Slots {
  readonly #options: SlotsOptions;
  readonly #driving: Driving;
  readonly #drives = new Map<string, Drive>();
  readonly #suspects = new Set<string>();
  readonly #expected = new Set<string>();
  #reserved = 0;
  /** Tokens whose drive ended without giving the run up: by a fault of the library's, or because it might be lost. */
  readonly #left = new Map<string, LeftRun>();
  readonly #abandoned = new Map<Promise<void>, { readonly runId: string; readonly step: string }>();
  #waitingForEmpty: (() => void)[] = [];
  #givenUp = false;

  constructor(options: SlotsOptions, driving: Omit<Driving, "onAbandoned">) {
    this.#options = options;
    this.#driving = { ...driving, onAbandoned: (run, body) => this.#abandon(run, body) };
  }

  /** How many runs may still be taken: none while as many abandoned bodies as slots go on by themselves (1.6). */
  get free(): number {
    if (this.#abandoned.size >= this.#options.slots) return 0;
    return Math.max(0, this.#options.slots - this.#drives.size - this.#reserved);
  }

  get used(): number {
    return this.#drives.size;
  }

  /** Whether a run is driven that may take this process down. One that got on since is none any more. */
  get hasSuspect(): boolean {
    return [...this.#suspects].some((key) => {
      const drive = this.#drives.get(key);
      return drive !== undefined && isSuspect(drive.run, drive.state);
    });
  }

  /** Bodies that outlived their grace and still go on, by run and step. */
  get abandoned(): readonly { readonly runId: string; readonly step: string }[] {
    return [...this.#abandoned.values()];
  }

  /** The internal ids of what is driven. */
  get keys(): readonly string[] {
    return [...this.#drives.keys()];
  }

  has(key: string): boolean {
    return this.#drives.has(key);
  }

  /** Holds up to `most` free slots. */
  reserve(most: number): Places {
    const count = Math.min(most, this.free);
    const tokens: string[] = [];
    let held = true;
    this.#reserved += count;
    return {
      count,
      expect: (token) => {
        if (!held) return;
        tokens.push(token);
        this.#expected.add(token);
      },
      release: () => {
        if (!held) return;
        held = false;
        this.#reserved -= count;
        for (const token of tokens) this.#expected.delete(token);
        this.#options.onRelease();
        this.#settleEmpty();
      },
    };
  }

  /** Whether a run is on its way here under this token. */
  expects(token: string): boolean {
    return this.#expected.has(token);
  }

  /** What is known of a run that was driven here under this token, and is no more; undefined: nothing. */
  leftBehind(token: string): LeftRun | undefined {
    return this.#left.get(token);
  }

  /** The run was taken up again. */
  forgetLeft(token: string): void {
    this.#left.delete(token);
  }

  /** By the internal id: another tenant's run may have the same public one. */
  noteOf(key: string): unknown {
    return this.#drives.get(key)?.note;
  }

  /** Drives a run on. One that is driven under this token already is left to that. */
  take(run: TakenRun): void {
    const { key } = run.header;
    if (this.#drives.get(key)?.run.token === run.token) return;
    const drive = new Drive(this.#driving, run);
    this.#drives.set(key, drive);
    if (isSuspect(run, run.state)) this.#suspects.add(key);
    else this.#suspects.delete(key);
    drive.end.then(
      ({ kind, state }) => {
        if (kind === "lost") this.#lost(drive, state);
        this.#leave(key, drive, state);
      },
      (error: unknown) => {
        this.#leftBy(drive);
        if (!this.#givenUp)
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
    return [...this.#drives.values()].flatMap((drive) => {
      const { runId } = drive.run.header;
      const { underWay } = drive.state;
      return (underWay.length > 0 ? underWay : [{ step: undefined }]).map(({ step }) => ({ runId, step }));
    });
  }

  /** How long what is under way may go on once it was aborted, in milliseconds. */
  get longestGraceMs(): number {
    return Math.max(0, ...[...this.#drives.values()].map((drive) => drive.longestGraceMs));
  }

  abortAll(reason: "shutdown" | "lost"): void {
    for (const drive of this.#drives.values()) drive.abort(reason);
  }

  /** Resolves when no run is in a slot or on its way to one any more. */
  async empty(): Promise<void> {
    while (this.#drives.size > 0 || this.#reserved > 0)
      await new Promise<void>((resolve) => this.#waitingForEmpty.push(resolve));
  }

  /** Nobody waits for what is still in the slots any more; it is not this process's to speak of. */
  giveUp(): readonly { readonly runId: string; readonly step: string | undefined }[] {
    this.#givenUp = true;
    return this.underWay;
  }

  #lost(drive: Drive, state: RunState): void {
    const { header, token } = drive.run;
    const fields = { runId: header.runId };
    const { logger } = this.#options;
    if (state.owner?.token === token) {
      this.#leftBy(drive);
      // The worker has told of its lease already: one line for all.
      logger.info(fields, "a run may be lost to another worker; if nobody took it, it is taken up again");
    } else logger.warn(fields, "a run was lost to another worker; what was in hand is dropped");
  }

  #leftBy(drive: Drive): void {
    this.#left.set(drive.run.token, drive.unrecorded ? "begun" : "untouched");
  }

  #leave(key: string, drive: Drive, state: RunState): void {
    // The same run may have been taken again by the time that its old drive settles.
    if (this.#drives.get(key) === drive) {
      this.#drives.delete(key);
      this.#suspects.delete(key);
    }
    this.#options.onFree(drive.run.header, state);
    this.#settleEmpty();
  }

  #settleEmpty(): void {
    if (this.#drives.size > 0 || this.#reserved > 0) return;
    for (const resolve of this.#waitingForEmpty.splice(0)) resolve();
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

function isSuspect({ saga }: TakenRun, state: RunState): boolean {
  return crashesInARow(saga.shape, state) >= suspectAfterCrashes;
}
