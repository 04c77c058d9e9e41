// A CONNECTION FOR GOOD: carries beats, pings and LISTEN, and nothing else. Notices its own death, for a silent cut is told
// by nobody; opens itself again with backoff (design 3.2, 3.3).

import { isSagaError } from "../errors/saga-error.js";
import { StoreError } from "../errors/store-errors.js";
import { type Clock, systemClock } from "../platform/clock.js";
import { type Chance, systemChance } from "../platform/ids.js";
import type { Connection } from "./connection.js";
import type { Database } from "./db.js";
import { channelOf } from "./notify.js";
import { quoteIdentifier, type Runner, type SqlRow, type SqlValue, type Statement } from "./sql.js";

export interface KeptConnectionOptions {
  readonly database: Database;
  /** Hears the schema's notifications. */
  readonly listen: boolean;
  /** Each time it is open, LISTEN and all: look for what was missed, take locks. A throw closes it, to be opened again. */
  readonly onOpen?: (session: Runner) => Promise<void>;
  /** It was lost, once per loss; it is being opened again. */
  readonly onLost?: (error: unknown) => void;
  readonly onNotification?: (payload: string) => void;
  /** A statement or ping without an answer for so long means that the connection is dead. Default 5,000. */
  readonly answerMs?: number;
  /** Between two pings. Default 10,000. */
  readonly pingMs?: number;
  readonly clock?: Clock;
  readonly chance?: Chance;
}

/** Notices a peer that vanished within seconds, where the server lets us say so; never behind a pooler. */
const sessionSettings = [
  "set tcp_keepalives_idle = 3",
  "set tcp_keepalives_interval = 1",
  "set tcp_keepalives_count = 3",
  "set tcp_user_timeout = 5000",
  "set client_connection_check_interval = '1s'",
  "set idle_session_timeout = 0",
];

const ping: Statement = () => "select 'pong'::text as answer";

const firstBackoffMs = 50;
const longestBackoffMs = 2_000;

export class KeptConnection implements Runner {
  readonly #options: KeptConnectionOptions;
  readonly #clock: Clock;
  #connection: Connection | undefined;
  #stopped = false;
  #stop: () => void = () => {};
  #lost: (error: unknown) => void = () => {};
  #cancelPing: () => void = () => {};
  #keeping: Promise<void> | undefined;

  constructor(options: KeptConnectionOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Open, and set up by `onOpen`. */
  get open(): boolean {
    return this.#connection !== undefined;
  }

  /** Begins to keep it open. Resolves after the first try, whatever came of it. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.#keeping ??= this.#keep(resolve);
    });
  }

  /** One try. @throws StoreError `store.unavailable` at once while it is not open, and after `answerMs` without an answer */
  async run(statement: Statement, values: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    if (this.#connection === undefined)
      throw new StoreError("store.unavailable", "the connection is being opened again");
    return this.#answered(this.#connection, () => this.#connection!.run(statement, values));
  }

  /** Closes the present connection, with all that hangs on it, and opens another. */
  reopen(): void {
    this.#lost(new StoreError("store.unavailable", "the connection is being opened anew"));
  }

  async close(): Promise<void> {
    this.#stopped = true;
    this.#stop();
    this.#lost(undefined);
    await this.#keeping;
  }

  async #keep(onFirstTry: () => void): Promise<void> {
    let backoffMs = firstBackoffMs;
    while (!this.#stopped) {
      try {
        const connection = await this.#options.database.keep();
        try {
          const lost = this.#watch(connection);
          await this.#setUp(connection);
          backoffMs = firstBackoffMs;
          onFirstTry();
          const error = await lost;
          if (!this.#stopped) this.#options.onLost?.(error);
        } finally {
          this.#connection = undefined;
          this.#lost = () => {};
          this.#cancelPing();
          connection.release(true);
        }
      } catch (error) {
        onFirstTry();
        if (!this.#stopped)
          this.#options.database.logger.debug({ err: error }, "the kept connection could not be opened");
      }
      if (this.#stopped) return;
      await this.#pause(backoffMs * (0.5 + 0.5 * (this.#options.chance ?? systemChance).random()));
      backoffMs = Math.min(backoffMs * 2, longestBackoffMs);
    }
  }

  /** Resolves with what went wrong, when the connection is lost or closed. */
  #watch(connection: Connection): Promise<unknown> {
    const { client } = connection;
    return new Promise((resolve) => {
      this.#lost = resolve;
      // Closed while it was being opened.
      if (this.#stopped) resolve(undefined);
      client.on("error", resolve);
      client.once("end", () => resolve(new StoreError("store.unavailable", "the connection was ended")));
      client.on("notification", ({ payload }) => this.#options.onNotification?.(payload ?? ""));
    });
  }

  async #setUp(connection: Connection): Promise<void> {
    const { database, listen, onOpen } = this.#options;
    const raw = (text: string) => this.#answered(connection, () => connection.raw(text));
    if (!database.pooled)
      for (const setting of sessionSettings)
        await raw(setting).catch((error: unknown) => {
          // A setting that the server does not let us make is done without; an answer that never came is the end.
          if (connection.broken || isSagaError(error)) throw error;
        });
    if (listen) await raw(`listen ${quoteIdentifier(channelOf(database.schemaName))}`);
    if (connection.broken) throw new StoreError("store.unavailable", "the connection was lost while it was set up");
    await onOpen?.({ run: (statement, values) => this.#answered(connection, () => connection.run(statement, values)) });
    this.#connection = connection;
    this.#pingLater(connection);
  }

  #pingLater(connection: Connection): void {
    this.#cancelPing = this.#clock.after(this.#options.pingMs ?? 10_000, () => {
      if (this.#connection !== connection) return;
      this.run(ping, []).then(
        () => this.#connection === connection && this.#pingLater(connection),
        () => {},
      );
    });
  }

  /** The answer in time; else the connection counts as lost, though nobody says so. */
  async #answered<T>(connection: Connection, ask: () => Promise<T>): Promise<T> {
    const answerMs = this.#options.answerMs ?? 5_000;
    let cancel = () => {};
    const late = new Promise<never>((_, reject) => {
      cancel = this.#clock.after(answerMs, () => {
        const error = new StoreError("store.unavailable", `the database did not answer within ${answerMs} ms`);
        this.#lost(error);
        reject(error);
      });
    });
    const answer = ask();
    // Whichever comes second is nobody's.
    answer.catch(() => {});
    try {
      return await Promise.race([answer, late]);
    } catch (error) {
      if (connection.broken) this.#lost(error);
      throw error;
    } finally {
      cancel();
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(ms, resolve);
      this.#stop = () => {
        cancel();
        resolve();
      };
    });
  }
}
