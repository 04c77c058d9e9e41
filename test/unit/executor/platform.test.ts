// Time and chance that are handed in are the only ones: nothing of a run waits on, or reads, the process's own.

import { inProcessExecutor } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import type { Clock } from "../../../src/platform/clock.js";
import type { Chance } from "../../../src/platform/ids.js";
import { systemChance } from "../../../src/platform/ids.js";
import { aborted, Bench, entriesOf, never } from "../../conformance/executor/bench.js";
import { ManualClock, settled } from "../../support/manual-clock.js";

const day = 86_400_000;

function setUp(random: () => number = () => 0) {
  const clock = new ManualClock();
  let ids = 0;
  let behindMs = 0;
  const wall: Clock = {
    now: () => clock.now() - behindMs,
    monotonic: () => clock.monotonic(),
    after: (ms, callback) => clock.after(ms, callback),
  };
  const setBack = (ms: number) => {
    behindMs += ms;
  };
  const chance: Chance = {
    random,
    id: () => `id-${++ids}`,
    runId: (now) => `run-${now}-${++ids}`,
  };
  const bench = new Bench(async (options) =>
    inProcessExecutor({ ...options, retry: {}, compensationRetry: {}, platform: { clock: wall, chance } }),
  );
  return { clock, bench, setBack };
}

const down = () => {
  throw Object.assign(new Error("down"), { code: "ECONNREFUSED" });
};

describe("a settable clock", () => {
  test("nothing happens before time passes, and then all of it at its time", async () => {
    const { clock, bench } = setUp();
    const startedAt = clock.now();
    const saga = bench.saga([bench.step("S1"), bench.step("S2")]);
    const executor = await bench.executor([saga]);
    const run = await executor.start(saga, {});
    await settled();
    expect(bench.outside.calls).toEqual([]);
    await clock.pass(0);
    expect((await run.outcome()).status).toBe("completed");
    const view = (await executor.get(run.id))!;
    expect([view.createdAt, view.startAt, view.endedAt]).toEqual(Array.from({ length: 3 }, () => new Date(startedAt)));
    expect(run.id).toBe(`run-${startedAt}-1`);
    expect((await executor.history(run.id)).every(({ at }) => at.getTime() === startedAt)).toBe(true);
  });

  test("ERR-9: a start in 40 days comes after 40 days", async () => {
    const { clock, bench } = setUp();
    const saga = bench.saga([bench.step("S1")]);
    const executor = await bench.executor([saga]);
    const run = await executor.start(saga, {}, { startAt: new Date(clock.now() + 40 * day) });
    await clock.pass(40 * day - 1);
    expect(bench.outside.calls).toEqual([]);
    await clock.pass(1);
    expect((await run.outcome()).status).toBe("completed");
  });

  test("a wall clock that was set back starts nothing before its time", async () => {
    const { clock, bench, setBack } = setUp();
    const saga = bench.saga([bench.step("S1")]);
    const executor = await bench.executor([saga]);
    const run = await executor.start(saga, {}, { startAt: new Date(clock.now() + 60_000) });
    setBack(20_000);
    await clock.pass(60_000);
    expect(bench.outside.calls).toEqual([]);
    expect((await executor.get(run.id))!.status).toBe("pending");
    await clock.pass(20_000);
    expect((await run.outcome()).status).toBe("completed");
  });

  test("backoff, in process and parked, follows it: exponential, from half to whole", async () => {
    const { clock, bench } = setUp();
    const saga = bench.saga([
      bench.step("S1", {
        retry: { firstDelay: "1s", maxDelay: "10s" },
        run: (_, { attempt }) => (attempt < 6 ? down() : undefined),
      }),
    ]);
    const executor = await bench.executor([saga]);
    const run = await executor.start(saga, {});
    await clock.pass(0);
    const gaps: number[] = [];
    for (let failures = 1; failures < 6; failures += 1) {
      expect(bench.outside.count("S1")).toBe(failures);
      const { nextAttemptAt } = (await executor.get(run.id))!;
      const gap = nextAttemptAt!.getTime() - clock.now();
      gaps.push(gap);
      await clock.pass(gap - 1);
      expect(bench.outside.count("S1")).toBe(failures);
      await clock.pass(1);
    }
    expect(gaps).toEqual([500, 1_000, 2_000, 4_000, 5_000]);
    expect((await run.outcome()).status).toBe("completed");
  });

  test("ERR-6: the delay stays within its cap however often it failed", async () => {
    const { clock, bench } = setUp(() => 0.999);
    const saga = bench.saga([
      bench.pivot("P", {
        retry: { firstDelay: "1s", factor: 10, maxDelay: "1m" },
        run: (_, { attempt }) => (attempt <= 400 ? down() : undefined),
      }),
    ]);
    const executor = await bench.executor([saga]);
    const run = await executor.start(saga, {});
    for (let failures = 0; failures < 401; failures += 1) await clock.pass(60_000);
    expect((await run.outcome()).status).toBe("completed");
    const failed = (await executor.history(run.id)).filter(({ entry }) => entry.kind === "attempt_failed");
    for (const { entry, at } of failed.slice(2)) {
      const delay = (entry as any).retryAt - at.getTime();
      expect(delay).toBeGreaterThanOrEqual(30_000);
      expect(delay).toBeLessThanOrEqual(60_000);
    }
    expect(failed).toHaveLength(400);
  });

  test("ERR-14: what failed in one moment comes back spread over half to whole of the delay", async () => {
    const { clock, bench } = setUp(systemChance.random);
    const saga = bench.saga([
      bench.step("S1", { retry: { firstDelay: "1s" }, run: (_, { attempt }) => (attempt === 1 ? down() : undefined) }),
    ]);
    const executor = await bench.executor([saga]);
    const runs = await Promise.all(Array.from({ length: 200 }, () => executor.start(saga, {})));
    await clock.pass(0);
    const failedAt = clock.now();
    const retries = await Promise.all(
      runs.map(async ({ id }) => {
        const failed = (await entriesOf(executor, id)).find((entry) => entry.kind === "attempt_failed")!;
        return failed.retryAt - failedAt;
      }),
    );
    expect(retries.every((delay) => delay >= 500 && delay <= 1_000)).toBe(true);
    const windows = new Map<number, number>();
    for (const delay of retries) windows.set(Math.floor(delay / 100), (windows.get(Math.floor(delay / 100)) ?? 0) + 1);
    expect(Math.max(...windows.values())).toBeLessThan(80);
    expect(windows.size).toBeGreaterThanOrEqual(5);
    await clock.pass(1_000);
    expect(bench.outside.count("S1")).toBe(400);
  });

  test("timeout and grace follow it", async () => {
    const { clock, bench } = setUp();
    let signal: AbortSignal | undefined;
    const saga = bench.saga([
      bench.step("S1", {
        timeout: "1m",
        grace: "10s",
        retry: { maxAttempts: 1 },
        run: (_, tools) => {
          signal = tools.signal;
          return never();
        },
      }),
    ]);
    const executor = await bench.executor([saga]);
    const run = await executor.start(saga, {});
    await clock.pass(59_999);
    expect(signal!.aborted).toBe(false);
    await clock.pass(1);
    expect(signal!.aborted).toBe(true);
    expect((await executor.get(run.id))!.status).toBe("running");
    await clock.pass(10_000);
    expect((await run.outcome()).status).toBe("failed");
  });

  test("maxDuration follows it, also over a wait", async () => {
    const { clock, bench } = setUp();
    const reasons: string[] = [];
    const saga = bench.saga(
      [
        bench.step("S1", {
          retry: { firstDelay: "10m", maxDelay: "10m" },
          timeout: "1h",
          run: async (_, { signal, attempt }) => {
            if (attempt === 1) down();
            reasons.push((await aborted(signal)).reason);
            throw signal.reason;
          },
        }),
      ],
      { maxDuration: "30m" },
    );
    const executor = await bench.executor([saga]);
    const run = await executor.start(saga, {});
    await clock.pass(30 * 60_000 - 1);
    expect((await executor.get(run.id))!.status).toBe("running");
    await clock.pass(1);
    expect((await run.outcome()).status).toBe("timed_out");
    expect(reasons).toEqual(["deadline"]);
  });

  test("a wait's timeout and close's grace follow it", async () => {
    const { clock, bench } = setUp();
    const saga = bench.saga([
      bench.step("S1", {
        timeout: "1h",
        run: (_, { signal }) => aborted(signal).then((reason) => Promise.reject(reason)),
      }),
    ]);
    const executor = await bench.executor([saga]);
    const run = await executor.start(saga, {});
    const wait = run.outcome({ timeout: "5m" }).catch((error) => error.code);
    await clock.pass(5 * 60_000);
    expect(await wait).toBe("run.wait_timeout");
    let closed = false;
    void executor.close({ grace: "10s" }).then(() => {
      closed = true;
    });
    await clock.pass(9_999);
    expect(closed).toBe(false);
    await clock.pass(1);
    expect(closed).toBe(true);
  });

  test("no timer is left behind, whatever a run went through", async () => {
    const { clock, bench } = setUp();
    const sagas = [
      bench.saga([bench.step("S1")], { maxDuration: "1h" }),
      bench.saga([bench.step("S1", { retry: { maxAttempts: 2 }, run: down })], { maxDuration: "1h" }),
      bench.saga([bench.step("S1", { timeout: 10, grace: 10, retry: { maxAttempts: 1 }, run: never })]),
      bench.saga([bench.step("S1"), bench.step("S2", { run: never })], { maxDuration: "1m" }),
    ];
    const executor = await bench.executor(sagas);
    const runs = await Promise.all(sagas.map((saga) => executor.start(saga, {})));
    const cancelled = await executor.start(sagas[0]!, {}, { startAt: new Date(clock.now() + day) });
    await executor.requestCancel(cancelled.id, { by: "ana" });
    await clock.pass(10 * 60_000);
    for (const run of [...runs, cancelled]) await run.outcome();
    expect(clock.waits).toEqual([]);
    const waiting = await executor.start(sagas[0]!, {}, { startAt: new Date(clock.now() + day) });
    expect(clock.waits).toEqual([day]);
    await executor.close();
    expect(clock.waits).toEqual([]);
    expect((await executor.get(waiting.id))!.status).toBe("pending");
  });
});

test("a run that is poked from everywhere at once is driven once", async () => {
  const { clock, bench } = setUp();
  const saga = bench.saga([
    bench.step("S1", {
      retry: { firstDelay: "1h", maxDelay: "1h" },
      run: (_, { attempt }) => (bench.outside.count("S1") < 3 ? down() : { attempt }),
    }),
  ]);
  const executor = await bench.executor([saga]);
  const run = await executor.start(saga, {});
  await clock.pass(0);
  await Promise.all(Array.from({ length: 10 }, () => executor.retry(run.id, { by: "ana" }).catch(() => {})));
  await clock.pass(0);
  expect(bench.outside.count("S1")).toBe(2);
  await Promise.all(Array.from({ length: 10 }, () => executor.retry(run.id, { by: "ana" }).catch(() => {})));
  await clock.pass(0);
  expect((await run.outcome()).status).toBe("completed");
  expect(bench.outside.count("S1")).toBe(3);
});
