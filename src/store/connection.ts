// ONE CONNECTION: statements, transactions, and whether it can still be used. Knows no pool.

import type pg from "pg";
import { StoreError } from "../errors/store-errors.js";
import type { Runner, SqlRow, SqlValue, Statement } from "./sql.js";
import { classifySqlError } from "./sql-error.js";

/** One connection, taken out of a pool until it is released. `run` is one try and throws what `pg` threw. */
export interface Connection extends Runner {
  /** Begins a READ COMMITTED transaction that the caller ends by `raw`, and after which it releases the connection. */
  begin(): Promise<void>;
  /** READ COMMITTED; commits when `work` resolves. */
  transaction<T>(work: () => Promise<T>): Promise<T>;
  /** It was lost, or must not be used again. */
  readonly broken: boolean;
  /**
   * `commit`, `rollback`, savepoints, settings: answered in time, or the connection counts as lost, and then it answers nothing more.
   * @throws StoreError `store.unavailable` once it is lost
   */
  control(text: string): Promise<pg.QueryResult>;
  /** Statements that don't come from a `Statement`, and may take their time: `set local`, a migration's, a user's own. */
  raw(text: string, values?: readonly unknown[]): Promise<pg.QueryResult>;
  readonly client: pg.ClientBase;
  /** Gives it back; with `destroy` it is closed instead. Once. */
  release(destroy?: boolean): void;
}

/** The user's defaults may say REPEATABLE READ, where a lost number is an error instead of an answer. */
export const pinned = "set session characteristics as transaction isolation level read committed";

/** What the pool's owner decides for all its connections. */
export interface SessionRules {
  readonly pooled: boolean;
  /** Whether each statement needs a transaction that says READ COMMITTED. */
  needsPinning(connection: Connection): Promise<boolean>;
  /** The text and the name of a statement. */
  prepare(statement: Statement): { readonly text: string; readonly name: string };
}

/**
 * How long a statement of ours may take before its connection counts as lost, in milliseconds: of one that was cut silently
 * the system says nothing for a quarter of an hour. Whatever is offered again after that is safe to run twice.
 */
const answerWithinMs = 15_000;

/** All results as text, whatever parsers the user registered with `pg`. */
const asText = { getTypeParser: () => (value: string) => value } as unknown as pg.CustomTypesConfig;

export class PooledConnection implements Connection {
  readonly client: pg.PoolClient;
  readonly #session: SessionRules;
  readonly #onRelease: () => void;
  #broken = false;
  #released = false;
  #inTransaction = false;
  #pinned = false;

  constructor(client: pg.PoolClient, session: SessionRules, onRelease: () => void = () => {}) {
    this.client = client;
    this.#onRelease = onRelease;
    this.#session = session;
    // PG-1: a client that is taken out has no listener of the pool's.
    client.on("error", this.#onError);
  }

  get broken(): boolean {
    return this.#broken;
  }

  async run(statement: Statement, values: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    const fine = this.#inTransaction || this.#pinned || !(await this.#session.needsPinning(this));
    if (fine) return this.#run(statement, values);
    return this.transaction(() => this.#run(statement, values));
  }

  async #run(statement: Statement, values: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    const { text, name } = this.#session.prepare(statement);
    const query = {
      text,
      values: [...values],
      types: asText,
      query_timeout: answerWithinMs,
      ...(this.#session.pooled ? {} : { name }),
    };
    const result = await this.#watched(this.client.query(query));
    return result.rows;
  }

  async control(text: string): Promise<pg.QueryResult> {
    // It would queue up behind what is never answered.
    if (this.#broken) throw new StoreError("store.unavailable", "the connection was lost");
    const query = { text, query_timeout: answerWithinMs };
    return this.#watched(this.client.query(query));
  }

  async raw(text: string, values?: readonly unknown[]): Promise<pg.QueryResult> {
    return this.#watched(values === undefined ? this.client.query(text) : this.client.query(text, [...values]));
  }

  /** Says READ COMMITTED for all that follows on it: only for a connection that is destroyed when it is released. */
  async pin(): Promise<void> {
    await this.control(pinned);
    this.#pinned = true;
  }

  async begin(): Promise<void> {
    await this.control("begin isolation level read committed");
    this.#inTransaction = true;
  }

  async transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.begin();
    try {
      const result = await work();
      const { command } = await this.control("commit");
      // A transaction that had failed answers a commit with ROLLBACK, and no error.
      if (command === "ROLLBACK") throw new StoreError("store.unavailable", "the transaction was rolled back");
      return result;
    } catch (error) {
      await this.control("rollback").catch(() => {
        this.#broken = true;
      });
      throw error;
    } finally {
      this.#inTransaction = false;
    }
  }

  release(destroy = false): void {
    if (this.#released) return;
    this.#released = true;
    this.client.release(destroy || this.#broken);
    this.client.off("error", this.#onError);
    this.#onRelease();
  }

  readonly #onError = (): void => {
    this.#broken = true;
  };

  async #watched<T>(query: Promise<T>): Promise<T> {
    try {
      return await query;
    } catch (error) {
      if (classifySqlError(error)?.broken) this.#broken = true;
      throw error;
    }
  }
}
