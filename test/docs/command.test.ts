// THE COMMAND AS A PROCESS: the demo, also killed and run again; a worker that is asked to end; the doctor on good and bad days.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { durableExecutor } from "rubicon-saga";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { orderFulfilment } from "../../sagas/order-fulfilment/index.js";
import { OutsideWorld } from "../../sagas/outside.js";
import { type FreshDatabase, freshDatabase } from "../support/postgres.js";
import { until } from "../support/until.js";
import { type Ended, root, startProgram } from "./programs.js";

let database: FreshDatabase;
beforeEach(async () => {
  database = await freshDatabase();
});
afterEach(() => database?.drop());

const entry = fileURLToPath(new URL("./rubicon.ts", import.meta.url));
const start = (...args: string[]) => startProgram(entry, args, { env: { DATABASE_URL: database.url } });
const rubicon = (...args: string[]): Promise<Ended> => start(...args).ended;

const order = { orderId: "o", sku: "s", quantity: 1, amountCents: 1 };

interface Report {
  well: boolean;
  tookMs: number;
  scenes: {
    status: string;
    promises: { text: string; kept: boolean }[];
    history: { entry: { kind: string; from?: string } }[];
  }[];
}

function expectWell({ code, out, err }: Ended): Report {
  expect({ code, err }, out).toEqual({ code: 0, err: "" });
  const report: Report = JSON.parse(out);
  expect(report.scenes.map((scene) => scene.status)).toEqual(["completed", "failed", "cancelled", "completed"]);
  expect(report.scenes.flatMap((scene) => scene.promises.filter(({ kept }) => !kept))).toEqual([]);
  expect(report.well).toBe(true);
  return report;
}

describe("rubicon demo", () => {
  it("shows a crash that is survived, a rollback, and two truthful stops", async () => {
    const report = expectWell(await rubicon("demo", "--json"));
    expect(
      report.scenes[0]!.history.some(({ entry: { kind, from } }) => kind === "taken_up" && from !== undefined),
    ).toBe(true);
    expect(report.tookMs).toBeLessThan(25_000);
  });

  it("can be killed in the middle, leaves no process behind, and can be run again", async () => {
    const first = start("demo");
    await first.printed("2. A worker is killed");
    await until("a worker process is there", async () => (await workers()) > 0);
    first.kill("SIGKILL");
    await first.ended;
    await until("its worker processes are gone", async () => (await sessions()) === 0);
    expectWell(await rubicon("demo", "--json"));
  });

  it("stops when it is asked to, and says so", async () => {
    const demo = start("demo");
    await demo.printed("2. A worker is killed");
    demo.kill("SIGINT");
    expect(await demo.ended).toMatchObject({ code: 1, err: expect.stringContaining("demo.stopped: ") });
    await until("its processes are gone", async () => (await sessions()) === 0);
  });

  const workers = async () => {
    const [found] = await database.query("select to_regclass('rubicon_demo.workers')::text as name");
    return found?.name === null
      ? 0
      : (await database.query("select 1 from rubicon_demo.workers where dead_at is null")).length;
  };
  const sessions = async () =>
    (
      await database.query(
        "select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      )
    ).length;
});

describe("without a database", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "rubicon-command-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const there = (...args: string[]) =>
    startProgram(entry, args, { cwd: folder, env: { DATABASE_URL: undefined } }).ended;

  it("the demo brings its own; other commands find it there, and stop it", async () => {
    expect(await there("runs")).toMatchObject({ code: 1, err: expect.stringContaining("embedded.absent") });
    const report = expectWell(await there("demo", "--json"));
    const runs = JSON.parse((await there("runs", "--schema", "rubicon_demo", "--json")).out);
    expect(runs.runs).toHaveLength(report.scenes.length);
    expect((await there("embedded", "url")).out).toMatch(/^postgres/);
    expect((await there("embedded", "stop")).out).toMatch(/^Stopped the Postgres of /);
    expect((await there("embedded", "stop")).out).toMatch(/^No Postgres was running for /);
  });
});

describe("rubicon worker", () => {
  it("drives the runs of others until SIGTERM, then ends with 0", async () => {
    const worker = start("worker", "--sagas", join(root, "sagas/index.ts"), "--migrate", "--log-level", "silent");
    await worker.printed("Worker ready: order-fulfilment v1, trip-booking v1");
    const saga = orderFulfilment(new OutsideWorld());
    await using client = await durableExecutor({ sagas: [saga], database: database.url, worker: false });
    const run = await client.start(saga, order);
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    worker.kill("SIGTERM");
    expect(await worker.ended).toMatchObject({ code: 0, err: "", out: expect.stringContaining("Stopping: ") });
  });

  it("says what is missing, and does not begin", async () => {
    expect(await rubicon("worker", "--sagas", "nowhere.js")).toMatchObject({
      code: 2,
      err: expect.stringContaining("usage: there is no file"),
    });
    const sagas = join(root, "sagas/index.ts");
    expect(await rubicon("worker", "--sagas", sagas)).toMatchObject({
      code: 1,
      err: expect.stringContaining("schema.missing: "),
    });
    expect(await rubicon("worker", "--sagas", sagas, "--migrate", "--grace", "soon")).toMatchObject({ code: 2 });
  });
});

describe("rubicon migrate", () => {
  it("brings the schema up once; what it prints does the same", async () => {
    expect((await rubicon("migrate")).out).toMatch(/^Applied to .*\n {2}0001_/);
    expect((await rubicon("migrate")).out).toMatch(/^Up to date: /);
    const sql = (await rubicon("migrate", "--print", "--schema", "by hand")).out;
    await database.query(sql);
    expect((await rubicon("migrate", "--schema", "by hand")).out).toMatch(/^Up to date: /);
  });
});

describe("rubicon doctor", () => {
  const examine = async () => {
    const { code, out } = await rubicon("doctor", "--json");
    const { findings } = JSON.parse(out) as {
      findings: { topic: string; level: string; text: string; details?: string[] }[];
    };
    return { code, bad: findings.filter(({ level }) => level === "bad") };
  };

  it("says that the schema is not there, then that all is well", async () => {
    expect(await examine()).toMatchObject({ code: 1, bad: [{ topic: "schema.missing" }] });
    await rubicon("migrate");
    const { code, out } = await rubicon("doctor");
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringMatching(/All is well\.\n$/) });
  });

  it("says that a table was dropped", async () => {
    await rubicon("migrate");
    await database.query("drop table rubicon.worker_locks");
    expect(await examine()).toMatchObject({
      code: 1,
      bad: [{ topic: "schema.incomplete", text: expect.stringContaining("worker_locks") }],
    });
  });

  it("names overdue and blocked runs, those that need a person, and journals that break a rule", async () => {
    const world = new OutsideWorld();
    const saga = orderFulfilment(world);
    world.refuse("ship-parcel", "stuck", "no");
    {
      await using worker = await durableExecutor({ sagas: [saga], database: database.url, migrate: true });
      await (await worker.start(saga, order, { id: "stuck" })).outcome();
      await (await worker.start(saga, order, { id: "broken" })).outcome();
    }
    await using client = await durableExecutor({ sagas: [saga], database: database.url, worker: false });
    await client.start(saga, order, { id: "waits" });
    await database.query(
      "update rubicon.runs set due_at = due_at - interval '1 hour', rank = rank - interval '1 hour' where run_id = 'waits'",
    );
    await database.query(
      "update rubicon.journal set payload = replace(payload, 'book-courier', 'ship-parcel') where run = (select id from rubicon.runs where run_id = 'broken')",
    );
    await using _other = await durableExecutor({ sagas: [], database: database.url });
    const { code, bad } = await examine();
    expect(code).toBe(1);
    expect(bad.map(({ topic }) => topic)).toEqual(["overdue", "journals"]);
    expect(bad[0]?.details?.[0]).toMatch(/^the oldest, waits, for 1h/);
    expect(bad[1]?.details?.join()).toContain("broken: row ");
    await database.query(
      "delete from rubicon.journal where run = (select id from rubicon.runs where run_id = 'broken')",
    );
    await database.query("delete from rubicon.runs where run_id = 'broken'");
    await database.query(
      "update rubicon.runs set due_at = due_at + interval '1 hour', rank = rank + interval '1 hour' where run_id = 'waits'",
    );
    const again = await examine();
    expect(again.bad.map(({ topic }) => topic)).toEqual(["blocked", "owed"]);
    expect(again.bad[0]?.details?.[0]).toMatch(/^waits \(order-fulfilment v1\): /);
    expect(again.bad[1]?.details?.[0]).toMatch(/^stuck: forward_incomplete/);
  });
});
