import { describe, expect, test } from "vitest";
import { aborted, never } from "../../conformance/executor/bench.js";
import { settled } from "../../support/manual-clock.js";
import { gate, until } from "../../support/until.js";

import { asked, bench, failingOnce, taken } from "./driven.js";

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
