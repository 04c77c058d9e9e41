import { describe, expect, test } from "vitest";
import { silentLogger } from "../../../src/platform/log.js";
import { Loop, type LoopOptions } from "../../../src/worker/loop.js";
import { ManualClock, settled } from "../../support/manual-clock.js";
import { gate } from "../../support/until.js";

function looping(turn: LoopOptions["turn"], everyMs = 1_000, random = 0.5) {
  const clock = new ManualClock();
  const lines: string[] = [];
  const logger = {
    ...silentLogger,
    warn: (_: object, message = "") => void lines.push(`warn ${message}`),
    info: (_: object, message = "") => void lines.push(`info ${message}`),
  };
  const chance = { random: () => random, id: () => "", runId: () => "" };
  return { loop: new Loop({ name: "l", everyMs, turn, clock, chance, logger }), clock, lines };
}

/** Counts its turns. */
function counting(answer: (turn: number) => number | void | Promise<number | void> = () => {}) {
  const turns = { count: 0 };
  return { turns, turn: async () => answer(++turns.count) };
}

describe("a loop", () => {
  test("ERR-14: turns at once and then at the usual time, a quarter more or less", async () => {
    for (const [random, wait] of [
      [0, 750],
      [0.5, 1_000],
      [0.999, 1_249.5],
    ] as const) {
      const { turn } = counting();
      const { loop, clock } = looping(turn, 1_000, random);
      loop.start();
      await settled();
      expect(clock.waits).toEqual([wait]);
    }
  });

  test("keeps a delay that a turn asks for to the millisecond", async () => {
    const { turn } = counting(() => 123);
    const { loop, clock } = looping(turn, 1_000, 0);
    loop.start();
    await settled();
    expect(clock.waits).toEqual([123]);
  });

  test("woken in its sleep it turns at once, woken in a turn right after it, and only once", async () => {
    const busy = gate();
    const { turns, turn } = counting((count) => (count === 2 ? busy.promise : undefined));
    const { loop, clock } = looping(turn);
    loop.start();
    await settled();
    loop.wake();
    await settled();
    expect(turns.count).toBe(2);
    for (let hint = 0; hint < 5; hint += 1) loop.wake();
    busy.open();
    await settled();
    expect(turns.count).toBe(3);
    expect(clock.waits).toHaveLength(1);
  });

  test("PG-2: outlives its failures, waits longer for each up to the usual time, and tells of them once", async () => {
    const { turn } = counting((count) => {
      if (count <= 4) throw new Error("away");
    });
    const { loop, clock, lines } = looping(turn);
    loop.start();
    const waits: number[] = [];
    for (let index = 0; index < 5; index += 1) {
      await settled();
      waits.push(clock.waits[0]!);
      await clock.pass(clock.waits[0]!);
    }
    expect(waits).toEqual([250, 500, 1_000, 1_000, 1_000]);
    expect(lines).toEqual([
      "warn a loop of the worker failed; it goes on trying",
      "info a loop of the worker works again",
    ]);
    expect(loop.lastTickAt).toBeDefined();
  });

  test("hints that come while a turn fails have it fail no faster", async () => {
    let loop!: Loop;
    const { turns, turn } = counting(() => {
      loop.wake();
      throw new Error("away");
    });
    const made = looping(turn);
    loop = made.loop;
    loop.start();
    await made.clock.pass(249);
    expect(turns.count).toBe(1);
    await made.clock.pass(1);
    expect(turns.count).toBe(2);
  });

  test("tells a turn how late it comes, and only what the event loop is to blame for", async () => {
    const late: number[] = [];
    const slow = gate();
    const { loop, clock } = looping(async (lateMs) => {
      late.push(lateMs);
      if (late.length === 2) await slow.promise;
    });
    loop.start();
    await settled();
    // Timers are called off and rung by hand: this one 400 ms after its time.
    const { after } = clock;
    await clock.pass(1_000);
    expect(late).toEqual([0, 0]);
    // A slow turn is not a late one.
    await clock.pass(10_000);
    slow.open();
    await settled();
    clock.after = (ms, ring) => after.call(clock, ms + 400, ring);
    await clock.pass(1_000);
    expect(late).toEqual([0, 0, 0]);
    await clock.pass(1_400);
    expect(late).toEqual([0, 0, 0, 400]);
  });

  test("stopped in its sleep it ends at once, in a turn after it; stopped before its start too", async () => {
    const busy = gate();
    const { turns, turn } = counting(() => busy.promise);
    const { loop, clock } = looping(turn);
    loop.start();
    let over = false;
    const stopping = loop.stop().then(() => {
      over = true;
    });
    await settled();
    expect(over).toBe(false);
    busy.open();
    await stopping;
    expect(turns.count).toBe(1);
    expect(clock.waits).toEqual([]);
    await looping(turn).loop.stop();
  });
});
