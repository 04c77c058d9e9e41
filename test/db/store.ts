// WHAT A TEST OF THE STORE STARTS FROM: a migrated database of its own, and rows of the simplest kind.

import type pg from "pg";
import { type Database, type DatabaseOptions, openDatabase } from "../../src/store/db.js";
import type { NewRow, RunChange } from "../../src/store/entries.js";
import { migrate } from "../../src/store/migrate.js";
import { keepShape, type NewRun, startRun } from "../../src/store/runs.js";
import { type FreshDatabase, freshDatabase } from "../support/postgres.js";

export interface TestStore extends AsyncDisposable {
  readonly fresh: FreshDatabase;
  readonly database: Database;
  /** Another process's view of the same database. */
  open(options?: Partial<DatabaseOptions>): Database;
  /** Starts a run; its internal id. */
  run(options?: Partial<NewRun>): Promise<string>;
  close(): Promise<void>;
}

export async function testStore(options: Partial<DatabaseOptions> = {}): Promise<TestStore> {
  const fresh = await freshDatabase();
  const opened: Database[] = [];
  const open = (more: Partial<DatabaseOptions> = {}) => {
    const database = openDatabase({ database: fresh.url, ...options, ...more });
    opened.push(database);
    return database;
  };
  const database = open();
  await migrate(database);
  await keepShape(database, "shape", JSON.stringify({ steps: [] }));
  let started = 0;
  const close = async () => {
    await Promise.all(opened.map((each) => each.close()));
    await fresh.drop();
  };
  return {
    fresh,
    database,
    open,
    run: async (run = {}) => {
      started += 1;
      return (await startRun(database, newRun({ runId: `run-${started}`, ...run }), null)).run.key;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

export function newRun(run: Partial<NewRun> = {}): NewRun {
  return {
    tenant: "",
    runId: "run",
    saga: "saga",
    version: 1,
    shapeHash: "shape",
    input: { format: "test", text: "{}" },
    inputDigest: "digest",
    priority: 0,
    ...run,
  };
}

let rows = 0;

/** A row with a nonce of its own. */
export function newRow(row: Partial<NewRow> & { readonly run: string; readonly number: number }): NewRow {
  rows += 1;
  return { kind: "test", format: "test", payload: "[]", writer: "writer", nonce: `nonce-${rows}`, ...row };
}

export function change(given: Partial<RunChange> = {}): RunChange {
  return {
    status: "running",
    claim: "free",
    dueAt: 0,
    crashes: 0,
    cancelRequested: false,
    cancelRefused: false,
    owed: [],
    ...given,
  };
}

/** Resolves once `count` backends of this database wait for a lock. */
export async function lockWaiters(client: pg.Client, count: number): Promise<void> {
  for (;;) {
    const { rows: found } = await client.query(
      "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    if (found[0].n >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Resolves when `condition` gives something. Rejects after 20 s. */
export async function eventually<T>(
  condition: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const until = performance.now() + 20_000;
  for (;;) {
    const found = await condition();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > until) throw new Error("what was waited for did not come about");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
