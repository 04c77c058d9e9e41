// MONEY FROM ONE ACCOUNT TO ANOTHER, both in the database that holds the journal. Debit and credit are transactional steps:
// their SQL and their entry commit together, so each happens exactly once and is never in doubt.

import { defineSaga, pivot, step, TerminalError, type Transaction } from "rubicon-saga";
import { z } from "zod";

export interface MoneyTransferOptions {
  /** The schema of the table `accounts`, any identifier. Default `public`. */
  readonly schema?: string;
}

export function moneyTransfer(options: MoneyTransferOptions = {}) {
  const accounts = accountsTable(options);

  /** Adds to an account what is there to be added; false when there is no such account, or too little on it. */
  const add = async (tx: Transaction, account: string, cents: bigint): Promise<boolean> => {
    const { rowCount } = await tx.query(
      `update ${accounts} set balance_cents = balance_cents + $2 where id = $1 and balance_cents + $2 >= 0`,
      [account, cents.toString()],
    );
    return rowCount === 1;
  };

  const debit = step({
    name: "debit",
    transaction: true,
    run: async (transfer: { from: string; cents: bigint }, { tx }) => {
      if (await add(tx, transfer.from, -transfer.cents)) return;
      throw new TerminalError(`account ${transfer.from} has less than ${transfer.cents} cents`, {
        code: "transfer.not_enough",
      });
    },
    compensate: async (transfer, { tx }) => {
      if (await add(tx, transfer.from, transfer.cents)) return;
      throw new TerminalError(`account ${transfer.from} is gone`, { code: "transfer.no_account" });
    },
  });

  const credit = pivot({
    name: "credit",
    transaction: true,
    run: async (transfer: { to: string; cents: bigint }, { tx }) => {
      if (await add(tx, transfer.to, transfer.cents)) return;
      throw new TerminalError(`there is no account ${transfer.to}`, { code: "transfer.no_account" });
    },
  });

  return defineSaga({
    name: "money-transfer",
    version: 1,
    input: z.object({ from: z.string(), to: z.string(), cents: z.bigint().positive() }),
    steps: [debit, credit],
  });
}

/** Anything that runs SQL: a `pg` pool or client, a transaction. */
export interface Queryable {
  query(text: string, values?: any[]): Promise<{ rows: any[] }>;
}

/** Creates the table, unless it is there, and the given accounts, unless they are. */
export async function createAccounts(
  database: Queryable,
  balances: Readonly<Record<string, bigint>>,
  options: MoneyTransferOptions = {},
): Promise<void> {
  const accounts = accountsTable(options);
  await database.query(
    `create table if not exists ${accounts} (id text primary key, balance_cents bigint not null check (balance_cents >= 0))`,
  );
  for (const [id, cents] of Object.entries(balances))
    await database.query(`insert into ${accounts} values ($1, $2) on conflict do nothing`, [id, cents.toString()]);
}

/** Each account's balance in cents. Their sum is what no transfer, crash or Stop may change. */
export async function readBalances(
  database: Queryable,
  options: MoneyTransferOptions = {},
): Promise<Record<string, bigint>> {
  const { rows } = await database.query(
    `select id, balance_cents::text as cents from ${accountsTable(options)} order by id`,
  );
  return Object.fromEntries(rows.map(({ id, cents }) => [id, BigInt(cents)]));
}

function accountsTable({ schema = "public" }: MoneyTransferOptions): string {
  return `"${schema.replaceAll('"', '""')}".accounts`;
}
