// THE REAL DOORS: a client of the durable executor, and the store.

import { durableExecutor, type SagaExecutor } from "../index.js";
import { type Database, openDatabase } from "../store/db.js";
import { embeddedDirectory, ensureEmbedded } from "../store/embedded.js";
import { readServerFacts } from "../store/examine.js";
import type { Doors } from "./invocation.js";
import type { Target } from "./target.js";

export const doors: Doors = { openClient, openStore };

/** The executor would try a database that is away for half a minute; a person should hear of it sooner. */
async function openClient(target: Target): Promise<SagaExecutor> {
  const store = await openStore(target);
  try {
    await readServerFacts(store, target.schema);
  } finally {
    await store.close();
  }
  const { database, schema, tenant } = target;
  return durableExecutor({ sagas: [], database, schema, tenant, worker: false });
}

/** A person waits for the answer, so nothing is tried for long. */
const patienceMs = 3_000;

async function openStore({ database, schema }: Target): Promise<Database> {
  const directory = embeddedDirectory(database);
  if (directory === undefined) return openDatabase({ database, schema, patienceMs });
  const url = await ensureEmbedded(directory);
  const ensureServer = async () => void (await ensureEmbedded(directory));
  return openDatabase({ database: url, schema, patienceMs, ensureServer });
}
