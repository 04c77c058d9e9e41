// Behind PgBouncer in transaction mode (design 3.2; PG-6): statements of one process land on whichever server connection is
// free. Skipped where PgBouncer is not installed.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Batcher } from "../../src/store/batcher.js";
import { claimRuns } from "../../src/store/claims.js";
import { type Database, openDatabase } from "../../src/store/db.js";
import { rowsAfter } from "../../src/store/journal-rows.js";
import { KeptConnection } from "../../src/store/kept-connection.js";
import { admitQueued } from "../../src/store/lanes.js";
import { migrate, verifySchema } from "../../src/store/migrate.js";
import { readMigrations } from "../../src/store/migrations.js";
import { Announcer, type Notice, readPayload } from "../../src/store/notify.js";
import { findSilentWorkers, takeOverRuns } from "../../src/store/recovery.js";
import { startRun } from "../../src/store/runs.js";
import { openStepTransaction } from "../../src/store/transaction.js";
import { beatWorker, registerWorker } from "../../src/store/workers.js";
import { type Bouncer, bouncerFor, pgbouncer } from "../support/pooler.js";
import { type FreshDatabase, freshDatabase } from "../support/postgres.js";
import { change, eventually, newRow, newRun } from "./store.js";

describe.runIf(pgbouncer !== undefined)("PG-6: behind a transaction pooler with two server connections", () => {
  let fresh: FreshDatabase;
  let bouncer: Bouncer;
  let databases: readonly Database[];

  beforeAll(async () => {
    fresh = await freshDatabase();
    bouncer = await bouncerFor(fresh);
    databases = Array.from({ length: 3 }, () => openDatabase({ database: bouncer.url, pooled: true }));
  });
  afterAll(async () => {
    await Promise.all(databases.map((database) => database.close()));
    bouncer.stop();
    await fresh.drop();
  });

  test("replicas that migrate at once all succeed, and no lock stays behind", async () => {
    const applied = await Promise.all(databases.map((database) => migrate(database)));
    expect(applied.flat()).toEqual(readMigrations().map((migration) => migration.name));
    await Promise.all(databases.map((database) => verifySchema(database)));
    expect(await fresh.query("select * from pg_locks where locktype = 'advisory'")).toEqual([]);
  });

  test("three that give out a lane's places at once give out so many as there are", async () => {
    const group = { saga: "laned", version: 1, shapeHash: "shape", limit: 3 };
    for (let index = 0; index < 10; index += 1)
      await startRun(
        databases[index % 3]!,
        newRun({ runId: `laned-${index}`, saga: "laned", lane: "c", places: 3 }),
        null,
      );
    const lanes = [{ group: 0, tenant: "", lane: "c", limit: 3, free: true }];
    const given = await Promise.all(
      databases.map((database) => admitQueued(database, { groups: [group], lanes, most: 10 })),
    );
    expect(given.reduce((sum, each) => sum + each.given, 0)).toBe(3);
    await fresh.query("delete from rubicon.runs where saga = 'laned'");
    expect(await fresh.query("select * from pg_locks where locktype = 'advisory'")).toEqual([]);
  });

  test("three workers start, claim and end a hundred runs, each once; no statement is missed by its connection", async () => {
    const workers = await Promise.all(
      databases.map((database) =>
        registerWorker(database, { host: "h", pid: 1, registered: "[]", leaseMs: 30_000, now: null }),
      ),
    );
    const starts = Array.from({ length: 100 }, (_, index) =>
      startRun(databases[index % 3]!, newRun({ runId: `r${index}` }), null),
    );
    expect((await Promise.all(starts)).every(({ created }) => created)).toBe(true);
    const ended = await Promise.all(
      databases.map(async (database, index) => {
        const batcher = new Batcher(database);
        let count = 0;
        for (let turn = 0; ; turn += 1) {
          const offers = Array.from({ length: 7 }, (_, place) => ({
            token: `${index}/${turn}/${place}`,
            nonce: `c${index}/${turn}/${place}`,
            payload: "[]",
          }));
          const groups = [{ saga: "saga", version: 1, shapeHash: "shape" }];
          const claimed = await claimRuns(database, {
            worker: workers[index]!,
            groups,
            offers,
            format: "test",
            suspects: false,
            now: null,
          });
          if (claimed.length === 0) break;
          const ends = claimed.map(async ({ run, token }) => {
            await batcher.offer(newRow({ run: run.key, number: 2, writer: token }));
            return batcher.offer(
              newRow({
                run: run.key,
                number: 3,
                writer: token,
                change: change({ claim: "ended", status: "completed" }),
              }),
            );
          });
          count += (await Promise.all(ends)).filter(({ kind }) => kind === "appended").length;
          expect(await beatWorker(database, { worker: workers[index]!, leaseMs: 30_000, now: null })).toMatchObject({
            owned: [],
          });
        }
        await batcher.close();
        return count;
      }),
    );
    expect(ended.reduce((sum, each) => sum + each, 0)).toBe(100);
    expect(await fresh.query("select status, count(*)::int as n from rubicon.runs group by 1")).toEqual([
      { status: "completed", n: 100 },
    ]);
    expect(await fresh.query("select count(*)::int as n from rubicon.journal")).toEqual([{ n: 300 }]);
  });

  test("a lock that is waited for gives up in time there too, and its setting stays with its statement", async () => {
    const { run } = await startRun(databases[0]!, newRun({ runId: "held" }), null);
    const other = await startRun(databases[0]!, newRun({ runId: "free" }), null);
    const holder = await fresh.connect();
    await holder.query("begin");
    await holder.query(
      `insert into rubicon.journal (run, number, kind, format, payload, writer, nonce, at) values (${run.key}, 1, 'x', 'x', 'x', 'x', 'x', now())`,
    );
    const batcher = new Batcher(databases[0]!);
    const gate = batcher.offer(newRow({ run: other.run.key, number: 1 }));
    const held = batcher.offer(newRow({ run: run.key, number: 1 }));
    const free = batcher.offer(newRow({ run: other.run.key, number: 2 }));
    expect([(await gate).kind, (await free).kind]).toEqual(["appended", "appended"]);
    for (const database of databases)
      expect(await database.once(() => "select current_setting('lock_timeout')::text as value", [])).toEqual([
        { value: "0" },
      ]);
    await holder.query("rollback");
    expect((await held).kind).toBe("appended");
    await batcher.close();
  });

  test("recovery goes by leases alone", async () => {
    const [database] = databases;
    const register = (now: number) =>
      registerWorker(database!, { host: "h", pid: 1, registered: "[]", leaseMs: 30_000, now });
    const [dead, alive] = [await register(Date.now() - 60_000), await register(Date.now())];
    const { run } = await startRun(database!, newRun({ runId: "left" }), null);
    await fresh.query("update rubicon.runs set state = 2, owner = 't', owner_worker = $1 where id = $2", [
      dead,
      run.key,
    ]);
    expect(await findSilentWorkers(database!, { worker: alive, now: null })).toMatchObject([{ id: dead }]);
    const { taken } = await takeOverRuns(database!, {
      dead,
      limit: 10,
      except: [],
      now: null,
      decide: (each) =>
        newRow({ run: each.key, number: 1, change: change({ claim: "owned", owner: "n", ownerWorker: alive }) }),
    });
    expect(taken.map((each) => each.run.key)).toEqual([run.key]);
  });

  test("a transactional step has one server connection from its begin to its commit", async () => {
    await fresh.query("create table effects (name text)");
    const steps = Array.from({ length: 10 }, async (_, index) => {
      const { run } = await startRun(databases[index % 3]!, newRun({ runId: `step-${index}` }), null);
      const step = await openStepTransaction(databases[index % 3]!, 60_000);
      await step.tx.query("insert into effects values ($1)", [`e${index}`]);
      const committed = await step.commit(newRow({ run: run.key, number: 1 }), () => undefined);
      return [committed.kind, (await rowsAfter(databases[0]!, run.key, 0)).length];
    });
    expect(await Promise.all(steps)).toEqual(Array.from({ length: 10 }, () => ["committed", 1]));
    expect(await fresh.query("select count(*)::int as n from effects")).toEqual([{ n: 10 }]);
    expect(
      await fresh.query(
        "select 1 from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
      ),
    ).toEqual([]);
  });

  test("what is announced through the pooler is heard by who listens past it", async () => {
    const direct = openDatabase({ database: fresh.url });
    const heard: Notice[] = [];
    const kept = new KeptConnection({
      database: direct,
      listen: true,
      onNotification: (payload) => heard.push(...readPayload(payload)),
    });
    await kept.start();
    new Announcer(databases[0]!).announce({ kind: "ready" });
    await eventually(() => heard.length > 0);
    expect(heard).toEqual([{ kind: "ready" }]);
    await kept.close();
    await direct.close();
  });
});
