import { describe, expect, test } from "vitest";
import type { Entry } from "../../../src/core/entry.js";
import { InProcessDriver } from "../../../src/executor/in-process-driver.js";
import { foldRun } from "../../../src/executor/operating.js";
import { Registry } from "../../../src/executor/registry.js";
import { Waiters } from "../../../src/executor/waiting.js";
import { Values } from "../../../src/journal/codec.js";
import type { AppendResult, Offer } from "../../../src/journal/journal.js";
import { MemoryJournal } from "../../../src/journal/memory-journal.js";
import { systemChance } from "../../../src/platform/ids.js";
import { silentLogger } from "../../../src/platform/log.js";
import { Bench } from "../../conformance/executor/bench.js";
import { ManualClock, settled } from "../../support/manual-clock.js";
import { gate } from "../../support/until.js";

class Watched extends MemoryJournal {
  beforeAppend: (offer: Offer) => Promise<void> = async () => {};

  override async append(offer: Offer): Promise<AppendResult> {
    await this.beforeAppend(offer);
    return super.append(offer);
  }
}

/** A driver with one run of a saga whose only step notes its call; it is due in an hour unless told otherwise. */
async function driving(startIn = 3_600_000, run: () => unknown = () => undefined) {
  const bench = new Bench(() => Promise.reject(new Error("no executor here")));
  const saga = bench.saga([bench.step("S1", { run })]);
  const clock = new ManualClock();
  const journal = new Watched({ clock, chance: systemChance });
  const { encode, decode } = new Values();
  const errors: object[] = [];
  const logger = { ...silentLogger, error: (fields: object) => void errors.push(fields) };
  const waiters = new Waiters();
  const driver = new InProcessDriver({
    driving: {
      journal,
      clock,
      chance: systemChance,
      logger,
      worker: () => "w1",
      policies: { retry: {}, compensationRetry: {}, maxCrashes: 5 },
      performTools: { clock, logger, encode, decode },
      mayStart: async () => {},
      onAbandoned: () => {},
    },
    registry: new Registry([saga], { transactions: false }),
    policies: { retry: {}, compensationRetry: {}, maxCrashes: 5 },
    waiters,
    journal,
    values: new Values(),
  });
  const start = {
    runId: "r1",
    saga: saga.name,
    version: 1,
    shape: saga.shape,
    input: encode({}),
    inputDigest: "",
    priority: 0,
  };
  const { header } = await driver.begin({ ...start, startAt: clock.now() + startIn }, { soon: false });
  /** Somebody's append, of which the driver does not hear. */
  const append = async (...entries: Entry[]) => {
    const { state } = foldRun((await journal.load("r1"))!);
    const offer = { header, number: state.last + 1, nonce: systemChance.id(), writer: "ana", entries };
    await MemoryJournal.prototype.append.call(journal, offer);
  };
  const kinds = async () => (await journal.allRows(header)).flatMap(({ entries }) => entries.map(({ kind }) => kind));
  const stateNow = async () => foldRun((await journal.load("r1"))!).state;
  return { bench, clock, journal, driver, header, append, kinds, errors, stateNow };
}

const refused: Entry = { kind: "cancel_refused", by: "ana", pivot: "P" };

describe("taking runs up in process", () => {
  test("at the earliest instant that anybody told of", async () => {
    const { clock, driver, header, bench, stateNow } = await driving();
    const state = await stateNow();
    driver.written(header, { ...state, dueAt: clock.now() + 1_000 });
    driver.written(header, { ...state, dueAt: clock.now() + 5_000 });
    expect(clock.waits).toEqual([1_000]);
    await clock.pass(1_000);
    // What the journal says then decides.
    expect(clock.waits).toEqual([3_599_000]);
    expect(bench.outside.calls).toEqual([]);
    await clock.pass(3_599_000);
    expect(bench.outside.order()).toEqual(["S1"]);
  });

  test("a number that somebody else took is tried again", async () => {
    const { clock, journal, append, kinds } = await driving(0);
    let first = true;
    journal.beforeAppend = async () => {
      if (first) await append(refused);
      first = false;
    };
    await clock.pass(0);
    expect(await kinds()).toEqual(["cancel_refused", "taken_up", "step_completed", "finished"]);
  });

  test("twice at once: one of them drives it", async () => {
    const hold = gate();
    const { clock, journal, driver, header, bench, kinds, stateNow } = await driving(0, () => hold.promise);
    const state = await stateNow();
    let first = true;
    journal.beforeAppend = async () => {
      if (!first) return;
      first = false;
      // A second timer while the first taking up is on its way.
      driver.written(header, { ...state, dueAt: clock.now() });
      await clock.pass(0);
    };
    await clock.pass(0);
    expect([await kinds(), bench.outside.order()]).toEqual([["taken_up"], ["S1"]]);
    hold.open();
    await settled();
    expect(await kinds()).toEqual(["taken_up", "step_completed", "finished"]);
    expect(bench.outside.order()).toEqual(["S1"]);
    expect(clock.waits).toEqual([]);
  });

  test("while it is driven, nobody takes it up again", async () => {
    const hold = gate();
    const { clock, driver, header, bench, kinds, stateNow } = await driving(0, () => hold.promise);
    const before = await stateNow();
    await clock.pass(0);
    driver.written(header, before);
    await clock.pass(0);
    expect([await kinds(), bench.outside.order()]).toEqual([["taken_up"], ["S1"]]);
    hold.open();
    await settled();
    expect(await kinds()).toEqual(["taken_up", "step_completed", "finished"]);
  });

  test("after closing: nothing is taken up, also what was on its way", async () => {
    const { clock, driver, journal, bench, kinds } = await driving(0);
    journal.load = async (...args) => {
      await settled();
      return MemoryJournal.prototype.load.apply(journal, args);
    };
    const passing = clock.pass(0);
    await settled();
    await driver.close(0);
    await passing;
    expect(await kinds()).toEqual([]);
    expect(bench.outside.calls).toEqual([]);
    expect(clock.waits).toEqual([]);
  });

  test("a fault of the library's own is told in the log, with the run", async () => {
    const { clock, journal, errors } = await driving(0);
    journal.beforeAppend = async () => {
      throw new RangeError("an entry can't hold Infinity");
    };
    await clock.pass(0);
    expect(errors).toMatchObject([{ runId: "r1", err: expect.any(RangeError) }]);
  });

  test("a caller's transaction is refused: there is no database", async () => {
    const { driver, header } = await driving();
    await expect(driver.begin(header, { soon: false, tx: {} })).rejects.toMatchObject({ code: "executor.unsupported" });
  });
});
