// WHAT STATEMENTS COST: pages read, as EXPLAIN counts them.

import pg from "pg";
import type { Runner, SqlValue } from "../../src/store/sql.js";
import type { TestStore } from "./store.js";

const literal = (value: SqlValue): string => {
  if (Array.isArray(value))
    return pg.escapeLiteral(
      `{${value.map((each) => (each === null ? "NULL" : JSON.stringify(String(each)))).join(",")}}`,
    );
  return value === null ? "null" : pg.escapeLiteral(String(value));
};

let prepared = 0;
/** Pages that `work` reads, with the plan that a long-lived connection comes to use, which knows no values. */
export async function buffersOf(store: TestStore, work: (runner: Runner) => Promise<unknown>): Promise<number> {
  const client = await store.fresh.connect();
  let buffers = 0;
  const runner: Runner = {
    run: async (statement, values) => {
      prepared += 1;
      await client.query(`prepare p${prepared} as ${statement('"rubicon"')}`);
      const { rows } = await client.query(
        `explain (analyze, buffers, format json) execute p${prepared} (${values.map(literal).join(", ")})`,
      );
      const plan = rows[0]["QUERY PLAN"][0].Plan;
      buffers += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
      return [];
    },
  };
  await client.query("begin; set local plan_cache_mode = force_generic_plan");
  await work(runner);
  await client.query("rollback");
  return buffers;
}
