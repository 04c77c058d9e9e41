import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Entry } from "../../../src/core/entry.js";
import { foldRows } from "../../../src/core/state.js";
import { takeUp } from "../../../src/core/take-up.js";
import type { SagaDefinition } from "../../../src/definition/saga.js";
import { Drive, type Driving } from "../../../src/executor/drive.js";
import { foldRun } from "../../../src/executor/operating.js";
import { policiesOf } from "../../../src/executor/policies-of.js";
import { lookAgainAfterMs, whyUnreadable } from "../../../src/executor/readable.js";
import { Values } from "../../../src/journal/codec.js";
import type { AppendResult, Journal, Offer } from "../../../src/journal/journal.js";
import { MemoryJournal } from "../../../src/journal/memory-journal.js";
import { systemChance } from "../../../src/platform/ids.js";
import { silentLogger } from "../../../src/platform/log.js";
import { aborted, Bench, never } from "../../conformance/executor/bench.js";
import { ManualClock, settled } from "../../support/manual-clock.js";
import { gate, until } from "../../support/until.js";

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
async function taken(saga: SagaDefinition, options: Partial<Driving> = {}) {
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

const asked: Entry = { kind: "cancel_requested", by: "ana" };
const takenOver: Entry = { kind: "taken_up", worker: "w2", token: "t2", from: "t1", crash: true };

function failingOnce(bench: Bench, firstDelay: number) {
  return bench.saga([
    bench.step("S1", {
      retry: { firstDelay, factor: 1 },
      run: () => {
        if (bench.outside.count("S1") === 1) throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
      },
    }),
  ]);
}

const bench = () => new Bench(() => Promise.reject(new Error("no executor here")));

describe("what is written meanwhile", () => {
  test("while it sleeps: a poke wakes it", async () => {
    const the = bench();
    const { clock, drive, write } = await taken(failingOnce(the, 900));
    const driven = drive();
    await settled();
    expect(clock.waits).toEqual([450]);
    await write(asked);
    driven.poke();
    expect((await driven.end).state.finished?.status).toBe("cancelled");
    expect(clock.waits).toEqual([]);
    expect(the.outside.order()).toEqual(["S1"]);
  });

  test("between the append and the sleep after it: the poke is not lost", async () => {
    const the = bench();
    const { clock, drive, write, journal } = await taken(failingOnce(the, 900));
    journal.afterAppend = async ({ entries }) => {
      if (entries[0]!.kind !== "attempt_failed") return;
      await write(asked);
      driven.poke();
    };
    const driven = drive();
    expect((await driven.end).state.finished?.status).toBe("cancelled");
    expect(clock.waits).toEqual([]);
    expect(the.outside.order()).toEqual(["S1"]);
  });

  test("while it reads because of another poke: neither is lost", async () => {
    const the = bench();
    const { clock, drive, write, journal } = await taken(failingOnce(the, 900));
    const driven = drive();
    await settled();
    // The first reading does not see this any more; its own poke comes before that reading is over.
    journal.afterRead = async () => {
      journal.afterRead = async () => {};
      await write(asked);
      driven.poke();
    };
    driven.poke();
    expect((await driven.end).state.finished?.status).toBe("cancelled");
    expect(clock.waits).toEqual([]);
  });

  test("without any poke: it is read before a second attempt is made", async () => {
    const the = bench();
    const { clock, drive, write, journal } = await taken(failingOnce(the, 900));
    journal.afterAppend = async ({ entries }) => {
      if (entries[0]!.kind === "attempt_failed") await write(asked);
    };
    const driven = drive();
    await settled();
    await clock.pass(450);
    expect((await driven.end).state.finished?.status).toBe("cancelled");
    expect(the.outside.order()).toEqual(["S1"]);
  });

  test("while it performs: the body is aborted for what was written", async () => {
    const the = bench();
    let reason: any;
    const saga = the.saga([
      the.step("S1", {
        run: async (_, { signal }) => {
          reason = await aborted(signal);
          throw reason;
        },
      }),
    ]);
    const { drive, write } = await taken(saga);
    const driven = drive();
    await until("S1 runs", () => the.outside.count("S1") === 1);
    await write(asked);
    driven.poke();
    expect((await driven.end).state.finished?.status).toBe("cancelled");
    expect(reason.reason).toBe("cancelled");
    expect(the.outside.order()).toEqual(["S1", "C1"]);
  });

  test("just before it performs: a poke that came too early for the body still stops it", async () => {
    const the = bench();
    const [hold, started] = [gate(), gate()];
    const saga = the.saga([the.step("S1", { grace: 0, run: never })]);
    const { drive, write, clock } = await taken(saga, {
      mayStart: async () => {
        started.open();
        await hold.promise;
      },
    });
    const driven = drive();
    await started.promise;
    await write(asked);
    driven.poke();
    hold.open();
    await clock.pass(1);
    expect((await driven.end).state.finished?.status).toBe("cancelled");
    expect(the.outside.order()).toEqual([]);
  });

  test("while its row is on its way: the lost number is decided about again, and the ask stands", async () => {
    const the = bench();
    const saga = the.saga([the.step("S1", { run: () => ({ a: 1 }) }), the.step("S2")]);
    const { drive, write, journal, kinds } = await taken(saga);
    let first = true;
    journal.beforeAppend = async () => {
      if (first) await write(asked);
      first = false;
    };
    expect((await drive().end).state.finished?.status).toBe("cancelled");
    expect(await kinds()).toEqual([
      "taken_up",
      "cancel_requested",
      "step_completed",
      "rollback_started",
      "step_compensated",
      "finished",
    ]);
    expect(the.outside.order()).toEqual(["S1", "C1"]);
  });

  test("an ask at the pivot's number: the pivot is never called", async () => {
    const the = bench();
    const saga = the.saga([the.pivot("P")]);
    const { drive, write, journal } = await taken(saga);
    let first = true;
    journal.beforeAppend = async ({ entries }) => {
      if (first && entries[0]!.kind === "pivot_entered") await write(asked);
      first = false;
    };
    expect((await drive().end).state.finished?.status).toBe("cancelled");
    expect(the.outside.calls).toEqual([]);
  });

  test("many pokes at once are one reading at a time, and none is left over", async () => {
    const the = bench();
    const hold = gate();
    const { drive, journal } = await taken(the.saga([the.step("S1", { run: () => hold.promise })]));
    const driven = drive();
    await until("S1 runs", () => the.outside.count("S1") === 1);
    let now = 0;
    journal.beforeRead = async () => {
      now += 1;
      expect(now).toBe(1);
      await settled();
      now -= 1;
    };
    for (let poke = 0; poke < 10; poke += 1) driven.poke();
    await settled();
    hold.open();
    expect((await driven.end).state.finished?.status).toBe("completed");
    expect(journal.reads).toBeLessThanOrEqual(11);
  });

  test("a reading that fails is told in the log, and the next append finds what was written", async () => {
    const the = bench();
    const hold = gate();
    const { drive, journal, write, warnings } = await taken(the.saga([the.step("S1", { run: () => hold.promise })]));
    const driven = drive();
    await until("S1 runs", () => the.outside.count("S1") === 1);
    let first = true;
    journal.beforeRead = async () => {
      const fails = first;
      first = false;
      if (fails) throw new Error("the database is away");
    };
    await write(asked);
    driven.poke();
    await until("it is told", () => warnings.length === 1);
    hold.open();
    expect((await driven.end).state.finished?.status).toBe("cancelled");
  });
});

describe("a run whose values can't be read", () => {
  const outdated = (the: Bench) =>
    the.saga([the.step("S1", { output: z.object({ a: z.string() }) }), the.step("S2")], {
      input: z.object({ sku: z.string() }),
    });

  test("is given back untouched: no body is begun, no attempt is used up, and the log says why", async () => {
    const the = bench();
    const errors: any[] = [];
    const logger = { ...silentLogger, error: (fields: object) => void errors.push(fields) };
    const { drive, kinds, clock } = await taken(outdated(the), { logger });
    const { kind, state } = await drive().end;
    expect([kind, state.parked, state.dueAt - clock.now()]).toEqual(["released", true, 60_000]);
    expect(await kinds()).toEqual(["taken_up", "parked"]);
    expect(the.outside.calls).toEqual([]);
    expect(errors).toMatchObject([
      { runId: "r1", reasons: [expect.stringContaining("the input no longer fits its schema: $.sku")] },
    ]);
  });

  test("because of a codec that is not there, too; it is looked at again ever more rarely", async () => {
    const the = bench();
    const decode = () => {
      throw new Error('no codec of format "aes-1"');
    };
    const saga = the.saga([the.step("S1")]);
    const clock = new ManualClock();
    const { drive, clock: own } = await taken(saga, {
      performTools: { clock, logger: silentLogger, encode: new Values().encode, decode },
    });
    await own.pass(4 * 3_600_000);
    const { state } = await drive().end;
    expect(state.dueAt - own.now()).toBe(30 * 60_000);
    expect(the.outside.calls).toEqual([]);
  });

  test("all of them are named: the input, and the outputs of done steps", async () => {
    const the = bench();
    const { header } = await taken(outdated(the));
    const done = { output: new Values().encode({ a: 1 }), attempt: 1 };
    const { state } = foldRun({ header, rows: [] });
    const after = { ...state, steps: { ...state.steps, S1: { ...state.steps.S1!, done } } };
    const reasons = await whyUnreadable(outdated(the), { header, state: after }, new Values().decode);
    expect(reasons).toEqual([
      expect.stringMatching(/^the input no longer fits its schema: \$\.sku: /),
      expect.stringMatching(/^the output of step "S1" no longer fits its schema: \$\.a: /),
    ]);
    expect([0, 1e9, 8 * 120_000].map(lookAgainAfterMs)).toEqual([60_000, 3_600_000, 120_000]);
  });
});

describe("a run that is lost", () => {
  test("while its row is on its way: what it had is dropped, and nothing more is written", async () => {
    const the = bench();
    const { drive, write, journal, kinds } = await taken(the.saga([the.step("S1"), the.step("S2")]));
    let first = true;
    journal.beforeAppend = async () => {
      if (first) await write(takenOver);
      first = false;
    };
    expect(await drive().end).toMatchObject({ kind: "lost", state: { owner: { token: "t2" } } });
    expect(await kinds()).toEqual(["taken_up", "taken_up"]);
    expect(the.outside.order()).toEqual(["S1"]);
  });

  test("while it performs: the body is aborted, and its late result is nobody's", async () => {
    const the = bench();
    let reason: any;
    const run = (_: unknown, { signal }: any) =>
      new Promise((resolve) =>
        signal.addEventListener("abort", () => {
          reason = signal.reason;
          resolve({ late: 1 });
        }),
      );
    const { drive, write, kinds } = await taken(the.saga([the.step("S1", { run })]));
    const driven = drive();
    await until("S1 runs", () => the.outside.count("S1") === 1);
    await write(takenOver);
    driven.poke();
    expect((await driven.end).kind).toBe("lost");
    expect(reason.reason).toBe("lost");
    expect(await kinds()).toEqual(["taken_up", "taken_up"]);
  });

  test("a worker that may have lost it offers the result in its hand: the number decides", async () => {
    const the = bench();
    const run = (_: unknown, { signal }: any) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve({ in: "hand" })));
    const { drive, kinds } = await taken(the.saga([the.step("S1", { run }), the.step("S2")]));
    const driven = drive();
    await until("S1 runs", () => the.outside.count("S1") === 1);
    driven.abort("lost");
    expect((await driven.end).kind).toBe("lost");
    expect(await kinds()).toEqual(["taken_up", "step_completed"]);
    expect(the.outside.order()).toEqual(["S1"]);
  });

  test("what its abort made of a body is recorded by nobody, and nothing more is begun", async () => {
    const the = bench();
    const { drive, kinds, clock } = await taken(the.saga([the.step("S1", { grace: 0, run: never })]));
    const driven = drive();
    await until("S1 runs", () => the.outside.count("S1") === 1);
    driven.abort("lost");
    await clock.pass(0);
    expect((await driven.end).kind).toBe("lost");
    expect(await kinds()).toEqual(["taken_up"]);
    expect(clock.waits).toEqual([]);
  });

  test("while it sleeps, it wakes up and stops", async () => {
    const the = bench();
    const { drive, clock } = await taken(failingOnce(the, 900));
    const driven = drive();
    await settled();
    driven.abort("lost");
    expect((await driven.end).kind).toBe("lost");
    expect(clock.waits).toEqual([]);
  });
});

describe("a worker that stops", () => {
  test("hands a body over that does not settle, in doubt, and begins nothing more", async () => {
    const the = bench();
    const { drive, kinds, clock, stop } = await taken(
      the.saga([the.step("S1", { grace: 50, run: never }), the.step("S2")]),
    );
    const driven = drive();
    await until("S1 runs", () => the.outside.count("S1") === 1);
    stop();
    driven.abort("shutdown");
    await clock.pass(50);
    expect(await driven.end).toMatchObject({ kind: "released", state: { steps: { S1: { doubt: true } } } });
    expect(await kinds()).toEqual(["taken_up", "handed_over"]);
  });

  test("parks what it has finished with, and does not enter the pivot", async () => {
    const the = bench();
    const hold = gate();
    const { drive, kinds, stop } = await taken(the.saga([the.step("S1", { run: () => hold.promise }), the.pivot("P")]));
    const driven = drive();
    await until("S1 runs", () => the.outside.count("S1") === 1);
    stop();
    hold.open();
    await driven.end;
    expect(await kinds()).toEqual(["taken_up", "step_completed", "parked"]);
  });

  test("before a body was begun: nothing is begun", async () => {
    const the = bench();
    const [hold, asking] = [gate(), gate()];
    const { drive, kinds, stop } = await taken(the.saga([the.step("S1")]), {
      mayStart: async () => {
        asking.open();
        await hold.promise;
      },
    });
    const driven = drive();
    await asking.promise;
    stop();
    hold.open();
    expect((await driven.end).kind).toBe("released");
    expect(the.outside.calls).toEqual([]);
    expect(await kinds()).toEqual(["taken_up", "parked"]);
  });

  test("poked while it sleeps, it parks at once", async () => {
    const the = bench();
    const { drive, kinds, stop, clock } = await taken(failingOnce(the, 900));
    const driven = drive();
    await settled();
    stop();
    driven.poke();
    await driven.end;
    expect(await kinds()).toEqual(["taken_up", "attempt_failed", "parked"]);
    expect(clock.waits).toEqual([]);
  });
});

describe("what an operator settled without a definition", () => {
  test("lets the run end, without an output where that can't be computed", async () => {
    const the = bench();
    const saga = the.saga([the.pivot("P", { retry: { maxAttempts: 1 } })], {
      output: ({ chargeId }: { chargeId: string }) => ({ charge: chargeId.toUpperCase() }),
    });
    const errors: object[] = [];
    const logger = { ...silentLogger, error: (fields: object) => void errors.push(fields) };
    const { drive, write } = await taken(saga, { logger });
    await write({ kind: "pivot_entered", step: "P" });
    await write({ kind: "resolved", step: "P", as: "done", output: new Values().encode({}), by: "ana" });
    const driven = drive();
    driven.poke();
    const { finished } = (await driven.end).state;
    expect(finished).toMatchObject({ status: "completed" });
    expect(finished).not.toHaveProperty("output");
    expect(errors).toMatchObject([{ runId: "r1", err: expect.any(TypeError) }]);
  });
});
