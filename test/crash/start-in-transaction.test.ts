// A RUN THAT BEGINS TO EXIST WITH THE CALLER'S OWN COMMIT, or not at all (design 1.9, 2.2).

import type pg from "pg";
import { type DurableExecutor, isSagaError, type SagaExecutor } from "rubicon-saga";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TroubleBench } from "../support/trouble-bench.js";
import { until } from "../support/until.js";

let bench: TroubleBench;
let client: SagaExecutor;
let worker: DurableExecutor;
let tx: pg.Client;

beforeEach(async () => {
  bench = await TroubleBench.open();
  // What is found within seconds was not found by polling.
  worker = await bench.executor({ worker: { slots: 20, lease: 30_000, beat: 5_000, poll: 30_000 } });
  client = await bench.executor({ worker: false });
  await bench.database.query("create table public.orders (id text primary key)");
  tx = await bench.database.connect();
});

afterEach(() => bench[Symbol.asyncDispose]());

const orders = async () => (await bench.database.query("select id from public.orders order by id")).map(({ id }) => id);

test("committed: it exists from then on, with the caller's own rows, and is picked up without a poll", async () => {
  await tx.query("begin");
  await tx.query("insert into public.orders values ('o1')");
  const run = await client.start(bench.saga("three"), undefined, { id: "o1", tx });
  expect(run.created).toBe(true);
  expect(await client.get("o1")).toBeUndefined();
  expect(await client.requestCancel("o1", { by: "ana" })).toEqual({ verdict: "not_found" });
  expect((await client.list()).runs).toEqual([]);
  await tx.query("commit");
  expect((await run.outcome({ timeout: "10s" })).status).toBe("completed");
  expect(await orders()).toEqual(["o1"]);
  expect(bench.outside.order("o1")).toEqual(["S1", "S2", "S3"]);
});

test("committed a while later, and many at once: all are picked up", async () => {
  await tx.query("begin");
  const runs = [];
  for (let index = 0; index < 20; index += 1)
    runs.push(await client.start(bench.saga("three"), undefined, { id: `o${index}`, tx }));
  // By now the first looks were in vain.
  await tx.query("select pg_sleep(0.7)");
  await tx.query("commit");
  for (const run of runs) expect((await run.outcome({ timeout: "10s" })).status).toBe("completed");
});

test("from the worker's own process it is picked up as well", async () => {
  await tx.query("begin");
  const run = await worker.start(bench.saga("three"), undefined, { tx });
  await tx.query("commit");
  expect((await run.outcome({ timeout: "10s" })).status).toBe("completed");
});

test("rolled back: there is no run, no row of it, and who waits for it is told", async () => {
  await tx.query("begin");
  await tx.query("insert into public.orders values ('o1')");
  const run = await client.start(bench.saga("three"), undefined, { id: "o1", tx });
  await tx.query("rollback");
  expect(await client.get("o1")).toBeUndefined();
  await expect(run.outcome({ timeout: "10s" })).rejects.toMatchObject({ code: "run.not_found" });
  expect(await bench.database.query("select id from rubicon.runs")).toEqual([]);
  expect(await orders()).toEqual([]);
  // The id is free.
  const again = await client.start(bench.saga("pivoted"), undefined, { id: "o1" });
  expect((await again.outcome({ timeout: "10s" })).status).toBe("completed");
});

test("to a savepoint: only what was after it is gone", async () => {
  await tx.query("begin");
  const kept = await client.start(bench.saga("three"), undefined, { id: "kept", tx });
  await tx.query("savepoint here");
  await client.start(bench.saga("three"), undefined, { id: "gone", tx });
  await tx.query("rollback to savepoint here; commit");
  expect((await kept.outcome({ timeout: "10s" })).status).toBe("completed");
  expect(await client.get("gone")).toBeUndefined();
});

describe("an id that is there already", () => {
  test("in the same transaction, or from before: the same run comes back", async () => {
    const before = await client.start(bench.saga("three"), undefined, { id: "before" });
    await before.outcome({ timeout: "10s" });
    await tx.query("begin");
    expect((await client.start(bench.saga("three"), undefined, { id: "before", tx })).created).toBe(false);
    expect((await client.start(bench.saga("three"), undefined, { id: "now", tx })).created).toBe(true);
    expect((await client.start(bench.saga("three"), undefined, { id: "now", tx })).created).toBe(false);
    await tx.query("commit");
    await until("both have ended", async () => (await client.list({ status: "completed" })).runs.length === 2);
    expect(bench.outside.count("S1")).toBe(2);
  });

  test("with another saga: the conflict is told, and the caller's transaction goes on as it was", async () => {
    await (await client.start(bench.saga("three"), undefined, { id: "o1" })).outcome({ timeout: "10s" });
    await tx.query("begin");
    await tx.query("insert into public.orders values ('o1')");
    const conflict: unknown = await client
      .start(bench.saga("pivoted"), undefined, { id: "o1", tx })
      .catch((error: unknown) => error);
    expect(isSagaError(conflict, "run.conflict")).toBe(true);
    await tx.query("insert into public.orders values ('o2')");
    await tx.query("commit");
    expect(await orders()).toEqual(["o1", "o2"]);
  });

  test("in another transaction that is still open: the second start waits for it, and then gives back its run", async () => {
    const other = await bench.database.connect();
    await tx.query("begin");
    await other.query("begin");
    const first = await client.start(bench.saga("three"), undefined, { id: "o1", tx });
    let answered = false;
    const second = client.start(bench.saga("three"), undefined, { id: "o1", tx: other }).finally(() => {
      answered = true;
    });
    await until("the second start waits", async () => {
      const waiting = await bench.database.query(
        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return waiting.length === 1;
    });
    expect(answered).toBe(false);
    await tx.query("commit");
    expect((await second).created).toBe(false);
    await other.query("commit");
    expect((await first.outcome({ timeout: "10s" })).status).toBe("completed");
    expect(bench.outside.count("S1")).toBe(1);
  });
});

test("what is refused before anything is written leaves the transaction usable", async () => {
  await tx.query("begin");
  await expect(client.start(bench.saga("three"), (() => {}) as never, { tx })).rejects.toMatchObject({
    code: expect.stringMatching(/invalid|serial/),
  });
  await expect(client.start(bench.saga("three"), undefined, { id: "", tx })).rejects.toMatchObject({
    code: "run.id_invalid",
  });
  await tx.query("insert into public.orders values ('o1')");
  await tx.query("commit");
  expect(await orders()).toEqual(["o1"]);
});

test("in a transaction that has failed: the caller hears what the database says, and nothing is there", async () => {
  await tx.query("begin");
  await tx.query("select 1 / 0").catch(() => {});
  await expect(client.start(bench.saga("three"), undefined, { id: "o1", tx })).rejects.toMatchObject({ code: "25P02" });
  await tx.query("rollback");
  expect(await client.get("o1")).toBeUndefined();
});

test("at any isolation, with parsers of the caller's own, and through anything with `query`", async () => {
  for (const [index, level] of ["read committed", "repeatable read", "serializable"].entries()) {
    await tx.query(`begin isolation level ${level}`);
    const through = { query: (text: string, values: unknown[]) => tx.query({ text, values }) };
    const run = await client.start(bench.saga("three"), undefined, { id: `o${index}`, tx: through });
    await tx.query("commit");
    expect((await run.outcome({ timeout: "10s" })).status).toBe("completed");
  }
});

test("a start for later, in a transaction, waits for its time", async () => {
  await tx.query("begin");
  const run = await client.start(bench.saga("three"), undefined, { tx, startAt: new Date(Date.now() + 3_600_000) });
  await tx.query("commit");
  expect(await client.get(run.id)).toMatchObject({ status: "pending", waiting: "for its start" });
  expect(bench.outside.calls).toEqual([]);
});
