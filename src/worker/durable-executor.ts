// SAGAS THAT SURVIVE: the seam on Postgres. Opens the database, checks that its schema is there, and puts a worker, or none,
// behind the same verbs as in process (design 2.2, 3).

import { Registry } from "../executor/registry.js";
import { readDeclared } from "../executor/schedule-options.js";
import { openDatabase } from "../store/db.js";
import { embeddedDirectory, ensureEmbedded } from "../store/embedded.js";
import { migrate, verifySchema } from "../store/migrate.js";
import { type DurableExecutor, DurableHooks } from "./durable-hooks.js";
import { type DurableOptions, parseDurableOptions } from "./options.js";
import { reach } from "./reach.js";

export type { DurableExecutor } from "./durable-hooks.js";

/**
 * Runs sagas on Postgres: what was journaled survives the process, and any worker goes on with it.
 *
 * @throws OptionsInvalidError, UsageError `saga.duplicate`; StoreError `store.unavailable`, `store.forbidden`,
 * `schema.missing`, `schema.incomplete`, `schema.too_new`; InputInvalidError for the input of a declared schedule
 */
export async function durableExecutor(options: DurableOptions): Promise<DurableExecutor> {
  const parsed = parseDurableOptions(options);
  const { clock } = parsed.platform;
  const registry = new Registry(parsed.sagas, { transactions: true });
  const schedules = readDeclared(registry.all);
  const directory = typeof parsed.database === "string" ? embeddedDirectory(parsed.database) : undefined;
  const database = openDatabase({
    database: directory === undefined ? parsed.database : await ensureEmbedded(directory),
    schema: parsed.schema,
    pooled: parsed.pooled,
    logger: parsed.logger,
    clock,
    ...(directory === undefined ? {} : { ensureServer: async () => void (await ensureEmbedded(directory)) }),
  });
  const executor = new DurableHooks({ parsed, database, registry, schedules });
  try {
    const migrates = parsed.migrate ?? directory !== undefined;
    await reach(database, { withinMs: parsed.connectWithin, writes: migrates || parsed.worker !== false, clock });
    if (migrates) await migrate(database);
    await verifySchema(database);
    await executor.start();
  } catch (error) {
    await executor.close(0).catch(() => {});
    throw error;
  }
  return executor.asExecutor();
}
