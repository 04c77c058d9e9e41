// The sagas of waits, branches, lists and children that crash tests run in other processes.

import { child, defineSaga, forEach, parallel, sleep, step, waitForSignal } from "rubicon-saga";
import { z } from "zod";
import { bodies, quick } from "./sagas.js";

const payload = z.object({ n: z.number() });

export function sagas(outside: string) {
  const { call, undoable } = bodies(outside);
  const S1 = undoable("S1");
  const S2 = undoable("S2");
  const S3 = undoable("S3");
  const S4 = undoable("S4");
  const line = step({
    name: "line",
    run: async ({ lister }: { n: number; lister: number }, tools) => {
      await call("line", "forward", tools);
      return { lister };
    },
    compensate: async (_item, undo) => {
      await call("line", "compensate", undo);
    },
    retry: quick,
    timeout: 5_000,
    grace: 200,
  });
  // Who made the list is on it: another list would tell another.
  const over = () => [0, 1, 2, 3].map((n) => ({ n, lister: process.pid }));
  const kid = defineSaga({ name: "kid", version: 1, steps: [undoable("K1"), undoable("K2")] });
  return [
    // Long enough to be parked, and short enough not to be.
    defineSaga({ name: "asleep", version: 1, steps: [S1, sleep({ name: "nap", for: "2500ms" }), S2] }),
    defineSaga({ name: "dozing", version: 1, steps: [S1, sleep({ name: "nap", for: "950ms" }), S2] }),
    defineSaga({ name: "monthly", version: 1, steps: [sleep({ name: "month", for: "30d" }), S2] }),
    defineSaga({ name: "paid", version: 1, steps: [S1, waitForSignal({ name: "paid", payload }), S2] }),
    defineSaga({
      name: "impatient",
      version: 1,
      steps: [waitForSignal({ name: "paid", payload, within: "1200ms" }), S2],
    }),
    defineSaga({
      name: "strict",
      version: 1,
      steps: [S1, waitForSignal({ name: "paid", payload, within: "2s", onTimeout: "fail" }), S2],
    }),
    defineSaga({ name: "branching", version: 1, steps: [S1, parallel([S2, S3]), S4] }),
    defineSaga({ name: "listing", version: 1, steps: [forEach({ name: "lines", over, step: line }), S2] }),
    defineSaga({ name: "parent", version: 1, steps: [S1, child({ name: "kid", saga: kid, input: () => ({}) }), S2] }),
    kid,
  ] as const;
}
