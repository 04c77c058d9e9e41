import { child } from "rubicon-saga";
import { expect, test } from "vitest";
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
import { ManualClock } from "../../support/manual-clock.js";
import { gate } from "../../support/until.js";

class Watched extends MemoryJournal {
  beforeAppend: (offer: Offer) => Promise<void> = async () => {};

  override async append(offer: Offer): Promise<AppendResult> {
    await this.beforeAppend(offer);
    return super.append(offer);
  }
}

test("1.3: a parked parent is woken by its child's end, though somebody else takes the number of its waking", async () => {
  const bench = new Bench(() => Promise.reject(new Error("no executor here")));
  const hold = gate();
  const kid = bench.saga([bench.step("K1", { run: () => hold.promise })]);
  const saga = bench.saga([(child as any)({ name: "kid", saga: kid, input: () => ({}) })]);
  const clock = new ManualClock();
  const journal = new Watched({ clock, chance: systemChance });
  const values = new Values();
  const policies = { retry: {}, compensationRetry: {}, maxCrashes: 5 };
  const driver = new InProcessDriver({
    driving: {
      journal,
      clock,
      chance: systemChance,
      logger: silentLogger,
      worker: () => "w1",
      policies,
      performTools: { clock, logger: silentLogger, encode: values.encode, decode: values.decode },
      mayStart: async () => {},
      onAbandoned: () => {},
    },
    registry: new Registry([saga, kid], { transactions: false }),
    policies,
    waiters: new Waiters(),
    journal,
    values,
  });
  const start = { runId: "r1", saga: saga.name, version: 1, shape: saga.shape, inputDigest: "", priority: 0 };
  const { header } = await driver.begin({ ...start, input: values.encode({}) }, { soon: false });
  const stateNow = async () => foldRun((await journal.load("r1"))!).state;
  await clock.pass(0);
  await clock.pass(0);
  expect(await stateNow()).toMatchObject({ parked: true });
  journal.beforeAppend = async (offer) => {
    if (offer.header.runId !== "r1") return;
    journal.beforeAppend = async () => {};
    const bystander = { header, number: offer.number, nonce: systemChance.id(), writer: "ana" };
    await journal.append({ ...bystander, entries: [{ kind: "cancel_refused", by: "ana", pivot: "P" }] });
  };
  hold.open();
  await clock.pass(0);
  await clock.pass(0);
  expect((await stateNow()).finished?.status).toBe("completed");
});
