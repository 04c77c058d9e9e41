import { describe, expect, test } from "vitest";
import { z } from "zod";
import { foldRun } from "../../../src/executor/operating.js";
import { lookAgainAfterMs, whyUnreadable } from "../../../src/executor/readable.js";
import { Values } from "../../../src/journal/codec.js";
import { silentLogger } from "../../../src/platform/log.js";
import { type Bench, never } from "../../conformance/executor/bench.js";
import { ManualClock, settled } from "../../support/manual-clock.js";
import { gate, until } from "../../support/until.js";

import { bench, failingOnce, taken } from "./driven.js";

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
