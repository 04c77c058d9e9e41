import { describe, expect, test } from "vitest";
import { never } from "../../conformance/executor/bench.js";
import { settled } from "../../support/manual-clock.js";
import { until } from "../../support/until.js";

import { bench, failingOnce, taken, takenOver } from "./driven.js";

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
