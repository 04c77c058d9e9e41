// Going away in good order: what is under way is recorded, what is left goes on elsewhere, and the end is bounded.

import pg from "pg";
import { durableExecutor } from "rubicon-saga";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { wireTo } from "../db/proxy.js";
import { briskWorker } from "../support/crash-bench.js";
import { ToldBench } from "../support/told-bench.js";
import { gate, until } from "../support/until.js";

let bench: ToldBench;

beforeEach(async () => {
  bench = await ToldBench.open();
});

afterEach(() => bench[Symbol.asyncDispose]());

/** Milliseconds between the record of S1 and the call of S2, by the database's clock and the test's, which are one here. */
async function handOverMs(runId: string): Promise<number> {
  const recorded = (await bench.client.history(runId)).find(({ entry }) => entry.kind === "step_completed")!.at;
  return bench.outside.of("S2", "forward", runId)[0]!.at - recorded.getTime();
}

/** Holds the first call of S1 until it is opened. */
function holdS1() {
  const held = gate();
  bench.outside.behave = async (call, earlier) => {
    if (call.step === "S1" && !earlier.some(({ step }) => step === "S1")) await held.promise;
  };
  return held;
}

describe("SHD-1: a stop in mid-step", () => {
  test("close: its result is stored first, another worker goes on at once, and the user's pool is still the user's", async () => {
    const pool = new pg.Pool({ connectionString: bench.database.url, max: 8 });
    pool.on("error", () => {});
    try {
      const worker = await bench.here({ database: pool });
      const held = holdS1();
      const run = await bench.start("told");
      await until("it is in S1", () => bench.outside.count("S1") === 1);
      const other = await bench.worker();
      const closing = worker.close({ grace: "10s" });
      const late = await bench.start("told");
      expect((await late.outcome({ timeout: "20s" })).status).toBe("completed");
      held.open();
      await closing;
      const kinds = (await bench.client.history(run.id)).map(({ entry }) => entry.kind);
      expect(kinds).toContain("step_completed");
      expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
      expect(bench.outside.count("S1", "forward", run.id)).toBe(1);
      expect(bench.outside.of("S2", "forward", run.id).map(({ pid }) => pid)).toEqual([other.pid]);
      expect(await handOverMs(run.id)).toBeLessThan(1_000);
      // Nothing was claimed by it once it was told to close.
      expect(bench.outside.of("S1", "forward", late.id).map(({ pid }) => pid)).toEqual([other.pid]);
      expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    } finally {
      await pool.end();
    }
  });

  test("SIGTERM: the same between two processes", async () => {
    const worker = await bench.worker();
    const held = holdS1();
    const run = await bench.start("told");
    await until("it is in S1", () => bench.outside.count("S1") === 1);
    const other = await bench.worker();
    const stopped = worker.stop();
    // A run that only the other one takes shows that the first has heard.
    const late = await bench.start("told");
    await late.outcome({ timeout: "20s" });
    await new Promise((resolve) => setTimeout(resolve, 300));
    held.open();
    await stopped;
    expect(worker.lines).toContain("closed");
    expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
    expect(bench.outside.count("S1", "forward", run.id)).toBe(1);
    expect(bench.outside.of("S2", "forward", run.id).map(({ pid }) => pid)).toEqual([other.pid]);
    expect(await handOverMs(run.id)).toBeLessThan(1_000);
  });
});

test("a run that waits in process is given back at once", async () => {
  bench.outside.behave = (call) => (call.step === "S2" && call.attempt < 4 ? { status: 503 } : undefined);
  const worker = await bench.here();
  const run = await bench.start("told");
  await until("S2 is being retried", () => bench.outside.count("S2") >= 1);
  await worker.close({ grace: "10s" });
  const [row] = await bench.database.query("select state from rubicon.runs");
  expect(row!.state).not.toBe(2);
  expect(worker.health!.slots.used).toBe(0);
  await bench.here();
  expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
  expect(bench.outside.count("S1")).toBe(1);
});

test("an execute that comes in while the worker closes is not left lying as its own", async () => {
  const worker = await bench.here();
  const starts = Array.from({ length: 20 }, () =>
    worker.execute(bench.saga("told"), undefined as never).catch((error: Error) => error),
  );
  await new Promise((resolve) => setImmediate(resolve));
  await worker.close({ grace: "5s" });
  await Promise.all(starts);
  expect(await bench.database.query("select 1 from rubicon.runs where state = 2")).toEqual([]);
});

describe("closing while the database is away", () => {
  for (const mode of ["silent", "refused"] as const)
    test(`${mode}: close resolves within a bounded time, and what was in hand is taken over`, async () => {
      const wire = await wireTo(bench.database.url);
      const held = gate();
      bench.outside.behave = async (call) => {
        if (call.step === "S1" && call.attempt === 1) await held.promise;
      };
      const worker = await bench.here({ database: wire.url });
      const run = await bench.start("told");
      await until("it is in S1", () => bench.outside.count("S1") === 1);
      if (mode === "silent") wire.silence();
      else wire.down();
      held.open();
      const since = performance.now();
      await worker.close({ grace: "200ms" });
      console.log(`closed ${Math.round(performance.now() - since)} ms after the database went (${mode})`);
      expect(performance.now() - since).toBeLessThan(30_000);
      await bench.here();
      expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
      await wire.close();
    });
});

describe("PSN-3: deploys during a long step", () => {
  test("six graceful stops are not charged: the run completes", async () => {
    bench.outside.behave = (call, earlier) => {
      const before = earlier.filter(({ step, direction }) => step === call.step && direction === "forward").length;
      return call.step === "S1" && before < 6 ? { status: 200, body: { loops: 80 } } : undefined;
    };
    const run = await bench.start("thrice");
    for (let stop = 1; stop <= 6; stop += 1) {
      const worker = await bench.here();
      await until(`S1 was begun for the ${stop}. time`, () => bench.outside.count("S1") === stop);
      await worker.close({ grace: 0 });
    }
    await bench.here();
    expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
    expect(bench.outside.count("S1")).toBe(7);
    const entries = (await bench.client.history(run.id)).map(({ entry }) => entry);
    expect(entries.filter((entry) => entry.kind === "handed_over")).toHaveLength(6);
    expect(entries.find((entry) => entry.kind === "step_completed")).toMatchObject({ attempt: 1 });
  });

  test("with maxAttempts 1 a hand-over is the end of it: failed, in doubt, undone, and never begun twice", async () => {
    bench.tell("S1", { loops: 400 });
    const run = await bench.start("once");
    const worker = await bench.worker({ graceMs: 100 });
    await until("S1 was begun", () => bench.outside.count("S1") === 1);
    await worker.stop();
    await bench.here();
    expect(await run.outcome({ timeout: "20s" })).toMatchObject({ status: "failed", error: { step: "S1" } });
    expect(bench.outside.order(run.id)).toEqual(["S1", "S1-aborted", "C1"]);
    expect(bench.seen("S1", "compensate")).toEqual([{ outcome: "in_doubt" }]);
  });
});

test("a start that fails leaves nothing behind", async () => {
  await bench.database.query("alter table rubicon.worker_locks rename to gone");
  await expect(
    durableExecutor({ sagas: bench.sagas, database: bench.database.url, worker: briskWorker }),
  ).rejects.toMatchObject({ code: "schema.incomplete" });
  await until("its connections are gone", async () => {
    const [row] = await bench.database.query(
      "select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'rubicon-saga'",
    );
    // The bench's own client keeps its own.
    return row!.n <= 3;
  });
  await bench.database.query("alter table rubicon.gone rename to worker_locks");
});
