// What a process keeps of the runs that it has driven.

import { inProcessExecutor } from "rubicon-saga";
import { expect, onTestFinished, test, vi } from "vitest";
import { Bench } from "../../conformance/executor/bench.js";

test("MEM-1: thousands of runs with timeouts, deadlines and waits leave no listener, no timer and no memory", {
  timeout: 60_000,
}, async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));
  const bench = new Bench(async (options) => inProcessExecutor(options));
  const policy = { execute: (body: any, signal: AbortSignal) => body({ signal }) };
  const { signal } = new AbortController();
  const saga = bench.saga(
    [1, 2, 3].map((n) => bench.step(`S${n}`, { policy, compensate: undefined, nothingToUndo: true })),
    { maxDuration: "1h" },
  );
  const executor = await bench.executor([saga]);
  const before = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  for (let round = 0; round < 20; round += 1) {
    await Promise.all(Array.from({ length: 50 }, () => executor.execute(saga, {}, { signal, timeout: "1m" })));
    bench.outside.calls.length = 0;
  }
  await vi.waitUntil(() => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length <= before + 1);
  expect(warnings).toEqual([]);
});
