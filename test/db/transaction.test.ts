// Transactional steps on a real Postgres: effects and entry commit together, or neither does (design 1.10, 3.2).

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { appendRow } from "../../src/store/entries.js";
import { rowsAfter } from "../../src/store/journal-rows.js";
import { type OpenStepTransaction, openStepTransaction } from "../../src/store/transaction.js";
import { wireTo } from "./proxy.js";
import { change, eventually, lockWaiters, newRow, type TestStore, testStore } from "./store.js";

let store: TestStore;
let run: string;
beforeAll(async () => {
  store = await testStore();
  await store.fresh.query("create table effects (name text unique deferrable initially immediate)");
});
beforeEach(async () => {
  await store.fresh.query("truncate effects");
  run = await store.run({ runId: `run-${Math.random()}` });
});
afterAll(() => store.close());

const open = (idleMs = 60_000) => openStepTransaction(store.database, idleMs);
const effects = async () => (await store.fresh.query("select name from effects order by 1")).map((row) => row.name);
const numbers = async () => (await rowsAfter(store.database, run, 0)).map((row) => row.number);
const never = () => {
  throw new Error("not to be asked");
};
const fast = { lockTimeoutMs: 0, now: null };

test("effects and entry are there together, and the run's row too where the entry ends it", async () => {
  const step = await open();
  await step.tx.query("insert into effects values ($1)", ["paid"]);
  expect(await effects()).toEqual([]);
  const row = newRow({ run, number: 1, change: change({ claim: "ended", status: "completed" }) });
  expect(await step.commit(row, never)).toMatchObject({ kind: "committed", written: row });
  expect(await effects()).toEqual(["paid"]);
  expect(await numbers()).toEqual([1]);
  expect(await store.fresh.query("select status from rubicon.runs where id = $1", [run])).toEqual([
    { status: "completed" },
  ]);
});

test("a body that threw leaves nothing", async () => {
  const step = await open();
  await step.tx.query("insert into effects values ('paid')");
  await step.rollback();
  expect(await effects()).toEqual([]);
});

test("where a bystander took the number and nothing changed by it, the next number is taken in the same transaction", async () => {
  const step = await open();
  await step.tx.query("insert into effects values ('paid')");
  await appendRow(store.database, newRow({ run, number: 1, nonce: "signal" }), fast);
  const seen: string[][] = [];
  const committed = await step.commit(newRow({ run, number: 1 }), (rows) => {
    seen.push(rows.map((row) => row.nonce));
    return newRow({ run, number: rows.at(-1)!.number + 1 });
  });
  expect(committed.kind).toBe("committed");
  expect(seen).toEqual([["signal"]]);
  expect(await numbers()).toEqual([1, 2]);
  expect(await effects()).toEqual(["paid"]);
});

test("where the decision changed, the effects are undone and the outcome is void", async () => {
  const step = await open();
  await step.tx.query("insert into effects values ('paid')");
  await appendRow(store.database, newRow({ run, number: 1, nonce: "ask" }), fast);
  expect(await step.commit(newRow({ run, number: 1 }), () => undefined)).toMatchObject({
    kind: "void",
    rows: [{ nonce: "ask" }],
  });
  expect(await effects()).toEqual([]);
  expect(await numbers()).toEqual([1]);
});

test("an ask that is on its way is waited for: it is before the commit, or after it", async () => {
  const step = await open();
  await step.tx.query("insert into effects values ('paid')");
  const ask = await store.fresh.connect();
  await ask.query("begin");
  await ask.query(
    `insert into rubicon.journal (run, number, kind, format, payload, writer, nonce, at) values (${run}, 1, 'x', 'x', '[]', 'x', 'ask', now())`,
  );
  const committing = step.commit(newRow({ run, number: 1 }), () => undefined);
  await lockWaiters(await store.fresh.connect(), 1);
  await ask.query("commit");
  expect(await committing).toMatchObject({ kind: "void" });
  expect(await effects()).toEqual([]);
});

test("the harm: insert and commit in one message keep a loser's effects", async () => {
  await appendRow(store.database, newRow({ run, number: 1, nonce: "ask" }), fast);
  const client = await store.fresh.connect();
  await client.query("begin");
  await client.query("insert into effects values ('paid')");
  await client.query(
    `insert into rubicon.journal (run, number, kind, format, payload, writer, nonce, at) values (${run}, 1, 'x', 'x', '[]', 'x', 'late', now()) on conflict do nothing; commit`,
  );
  expect(await effects()).toEqual(["paid"]);
});

describe("a body's own transaction control", () => {
  test.each([
    "commit",
    "rollback",
    " -- done\nCOMMIT",
    "/* so */ end",
    "begin",
    "start transaction",
    "prepare transaction 'x'",
  ])("%j is refused before it is sent, and the transaction goes on", async (sql) => {
    const step = await open();
    await step.tx.query("insert into effects values ('paid')");
    await expect(step.tx.query(sql)).rejects.toMatchObject({ code: "transaction.ended_by_step" });
    expect((await step.commit(newRow({ run, number: 1 }), never)).kind).toBe("committed");
    expect(await effects()).toEqual(["paid"]);
  });

  test.each(["select 1; commit", "select 1; rollback", "select 1; commit; begin", "select 1; rollback; begin"])(
    "%j is found out, and nothing is recorded",
    async (sql) => {
      const step = await open();
      await step.tx.query("insert into effects values ('paid')");
      await step.tx.query(sql);
      await expect(step.commit(newRow({ run, number: 1 }), never)).rejects.toMatchObject({
        code: "transaction.ended_by_step",
      });
      expect(await numbers()).toEqual([]);
    },
  );

  test("savepoints are fine", async () => {
    const step = await open();
    await step.tx.query("insert into effects values ('paid')");
    await step.tx.query("savepoint s");
    await expect(step.tx.query("select 1 / 0")).rejects.toThrow();
    await step.tx.query("rollback to savepoint s");
    expect((await step.commit(newRow({ run, number: 1 }), never)).kind).toBe("committed");
    expect(await effects()).toEqual(["paid"]);
  });
});

test("a statement that failed and was swallowed fails the step, and nothing is kept", async () => {
  const step = await open();
  await step.tx.query("insert into effects values ('paid')");
  await expect(step.tx.query("select 1 / 0")).rejects.toThrow();
  await expect(step.commit(newRow({ run, number: 1 }), never)).rejects.toMatchObject({ code: "transaction.failed" });
  expect(await effects()).toEqual([]);
  expect(await numbers()).toEqual([]);
});

test("a deferred constraint that fails at the commit is the step's own error, and nothing is kept", async () => {
  const step = await open();
  await step.tx.query("set constraints all deferred");
  await step.tx.query("insert into effects values ('twice'), ('twice')");
  await expect(step.commit(newRow({ run, number: 1 }), never)).rejects.toMatchObject({ code: "23505" });
  expect(await numbers()).toEqual([]);
});

test("after the attempt the wrapper refuses all use", async () => {
  for (const end of [
    (step: OpenStepTransaction) => step.commit(newRow({ run, number: 1 }), never),
    (step: OpenStepTransaction) => step.rollback(),
    async (step: OpenStepTransaction) => step.abandon(),
  ]) {
    const step = await open();
    await end(step);
    await expect(step.tx.query("select 1")).rejects.toMatchObject({ code: "transaction.over" });
  }
});

test("an attempt that did not settle loses its connection and its locks at once, whatever it was doing", async () => {
  const step = await open();
  await step.tx.query("insert into effects values ('locked')");
  const stuck = step.tx.query("select pg_sleep(60)").catch((error) => error);
  await eventually(
    async () =>
      (
        await store.fresh.query(
          "select 1 from pg_stat_activity where query like '%pg_sleep(60)%' and pid <> pg_backend_pid()",
        )
      ).length > 0,
  );
  step.abandon();
  expect(await stuck).toBeInstanceOf(Error);
  // Waits for the other's row, were it still there.
  const next = await open();
  await next.tx.query("insert into effects values ('locked')");
  expect((await next.commit(newRow({ run, number: 1 }), never)).kind).toBe("committed");
});

test("a transaction that idles beyond its limit is ended by the server", async () => {
  const step = await open(50);
  await step.tx.query("insert into effects values ('paid')");
  await eventually(
    async () =>
      (
        await store.fresh.query(
          "select 1 from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()",
        )
      ).length === 0,
  );
  expect(await step.commit(newRow({ run, number: 1 }), never)).toMatchObject({
    kind: "undone",
    error: { code: "store.unavailable" },
  });
  expect(await effects()).toEqual([]);
});

describe("a commit whose answer is lost", () => {
  test("landed: the server is asked what became of it, and the step is committed", async () => {
    const wire = await wireTo(store.fresh.url);
    const database = store.open({ database: wire.url });
    const step = await openStepTransaction(database, 60_000);
    await step.tx.query("insert into effects values ('paid')");
    wire.cutWhenSending("commit", { arrivesAfterMs: 300 });
    expect(await step.commit(newRow({ run, number: 1 }), never)).toMatchObject({ kind: "committed" });
    expect(await effects()).toEqual(["paid"]);
    expect(await numbers()).toEqual([1]);
    await wire.close();
  });

  test("did not land: everything is undone, and the caller is told so", async () => {
    const wire = await wireTo(store.fresh.url);
    const database = store.open({ database: wire.url });
    const step = await openStepTransaction(database, 60_000);
    const { rows } = await step.tx.query("select pg_backend_pid() as pid");
    await step.tx.query("insert into effects values ('paid')");
    wire.cutWhenSending("commit", { arrivesAfterMs: 10_000 });
    const committing = step.commit(newRow({ run, number: 1 }), never);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await store.fresh.query("select pg_terminate_backend($1)", [rows[0].pid]);
    expect(await committing).toMatchObject({ kind: "undone" });
    expect(await effects()).toEqual([]);
    await wire.close();
  });
});

test("JRN-3: two owners' transactions of one step: one commits, and the other's effects are gone", async () => {
  for (let round = 0; round < 20; round += 1) {
    await store.fresh.query("truncate effects");
    const key = await store.run({ runId: `twice-${round}` });
    const commit = async (name: string) => {
      const step = await open();
      await step.tx.query("insert into effects values ($1)", [name]);
      return (await step.commit(newRow({ run: key, number: 1, nonce: name, change: change() }), () => undefined)).kind;
    };
    const kinds = await Promise.all([commit("a"), commit("b")]);
    expect(kinds.toSorted()).toEqual(["committed", "void"]);
    expect(await effects()).toEqual([kinds[0] === "committed" ? "a" : "b"]);
  }
});

test("no more are open at once than their supply, and none waits for ever", async () => {
  const keys = await Promise.all(Array.from({ length: 30 }, (_, index) => store.run({ runId: `many-${index}` })));
  const kinds = await Promise.all(
    keys.map(async (key, index) => {
      const step = await open();
      await step.tx.query("insert into effects values ($1)", [`e${index}`]);
      return (await step.commit(newRow({ run: key, number: 1 }), never)).kind;
    }),
  );
  expect(new Set(kinds)).toEqual(new Set(["committed"]));
  expect(await effects()).toHaveLength(30);
});
