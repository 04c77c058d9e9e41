// THE DATABASE GOES AWAY under a worker and comes back: the worker lives, no attempt is counted for it, every run goes on.

import type { DurableExecutor, RunHandle } from "rubicon-saga";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Wire, wireTo } from "../db/proxy.js";
import { type SuiteServer, startServer } from "../support/postgres.js";
import { quickWorker, TroubleBench } from "../support/trouble-bench.js";
import { gate, until } from "../support/until.js";

let server: SuiteServer;
let bench: TroubleBench;

beforeAll(async () => {
  // What was acknowledged has to outlive a crash of the server.
  server = await startServer({ settings: { synchronous_commit: "on" } });
});

afterAll(() => server.stop());

beforeEach(async () => {
  bench = await TroubleBench.open(server.url);
  await bench.database.query("create table public.ledger (run text not null)");
});

afterEach(() => bench[Symbol.asyncDispose]());

/** Holds a step's bodies until it is opened, and tells how many are held. */
function hold(step: string) {
  const held = gate();
  const state = { held: 0, open: () => held.open() };
  bench.on[step] = () => {
    state.held += 1;
    return held.promise;
  };
  return state;
}

/** No attempt failed, none was counted but the ones that completed. */
async function expectNothingCounted(executor: DurableExecutor, run: RunHandle<unknown>): Promise<void> {
  const history = await executor.history(run.id);
  expect(history.filter(({ entry }) => entry.kind.endsWith("failed"))).toEqual([]);
  for (const { entry } of history) if (entry.kind === "step_completed") expect(entry.attempt).toBe(1);
}

/** Each loop of the worker got through a turn after `since`; `forget` turns once a minute. */
async function expectAllLoopsTick(executor: DurableExecutor, since: Date): Promise<void> {
  const loops = ["beat", "claim", "recovery"];
  await until("all loops tick again", () => loops.every((loop) => (executor.health!.ticks[loop] ?? 0) > since));
  expect(Object.keys(executor.health!.ticks)).toEqual(expect.arrayContaining([...loops, "forget"]));
  expect(executor.health).toMatchObject({ firm: true, listening: true });
}

describe("a server that restarts in mid-run", () => {
  for (const mode of ["fast", "immediate"] as const)
    test(`PG-1: ${mode}: steps under way are recorded when it is back, a transaction that it undid is done again, once`, async () => {
      const executor = await bench.executor();
      const first = hold("S1");
      const runs = await Promise.all(
        ["three", "pivoted", "ledger"].map((name) => executor.start(bench.saga(name as "three"), undefined)),
      );
      await until("all are in S1", () => first.held === 3);
      await server.down(mode);
      first.open();
      await until("its loss is noticed", () => !executor.health!.firm);
      await server.up();
      const since = new Date();
      for (const run of runs) expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
      for (const run of runs) await expectNothingCounted(executor, run);
      const ledger = runs[2]!;
      expect(await bench.database.query("select run from public.ledger")).toEqual([{ run: ledger.id }]);
      for (const run of runs.slice(0, 2)) expect(bench.outside.count("S1", "forward", run.id)).toBe(1);
      expect(bench.outside.count("S1", "forward", ledger.id)).toBe(2);
      await expectAllLoopsTick(executor, since);
      expect(bench.said("the worker's connection was lost")).toBe(1);
      expect(bench.uncaught).toEqual([]);
    });

  test("a crash of one backend restarts the server under everybody: nothing is lost or counted", async () => {
    const executor = await bench.executor();
    const first = hold("S1");
    const run = await executor.start(bench.saga("three"), undefined);
    await until("it is in S1", () => first.held === 1);
    const [backend] = await bench.database.query(
      "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() limit 1",
    );
    process.kill(backend!.pid, "SIGKILL");
    await until("its loss is noticed", () => !executor.health!.firm);
    first.open();
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    await expectNothingCounted(executor, run);
    expect(bench.outside.order(run.id)).toEqual(["S1", "S2", "S3"]);
    expect(bench.uncaught).toEqual([]);
  });
});
