// The suite of executors, on Postgres: one database for all its tests.

import { durableExecutor, type SagaExecutor } from "rubicon-saga";
import { afterAll, beforeAll } from "vitest";
import { type FreshDatabase, freshDatabase } from "../support/postgres.js";
import { executorSuite } from "./executor/suite.js";

let database: FreshDatabase;
let client: SagaExecutor;

beforeAll(async () => {
  database = await freshDatabase();
  client = await durableExecutor({ sagas: [], database: database.url, migrate: true, worker: false });
});

afterAll(async () => {
  await client.close();
  await database.drop();
});

executorSuite((options) => durableExecutor({ ...options, database: database.url, worker: { poll: 200 } }));
