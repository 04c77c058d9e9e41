import { describe, expect, test } from "vitest";
import { foldRun } from "../../../src/executor/operating.js";
import { policiesOf } from "../../../src/executor/policies-of.js";
import { Values } from "../../../src/journal/codec.js";
import { silentLogger } from "../../../src/platform/log.js";
import { Slots } from "../../../src/worker/slots.js";
import { never } from "../../conformance/executor/bench.js";
import { settled } from "../../support/manual-clock.js";
import { until } from "../../support/until.js";
import { bench, taken } from "../executor/driven.js";

async function slotted(count: number, step: object = {}) {
  const the = bench();
  const saga = the.saga([the.step("S1", { grace: 0, ...step })]);
  const { journal, clock, header, kinds, write } = await taken(saga);
  const { state } = foldRun((await journal.load("r1"))!);
  const policies = policiesOf(saga, { retry: {}, compensationRetry: {}, maxCrashes: 5 }, header.startAt);
  const run = { saga, header, state, token: "t1", policies };
  const { encode, decode } = new Values();
  const released = { count: 0 };
  const freed: string[] = [];
  const slots = new Slots(
    {
      slots: count,
      logger: silentLogger,
      onFree: (header) => freed.push(header.runId),
      onRelease: () => {
        released.count += 1;
      },
    },
    {
      journal,
      clock,
      chance: { random: () => 0, id: () => String(Math.random()), runId: () => "" },
      logger: silentLogger,
      worker: () => "w1",
      performTools: { clock, logger: silentLogger, encode, decode },
      policies: { retry: {}, compensationRetry: {}, maxCrashes: 5 },
      children: {
        look: () => Promise.reject(new Error("there are no children here")),
        launch: () => Promise.reject(new Error("nothing is started here")),
      },
      mayStart: async () => {},
      stopping: () => false,
    },
  );
  return { slots, run, the, freed, released, kinds, write, clock };
}

describe("places", () => {
  test("what is reserved is not free: two starts at once do not fill one slot", async () => {
    const { slots } = await slotted(3);
    const first = slots.reserve(2);
    const second = slots.reserve(2);
    expect([first.count, second.count, slots.free]).toEqual([2, 1, 0]);
    expect(slots.reserve(1).count).toBe(0);
    first.release();
    expect(slots.free).toBe(2);
    // Once.
    first.release();
    expect(slots.free).toBe(2);
  });

  test("what is expected under a token is nobody's stray until it can't come any more", async () => {
    const { slots, released } = await slotted(1);
    const place = slots.reserve(1);
    place.expect("t");
    expect(slots.expects("t")).toBe(true);
    place.release();
    expect(slots.expects("t")).toBe(false);
    expect(released.count).toBe(1);
    place.expect("late");
    expect(slots.expects("late")).toBe(false);
  });

  test("it is empty when nothing is in a slot, nor on its way there", async () => {
    const { slots, run } = await slotted(2, {});
    const place = slots.reserve(1);
    let empty = false;
    const waiting = slots.empty().then(() => {
      empty = true;
    });
    slots.take(run);
    await until("it has left its slot", () => slots.used === 0);
    await settled();
    expect(empty).toBe(false);
    place.release();
    await waiting;
  });
});

describe("what is driven", () => {
  test("a run that is taken twice under one token is driven once", async () => {
    const { slots, run, the, kinds, freed } = await slotted(2);
    slots.take(run);
    slots.take(run);
    await slots.empty();
    expect(the.outside.order()).toEqual(["S1"]);
    expect(await kinds()).toEqual(["taken_up", "step_completed", "finished"]);
    expect(freed).toEqual(["r1"]);
  });

  test("an attempt that its own worker's abort ended is remembered as begun; one that never began is not", async () => {
    const { slots, run, the, clock } = await slotted(2, { run: never });
    slots.take(run);
    await until("S1 runs", () => the.outside.count("S1") === 1);
    expect(slots.leftBehind(run.token)).toBeUndefined();
    slots.abortAll("lost");
    await clock.pass(1);
    await slots.empty();
    expect(slots.leftBehind(run.token)).toBe("begun");
    slots.forgetLeft(run.token);
    expect(slots.leftBehind(run.token)).toBeUndefined();
    const other = await slotted(1);
    other.slots.take(other.run);
    other.slots.abortAll("lost");
    await other.slots.empty();
    expect(other.slots.leftBehind(other.run.token)).toBe("untouched");
    expect(other.the.outside.order()).toEqual([]);
  });

  test("a body that outlives its grace leaves its slot, is named, and holds back claims until it is over", async () => {
    const { slots, run, the, clock } = await slotted(1, { run: never });
    slots.take(run);
    await until("S1 runs", () => the.outside.count("S1") === 1);
    slots.abortAll("lost");
    await clock.pass(1);
    await slots.empty();
    expect(slots.abandoned).toEqual([{ runId: "r1", step: "S1" }]);
    expect([slots.used, slots.free]).toEqual([0, 0]);
  });
});

describe("suspects", () => {
  test("a run that crashed twice is one, until it gets on", async () => {
    const { slots, run, the } = await slotted(2, { run: never });
    expect(slots.hasSuspect).toBe(false);
    const { forward } = run.state.steps.S1!;
    const crashed = { ...run.state.steps.S1!, forward: { ...forward, attempts: 2, crashes: 2 } };
    slots.take({ ...run, state: { ...run.state, steps: { S1: crashed } } });
    expect(slots.hasSuspect).toBe(true);
    await until("S1 runs", () => the.outside.count("S1") === 1);
    expect(slots.underWay).toEqual([{ runId: "r1", step: "S1" }]);
    slots.abortAll("shutdown");
  });
});
