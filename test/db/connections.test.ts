// Connections that go: what a process survives, what is pinned, what a user's own pool keeps (design 3.2; PG-*).

import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Batcher } from "../../src/store/batcher.js";
import { type Database, openDatabase } from "../../src/store/db.js";
import { appendRow } from "../../src/store/entries.js";
import { KeptConnection } from "../../src/store/kept-connection.js";
import { migrate } from "../../src/store/migrate.js";
import { Announcer, type Notice, payloadsOf, readPayload } from "../../src/store/notify.js";
import { findRunById, keepShape, startRun } from "../../src/store/runs.js";
import type { Statement } from "../../src/store/sql.js";
import { classifySqlError, storeError } from "../../src/store/sql-error.js";
import { wireTo } from "./proxy.js";
import { change, eventually, newRow, newRun, type TestStore, testStore } from "./store.js";

let store: TestStore;
beforeAll(async () => {
  store = await testStore();
});
afterAll(() => store.close());

const one: Statement = () => "select '1'::text as one";
const killAll = () =>
  store.fresh.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
  );

/** Whatever would take the process down. */
async function uncaught(work: () => Promise<void>): Promise<unknown[]> {
  const caught: unknown[] = [];
  const note = (error: unknown) => caught.push(error);
  process.on("uncaughtException", note);
  process.on("unhandledRejection", note);
  try {
    await work();
    await new Promise((resolve) => setTimeout(resolve, 50));
  } finally {
    process.off("uncaughtException", note);
    process.off("unhandledRejection", note);
  }
  return caught;
}

describe("PG-1: terminating all backends", () => {
  for (const whose of ["our own pool", "the user's pool"])
    test(`with ${whose}: idle, taken out, in a transaction and kept connections all go, and the process goes on`, async () => {
      const lines: string[] = [];
      const logger = {
        debug() {},
        info() {},
        error() {},
        warn: (_: object, message?: string) => void lines.push(message ?? ""),
      };
      const pool = new pg.Pool({ connectionString: store.fresh.url, max: 8 });
      const database = store.open({ database: whose === "our own pool" ? store.fresh.url : pool, logger });
      const batcher = new Batcher(database);
      const run = await store.run();
      const caught = await uncaught(async () => {
        await Promise.all([database.once(one, []), database.once(one, [])]);
        await batcher.offer(newRow({ run, number: 1 }));
        const lost: unknown[] = [];
        const kept = new KeptConnection({ database, listen: true, onLost: (error) => lost.push(error) });
        await kept.start();
        const taken = await database.connect();
        const inTransaction = database.transaction(async (connection) => {
          await connection.run(one, []);
          await new Promise((resolve) => setTimeout(resolve, 200));
          await connection.run(one, []);
        });
        const failed = expect(inTransaction).rejects.toThrow();
        await new Promise((resolve) => setTimeout(resolve, 50));
        await killAll();
        await failed;
        await eventually(() => taken.broken);
        taken.release();
        expect(await batcher.offer(newRow({ run, number: 2 }))).toMatchObject({ kind: "appended" });
        expect(await database.run(one, [])).toEqual([{ one: "1" }]);
        await eventually(() => kept.open);
        expect(lost).toHaveLength(1);
        await kept.close();
      });
      expect(caught).toEqual([]);
      await batcher.close();
      await database.close();
      if (whose === "the user's pool") {
        // It is the user's: still open, and none of its clients is missing.
        expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
        await eventually(() => pool.totalCount === pool.idleCount);
        await pool.end();
      }
    });
});

test("PG-2: a statement outlives an outage, and says so once", async () => {
  const wire = await wireTo(store.fresh.url);
  const lines: string[] = [];
  const logger = {
    debug() {},
    info() {},
    error() {},
    warn: (_: object, message?: string) => void lines.push(message ?? ""),
  };
  const database = store.open({ database: wire.url, logger });
  wire.down();
  const answer = database.run(one, []);
  await new Promise((resolve) => setTimeout(resolve, 300));
  wire.heal();
  expect(await answer).toEqual([{ one: "1" }]);
  expect(lines).toHaveLength(1);
  await database.close();
  await wire.close();
});

test("an outage beyond patience is one coded error that says what to look at", async () => {
  const wire = await wireTo(store.fresh.url);
  const database = store.open({ database: wire.url, patienceMs: 100 });
  wire.down();
  await expect(database.run(one, [])).rejects.toMatchObject({
    code: "store.unavailable",
    message: expect.stringContaining("host, port"),
  });
  await database.close();
  await expect(database.run(one, [])).rejects.toMatchObject({ code: "store.closed" });
  await wire.close();
});

describe("PG-3: the listening connection", () => {
  test("when it alone is lost, it listens again, and catches up on what was announced in the gap", async () => {
    const database = store.open();
    const heard: Notice[] = [];
    let opened = 0;
    const kept = new KeptConnection({
      database,
      listen: true,
      onOpen: async () => {
        opened += 1;
      },
      onNotification: (payload) => heard.push(...readPayload(payload)),
    });
    await kept.start();
    const announcer = new Announcer(database);
    announcer.announce({ kind: "ended", tenant: "", runId: "a" });
    await eventually(() => heard.length === 1);
    await store.fresh.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %' or query like '%idle_session_timeout%' and pid <> pg_backend_pid()",
    );
    await eventually(() => opened === 2);
    announcer.announce({ kind: "ended", tenant: "", runId: "b" });
    await eventually(() => heard.length === 2);
    expect(heard).toEqual([
      { kind: "ended", tenant: "", runId: "a" },
      { kind: "ended", tenant: "", runId: "b" },
    ]);
    await kept.close();
    await database.close();
  });

  test("a cable that was pulled is noticed by the client's own ping, for nobody else tells it", async () => {
    const wire = await wireTo(store.fresh.url);
    const database = store.open({ database: wire.url });
    const lost: unknown[] = [];
    const kept = new KeptConnection({
      database,
      listen: true,
      pingMs: 20,
      answerMs: 100,
      onLost: (error) => lost.push(error),
    });
    await kept.start();
    wire.silence();
    await eventually(() => lost.length === 1);
    expect(lost[0]).toMatchObject({ code: "store.unavailable", message: expect.stringContaining("within 100 ms") });
    await expect(kept.run(one, [])).rejects.toMatchObject({ code: "store.unavailable" });
    wire.heal();
    await eventually(() => kept.open);
    expect(await kept.run(one, [])).toEqual([{ one: "1" }]);
    await kept.close();
    await database.close();
    await wire.close();
  });

  test("a set-up that fails is tried again from the start", async () => {
    const database = store.open();
    let tries = 0;
    const kept = new KeptConnection({
      database,
      listen: false,
      onOpen: async () => {
        tries += 1;
        if (tries < 3) throw new Error("not yet");
      },
    });
    await kept.start();
    await eventually(() => kept.open);
    expect(tries).toBe(3);
    await kept.close();
    await database.close();
  });
});

describe("PG-5: notifications", () => {
  test("carry ids only, stay under the server's limit, and lose none", () => {
    const notices: Notice[] = Array.from({ length: 300 }, (_, index) => ({
      kind: "ended",
      tenant: "acme",
      runId: `${"ü".repeat(195)}${index}`,
    }));
    const payloads = payloadsOf([{ kind: "ready" }, ...notices, { kind: "poked", key: "1", worker: "2" }]);
    for (const payload of payloads) expect(Buffer.byteLength(payload)).toBeLessThan(8_000);
    expect(payloads.flatMap(readPayload)).toEqual(
      expect.arrayContaining([...notices, { kind: "ready" }, { kind: "poked", key: "1", worker: "2" }]),
    );
  });

  test("what was announced a hundred times is told once", () => {
    expect(payloadsOf(Array.from({ length: 100 }, () => ({ kind: "ready" }) as const))).toEqual(["[1,[],[]]"]);
    expect(payloadsOf([])).toEqual([]);
  });

  test("that a schedule may fire sooner is told beside the rest, where older code does not look", () => {
    const [payload] = payloadsOf([{ kind: "scheduled" }, { kind: "ended", tenant: "", runId: "r" }]);
    expect(payload).toBe('[0,[["","r"]],[],1]');
    expect(readPayload(payload!)).toEqual([{ kind: "scheduled" }, { kind: "ended", tenant: "", runId: "r" }]);
    expect(payloadsOf([{ kind: "scheduled" }])).toEqual(["[0,[],[],1]"]);
  });

  test("a payload that another version wrote is passed over", () => {
    expect([...readPayload("{}"), ...readPayload("not json"), ...readPayload("7")]).toEqual([]);
  });

  test("many are gathered into few, and a database that is away takes nothing down", async () => {
    const database = store.open();
    const heard: string[] = [];
    const kept = new KeptConnection({ database, listen: true, onNotification: (payload) => heard.push(payload) });
    await kept.start();
    const announcer = new Announcer(database);
    for (let index = 0; index < 200; index += 1) announcer.announce({ kind: "ended", tenant: "", runId: `r${index}` });
    await announcer.settled();
    await eventually(() => heard.flatMap(readPayload).length === 200);
    expect(heard.length).toBeLessThan(5);
    await kept.close();
    await database.close();
    announcer.announce({ kind: "ready" });
    await announcer.settled();
  });
});

describe("what a user's settings may not change", () => {
  const level: Statement = () => "select current_setting('transaction_isolation')::text as level";
  const works = async (database: Database) => {
    const committed = [{ level: "read committed" }];
    expect(await database.once(level, [])).toEqual(committed);
    expect(await database.transaction((connection) => connection.run(level, []))).toEqual(committed);
    const kept = await database.keep();
    expect(await kept.run(level, [])).toEqual(committed);
    kept.release(true);
    const run = await store.run();
    await startRun(database, newRun({ runId: `again-${run}` }), null);
    const batchers = [new Batcher(database), new Batcher(database)];
    for (let number = 1; number <= 20; number += 1) {
      const offers = batchers.map((batcher) => batcher.offer(newRow({ run, number, change: change() })));
      expect((await Promise.all(offers)).map(({ kind }) => kind).toSorted()).toEqual(["appended", "taken"]);
    }
    await Promise.all(batchers.map((batcher) => batcher.close()));
  };

  test("REPEATABLE READ as the default: a lost number is still an answer, and no error", async () => {
    await store.fresh.query(
      `alter database "${store.fresh.name}" set default_transaction_isolation = 'repeatable read'`,
    );
    try {
      await works(store.open());
      await works(store.open({ pooled: true }));
      const pool = new pg.Pool({ connectionString: store.fresh.url, max: 6 });
      const database = store.open({ database: pool });
      await works(database);
      await database.close();
      // Their own sessions keep their own default.
      expect((await pool.query("show default_transaction_isolation")).rows).toEqual([
        { default_transaction_isolation: "repeatable read" },
      ]);
      await eventually(() => pool.totalCount === pool.idleCount);
      await pool.end();
    } finally {
      await store.fresh.query(`alter database "${store.fresh.name}" reset default_transaction_isolation`);
    }
  });

  test("type parsers, global to the process, and a date style of their own", async () => {
    const parsers = [20, 21, 23, 25, 1184].map((oid) => [oid, pg.types.getTypeParser(oid)] as const);
    for (const [oid] of parsers) pg.types.setTypeParser(oid, () => "spoilt" as never);
    const pool = new pg.Pool({
      connectionString: store.fresh.url,
      max: 4,
      options:
        "-c datestyle=German -c timezone=Asia/Kathmandu -c intervalstyle=iso_8601 -c standard_conforming_strings=off",
    });
    try {
      const database = store.open({ database: pool });
      const { run } = await startRun(database, newRun({ runId: "typed" }), null);
      expect(run.key).toMatch(/^\d+$/);
      expect(Math.abs(run.createdAt - Date.now())).toBeLessThan(60_000);
      const appended = await appendRow(database, newRow({ run: run.key, number: 1, change: change() }), {
        lockTimeoutMs: 50,
        now: null,
      });
      expect(Math.abs(appended!.at - Date.now())).toBeLessThan(60_000);
      await database.close();
    } finally {
      for (const [oid, parser] of parsers) pg.types.setTypeParser(oid, parser as never);
      await pool.end();
    }
  });
});

test("PG-10: columns added while prepared statements live break nothing", async () => {
  const database = store.open({ maxConnections: 4 });
  const run = await store.run();
  const batcher = new Batcher(database);
  const work = async (number: number) => {
    await batcher.offer(newRow({ run, number, change: change() }));
    await findRunById(database, "", "run-1");
    await startRun(database, newRun({ runId: `added-${number}` }), null);
  };
  for (let number = 1; number <= 8; number += 1) await work(number);
  await store.fresh.query(
    "alter table rubicon.runs add column later text; alter table rubicon.journal add column later integer default 7",
  );
  for (let number = 9; number <= 16; number += 1) await work(number);
  await store.fresh.query("alter table rubicon.runs drop column later; alter table rubicon.journal drop column later");
  await batcher.close();
  await database.close();
});

test("a standby, or a database gone read-only, is waited for with a connection of its own each time", async () => {
  const database = store.open();
  await database.run(one, []);
  await store.fresh.query(`alter database "${store.fresh.name}" set default_transaction_read_only = on`);
  await killAll();
  const started = startRun(database, newRun({ runId: "after-failover" }), null);
  await new Promise((resolve) => setTimeout(resolve, 200));
  const client = await store.fresh.connect();
  await client.query("set default_transaction_read_only = off");
  await client.query(`alter database "${store.fresh.name}" reset default_transaction_read_only`);
  expect((await started).created).toBe(true);
  await database.close();
});

test("PG-8: a pool of four does everything at once, and nothing waits for ever", async () => {
  const pool = new pg.Pool({ connectionString: store.fresh.url, max: 4 });
  const database = store.open({ database: pool });
  const kept = new KeptConnection({ database, listen: true });
  await kept.start();
  const batcher = new Batcher(database);
  const runs = await Promise.all(Array.from({ length: 50 }, () => store.run()));
  const steps = runs.map(async (run) => {
    const connection = await database.connectForStep();
    await connection.raw("select pg_sleep(0.005)");
    const offered = batcher.offer(newRow({ run, number: 1 }));
    await database.run(one, []);
    await offered;
    connection.release();
  });
  await Promise.all(steps);
  await batcher.close();
  await kept.close();
  await database.close();
  await pool.end();
});

test("an embedded server that went away is brought up once when no connection can be had", async () => {
  const wire = await wireTo(store.fresh.url);
  let brought = 0;
  const database = store.open({
    database: wire.url,
    ensureServer: async () => {
      brought += 1;
      wire.heal();
    },
  });
  wire.down();
  expect(await database.once(one, [])).toEqual([{ one: "1" }]);
  expect(brought).toBe(1);
  await database.close();
  await wire.close();
});

describe("what an error of the database means", () => {
  const withCode = (code: string, message = "m") => Object.assign(new Error(message), { code });

  test.each([
    ["ECONNREFUSED", "store.unavailable", true],
    ["ENOENT", "store.unavailable", true],
    ["57P01", "store.unavailable", true],
    ["57P03", "store.unavailable", true],
    ["08006", "store.unavailable", true],
    ["53300", "store.unavailable", true],
    ["40001", "store.unavailable", true],
    ["40P01", "store.unavailable", true],
    ["55P03", "store.unavailable", true],
    ["25006", "store.read_only", true],
    ["26000", "store.unavailable", true],
    ["0A000", "store.unavailable", true],
    ["42501", "store.forbidden", false],
    ["28P01", "store.forbidden", false],
    ["3D000", "store.no_database", false],
    ["42P01", "schema.incomplete", false],
    ["22021", "store.rejected", false],
    ["23514", "store.rejected", false],
  ])("%s is %s; trying again may help: %s", (code, coded, transient) => {
    expect(classifySqlError(withCode(code))).toMatchObject({ code: coded, transient });
    expect(storeError(withCode(code), "x")).toMatchObject({ code: coded });
  });

  test("lost connections that have no code are known by what `pg` says; anything else is not the database's", () => {
    expect(classifySqlError(new Error("Connection terminated unexpectedly"))?.transient).toBe(true);
    expect(classifySqlError(new AggregateError([withCode("ECONNREFUSED")], ""))?.transient).toBe(true);
    expect(storeError(new AggregateError([withCode("ECONNREFUSED", "refused")], ""), "x")).toMatchObject({
      message: expect.stringContaining("refused"),
    });
    const bug = new TypeError("x is not a function");
    expect(classifySqlError(bug)).toBeUndefined();
    expect(storeError(bug, "x")).toBe(bug);
    expect(classifySqlError("thrown text")).toBeUndefined();
    expect(classifySqlError(undefined)).toBeUndefined();
  });

  test("a wrong password, or no such database, is told at once", async () => {
    const at = new URL(store.fresh.url);
    at.pathname = "/nowhere";
    const database = openDatabase({ database: at.href });
    await expect(migrate(database)).rejects.toMatchObject({ code: "store.no_database" });
    await database.close();
  });
});

test("the database's clock: between its stamp when sent and when received, and a slow answer never sets it back", async () => {
  const database = store.open();
  await keepShape(database, "shape", "{}");
  const [before] = await store.fresh.query("select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as at");
  const sentAt = database.clock.mark();
  database.clock.observe(before!.at + 5_000, sentAt);
  const first = database.now();
  expect(first).toBeGreaterThanOrEqual(before!.at + 5_000);
  // Stamped long ago, answered now: between then and now it may have been anything, so the estimate stands.
  database.clock.observe(before!.at + 4_000, sentAt - 10_000);
  expect(database.now()).toBeGreaterThanOrEqual(first);
  // Stamped between just now and now: the server's clock itself went back.
  database.clock.observe(before!.at, database.clock.mark());
  expect(database.now()).toBeLessThan(first);
  await database.close();
});
