// WHAT WAITS in the benchmark: half of the runs for a timer, half for a signal.

import { defineSaga, sleep, step, waitForSignal } from "rubicon-saga";
import { z } from "zod";

/** Undone by a worker: a stop is over only when one was woken. */
const prepare = step({ name: "prepare", run: async (_context: object) => {}, compensate: async () => {} });
const finish = step({ name: "finish", run: async (_context: object) => {}, nothingToUndo: true });
const input = z.object({ n: z.int() });

export const sleeper = defineSaga({
  name: "bench-sleeper",
  version: 1,
  input,
  steps: [prepare, sleep({ name: "cooling-off", for: "30d" }), finish],
});

export const waiter = defineSaga({
  name: "bench-waiter",
  version: 1,
  input,
  steps: [prepare, waitForSignal({ name: "approval", payload: z.object({ by: z.string() }) }), finish],
});

export const sagas = [sleeper, waiter];
