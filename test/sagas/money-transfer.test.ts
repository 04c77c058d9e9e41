// MONEY TRANSFERS add up to the cent, whatever is declined, stopped or run at the same time.

import pg from "pg";
import { durableExecutor, type SagaExecutor } from "rubicon-saga";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAccounts, moneyTransfer, readBalances } from "../../sagas/money-transfer/index.js";
import { type FreshDatabase, freshDatabase } from "../support/postgres.js";

const schema = 'bank "a"';
const transfer = moneyTransfer({ schema });
let database: FreshDatabase;
let pool: pg.Pool;
let executor: SagaExecutor;

beforeAll(async () => {
  database = await freshDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  pool.on("error", () => {});
  await pool.query(`create schema "bank ""a"""`);
  executor = await durableExecutor({ sagas: [transfer], database: database.url, migrate: true });
});
afterAll(async () => {
  await executor?.close();
  await pool?.end();
  await database?.drop();
});

const balances = () => readBalances(pool, { schema });
const total = async () => Object.values(await balances()).reduce((sum, cents) => sum + cents, 0n);

describe("money-transfer", () => {
  it("moves money once, beyond what a double can hold", async () => {
    await createAccounts(pool, { big: 9_007_199_254_740_993n, small: 1n }, { schema });
    await executor.execute(transfer, { from: "big", to: "small", cents: 9_007_199_254_740_992n });
    expect(await balances()).toMatchObject({ big: 1n, small: 9_007_199_254_740_993n });
  });

  it("creates accounts once: those that are there keep their balance", async () => {
    await createAccounts(pool, { kept: 5n }, { schema });
    await createAccounts(pool, { kept: 99n }, { schema });
    expect(await balances()).toMatchObject({ kept: 5n });
  });

  it("fails where there is too little, and touches nothing", async () => {
    await createAccounts(pool, { poor: 10n, rich: 10n }, { schema });
    const outcome = await (await executor.start(transfer, { from: "poor", to: "rich", cents: 11n })).outcome();
    expect(outcome).toMatchObject({
      status: "failed",
      error: { step: "debit", cause: { code: "transfer.not_enough" } },
    });
    expect(await balances()).toMatchObject({ poor: 10n, rich: 10n });
  });

  it("gives the money back when there is nobody to credit: the pivot certainly did not happen", async () => {
    await createAccounts(pool, { giver: 10n }, { schema });
    const outcome = await (await executor.start(transfer, { from: "giver", to: "nobody", cents: 7n })).outcome();
    expect(outcome).toMatchObject({ status: "failed", error: { step: "credit" } });
    expect(await balances()).toMatchObject({ giver: 10n });
  });

  it("adds up to the cent after a hundred transfers at once, some of them stopped", async () => {
    const accounts = Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`a${index}`, 1_000n]));
    await createAccounts(pool, accounts, { schema });
    const before = await total();
    const runs = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const cents = BigInt((index * 37) % 400) + 1n;
        return executor.start(transfer, { from: `a${index % 5}`, to: `a${(index * 3 + 1) % 5}`, cents });
      }),
    );
    await Promise.all(
      runs.filter((_, index) => index % 4 === 0).map((run) => executor.requestCancel(run.id, { by: "test" })),
    );
    const outcomes = await Promise.all(runs.map(async (run) => (await run.outcome()).status));
    expect(outcomes.filter((status) => !["completed", "failed", "cancelled"].includes(status))).toEqual([]);
    expect(outcomes).toContain("completed");
    expect(await total()).toBe(before);
  });
});
