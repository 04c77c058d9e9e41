// THE DATABASE, as the rest of the store sees it: statements in, rows of text out. The only importer of `pg`. Knows no table.

import pg from "pg";
import { StoreError } from "../errors/store-errors.js";
import { OptionsInvalidError } from "../errors/usage-errors.js";
import { systemClock } from "../platform/clock.js";
import { sha256 } from "../platform/digest.js";
import { type LogSink, safeLogger, silentLogger } from "../platform/log.js";
import { type Connection, PooledConnection, pinned, type SessionRules } from "./connection.js";
import { type Database, type DatabaseOptions, leastConnections, refuseSmallPool } from "./database.js";
import { DatabaseClock } from "./database-clock.js";
import { Permits } from "./permits.js";
import { retryStatement } from "./retry.js";
import { quoteIdentifier, type SqlRow, type SqlValue, type Statement } from "./sql.js";
import { classifySqlError, storeError } from "./sql-error.js";

export type { Database, DatabaseOptions } from "./database.js";

/** Opens no connection yet. @throws OptionsInvalidError when the pool is too small, or the connection string no good. */
export function openDatabase(options: DatabaseOptions): Database {
  return new PgDatabase(options);
}

class PgDatabase implements Database, SessionRules {
  readonly schemaName: string;
  readonly pooled: boolean;
  readonly clock: DatabaseClock;
  readonly logger: LogSink;
  readonly nowOverride: () => number | null;
  readonly #options: DatabaseOptions;
  readonly #pool: pg.Pool;
  readonly #ownPool: boolean;
  readonly #texts = new Map<Statement, { readonly text: string; readonly name: string }>();
  #stepPool: pg.Pool | undefined;
  #stepPermits: Permits | undefined;
  #isolation: Promise<boolean> | undefined;
  #closed = false;
  #troubled = false;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.schemaName = options.schema ?? "rubicon";
    this.pooled = options.pooled ?? false;
    this.clock = new DatabaseClock(options.clock ?? systemClock);
    this.logger = options.logger === undefined ? silentLogger : safeLogger(options.logger);
    this.nowOverride = () => options.now?.() ?? null;
    this.#ownPool = typeof options.database === "string";
    refuseSmallPool(options);
    if (typeof options.database === "string") refuseUnreadable(options.database);
    this.#pool =
      typeof options.database === "string"
        ? this.#openPool(options.database, options.maxConnections ?? 10)
        : options.database;
    // PG-1: a pool without a listener takes the process down when the server closes an idle connection.
    this.#pool.on("error", this.#onPoolError);
  }

  get closed(): boolean {
    return this.#closed;
  }

  now(): number {
    return this.#options.now?.() ?? this.clock.now();
  }

  run(statement: Statement, values: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    return this.retry(() => this.once(statement, values));
  }

  async once(statement: Statement, values: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    const connection = await this.connect();
    try {
      return await connection.run(statement, values);
    } finally {
      connection.release();
    }
  }

  async transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.connect();
    try {
      return await connection.transaction(() => work(connection));
    } finally {
      connection.release();
    }
  }

  async retry<T>(work: () => Promise<T>, options: { readonly patienceMs?: number } = {}): Promise<T> {
    try {
      return await retryStatement(work, {
        patienceMs: options.patienceMs ?? this.#options.patienceMs ?? 30_000,
        wanted: () => !this.#closed,
        onRetry: (error) => this.noteTrouble(error),
      });
    } catch (error) {
      throw storeError(error, "the database could not be used");
    }
  }

  noteTrouble(error: unknown): void {
    if (this.#troubled || !classifySqlError(error)?.broken) return;
    this.#troubled = true;
    this.logger.warn({ err: error }, "the database can't be used at the moment; statements are tried again");
  }

  async connect(): Promise<Connection> {
    return this.#checkOut(this.#pool);
  }

  async keep(): Promise<Connection> {
    const connection = await this.#checkOut(this.#pool);
    if (this.#ownPool || this.pooled) return connection;
    try {
      await connection.pin();
      return connection;
    } catch (error) {
      connection.release(true);
      throw error;
    }
  }

  async connectForStep(): Promise<Connection> {
    if (this.#ownPool) return this.#checkOut(this.#stepsOwnPool());
    // Of a user's pool the steps get what is not needed to record how they ended: or all would wait for one another (PG-8).
    this.#stepPermits ??= new Permits(Math.max(1, (this.#pool.options.max ?? 10) - leastConnections + 1));
    const giveBack = await this.#stepPermits.take();
    try {
      return new PooledConnection(await this.#pool.connect(), this, giveBack);
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  #stepsOwnPool(): pg.Pool {
    if (this.#stepPool !== undefined) return this.#stepPool;
    const pool = this.#openPool(this.#options.database as string, this.#options.maxTransactions ?? 5);
    pool.on("error", this.#onPoolError);
    this.#stepPool = pool;
    return pool;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#stepPool?.end();
    if (this.#ownPool) await this.#pool.end();
    else this.#pool.off("error", this.#onPoolError);
  }

  readonly #onPoolError = (error: Error): void => {
    if (!this.#closed) this.logger.warn({ err: error }, "an idle database connection was lost");
  };

  #openPool(connectionString: string, max: number): pg.Pool {
    const pool = new pg.Pool({
      connectionString,
      max,
      keepAlive: true,
      connectionTimeoutMillis: 10_000,
      application_name: "rubicon-saga",
      ...(this.pooled
        ? {}
        : {
            onConnect: async (client: pg.ClientBase) => {
              client.on("error", () => {});
              await client.query(pinned);
            },
          }),
    });
    return pool;
  }

  async #checkOut(pool: pg.Pool): Promise<PooledConnection> {
    if (this.#closed) throw new StoreError("store.closed", "the executor was closed");
    const { ensureServer } = this.#options;
    const open = async () => {
      const connection = new PooledConnection(await pool.connect(), this);
      this.#troubled = false;
      return connection;
    };
    try {
      return await open();
    } catch (error) {
      if (ensureServer === undefined || classifySqlError(error)?.code !== "store.unavailable") throw error;
      try {
        await ensureServer();
      } catch (cause) {
        this.logger.error({ err: cause }, "the embedded server could not be brought up");
        // Whoever may go on trying sees a database that is away, and not a reason to give up.
        throw error;
      }
      return open();
    }
  }

  /** Whether the server's default isolation would break our statements, on connections whose session isn't ours to set. */
  async needsPinning(connection: Connection): Promise<boolean> {
    if (this.#ownPool && !this.pooled) return false;
    this.#isolation ??= connection
      .control("select current_setting('default_transaction_isolation')::text as isolation")
      .then((result) => result.rows[0].isolation !== "read committed");
    try {
      return await this.#isolation;
    } catch (error) {
      this.#isolation = undefined;
      throw error;
    }
  }

  /** The text and the name of a statement for this schema. A name is a hash of the text: never two texts under one name. */
  prepare(statement: Statement): { readonly text: string; readonly name: string } {
    let prepared = this.#texts.get(statement);
    if (prepared === undefined) {
      const text = statement(quoteIdentifier(this.schemaName));
      prepared = { text, name: `rubicon_${sha256(text).slice(0, 24)}` };
      this.#texts.set(statement, prepared);
    }
    return prepared;
  }
}

/** What is wrong with it is told once and at once, not at each connection. Never shows it: it may hold a password. */
function refuseUnreadable(connectionString: string): void {
  try {
    new pg.Client({ connectionString });
  } catch (error) {
    const fault = `the connection string can't be used: ${error instanceof Error ? error.message : String(error)}`;
    throw new OptionsInvalidError("the database", [{ at: "database", fault }]);
  }
}
