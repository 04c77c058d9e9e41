// WHAT STATEMENTS OF THE STORE COST: pages read, as EXPLAIN counts them. What they write is undone.

import type { Runner } from "../../src/store/sql.js";
import { explained } from "../support/explained.js";
import type { TestStore } from "./store.js";

/** Pages that `work` reads, with the plan that a long-lived connection comes to use, which knows no values. */
export async function buffersOf(store: TestStore, work: (runner: Runner) => Promise<unknown>): Promise<number> {
  const client = await store.fresh.connect();
  await client.query("begin");
  const { buffers } = await explained(client, work);
  await client.query("rollback");
  return buffers;
}
