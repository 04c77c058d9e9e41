// ERRORS AT THE DOOR: what an executor that can't be opened says, how soon, and what it leaves behind: nothing.

import { spawn } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import pg from "pg";
import { type DurableOptions, durableExecutor } from "rubicon-saga";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type FreshDatabase, freshDatabase, type SuiteServer, startServer } from "../support/postgres.js";

let server: SuiteServer;
let fresh: FreshDatabase;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server.stop());

beforeEach(async () => {
  fresh = await freshDatabase(server.url);
});

afterEach(() => fresh.drop());

type Refusal = Error & { code: string };

async function refused(options: Partial<DurableOptions> & Pick<DurableOptions, "database">): Promise<Refusal> {
  const opened = await durableExecutor({ sagas: [], worker: false, connectWithin: 300, ...options }).catch(
    (error: Refusal) => error,
  );
  if (!("code" in opened)) {
    await opened.close();
    throw new Error("it was opened");
  }
  return opened;
}

/** The database's address with another user, password or name. */
function address(other: Partial<Pick<URL, "username" | "password" | "pathname">>): string {
  return Object.assign(new URL(fresh.url), other).href;
}

const schemas = () => fresh.query("select nspname from pg_namespace where nspname = 'rubicon'");

describe("what is wrong is told with what to do about it", () => {
  for (const database of [
    "",
    "shop",
    "host=localhost dbname=shop",
    "mysql://root@localhost/shop",
    "http://localhost:5432",
    "embeded:./data",
  ])
    test(`an address that is none: ${JSON.stringify(database)}`, async () => {
      expect(await refused({ database })).toMatchObject({
        code: "options.invalid",
        message: expect.stringMatching(/database: must be a connection string such as "postgresql:/),
      });
    });

  test("an address that can't be read is not shown, for it may hold a password", async () => {
    const { code, message } = await refused({ database: "postgresql://ana:s3cret@[::bad/shop" });
    expect(code).toBe("options.invalid");
    expect(message).toContain("the connection string can't be used");
    expect(message).not.toContain("s3cret");
  });

  test("no server there: within the time that was given, naming the address", async () => {
    const startedAt = performance.now();
    const { code, message } = await refused({ database: "postgresql://127.0.0.1:1/shop", connectWithin: "1s" });
    expect(code).toBe("store.unavailable");
    expect(message).toMatch(
      /no database could be reached within 1000 ms: .*ECONNREFUSED 127\.0\.0\.1:1.*Look at its host, port and log/,
    );
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  test("no such host", async () => {
    const { code, message } = await refused({ database: "postgresql://nowhere.invalid/shop" });
    expect(code).toBe("store.unavailable");
    expect(message).toContain("nowhere.invalid");
  });

  test("a server that lets one in and says nothing", async () => {
    const mute = createServer(() => {});
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    const startedAt = performance.now();
    const pool = new pg.Pool({
      connectionString: `postgresql://127.0.0.1:${(mute.address() as { port: number }).port}/shop`,
      max: 4,
    });
    const { code, message } = await refused({ database: pool });
    expect(code).toBe("store.unavailable");
    expect(message).toContain("did not answer");
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    mute.close();
  });

  test("no such database", async () => {
    const { code, message } = await refused({ database: address({ pathname: "/nowhere" }) });
    expect(code).toBe("store.no_database");
    expect(message).toMatch(/"nowhere" does not exist.*Create it, or mend the connection string/);
  });

  test("no such role, and a wrong password, which is not shown", async () => {
    await fresh.query("create role door_ana login password 'right'");
    const rules = join(server.data, "pg_hba.conf");
    copyFileSync(rules, `${rules}.before`);
    writeFileSync(rules, `local all door_ana scram-sha-256\n${readFileSync(rules, "utf8")}`);
    await fresh.query("select pg_reload_conf()");
    try {
      const wrong = await refused({
        database: address({ username: "door_ana", password: "wr0ng" }),
      });
      expect(wrong.code).toBe("store.forbidden");
      expect(wrong.message).toMatch(/password authentication failed for user "door_ana".*Mend the connection string/);
      expect(wrong.message).not.toContain("wr0ng");
      const nobody = await refused({ database: address({ username: "nobody_at_all" }) });
      expect(nobody).toMatchObject({
        code: "store.forbidden",
        message: expect.stringContaining('"nobody_at_all" does not exist'),
      });
    } finally {
      copyFileSync(`${rules}.before`, rules);
      await fresh.query("select pg_reload_conf()");
      await fresh.query("drop role door_ana");
    }
  });

  test("not migrated: how to, for the schema that was asked for", async () => {
    for (const schema of ["rubicon", 'My "x"'])
      expect(await refused({ database: fresh.url, schema })).toMatchObject({
        code: "schema.missing",
        message: expect.stringMatching(
          new RegExp(`"${schema.replaceAll('"', '"')}".*Run \`rubicon migrate\`, or pass \`migrate: true\``),
        ),
      });
    expect(await schemas()).toEqual([]);
  });

  test("half migrated: what is missing", async () => {
    await (await durableExecutor({ sagas: [], database: fresh.url, worker: false, migrate: true })).close();
    await fresh.query("drop table rubicon.journal; drop index rubicon.runs_ready");
    expect(await refused({ database: fresh.url })).toMatchObject({
      code: "schema.incomplete",
      message: expect.stringMatching(/table journal.*index runs_ready/),
    });
  });

  test("newer than the code: which code it takes", async () => {
    await (await durableExecutor({ sagas: [], database: fresh.url, worker: false, migrate: true })).close();
    await fresh.query(
      "insert into rubicon.migrations (number, name, checksum, oldest_code) values (99, '0099_later.sql', 'x', 99)",
    );
    for (const migrate of [true, false])
      expect(await refused({ database: fresh.url, migrate })).toMatchObject({
        code: "schema.too_new",
        message: expect.stringContaining("Deploy a newer version of rubicon-saga"),
      });
  });

  test("without the rights to migrate, or to work: which right, and nothing half written", async () => {
    await fresh.query("create role door_bo login");
    const database = address({ username: "door_bo" });
    try {
      expect(await refused({ database, migrate: true })).toMatchObject({
        code: "store.forbidden",
        message: expect.stringMatching(/role "door_bo" may not migrate.*Grant CREATE on the database/),
      });
      expect(await schemas()).toEqual([]);
      await (await durableExecutor({ sagas: [], database: fresh.url, worker: false, migrate: true })).close();
      await fresh.query(
        "grant usage on schema rubicon to door_bo; grant select on all tables in schema rubicon to door_bo",
      );
      expect(await refused({ database, worker: { slots: 1 } })).toMatchObject({
        code: "store.forbidden",
        message: expect.stringMatching(/SELECT, INSERT and UPDATE on table "runs"/),
      });
      expect(await fresh.query("select id from rubicon.workers")).toEqual([]);
    } finally {
      await fresh.query("drop owned by door_bo; drop role door_bo");
    }
  });

  test("read-only: it says so, and to what to point", async () => {
    await fresh.query(`alter database "${fresh.name}" set default_transaction_read_only = on`);
    const startedAt = performance.now();
    const { code, message } = await refused({ database: fresh.url, migrate: true, connectWithin: "1s" });
    expect(code).toBe("store.read_only");
    expect(message).toContain("Point at the primary");
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  test("an embedded database in a folder that can't be made", async () => {
    expect(await refused({ database: "embedded:/dev/null/data" })).toMatchObject({
      code: "embedded.unsafe_folder",
      message: expect.stringMatching(/can't keep its data in .*Choose a folder that this user may write/),
    });
  });
});

test("a process whose doors stay shut ends by itself: no timer and no socket is left", async () => {
  const bare = { sagas: [], connectWithin: 200 } as const;
  const attempts: DurableOptions[] = [
    { ...bare, database: "postgresql://127.0.0.1:1/shop" },
    { ...bare, database: fresh.url },
    { ...bare, database: fresh.url, listen: fresh.url },
    { ...bare, database: fresh.url, pooled: true },
    { ...bare, database: address({ pathname: "/nowhere" }), worker: false },
    { ...bare, database: "nothing" },
    { ...bare, database: "embedded:/dev/null/data" },
  ];
  const child = spawn(
    process.execPath,
    ["--import", "tsx", new URL("../support/doors-child.ts", import.meta.url).pathname],
    {
      env: { ...process.env, RUBICON_TEST: JSON.stringify(attempts) },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  let said = "";
  let doneAt = 0;
  child.stdout.on("data", (text) => {
    said += text;
    if (said.includes("nothing left to do")) doneAt = performance.now();
  });
  const code = await new Promise((resolve) => child.once("exit", resolve));
  const lines = said
    .trim()
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  expect(lines.map((line) => line.code)).toEqual([
    "store.unavailable",
    "schema.missing",
    "schema.missing",
    "schema.missing",
    "store.no_database",
    "options.invalid",
    "embedded.unsafe_folder",
  ]);
  expect(code).toBe(0);
  expect(performance.now() - doneAt).toBeLessThan(2_000);
  for (const { ms } of lines) expect(ms).toBeLessThan(5_000);
});
