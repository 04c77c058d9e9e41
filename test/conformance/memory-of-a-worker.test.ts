// What a worker on Postgres keeps of the runs that it has driven: nothing.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { defineSaga, durableExecutor, type SagaExecutor, sleep, step } from "rubicon-saga";
import { expect, onTestFinished, test, vi } from "vitest";
import { freshDatabase } from "../support/postgres.js";
import { until } from "../support/until.js";

/** `RUBICON_MEMORY_RUNS=20000`: the case as it was told. The growth that is allowed goes with it. */
const runs = Number(process.env.RUBICON_MEMORY_RUNS ?? 6_400);
const warm = runs / 4;
const round = 800;
const mostGrowth = (5_000_000 * (runs - warm)) / 15_000;

const policy = { execute: (body: any, signal: AbortSignal) => body({ signal }) };
const quick = (name: string) =>
  step({ name, run: async (_context: object) => {}, nothingToUndo: true, timeout: "1m", policy });
const stuck = step({
  name: "stuck",
  run: (_context: object, { signal }) =>
    new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  nothingToUndo: true,
  timeout: 5,
  retry: { maxAttempts: 1 },
});
const sagaOf = (name: string, middle: any) =>
  defineSaga({ name, version: 1, maxDuration: "1h", steps: [quick("first"), middle, quick("last")] as any });
const napping = sagaOf("napping", sleep({ name: "nap", for: 1 }));
const stopped = sagaOf("stopped", sleep({ name: "nap", for: "1d" }));
const failing = sagaOf("failing", stuck);

/** Resolves when as many runs of each saga have ended as it should, everybody waiting under one long-lived signal. */
async function drive(executor: SagaExecutor, count: number, signal: AbortSignal): Promise<void> {
  const waiting = { signal, timeout: "2m" } as const;
  const inputs = Array(count).fill(undefined) as never[];
  const ends = async (saga: any, expected: string, stop: boolean) => {
    const started = await executor.startMany(saga, inputs);
    if (stop) await Promise.all(started.map(({ id }) => executor.requestCancel(id, { by: "ana" })));
    for (const { status } of await Promise.all(started.map((run) => run.outcome(waiting))))
      expect(status).toBe(expected);
  };
  await Promise.all([
    ends(napping, "completed", false),
    ends(stopped, "cancelled", true),
    ends(failing, "failed", false),
    Promise.all(inputs.map(() => executor.execute(napping as any, undefined, waiting))),
  ]);
}

test("MEM-1: thousands of runs with timeouts, sleeps, stops and deadlines leave a worker no listener, no timer and no memory", {
  timeout: 300_000,
}, async () => {
  setFlagsFromString("--expose-gc");
  const gc: () => void = runInNewContext("gc");
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));
  const database = await freshDatabase();
  const executor = await durableExecutor({
    sagas: [napping, stopped, failing],
    database: database.url,
    migrate: true,
    worker: { poll: 100 },
  });
  onTestFinished(async () => {
    await executor.close({ grace: 0 });
    await database.drop();
  });
  const { signal } = new AbortController();
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const heap = async () => {
    await until("every slot is free", () => executor.health!.slots.used === 0);
    gc();
    return process.memoryUsage().heapUsed;
  };
  const driveUpTo = async (from: number, to: number) => {
    for (let driven = from; driven < to; driven += round) await drive(executor, round / 4, signal);
  };
  await driveUpTo(0, warm);
  const [heapBefore, timersBefore] = [await heap(), timers()];
  await driveUpTo(warm, runs);
  const growth = (await heap()) - heapBefore;
  if (process.env.RUBICON_MEMORY_RUNS !== undefined) console.log({ runs, growth, timersBefore, timers: timers() });
  expect(growth).toBeLessThan(mostGrowth);
  await vi.waitUntil(() => timers() <= timersBefore + 1);
  expect(warnings).toEqual([]);
});
