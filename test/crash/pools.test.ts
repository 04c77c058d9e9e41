// CONNECTIONS THAT ARE FEW, SHARED OR SET OTHERWISE: small pools, a user's own, a pooler, defaults that would break us.

import pg from "pg";
import { isSagaError, type OptionsInvalidError } from "rubicon-saga";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bouncerFor, pgbouncer } from "../support/pooler.js";
import { TroubleBench } from "../support/trouble-bench.js";
import { until } from "../support/until.js";

let bench: TroubleBench;

beforeEach(async () => {
  bench = await TroubleBench.open();
  await bench.database.query("create table public.ledger (run text not null)");
});

afterEach(() => bench[Symbol.asyncDispose]());

describe("PG-8: small pools", () => {
  for (const max of [1, 2, 3])
    test(`one of ${max} is refused at the door, and the minimum is named`, async () => {
      const pool = new pg.Pool({ connectionString: bench.database.url, max });
      const refusal: unknown = await bench.executor({ database: pool }).catch((error: unknown) => error);
      expect(isSagaError(refusal, "options.invalid")).toBe(true);
      expect((refusal as OptionsInvalidError).faults).toEqual([
        { at: "database", fault: expect.stringContaining("at least 4 connections") },
      ]);
      expect(pool.totalCount).toBe(0);
      await pool.end();
    });

  test("one of 4 does 50 runs of 3 steps in 10 slots, heard by LISTEN, waited for, with transactional steps among them", async () => {
    const pool = new pg.Pool({ connectionString: bench.database.url, max: 4 });
    const executor = await bench.executor({
      database: pool,
      worker: { slots: 10, lease: 6_000, beat: 300, poll: 30_000 },
    });
    bench.on.S1 = () => new Promise((resolve) => setTimeout(resolve, 5));
    const names = ["three", "three", "pivoted", "ledger"] as const;
    const runs = await Promise.all(
      Array.from({ length: 50 }, (_, index) => executor.start(bench.saga(names[index % 4]!), undefined)),
    );
    const ends = await Promise.all(runs.map((run) => run.outcome({ timeout: "30s" })));
    expect(ends.map(({ status }) => status)).toEqual(Array(50).fill("completed"));
    for (const run of runs) expect(bench.outside.count("S1", "forward", run.id)).toBe(1);
    expect(executor.health).toMatchObject({ firm: true, listening: true });
    expect(bench.lines.filter(({ level }) => level !== "info")).toEqual([]);
    await bench.closeAll();
    await pool.end();
  });
});

test("a pool of the user's is given back as it was: not ended, nothing set on its sessions, nothing heard, nobody left on it", async () => {
  await bench.database.query(
    `alter database "${bench.database.name}" set default_transaction_isolation = 'repeatable read'`,
  );
  const pool = new pg.Pool({ connectionString: bench.database.url, max: 6 });
  const own = await pool.connect();
  own.release();
  const executor = await bench.executor({ database: pool });
  await Promise.all(
    [1, 2, 3, 4, 5, 6].map(async () =>
      (await executor.start(bench.saga("ledger"), undefined)).outcome({ timeout: "20s" }),
    ),
  );
  // While it is in use as well as afterwards.
  const settings = async () => {
    const clients = await Promise.all(Array.from({ length: 4 }, () => pool.connect()));
    try {
      const read = (client: pg.PoolClient) =>
        client.query(
          `select current_setting('default_transaction_isolation') as isolation, current_setting('lock_timeout') as lock_timeout,
             current_setting('idle_in_transaction_session_timeout') as idle, (select count(*)::int from pg_listening_channels()) as heard,
             (select count(*)::int from pg_locks where pid = pg_backend_pid() and locktype = 'advisory') as locks`,
        );
      return await Promise.all(clients.map(async (client) => (await read(client)).rows[0]));
    } finally {
      for (const client of clients) client.release();
    }
  };
  const untouched = { isolation: "repeatable read", lock_timeout: "0", idle: "0", heard: 0, locks: 0 };
  expect(await settings()).toEqual(Array(4).fill(untouched));
  await bench.closeAll();
  expect(pool.ending).toBe(false);
  expect(pool.listenerCount("error")).toBe(0);
  await until("what was kept is gone", () => pool.totalCount === pool.idleCount);
  expect(await settings()).toEqual(Array(4).fill(untouched));
  for (const client of await Promise.all([pool.connect(), pool.connect()])) {
    // The pool's own, while it is taken out, is none.
    expect(client.listenerCount("error")).toBe(0);
    expect(client.listenerCount("notification")).toBe(0);
    client.release();
  }
  await pool.end();
});

test("an empty search_path, REPEATABLE READ and a style of dates of the database's own change nothing", async () => {
  const { name } = bench.database;
  await bench.database.query(
    `alter database "${name}" set search_path = ''; alter database "${name}" set default_transaction_isolation = 'serializable';
     alter database "${name}" set datestyle = 'German'; alter database "${name}" set intervalstyle = 'sql_standard'; alter database "${name}" set timezone = 'Asia/Kathmandu'`,
  );
  const executors = await Promise.all([bench.executor(), bench.executor()]);
  const runs = await Promise.all(
    Array.from({ length: 30 }, (_, index) =>
      executors[index % 2]!.start(bench.saga(index % 3 === 0 ? "ledger" : "three"), undefined),
    ),
  );
  // Each of them races its owner for a number.
  await Promise.all(runs.map((run) => executors[0]!.requestCancel(run.id, { by: "ana" })));
  for (const run of runs) expect(["completed", "cancelled"]).toContain((await run.outcome({ timeout: "20s" })).status);
  const { runs: listed } = await executors[0]!.list({ limit: 100 });
  expect(listed).toHaveLength(30);
  for (const { createdAt } of listed) expect(Math.abs(createdAt.getTime() - Date.now())).toBeLessThan(60_000);
  expect(bench.uncaught).toEqual([]);
});

test("parsers that the user registered with `pg` for the whole process are for the user's own rows", async () => {
  const { builtins } = pg.types;
  const replaced = [
    builtins.INT2,
    builtins.INT4,
    builtins.INT8,
    builtins.TEXT,
    builtins.BOOL,
    builtins.TIMESTAMPTZ,
    builtins.JSONB,
    builtins.VARCHAR,
  ];
  const before = replaced.map((oid) => [oid, pg.types.getTypeParser(oid)] as const);
  for (const oid of replaced) pg.types.setTypeParser(oid, (text: string) => ({ parsed: text }) as never);
  try {
    const executor = await bench.executor();
    const run = await executor.start(bench.saga("three"), undefined, { startAt: new Date(Date.now() + 300) });
    expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
    expect((await executor.get(run.id))?.createdAt).toBeInstanceOf(Date);
    expect((await executor.list()).runs).toHaveLength(1);
    expect(await executor.history(run.id)).toHaveLength(5);
    expect(bench.lines.filter(({ level }) => level !== "info")).toEqual([]);
  } finally {
    for (const [oid, parser] of before) pg.types.setTypeParser(oid, parser as never);
  }
});

test("PG-5: a large input and an id of 200 characters are started, heard of and waited for", async () => {
  const executor = await bench.executor({ worker: { slots: 5, lease: 6_000, beat: 300, poll: 30_000 } });
  const client = await bench.executor({ worker: false });
  const blob = "x".repeat(20_000);
  const id = "ü".repeat(200);
  const run = await client.start(bench.saga("three"), { blob } as never, { id });
  expect((await run.outcome({ timeout: "10s" })).status).toBe("completed");
  expect((await client.get(id))?.input).toEqual({ blob });
  expect(executor.health?.listening).toBe(true);
});

describe.runIf(pgbouncer !== undefined)("PG-6: behind a transaction pooler with two server connections", () => {
  test("3 workers finish 100 runs with retries, cancels and transactional steps; nothing is left behind on its sessions", async () => {
    const bouncer = await bouncerFor(bench.database);
    try {
      const options = { database: bouncer.url, pooled: true } as const;
      const workers = await Promise.all([1, 2, 3].map(() => bench.executor(options)));
      const client = await bench.executor({ ...options, worker: false });
      const failedOnce = new Set<string>();
      bench.on.S2 = ({ runId }) => {
        if (failedOnce.has(runId)) return;
        failedOnce.add(runId);
        throw new Error("try again");
      };
      const names = ["three", "pivoted", "ledger"] as const;
      const runs = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          client.start(bench.saga(names[index % 3]!), undefined, { id: `r${index}` }),
        ),
      );
      const asked = await Promise.all(runs.slice(90).map((run) => client.requestCancel(run.id, { by: "ana" })));
      const ends = await Promise.all(runs.map((run) => run.outcome({ timeout: "40s" })));
      for (const [index, { status }] of ends.slice(0, 90).entries()) {
        expect(status).toBe("completed");
        const id = `r${index}`;
        expect(bench.outside.count("S1", "forward", id)).toBe(1);
        if (names[index % 3] !== "pivoted") expect(bench.outside.count("S2", "forward", id)).toBe(2);
      }
      for (const [index, { status }] of ends.slice(90).entries())
        expect(status).toBe(["cancelled", "cancelling"].includes(asked[index]!.verdict) ? "cancelled" : "completed");
      const ledgers = runs.filter((_, index) => index % 3 === 2 && index < 90).length;
      const booked = await bench.database.query(
        "select run, count(*)::int as times from public.ledger where run = any($1) group by run",
        [Array.from({ length: 90 }, (_, index) => `r${index}`)],
      );
      expect(booked.map(({ times }) => times)).toEqual(Array(ledgers).fill(1));
      expect(await bench.database.query("select pid from pg_locks where locktype = 'advisory'")).toEqual([]);
      // One warning a process that polling is all there is, and no other.
      expect(bench.said("nothing is heard by LISTEN", "warn")).toBe(4);
      expect(bench.lines.filter(({ level, message }) => level !== "info" && !message.includes("LISTEN"))).toEqual([]);
      expect(workers[0]!.health).toMatchObject({ firm: true, listening: false });
    } finally {
      await bench.closeAll();
      bouncer.stop();
    }
  });

  test("with `listen` past the pooler runs are heard of at once", async () => {
    const bouncer = await bouncerFor(bench.database);
    try {
      const slow = { slots: 5, lease: 30_000, beat: 5_000, poll: 30_000 };
      const worker = await bench.executor({
        database: bouncer.url,
        pooled: true,
        listen: bench.database.url,
        worker: slow,
      });
      await until("it listens", () => worker.health!.listening);
      const client = await bench.executor({
        database: bouncer.url,
        pooled: true,
        listen: bench.database.url,
        worker: false,
      });
      const run = await client.start(bench.saga("three"), undefined);
      expect((await run.outcome({ timeout: "10s" })).status).toBe("completed");
    } finally {
      await bench.closeAll();
      bouncer.stop();
    }
  });
});
