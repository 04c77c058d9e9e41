// THE DATABASE GOES AWAY under a worker and comes back: the worker lives, no attempt is counted for it, every run goes on.

import type { DurableExecutor, RunHandle } from "rubicon-saga";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { wireTo } from "../db/proxy.js";
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

describe("a server that is away for long", () => {
  test("PG-2: for 10 s: nothing is counted, few tries are made, and a run that is started then completes within two polls", async () => {
    const wire = await wireTo(bench.database.url);
    const executor = await bench.executor({ database: wire.url });
    const first = hold("S1");
    const runs = await Promise.all(Array.from({ length: 15 }, () => executor.start(bench.saga("three"), undefined)));
    await until("all are in S1", () => first.held === runs.length);
    const downAt = performance.now();
    wire.down();
    await server.down("fast");
    first.open();
    await until("10 s have passed", () => performance.now() - downAt > 10_000);
    const tries = wire.refused / 10;
    await server.up();
    wire.heal();
    const since = new Date();
    for (const run of runs) expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    for (const run of runs) await expectNothingCounted(executor, run);
    for (const run of runs) expect(bench.outside.order(run.id)).toEqual(["S1", "S2", "S3"]);
    await expectAllLoopsTick(executor, since);
    const startedAt = performance.now();
    const after = await executor.start(bench.saga("three"), undefined);
    expect((await after.outcome({ timeout: "30s" })).status).toBe("completed");
    expect(performance.now() - startedAt).toBeLessThan(2 * quickWorker.poll + 1_000);
    expect(tries).toBeLessThan(8);
    expect(bench.said("the worker's connection was lost")).toBe(1);
    expect(bench.lines.filter(({ level }) => level !== "info").length).toBeLessThan(20);
    expect(bench.uncaught).toEqual([]);
    await bench.closeAll();
    await wire.close();
  });

  test("PG-2: for longer than the lease: a step that is never begun twice is not begun twice", async () => {
    const executor = await bench.executor({ worker: { ...quickWorker, lease: 1_500 } });
    const first = hold("S1");
    const run = await executor.start(bench.saga("once"), undefined);
    await until("it is in S1", () => first.held === 1);
    await server.down("fast");
    await until("the lease has run out", () => bench.said("all attempts are aborted as lost") === 1);
    await server.up();
    expect((await run.outcome({ timeout: "30s" })).status).toBe("failed");
    // In doubt, so it was undone too.
    expect(bench.outside.order(run.id)).toEqual(["S1", "C1"]);
    first.open();
    expect(bench.uncaught).toEqual([]);
  });

  test("PIV-5: exactly when a step after the pivot fails: that failure is recorded later, and the step is tried again", async () => {
    const executor = await bench.executor();
    const down = gate();
    bench.on.S3 = async (tools) => {
      if (tools.attempt > 1) return;
      await server.down("fast");
      down.open();
      throw new Error("the parcel service is busy");
    };
    const run = await executor.start(bench.saga("pivoted"), undefined);
    await down.promise;
    await until("its loss is noticed", () => !executor.health!.firm);
    await server.up();
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    expect(bench.outside.order(run.id)).toEqual(["S1", "P", "S3", "S3"]);
    const failures = (await executor.history(run.id)).filter(({ entry }) => entry.kind === "attempt_failed");
    expect(failures).toMatchObject([
      { entry: { step: "S3", attempt: 1, error: { message: "the parcel service is busy" } } },
    ]);
    expect(bench.uncaught).toEqual([]);
  });

  test("when a process starts: it waits for the database for as long as it was told to", async () => {
    await server.down("fast");
    const starting = bench.executor({ connectWithin: "30s" });
    await until("it has tried", () => bench.said("the database can't be used at the moment") > 0);
    await server.up();
    const run = await (await starting).start(bench.saga("three"), undefined);
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    expect(bench.uncaught).toEqual([]);
  });
});

describe("a server that answers, but not as it should", () => {
  /** Sends a run into S1, makes trouble, lets S1 go on in the midst of it, ends the trouble; then the run completes. */
  async function throughTrouble(
    executor: DurableExecutor,
    trouble: { begin(): unknown; noticed(): unknown; end(): unknown },
  ) {
    const first = hold("S1");
    const runs = await Promise.all([1, 2, 3, 4, 5].map(() => executor.start(bench.saga("three"), undefined)));
    await until("all are in S1", () => first.held === runs.length);
    await trouble.begin();
    first.open();
    await until("the trouble is noticed", () => trouble.noticed());
    await trouble.end();
    const since = new Date();
    for (const run of runs) expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    for (const run of runs) await expectNothingCounted(executor, run);
    for (const run of runs) expect(bench.outside.order(run.id)).toEqual(["S1", "S2", "S3"]);
    await expectAllLoopsTick(executor, since);
    expect(bench.uncaught).toEqual([]);
  }

  test("read-only, as a standby or a full disk makes it: everything waits, and goes on", async () => {
    const executor = await bench.executor();
    const setReadOnly = async (value: "on" | "off") => {
      await bench.database.query(`alter system set default_transaction_read_only = ${value}`);
      await bench.database.query("select pg_reload_conf()");
    };
    await throughTrouble(executor, {
      begin: () => setReadOnly("on"),
      noticed: () => !executor.health!.firm && bench.said("can't be used at the moment") > 0,
      end: () => setReadOnly("off"),
    });
  });

  test("frozen: a silent connection is given up, and nothing waits for it", async () => {
    const executor = await bench.executor();
    await throughTrouble(executor, {
      begin: () => server.freeze(),
      noticed: () => !executor.health!.firm,
      end: () => server.thaw(),
    });
  });

  test("cut off without a word: what it was asked is asked again on another connection", async () => {
    const wire = await wireTo(bench.database.url);
    const executor = await bench.executor({ database: wire.url });
    await throughTrouble(executor, {
      begin: () => wire.silence(),
      noticed: () => !executor.health!.firm,
      end: () => wire.heal(),
    });
    await bench.closeAll();
    await wire.close();
  });

  test("out of connections (53300): what needs one waits", async () => {
    const role = `app_${bench.database.name}`;
    const at = new URL(bench.database.url);
    at.username = role;
    await bench.executor({ worker: false });
    await bench.database.query(`create role ${role} login`);
    await bench.database.query(
      `grant usage on schema rubicon to ${role}; grant all on all tables in schema rubicon to ${role}`,
    );
    const executor = await bench.executor({ database: at.href, migrate: false });
    await throughTrouble(executor, {
      begin: async () => {
        await bench.database.query(`alter role ${role} connection limit 0`);
        await bench.endSessions(`usename = '${role}'`);
      },
      noticed: () => !executor.health!.firm && bench.said("can't be used at the moment") > 0,
      end: () => bench.database.query(`alter role ${role} connection limit 3`),
    });
    await bench.closeAll();
    await bench.database.query(`drop owned by ${role}; drop role ${role}`);
  });

  test("out of disk (53100): an append is offered again until there is room", async () => {
    const executor = await bench.executor();
    let tried = 0;
    await throughTrouble(executor, {
      begin: () =>
        bench.database.query(
          `create sequence public.tried;
           create function public.full_disk() returns trigger language plpgsql as
           $$ begin perform nextval('public.tried'); raise exception 'no space left on device' using errcode = '53100'; end $$;
           create trigger full_disk before insert on rubicon.journal for each row execute function public.full_disk()`,
        ),
      noticed: async () => {
        tried = Number((await bench.database.query("select last_value from public.tried"))[0]!.last_value);
        return tried > 3;
      },
      end: () => bench.database.query("drop trigger full_disk on rubicon.journal"),
    });
  });
});
