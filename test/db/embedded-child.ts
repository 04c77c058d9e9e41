// A process that uses an embedded database: brings it up, says where it is, and stays until it is killed.
// Arguments: FOLDER IDLE_MS.

import pg from "pg";
import { ensureEmbedded } from "../../src/store/embedded.js";

const [, , folder, idleMs] = process.argv;
const url = await ensureEmbedded(folder!, { idleMs: Number(idleMs) });
const client = new pg.Client(url);
await client.connect();
// Two sessions that create one table at the same instant would trip over each other.
await client.query("select pg_advisory_xact_lock(1); create table if not exists seen (pid int)");
await client.query("insert into seen values ($1)", [process.pid]);
const { rows } = await client.query(
  "select pg_postmaster_start_time()::text as started, count(*)::int as seen from seen",
);
console.log(JSON.stringify({ url, ...rows[0] }));
if (process.argv[4] === "leave") await client.end();
else setInterval(() => {}, 1_000);
