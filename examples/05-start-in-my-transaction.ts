// A RUN THAT EXISTS IF AND ONLY IF MY TRANSACTION COMMITS: no order without its saga, no saga without its order.
// Run it: npx tsx examples/05-start-in-my-transaction.ts

import { execFileSync } from "node:child_process";
import pg from "pg";
import { defineSaga, durableExecutor, step } from "rubicon-saga";
import { z } from "zod";

const greet = step({
  name: "greet",
  nothingToUndo: true,
  run: async (customer: { name: string }) => ({ greeting: `hello ${customer.name}` }),
});

const welcome = defineSaga({ name: "welcome", version: 1, input: z.object({ name: z.string() }), steps: [greet] });

// The database that holds both your tables and the journals. Without DATABASE_URL: the embedded one, whose address the
// command tells (it has to be built: npm run build).
const url = process.env.DATABASE_URL ?? embeddedUrl();
const pool = new pg.Pool({ connectionString: url, max: 10 });

// A pool of yours is used and never ended. Ids and inputs are checked as always, inside the transaction.
const executor = await durableExecutor({ sagas: [welcome], database: pool, schema: "rubicon_examples", migrate: true });

await pool.query("create table if not exists example_customers (id text primary key, name text not null)");
const suffix = Date.now().toString(36);

for (const [id, end] of [
  [`ada-${suffix}`, "commit"],
  [`bob-${suffix}`, "rollback"],
] as const) {
  const name = id.split("-")[0]!;
  console.log(`${name}: ${end}`);
  const client = await pool.connect();
  try {
    await client.query("begin");
    await client.query("insert into example_customers values ($1, $2)", [id, name]);
    await executor.start(welcome, { name }, { id, tx: client });
    await client.query(end);
  } finally {
    client.release();
  }
  const run = await executor.find(id);
  console.log(`  there is a run: ${run !== undefined}`);
  if (run !== undefined) console.log(`  it ends ${(await run.outcome()).status}, with`, await run.result());
}

await executor.close();
await pool.end();

function embeddedUrl(): string {
  return execFileSync(process.execPath, ["bin/rubicon.js", "embedded", "url"], { encoding: "utf8" }).trim();
}

/* Expected output:
ada: commit
  there is a run: true
  it ends completed, with { greeting: 'hello ada' }
bob: rollback
  there is a run: false
*/
