// A function that is driven: signals that reach it, and what others do to its run meanwhile.

import { defineFunction } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Entry } from "../../../src/core/entry.js";
import type { Durable } from "../../../src/functions/durable.js";
import { Values } from "../../../src/journal/codec.js";
import { gate, until } from "../../support/until.js";
import { asked, taken, takenOver } from "./driven.js";

const { encode } = new Values();

const define = (run: (input: any, d: Durable) => unknown) => defineFunction({ name: "f", version: 1, run });
const sent = (payload: unknown, signal = "approval"): Entry => ({
  kind: "signal_received",
  signal,
  payload: encode(payload),
});

describe("a function that waits for a signal", () => {
  const approval = define((_, d) =>
    d.waitForSignal("approved", { signal: "approval", payload: z.object({ by: z.string().trim() }) }),
  );

  test("gets the one that was sent before, as its schema makes it; one that does not fit is passed over", async () => {
    const { write, drive, kinds } = await taken(approval);
    await write(sent({ by: 7 }));
    await write(sent({ by: " bo " }));
    const { state } = await drive().end;
    expect(state.finished).toMatchObject({
      status: "completed",
      output: encode({ received: true, payload: { by: "bo" } }),
    });
    expect(await kinds()).toEqual([
      ...["taken_up", "signal_received", "signal_received", "declared", "signal_awaited"],
      ...["signal_rejected", "signal_consumed", "finished"],
    ]);
  });

  test("is parked until one comes", async () => {
    const { drive } = await taken(approval);
    const { kind, state } = await drive().end;
    expect({ kind, parked: state.parked }).toEqual({ kind: "released", parked: true });
  });
});

describe("a function that is driven", () => {
  test("by a worker that lost the run stops at once: its calls are suspended, and nothing more is written", async () => {
    const begun = gate();
    const ends: string[] = [];
    const lost = define(async (_, d) => {
      try {
        await d.step(
          "s",
          ({ signal }) => {
            begun.open();
            return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
          },
          { nothingToUndo: true },
        );
      } catch (error) {
        ends.push((error as { code: string }).code);
        throw error;
      }
    });
    const { write, drive, kinds } = await taken(lost);
    const driven = drive();
    await begun.promise;
    await write(takenOver);
    driven.poke();
    expect((await driven.end).kind).toBe("lost");
    await until("it was suspended", () => ends.length > 0);
    expect(ends).toEqual(["function.suspended"]);
    expect(await kinds()).toEqual(["taken_up", "declared", "taken_up"]);
  });

  test("and waits for something outside keeps its slot, which the log says after a while; a stop ends it", async () => {
    const outside = define(() => new Promise(() => {}));
    const { clock, write, drive, kinds, warnings } = await taken(outside);
    const driven = drive();
    await until("it waits", () => clock.waits.length > 0);
    await clock.pass(10_000);
    expect(warnings).toEqual([{ runId: "r1" }]);
    await write(asked);
    driven.poke();
    expect((await driven.end).state.finished?.status).toBe("cancelled");
    expect(await kinds()).toEqual(["taken_up", "cancel_requested", "rollback_started", "finished"]);
  });

  test("is handed over with its step where the worker stops, and has nothing begun any more", async () => {
    const { drive, stop, kinds } = await taken(define((_, d) => d.step("s", () => ({}), { nothingToUndo: true })));
    stop();
    const { state } = await drive().end;
    expect(state.owner).toBeUndefined();
    expect(await kinds()).toEqual(["taken_up", "parked"]);
  });
});
