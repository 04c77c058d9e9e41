// A RUN THAT HAS JUST BEEN TAKEN UP, and a journal whose calls can be held up or followed by what somebody else writes.

import type { Entry } from "../../../src/core/entry.js";
import { foldRows } from "../../../src/core/fold.js";
import { takeUp } from "../../../src/core/take-up.js";
import type { SagaDefinition } from "../../../src/definition/saga.js";
import { Drive, type Driving } from "../../../src/executor/drive.js";
import { foldRun } from "../../../src/executor/operating.js";
import { policiesOf } from "../../../src/executor/policies-of.js";
import { Values } from "../../../src/journal/codec.js";
import type { AppendResult, Journal, Offer } from "../../../src/journal/journal.js";
import { MemoryJournal } from "../../../src/journal/memory-journal.js";
import { systemChance } from "../../../src/platform/ids.js";
import { silentLogger } from "../../../src/platform/log.js";
import { Bench } from "../../conformance/executor/bench.js";
import { ManualClock } from "../../support/manual-clock.js";

/** A journal whose calls can be held up, or followed by what somebody else writes. */
class Watched extends MemoryJournal {
  afterAppend: (offer: Offer, result: AppendResult) => Promise<void> = async () => {};
  beforeAppend: (offer: Offer) => Promise<void> = async () => {};
  beforeRead: () => Promise<void> = async () => {};
  afterRead: () => Promise<void> = async () => {};
  reads = 0;

  override async append(offer: Offer): Promise<AppendResult> {
    await this.beforeAppend(offer);
    const result = await super.append(offer);
    await this.afterAppend(offer, result);
    return result;
  }

  override async rowsAfter(...args: Parameters<Journal["rowsAfter"]>): ReturnType<Journal["rowsAfter"]> {
    this.reads += 1;
    await this.beforeRead();
    const rows = await super.rowsAfter(...args);
    await this.afterRead();
    return rows;
  }
}

/** A run of `saga` that has just been taken up, and what drives it. */
export async function taken(saga: SagaDefinition, options: Partial<Driving> = {}) {
  const clock = new ManualClock();
  const journal = new Watched({ clock, chance: systemChance });
  const { encode, decode } = new Values();
  const warnings: object[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void warnings.push(fields) };
  let stopping = false;
  const driving: Driving = {
    journal,
    clock,
    chance: { ...systemChance, random: () => 0 },
    logger,
    worker: () => "w1",
    performTools: { clock, logger, encode, decode },
    children: {
      look: () => Promise.reject(new Error("there are no children here")),
      launch: () => Promise.reject(new Error("nothing is started here")),
    },
    policies: { retry: {}, compensationRetry: {}, maxCrashes: 5 },
    mayStart: async () => {},
    stopping: () => stopping,
    onAbandoned: () => {},
    ...options,
  };
  const { header } = await journal.start({
    runId: "r1",
    saga: saga.name,
    version: 1,
    shape: saga.shape,
    input: encode({}),
    inputDigest: "",
    priority: 0,
  });
  /** Somebody appends at the next number. */
  const write = async (...entries: Entry[]) => {
    const { state } = foldRun((await journal.load("r1"))!);
    const nonce = systemChance.id();
    const offer = { header, number: state.last + 1, nonce, writer: "somebody", entries };
    const result = await MemoryJournal.prototype.append.call(journal, offer);
    if (result.kind === "taken") throw new Error("the number was taken");
    return result.row;
  };
  const row = await write(...takeUp({ worker: "w1", token: "t1" }));
  const state = foldRows(saga.shape, foldRun({ header, rows: [] }).state, [row]);
  const policies = policiesOf(saga, { retry: {}, compensationRetry: {}, maxCrashes: 5 }, header.startAt);
  const drive = () => new Drive(driving, { saga, header, state, token: "t1", policies });
  const stop = () => {
    stopping = true;
  };
  const kinds = async () => (await journal.allRows(header)).flatMap(({ entries }) => entries.map(({ kind }) => kind));
  return { clock, journal, write, drive, kinds, warnings, header, stop };
}

export const asked: Entry = { kind: "cancel_requested", by: "ana" };
export const takenOver: Entry = { kind: "taken_up", worker: "w2", token: "t2", from: "t1", crash: true };

export function failingOnce(bench: Bench, firstDelay: number) {
  return bench.saga([
    bench.step("S1", {
      retry: { firstDelay, factor: 1 },
      run: () => {
        if (bench.outside.count("S1") === 1) throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
      },
    }),
  ]);
}

export const bench = () => new Bench(() => Promise.reject(new Error("no executor here")));
