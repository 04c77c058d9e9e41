import { parallel, sleep } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import type { Entry } from "../../../src/core/entry.js";
import { settled } from "../../support/manual-clock.js";
import { gate, until } from "../../support/until.js";

import { asked, bench, taken } from "./driven.js";

const beside = (...steps: any[]): any => (parallel as any)(steps);

const terminal = (message: string) => Object.assign(new Error(message), { status: 422 });

/** Until it is aborted; then it throws that. */
const untilAborted = (_: unknown, { signal }: any) =>
  new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

describe("bodies beside each other", () => {
  test("1.7: none is begun once what failed beside it has turned the saga, also while it was about to be", async () => {
    const the = bench();
    const [hold, appending] = [gate(), gate()];
    const fails = gate();
    let starts = 0;
    const saga = the.saga([
      beside(
        the.step("S1", {
          run: async () => {
            await fails.promise;
            throw terminal("no");
          },
        }),
        the.step("S2"),
      ),
    ]);
    const { drive, journal } = await taken(saga, {
      mayStart: () => {
        starts += 1;
        return starts === 1 ? Promise.resolve() : hold.promise;
      },
    });
    journal.beforeAppend = async ({ entries }) => {
      if (entries[0]!.kind !== "step_failed") return;
      appending.open();
      // The other one gets its leave while the row is on its way.
      hold.open();
      await settled();
    };
    const driven = drive();
    await until("S2 is about to start", () => starts === 2);
    fails.open();
    await appending.promise;
    expect((await driven.end).state.finished?.status).toBe("failed");
    expect(the.outside.order()).toEqual(["S1"]);
  });

  test("1.3: of two that end at the same moment the second one's row brings the end", async () => {
    const the = bench();
    const both = gate();
    const saga = the.saga([
      beside(the.step("S1", { run: () => both.promise }), the.step("S2", { run: () => both.promise })),
    ]);
    const { drive, journal, header } = await taken(saga);
    const driven = drive();
    await until("both run", () => the.outside.calls.length === 2);
    both.open();
    expect((await driven.end).state.finished?.status).toBe("completed");
    const rows = (await journal.allRows(header)).map(({ entries }) => entries.map(({ kind }) => kind));
    expect(rows.slice(1)).toEqual([["step_completed"], ["step_completed", "finished"]]);
  });

  test("1.3: of a run that may be lost, what its abort left in doubt stays so, whatever the one beside it came to", async () => {
    const the = bench();
    const returns = gate();
    const saga = the.saga([
      beside(the.step("S1", { run: untilAborted }), the.step("S2", { run: () => returns.promise })),
    ]);
    const { drive, write, kinds } = await taken(saga);
    const driven = drive();
    await until("both run", () => the.outside.calls.length === 2);
    driven.abort("lost");
    await settled();
    await write(asked);
    returns.open();
    const { kind, state } = await driven.end;
    expect(kind).toBe("lost");
    expect(await kinds()).toEqual(["taken_up", "cancel_requested", "step_completed"]);
    expect(state.underWay.map(({ step }) => step)).toEqual(["S1"]);
    expect(driven.unrecorded).toBe(true);
  });

  test("1.3: what could not be recorded stays in doubt, whatever the one beside it came to", async () => {
    const the = bench();
    const fails = gate();
    const saga = the.saga([
      beside(
        the.step("S1"),
        the.step("S2", {
          run: async () => {
            await fails.promise;
            throw terminal("no");
          },
        }),
      ),
    ]);
    const { drive, journal, kinds } = await taken(saga);
    journal.beforeAppend = async ({ entries }) => {
      const [entry] = entries as [Entry];
      if (entry.kind === "step_completed" && entry.step === "S1") throw new Error("not now");
    };
    const driven = drive();
    await until("both run", () => the.outside.calls.length === 2);
    await settled();
    fails.open();
    await expect(driven.end).rejects.toThrow("not now");
    expect(await kinds()).toEqual(["taken_up", "step_failed"]);
    expect(driven.unrecorded).toBe(true);
  });

  test("a fault of the library's own ends the drive when no body is in its hand any more", async () => {
    const the = bench();
    const [first, second] = [gate(), gate()];
    const saga = the.saga([
      beside(the.step("S1", { run: () => second.promise }), the.step("S2", { run: () => first.promise })),
      the.step("S3"),
    ]);
    const { drive, journal, kinds, clock } = await taken(saga);
    const driven = drive();
    await until("both run", () => the.outside.calls.length === 2);
    let over = false;
    driven.end
      .catch(() => {})
      .finally(() => {
        over = true;
      });
    journal.beforeRead = async () => {
      throw new Error("can't be read");
    };
    // A second attempt is preceded by a reading.
    first.fail(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }));
    await clock.pass(1_000);
    expect(over).toBe(false);
    second.open();
    await settled();
    await expect(driven.end).rejects.toThrow("can't be read");
    expect(await kinds()).toContain("step_completed");
  });

  test("an operator's word that ends the run ends the drive when the body that it aborts is over", async () => {
    const the = bench();
    const [fails, aborted] = [gate(), gate()];
    let stopped = false;
    const saga = the.saga([
      the.step("S1", {
        undo: async (_, { signal }) => {
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
          stopped = true;
          await aborted.promise;
        },
      }),
      the.step("S2", {
        run: async () => {
          await fails.promise;
          throw terminal("no");
        },
      }),
    ]);
    const { drive, write } = await taken(saga);
    const driven = drive();
    await until("S2 runs", () => the.outside.count("S2") === 1);
    fails.open();
    await until("it is undone", () => the.outside.count("S1", "compensate") === 1);
    await write(
      { kind: "resolved", step: "S1", as: "undone", by: "ana", note: "by hand" },
      { kind: "finished", status: "failed" },
    );
    let over = false;
    void driven.end.then(() => {
      over = true;
    });
    driven.poke();
    await until("it is aborted", () => stopped);
    await settled();
    expect(over).toBe(false);
    aborted.open();
    expect(await driven.end).toMatchObject({ kind: "released", state: { finished: { status: "failed" } } });
  });

  test("OP-9: a worker that stops waits quietly for the last body, whatever falls due beside it", async () => {
    const the = bench();
    const last = gate();
    const saga = the.saga([
      beside(
        sleep({ name: "nap", for: 100 }) as any,
        the.step("S1", { run: untilAborted }),
        the.step("S2", { grace: 1_000, run: () => last.promise }),
      ),
    ]);
    const { drive, clock, kinds, stop } = await taken(saga);
    const driven = drive();
    await until("both run", () => the.outside.calls.length === 2);
    await settled();
    stop();
    driven.poke();
    driven.abort("shutdown");
    await settled();
    await clock.pass(200);
    driven.poke();
    await settled();
    last.open();
    expect((await driven.end).kind).toBe("released");
    expect(await kinds()).toEqual(["taken_up", "timer_started", "step_completed", "handed_over"]);
  });

  test("1.5: what an aborted body says did not happen is not in doubt for the worker's stop", async () => {
    const the = bench();
    const last = gate();
    const saga = the.saga([
      beside(
        the.step("S1", {
          run: (_: unknown, { signal }: any) =>
            new Promise((_resolve, reject) =>
              signal.addEventListener("abort", () =>
                reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })),
              ),
            ),
        }),
        the.step("S2", { run: () => last.promise }),
      ),
    ]);
    const { drive, kinds, stop } = await taken(saga);
    const driven = drive();
    await until("both run", () => the.outside.calls.length === 2);
    stop();
    driven.poke();
    driven.abort("shutdown");
    await settled();
    last.open();
    const { state } = await driven.end;
    expect(await kinds()).toEqual(["taken_up", "attempt_failed", "step_completed", "parked"]);
    expect(state.steps.S1!.doubt).toBe(false);
  });

  test("1.2: what was read past an own row stays read when the answer to that row comes late", async () => {
    const the = bench();
    const [one, two, answered] = [gate(), gate(), gate()];
    let reason: any;
    const saga = the.saga([
      beside(
        the.step("S1", { run: () => one.promise }),
        the.step("S2", {
          grace: 0,
          run: (_: unknown, { signal }: any) => {
            signal.addEventListener("abort", () => {
              reason = signal.reason;
            });
            return two.promise;
          },
        }),
      ),
    ]);
    const { drive, write, journal } = await taken(saga);
    const driven = drive();
    await until("both run", () => the.outside.calls.length === 2);
    let last = 0;
    journal.afterAppend = async ({ entries }) => {
      if (entries[0]!.kind !== "step_completed") return;
      journal.afterAppend = async () => {};
      last = (await write(asked)).number;
      driven.poke();
      await until("S2 is told", () => reason !== undefined);
      answered.open();
    };
    one.open();
    await answered.promise;
    await settled();
    expect(driven.state.last).toBe(last);
    two.open();
    expect((await driven.end).state.finished?.status).toBe("cancelled");
  });
});
