// WHETHER THE DATABASE CAN BE REACHED when an executor is made: waited for, but not for ever.

import { isSagaError } from "../errors/saga-error.js";
import { StoreError } from "../errors/store-errors.js";
import type { Clock } from "../platform/clock.js";
import type { Database } from "../store/db.js";
import { takesWrites } from "../store/migrate.js";
import { oneTry } from "../store/sql.js";
import { inTime } from "./in-time.js";

/**
 * A database that is on its way up, or about to take writes again, is waited for; one that is not there is told of while
 * somebody still watches.
 */
export async function reach(
  database: Database,
  { withinMs, writes, clock }: { readonly withinMs: number; readonly writes: boolean; readonly clock: Clock },
): Promise<void> {
  const answer = database.retry(
    async () => {
      if ((await takesWrites(oneTry(database))) || !writes) return;
      throw Object.assign(new Error("the database is read-only"), { code: "25006" });
    },
    { patienceMs: withinMs },
  );
  try {
    // A try that has begun may end with what is wrong, which tells more.
    await inTime(answer, { clock, ms: withinMs + 2_000 });
  } catch (error) {
    if (!isSagaError(error, "store.unavailable")) throw error;
    throw new StoreError("store.unavailable", `no database could be reached within ${withinMs} ms: ${error.message}`, {
      cause: error,
    });
  }
}
