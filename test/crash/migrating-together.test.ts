// A FLEET THAT STARTS AT ONCE on an empty database, and schemas with odd names beside one another (MIG-1, MIG-3).

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import { defineSaga, durableExecutor, step } from "rubicon-saga";
import { afterAll, beforeAll, expect, test } from "vitest";
import { channelOf } from "../../src/store/notify.js";
import { freshDatabase } from "../support/postgres.js";
import { quickWorker, TroubleBench } from "../support/trouble-bench.js";
import { until } from "../support/until.js";

const replicas = 10;
const repetitions = 5;

let children: { readonly child: ChildProcess; readonly lines: AsyncIterator<string>; readonly reader: Interface }[] =
  [];

beforeAll(async () => {
  const program = new URL("../support/migrating-child.ts", import.meta.url).pathname;
  children = Array.from({ length: replicas }, () => {
    const child = spawn(process.execPath, ["--import", "tsx", program], { stdio: ["pipe", "pipe", "inherit"] });
    const reader = createInterface({ input: child.stdout! });
    return { child, reader, lines: reader[Symbol.asyncIterator]() };
  });
  for (const { lines } of children) expect((await lines.next()).value).toBe("ready");
});

afterAll(() => {
  for (const { child } of children) child.kill("SIGKILL");
});

for (let repetition = 1; repetition <= repetitions; repetition += 1)
  test(`MIG-1: ten processes that migrate one empty database at once all run sagas on it (${repetition})`, async () => {
    const fresh = await freshDatabase();
    try {
      for (const { child } of children) child.stdin!.write(`${fresh.url}\n`);
      const answers = await Promise.all(children.map(async ({ lines }) => (await lines.next()).value));
      expect(answers).toEqual(Array(replicas).fill('{"done":true}'));
      expect(
        await fresh.query(
          "select number, count(*)::int as times from rubicon.migrations group by number having count(*) > 1",
        ),
      ).toEqual([]);
      expect(await fresh.query("select status, count(*)::int as runs from rubicon.runs group by status")).toEqual([
        { status: "completed", runs: replicas },
      ]);
    } finally {
      await fresh.drop();
    }
  });

test('MIG-3: a schema named `My-Saga "x"`, an empty search_path, decoys in public: every verb works, nothing else is touched', async () => {
  await using bench = await TroubleBench.open();
  const { database } = bench;
  await database.query(`alter database "${database.name}" set search_path = ''`);
  const decoys = ["runs", "journal", "workers", "shapes", "migrations", "worker_locks"];
  for (const table of decoys) await database.query(`create table public.${table} (decoy text)`);
  await database.query("create table public.ledger (run text not null)");
  const schema = 'My-Saga "x"';
  await bench.executor({ schema });
  const client = await bench.executor({ schema, worker: false });
  let held = 0;
  bench.on.S2 = ({ signal }) => {
    held += 1;
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const tx = await database.connect();
  await tx.query("begin");
  const begun = await client.start(bench.saga("ledger"), undefined, { id: "begun", tx });
  await tx.query("commit");
  await client.start(bench.saga("three"), undefined, { id: "stopped" });
  await until("both are in S2", () => held === 2);
  expect(await client.requestCancel("stopped", { by: "ana" })).toMatchObject({ verdict: "cancelling" });
  expect((await (await client.find("stopped"))!.outcome({ timeout: "10s" })).status).toBe("cancelled");
  await client.requestCancel("begun", { by: "ana" });
  expect((await begun.outcome({ timeout: "10s" })).status).toBe("cancelled");
  expect(await client.get("begun")).toMatchObject({ status: "cancelled" });
  expect((await client.list({ status: "cancelled" })).runs).toHaveLength(2);
  expect((await client.history("begun")).length).toBeGreaterThan(3);
  await bench.closeAll();
  // Started again: nothing is left to apply.
  const again = await bench.executor({ schema });
  expect(await again.get("begun")).toMatchObject({ status: "cancelled" });
  await bench.closeAll();
  for (const table of decoys) expect(await database.query(`select * from public.${table}`)).toEqual([]);
  expect(
    await database.query("select count(*)::int as n from pg_class where relnamespace = 'public'::regnamespace"),
  ).toEqual([{ n: decoys.length + 1 }]);
  expect(await database.query("select nspname from pg_namespace where nspname = 'rubicon'")).toEqual([]);
});

test("MIG-3: two schemas of one database see neither each other's runs nor notifications, workers nor locks", async () => {
  await using bench = await TroubleBench.open();
  const ran: string[] = [];
  const saga = (schema: string) =>
    defineSaga({
      name: "hello",
      version: 1,
      steps: [
        step({
          name: "S1",
          run: async (_context: object) => {
            ran.push(schema);
          },
          nothingToUndo: true,
        }),
      ],
    });
  const open = async (schema: string) => {
    const its = saga(schema);
    const options = {
      sagas: [its],
      database: bench.database.url,
      schema,
      migrate: true,
      worker: { ...quickWorker, poll: 30_000 },
    };
    return { its, executor: await durableExecutor(options) };
  };
  const [one, two] = await Promise.all([open("one"), open("two")]);
  try {
    const heard: string[] = [];
    const listener = await bench.database.connect();
    listener.on("notification", ({ channel }) => void heard.push(channel));
    for (const schema of ["one", "two"]) await listener.query(`listen ${channelOf(schema)}`);
    const run = await one.executor.start(one.its, undefined, { id: "same" });
    await run.outcome({ timeout: "10s" });
    expect(await two.executor.get("same")).toBeUndefined();
    expect((await two.executor.list()).runs).toEqual([]);
    expect(ran).toEqual(["one"]);
    await until("it was told of", () => heard.length > 0);
    expect(new Set(heard)).toEqual(new Set([channelOf("one")]));
    expect(channelOf("two")).not.toBe(channelOf("one"));
    expect(
      (await (await two.executor.start(two.its, undefined, { id: "same" })).outcome({ timeout: "10s" })).status,
    ).toBe("completed");
    expect(ran).toEqual(["one", "two"]);
    const channels = await bench.database.query(
      "select count(distinct classid)::int as n from pg_locks where locktype = 'advisory' and granted",
    );
    expect(channels).toEqual([{ n: 2 }]);
    expect(one.executor.health).toMatchObject({ firm: true });
  } finally {
    await one.executor.close();
    await two.executor.close();
  }
});
