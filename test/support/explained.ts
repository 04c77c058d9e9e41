// WHAT STATEMENTS COST as EXPLAIN counts it: pages, and the time in the server. Runs our own statements, none written out twice.

import pg from "pg";
import type { Runner, SqlValue } from "../../src/store/sql.js";

export interface Cost {
  /** Pages read, in memory or not. */
  buffers: number;
  /** Of execution alone: planning is done once a connection. */
  ms: number;
  /** As text, a statement after the other. */
  plan: string;
}

const literal = (value: SqlValue): string => {
  if (Array.isArray(value))
    return pg.escapeLiteral(
      `{${value.map((each) => (each === null ? "NULL" : JSON.stringify(String(each)))).join(",")}}`,
    );
  return value === null ? "null" : pg.escapeLiteral(String(value));
};

let prepared = 0;

/**
 * What `work` costs, with the plan that a long-lived connection comes to use, which knows no values. Inside the client's open
 * transaction. Explained, a statement gives no rows: what `work` makes of that is nobody's concern.
 */
export async function explained(client: pg.Client, work: (runner: Runner) => Promise<unknown>): Promise<Cost> {
  const cost: Cost = { buffers: 0, ms: 0, plan: "" };
  const runner: Runner = {
    run: async (statement, values) => {
      prepared += 1;
      await client.query(`prepare p${prepared} as ${statement('"rubicon"')}`);
      const { rows } = await client.query(
        `explain (analyze, buffers, format json) execute p${prepared} (${values.map(literal).join(", ")})`,
      );
      const [explanation] = rows[0]["QUERY PLAN"];
      cost.buffers += explanation.Plan["Shared Hit Blocks"] + explanation.Plan["Shared Read Blocks"];
      cost.ms += explanation["Execution Time"];
      cost.plan += `${JSON.stringify(explanation, null, 1)}\n`;
      return [];
    },
  };
  await client.query("set local plan_cache_mode = force_generic_plan");
  await work(runner);
  return cost;
}
