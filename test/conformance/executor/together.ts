// SEVERAL EXECUTORS ON ONE DATABASE, for the files that test what only they can show.

import { type DurableOptions, durableExecutor, type SagaExecutor } from "rubicon-saga";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { type FreshDatabase, freshDatabase } from "../../support/postgres.js";
import { type AnySaga, Bench } from "./bench.js";

const worker = { poll: 100 };

export class Together {
  database!: FreshDatabase;
  /** Drives nothing and knows no saga. */
  client!: SagaExecutor;

  bench(): Bench {
    return new Bench((options) => durableExecutor({ worker, ...options, database: this.database.url }));
  }

  /** One more worker, closed after the test. */
  async worker(sagas: readonly AnySaga[], options: Partial<DurableOptions> = {}): Promise<SagaExecutor> {
    const executor = await durableExecutor({ worker, ...options, sagas, database: this.database.url });
    onTestFinished(() => executor.close({ grace: 0 }));
    return executor;
  }

  /** One that drives nothing. */
  starter(sagas: readonly AnySaga[], options: Partial<DurableOptions> = {}): Promise<SagaExecutor> {
    return this.worker(sagas, { ...options, worker: false });
  }
}

/** To be called at the top of a file: its database, and a client on it, for as long as the file's tests run. */
export function onOneDatabase(): Together {
  const together = new Together();
  beforeAll(async () => {
    together.database = await freshDatabase();
    const { url } = together.database;
    together.client = await durableExecutor({ sagas: [], database: url, migrate: true, worker: false });
  });
  afterAll(async () => {
    await together.client.close();
    await together.database.drop();
  });
  return together;
}
