// A run that takes its workers down, beside good ones; and how fast a killed worker's runs are taken (design 1.6, 3.3).

import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { briskWorker } from "../support/crash-bench.js";
import { ToldBench } from "../support/told-bench.js";
import { until } from "../support/until.js";
import type { WorkerProcess } from "../support/worker-process.js";

let bench: ToldBench;

beforeEach(async () => {
  bench = await ToldBench.open();
});

afterEach(() => bench[Symbol.asyncDispose]());

test("five quick deaths of one poison run beside 99 good ones: those complete, with honest attempts, and it ends as its budget says", async () => {
  const workers: WorkerProcess[] = [];
  let deaths = 0;
  bench.outside.behave = async (call) => {
    if (call.runId === "poison" && call.step === "S1" && call.direction === "forward") {
      // Its neighbours are in mid-step by now.
      await new Promise((resolve) => setTimeout(resolve, 50));
      deaths += 1;
      process.kill(call.pid, "SIGKILL");
      return undefined;
    }
    return call.runId === "poison" ? undefined : { status: 200, body: { waitMs: 50 } };
  };
  let stopping = false;
  onTestFinished(() => {
    stopping = true;
  });
  const supervise = async () => {
    while (!stopping) {
      const worker = await bench.worker({ worker: { ...briskWorker, slots: 100 } }).catch(() => undefined);
      if (worker !== undefined) workers.push(worker);
      await worker?.exited;
    }
  };
  const poison = await bench.client.start(bench.saga("five-times"), undefined as never, { id: "poison" });
  const good = await Promise.all(Array.from({ length: 99 }, () => bench.start("told")));
  const supervisors = [supervise(), supervise()];
  const outcomes = await Promise.all(good.map((run) => run.outcome({ timeout: "55s" })));
  expect(outcomes.map(({ status }) => status)).toEqual(Array(99).fill("completed"));
  expect(await poison.outcome({ timeout: "55s" })).toMatchObject({
    status: "failed",
    error: { step: "S1", cause: { code: "step.crash_loop" } },
  });
  expect(deaths).toBe(5);
  expect(bench.outside.count("S1", "forward", "poison")).toBe(5);
  let suspected = 0;
  for (const run of good) {
    const entries = (await bench.client.history(run.id)).map(({ entry }) => entry);
    let [crashes, inARow, mostInARow] = [0, 0, 0];
    for (const entry of entries) {
      if (entry.kind === "step_completed") inARow = 0;
      if (entry.kind !== "taken_up" || !entry.crash) continue;
      crashes += 1;
      inARow += 1;
      mostInARow = Math.max(mostInARow, inARow);
    }
    // From the second on it is taken up apart from other suspects, the poison too: nobody is convicted with it.
    expect(mostInARow).toBeLessThanOrEqual(2);
    if (mostInARow === 2) suspected += 1;
    // A step is begun again only for a crash that is on the record.
    const calls = bench.outside.count("S1", "forward", run.id) + bench.outside.count("S2", "forward", run.id);
    expect(calls).toBeLessThanOrEqual(2 + crashes);
  }
  console.log(`of 99 neighbours ${suspected} were suspected for a while`);
  stopping = true;
  await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()));
  await Promise.all(supervisors);
});

test("a hundred runs of a killed worker are taken over, each by one, soon after", async () => {
  bench.tell("S1", { waitMs: 120_000, heed: true }, 100);
  const victim = await bench.worker({ worker: { ...briskWorker, slots: 100 } });
  await Promise.all(Array.from({ length: 100 }, () => bench.start("told")));
  await until("all are in S1", () => bench.outside.count("S1") === 100);
  await bench.here({ worker: { ...briskWorker, slots: 100 } });
  const since = performance.now();
  await victim.kill();
  const takenOver = async () => {
    const [row] = await bench.database.query(
      "select count(distinct run)::int as runs, count(*)::int as rows from rubicon.journal where number = 2",
    );
    return row!.runs === 100 ? (row as { runs: number; rows: number }) : undefined;
  };
  const row = await until("all are taken over", takenOver, 20_000);
  console.log(`100 runs taken over ${Math.round(performance.now() - since)} ms after the kill`);
  expect(row.rows).toBe(100);
  expect(performance.now() - since).toBeLessThan(15_000);
});
