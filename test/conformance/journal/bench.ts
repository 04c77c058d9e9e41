// WHAT THE JOURNAL'S SUITE WORKS WITH: the journal under test, and runs, rows and offers made in a line.

import type { Entry, TakenUp } from "../../../src/core/entry.js";
import type { Projection } from "../../../src/core/projection.js";
import type { Shape } from "../../../src/definition/shape.js";
import { encodeValue } from "../../../src/journal/codec.js";
import type { Journal, Offer, RunHeader, RunLine, RunStart } from "../../../src/journal/journal.js";

export interface OpenJournal {
  readonly journal: Journal;
  /** The same record through another door: another process's connection. Default: the same journal. */
  readonly other?: Journal;
  /** A worker that may own runs. Default "1". */
  readonly worker?: string;
  readonly close?: () => Promise<void>;
}

export const shape: Shape = {
  steps: [
    { name: "reserve", kind: "compensatable", undone: true, transactional: false },
    { name: "pay", kind: "pivot", undone: false, transactional: false },
  ],
};

let ids = 0;
/** A name that no other test uses. */
export const fresh = (what: string) => `${what}-${process.pid}-${Date.now()}-${++ids}`;

/** What a run's row shows before anything has happened to it. */
export const live: Projection = { status: "pending", claim: "free", dueAt: 0, crashes: 0, owed: [] };

export function ended(status: Projection["status"]): Projection {
  return { ...live, status, claim: "ended" };
}

export function completed(text = "-1"): Entry {
  return { kind: "step_completed", step: "reserve", output: { format: "devalue", text }, attempt: 1 };
}

/** The stored output of a {@link completed}. */
export function textOf(entry: Entry): string {
  return entry.kind === "step_completed" ? entry.output.text : "";
}

export class JournalBench {
  #opened: OpenJournal | undefined;

  async open(opening: Promise<OpenJournal>): Promise<void> {
    this.#opened = await opening;
  }

  async close(): Promise<void> {
    await this.#opened?.close?.();
  }

  get journal(): Journal {
    return this.#opened!.journal;
  }

  get other(): Journal {
    return this.#opened!.other ?? this.journal;
  }

  started(over: Partial<RunStart> = {}): RunStart {
    const input = encodeValue({ orderId: "o-1" });
    return {
      runId: fresh("run"),
      saga: "order",
      version: 1,
      shape,
      input,
      inputDigest: "digest",
      priority: 0,
      ...over,
    };
  }

  async begin(over: Partial<RunStart> = {}): Promise<RunHeader> {
    return (await this.journal.start(this.started(over))).header;
  }

  takenUp(over: Partial<TakenUp> = {}): TakenUp {
    const worker = this.#opened!.worker ?? "1";
    return { kind: "taken_up", worker, token: fresh("token"), crash: false, ...over };
  }

  offer(
    header: RunHeader,
    number: number,
    entries: readonly Entry[] = [completed()],
    over: Partial<Offer> = {},
  ): Offer {
    return { header, number, nonce: fresh("nonce"), writer: "writer", entries, ...over };
  }

  async numbers(header: RunHeader, of: Journal = this.journal): Promise<number[]> {
    return (await of.rowsAfter(header, 0)).map((row) => row.number);
  }

  /** The run as a list shows it. */
  async line(header: RunHeader): Promise<RunLine | undefined> {
    const { lines } = await this.journal.list({ limit: 1_000 });
    return lines.find((each) => each.runId === header.runId);
  }
}
