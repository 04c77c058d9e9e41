import { expect, test } from "vitest";
import { z } from "zod";
import { child, defineSaga, forEach, inProcessExecutor, parallel, sleep, step, waitForSignal } from "../src/index.js";

test("elements", async () => {
  const log: string[] = [];
  const ship = defineSaga({
    name: "ship",
    version: 1,
    input: z.object({ n: z.number() }),
    steps: [
      step({
        name: "box",
        run: async (c: { n: number }) => {
          log.push("box");
          return { boxed: c.n };
        },
        compensate: async () => {
          log.push("unbox");
        },
      }),
    ],
  });
  const saga = defineSaga({
    name: "all",
    version: 1,
    input: z.object({ n: z.number(), fail: z.boolean() }),
    steps: [
      step({
        name: "a",
        run: async (c: { n: number }) => ({ a: c.n + 1 }),
        compensate: async () => {
          log.push("undo a");
        },
      }),
      sleep({ name: "nap", for: 50 }),
      parallel([
        step({
          name: "b",
          run: async (c: { a: number }) => ({ b: c.a }),
          compensate: async () => {
            log.push("undo b");
          },
        }),
        step({
          name: "c",
          run: async (c: { a: number }) => ({ c: c.a * 2 }),
          compensate: async () => {
            log.push("undo c");
          },
        }),
      ]),
      forEach({
        name: "lines",
        over: (c: { a: number }) => [1, 2, 3].map((x) => ({ x: x * c.a })),
        concurrency: 2,
        step: step({
          name: "line",
          run: async (i: { x: number }) => ({ y: i.x }),
          compensate: async (i: { x: number }) => {
            log.push(`undo ${i.x}`);
          },
        }),
      }),
      step({ name: "maybe", when: (c: { n: number }) => c.n > 100, run: async () => ({ m: 1 }), nothingToUndo: true }),
      child({ name: "kid", saga: ship, input: (c: { n: number }) => ({ n: c.n }) }),
      waitForSignal({ name: "ok", payload: z.object({ by: z.string() }), within: "5s" }),
      step({
        name: "end",
        run: async (c: { fail: boolean }) => {
          if (c.fail) throw Object.assign(new Error("no"), { status: 422 });
          return {};
        },
        nothingToUndo: true,
      }),
    ],
  });
  const ex = inProcessExecutor({ sagas: [saga] });
  const run = await ex.start(saga, { n: 1, fail: false }, { id: "r1" });
  await new Promise((r) => setTimeout(r, 300));
  console.log(await ex.get("r1"));
  if ("signal" in ex) console.log(await (ex as any).signal("r1", "ok", { by: "bo" }));
  const end = await run.outcome({ timeout: 3000 });
  console.log(end, log);
  const run2 = await ex.start(saga, { n: 1, fail: true }, { id: "r2" });
  console.log(await (ex as any).signal("r2", "ok", { by: "bo" }));
  const end2 = await run2.outcome({ timeout: 3000 }).catch((e) => e);
  console.log(end2, log);
  console.log((await ex.history("r2")).map((e) => `${e.number} ${JSON.stringify(e.entry).slice(0, 110)}`).join("\n"));
  await ex.close();
});
