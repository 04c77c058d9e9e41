// SESSIONS THAT END one by one or all together, on a server that stays up: the worker's own, and a user's pool's.

import pg from "pg";
import type { DurableExecutor } from "rubicon-saga";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CrashBench } from "../support/crash-bench.js";
import { TroubleBench } from "../support/trouble-bench.js";
import { gate, until } from "../support/until.js";

let bench: TroubleBench;

beforeEach(async () => {
  bench = await TroubleBench.open();
  await bench.database.query("create table public.ledger (run text not null)");
});

afterEach(() => bench[Symbol.asyncDispose]());

const heard = (executor: DurableExecutor) =>
  until("it hears again", () => executor.health!.firm && executor.health!.listening);

describe("PG-1: all sessions are ended", () => {
  for (const whose of ["its own pool", "a pool of the user's"] as const)
    test(`with ${whose}: of an idle worker, of one inside a step, of one inside a transaction`, async () => {
      const pool = new pg.Pool({ connectionString: bench.database.url, max: 10 });
      const executor = await bench.executor(whose === "its own pool" ? {} : { database: pool });
      // Idle.
      await bench.endSessions();
      await until("it has noticed", () => bench.said("the worker's connection was lost") === 1);
      await heard(executor);
      // Inside S1, twice: once without a query in flight, once in a transaction.
      const inside = gate();
      let held = 0;
      bench.on.S1 = async ({ tx }) => {
        held += 1;
        await inside.promise;
        // Where there is a transaction, its body hears of the loss itself.
        await tx?.query("select 1");
      };
      const plain = await executor.start(bench.saga("three"), undefined);
      const ledger = await executor.start(bench.saga("ledger"), undefined);
      await until("both are in S1", () => held === 2);
      await bench.endSessions();
      inside.open();
      for (const run of [plain, ledger]) {
        expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
        const history = await executor.history(run.id);
        expect(history.filter(({ entry }) => entry.kind.endsWith("failed"))).toEqual([]);
        expect(history.find(({ entry }) => entry.kind === "step_completed")?.entry).toMatchObject({
          step: "S1",
          attempt: 1,
        });
      }
      expect(bench.outside.order(plain.id)).toEqual(["S1", "S2", "S3"]);
      expect(await bench.database.query("select run from public.ledger")).toEqual([{ run: ledger.id }]);
      expect(bench.said("the worker's connection was lost")).toBe(2);
      expect(bench.uncaught).toEqual([]);
      await bench.closeAll();
      await pool.end();
    });

  test("again and again, with runs on their way: none is lost, none counts an attempt", async () => {
    const executor = await bench.executor();
    const client = await bench.executor({ worker: false });
    const runs = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        client.start(bench.saga(index % 2 === 0 ? "three" : "ledger"), undefined, { id: `r${index}` }),
      ),
    );
    for (let round = 0; round < 5; round += 1) {
      await bench.endSessions();
      await heard(executor);
    }
    for (const run of runs) {
      expect((await run.outcome({ timeout: "40s" })).status).toBe("completed");
      expect((await client.history(run.id)).filter(({ entry }) => entry.kind.endsWith("failed"))).toEqual([]);
    }
    const booked = await bench.database.query("select run, count(*)::int as times from public.ledger group by run");
    expect(booked.map(({ times }) => times)).toEqual(Array(20).fill(1));
    expect(bench.uncaught).toEqual([]);
  });
});

test("PG-3: the LISTEN session alone is ended: a run of the gap is found once it hears again, one after it at once", async () => {
  const poll = 30_000;
  const executor = await bench.executor({ worker: { slots: 5, lease: 30_000, beat: 5_000, poll } });
  // Its connections stay open while no new ones are let in: that is the gap.
  const client = await bench.executor({ worker: false, listen: false });
  const before = await client.start(bench.saga("three"), undefined);
  await before.outcome({ timeout: "10s" });
  const listening = "pid in (select pid from pg_locks where locktype = 'advisory' and granted)";
  const admin = new URL(bench.database.url);
  admin.pathname = "/postgres";
  const maintenance = new pg.Client(admin.href);
  await maintenance.connect();
  const looker = await bench.database.connect();
  const letIn = (allowed: boolean) =>
    maintenance.query(`alter database "${bench.database.name}" with allow_connections ${allowed}`);
  await letIn(false);
  try {
    const ended = await looker.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and ${listening}`,
    );
    expect(ended.rowCount).toBe(1);
    await until("its loss is noticed", () => !executor.health!.listening);
    const gap = await client.start(bench.saga("three"), undefined);
    await letIn(true);
    expect((await gap.outcome({ timeout: "10s" })).status).toBe("completed");
  } finally {
    await letIn(true);
    await maintenance.end();
  }
  await heard(executor);
  const after = await client.start(bench.saga("three"), undefined);
  expect((await after.outcome({ timeout: "10s" })).status).toBe("completed");
  expect(bench.said("the worker's connection was lost")).toBe(1);
});

test("PG-7: while user code runs no session of the library idles in a transaction, and none is ended for it", async () => {
  await bench.database.query(`alter database "${bench.database.name}" set idle_in_transaction_session_timeout = '1s'`);
  const executors = await Promise.all([1, 2, 3, 4, 5].map(() => bench.executor({ connectWithin: "20s" })));
  bench.on.S1 = () => new Promise((resolve) => setTimeout(resolve, 2_000));
  const runs = await Promise.all(Array.from({ length: 10 }, () => executors[0]!.start(bench.saga("three"), undefined)));
  const looker = await bench.database.connect();
  const idle = new Set<string>();
  let done = false;
  const sampling = (async () => {
    while (!done) {
      const { rows } = await looker.query(
        `select pid || ' ' || query as who from pg_stat_activity where datname = current_database()
         and state like 'idle in transaction%' and clock_timestamp() - state_change > interval '200 milliseconds'`,
      );
      for (const { who } of rows) idle.add(who);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  for (const run of runs) expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
  done = true;
  await sampling;
  expect([...idle]).toEqual([]);
  expect(bench.lines.filter(({ level }) => level !== "info")).toEqual([]);
});

test("PG-10: columns added under a worker that has its statements prepared: its runs and its claims go on", async () => {
  const executor = await bench.executor();
  const warm = await executor.start(bench.saga("three"), undefined);
  await warm.outcome({ timeout: "10s" });
  const inside = gate();
  let held = 0;
  bench.on.S1 = () => {
    held += 1;
    return inside.promise;
  };
  const runs = await Promise.all([1, 2].map(() => executor.start(bench.saga("three"), undefined)));
  await until("both are in S1", () => held === 2);
  // Each by itself: in one transaction they would wait for a claim in a circle.
  for (const table of ["runs", "journal", "workers"])
    await bench.database.query(`alter table rubicon.${table} add column later text`);
  inside.open();
  const after = await executor.start(bench.saga("three"), undefined);
  for (const run of [...runs, after]) expect((await run.outcome({ timeout: "10s" })).status).toBe("completed");
  expect(bench.lines.filter(({ level }) => level !== "info")).toEqual([]);
});

test("JRN-5: the rescuer's sessions are ended once it has taken some of a dead worker's runs: none stays behind", async () => {
  const crash = await CrashBench.open();
  try {
    const all = 20;
    const held = gate();
    crash.outside.behave = (call) => (call.step === "S1" ? held.promise : undefined);
    const victim = await crash.worker();
    const runs = await Promise.all(
      Array.from({ length: all }, () => crash.client.start(crash.saga("slow"), undefined)),
    );
    await until("each is in S1", () => crash.outside.count("S1") === all);
    const rescuer = await crash.worker({ worker: { slots: 5, lease: 3_000, beat: 300, poll: 100 } });
    await victim.kill();
    await until(
      "five were taken over",
      () => crash.outside.of("S1").filter((call) => call.pid === rescuer.pid).length === 5,
    );
    await crash.database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    held.open();
    for (const run of runs) expect((await run.outcome({ timeout: "40s" })).status).toBe("completed");
    for (const run of runs) {
      expect(crash.outside.count("S1", "forward", run.id)).toBe(2);
      expect(crash.outside.count("S2", "forward", run.id)).toBe(1);
    }
    expect(rescuer.alive).toBe(true);
  } finally {
    await crash[Symbol.asyncDispose]();
  }
});
