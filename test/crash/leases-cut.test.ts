// A worker that is cut off from the database: for an instant, for longer than its lease, in the middle of a claim (design
// 3.3). Beside each rule the harm that it averts, told by the rule that one would write first.

import type { DurableExecutor } from "rubicon-saga";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Wire, wireTo } from "../db/proxy.js";
import { ToldBench } from "../support/told-bench.js";
import { gate, until } from "../support/until.js";

let bench: ToldBench;
let wire: Wire;

beforeEach(async () => {
  bench = await ToldBench.open();
  wire = await wireTo(bench.database.url);
});

afterEach(async () => {
  wire.heal();
  await bench[Symbol.asyncDispose]();
  await wire.close();
});

const worker = { slots: 5, lease: 6_000, beat: 300, poll: 100 };
const lockClass = `hashtext('rubicon-saga worker "rubicon"')`;
const lockHolders = `select pid from pg_locks where locktype = 'advisory' and classid = ${lockClass}::oid and objsubid = 2
  and granted and database = (select oid from pg_database where datname = current_database())`;

/** Whom a look would have called dead by the rule "a lock that is free is a worker that is dead", from now until `stop`. */
async function naiveLooks() {
  const observer = await bench.database.connect();
  const called = new Set<string>();
  let stopped = false;
  const looking = (async () => {
    while (!stopped) {
      const { rows } = await observer.query(
        `select w.id::text as id from rubicon.workers w join rubicon.worker_locks k on k.worker = w.id
         where w.dead_at is null and not exists (select 1 from pg_locks l where l.locktype = 'advisory' and l.granted
           and l.classid = ${lockClass}::oid and l.objsubid = 2 and l.objid = w.id::oid)`,
      );
      for (const { id } of rows) called.add(id);
    }
  })();
  return {
    called,
    stop: async () => {
      stopped = true;
      await looking;
    },
  };
}

const deaths = () => bench.database.query("select id from rubicon.workers where dead_at is not null");

describe("the connection that holds the lock is ended", () => {
  test("of a living worker: nobody takes its runs, what is under way goes on, and nothing is begun until it is held again", async () => {
    const held = gate();
    bench.outside.behave = async (call) => {
      if (call.runId === "under-way" && call.step === "S1") await held.promise;
    };
    const executor = await bench.here({ worker });
    const { worker: id } = executor.health!;
    const first = await bench.client.start(bench.saga("told"), undefined as never, { id: "under-way" });
    await until("it is in S1", () => bench.outside.count("S1") === 1);
    await bench.worker({ worker: { ...worker, slots: 1 }, sagas: "crash/told-sagas.ts" });
    const naive = await naiveLooks();
    const thief = await bench.database.connect();
    // As if the old backend lingered: the lock is not to be had for a while.
    const [{ pid }] = (await thief.query(`${lockHolders} and objid = $1::bigint::oid`, [id])).rows as [{ pid: number }];
    await thief.query("select pg_terminate_backend($1)", [pid]);
    await until("by the naive rule it is dead", () => naive.called.has(id));
    await naive.stop();
    await until("it holds its lock again", () => executor.health!.firm);
    await thief.query(`select pg_terminate_backend(pid) from (${lockHolders} and objid = $1::bigint::oid) l`, [id]);
    await thief.query(`select pg_advisory_lock(${lockClass}, $1)`, [id]);
    await until("it knows", () => !executor.health!.firm);
    const second = await executor.execute(bench.saga("no-grace"), undefined as never, { timeout: 10 }).catch((e) => e);
    expect(second).toMatchObject({ code: "run.wait_timeout" });
    expect(bench.outside.calls.filter((call) => call.pid === process.pid)).toHaveLength(1);
    await thief.query(`select pg_advisory_unlock(${lockClass}, $1)`, [id]);
    held.open();
    expect((await first.outcome({ timeout: "20s" })).status).toBe("completed");
    expect(bench.outside.order("under-way")).toEqual(["S1", "S2"]);
    const entries = (await bench.client.history("under-way")).map(({ entry }) => entry);
    expect(entries.filter((entry) => entry.kind === "taken_up")).toHaveLength(1);
    expect(executor.health!.worker).toBe(id);
    expect(await deaths()).toEqual([]);
  });

  test("of all workers at once, again and again: no living one is declared dead", async () => {
    const held = gate();
    bench.outside.behave = (call) => (call.step === "S1" ? held.promise : undefined);
    const executors = await Promise.all(Array.from({ length: 4 }, () => bench.here({ worker })));
    const runs = await Promise.all(Array.from({ length: 12 }, () => bench.start("told")));
    await until("all are in S1", () => bench.outside.count("S1") === 12);
    const ids = executors.map((executor) => executor.health!.worker);
    const naive = await naiveLooks();
    for (let cut = 0; cut < 4; cut += 1) {
      await bench.database.query(`select pg_terminate_backend(pid) from (${lockHolders}) l`);
      await until("all hold their locks again", () => executors.every((executor) => executor.health!.firm));
      // Long enough for two looks of each.
      await new Promise((resolve) => setTimeout(resolve, 700));
    }
    await naive.stop();
    expect(naive.called.size).toBeGreaterThan(0);
    held.open();
    for (const run of runs) expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
    expect(bench.outside.count("S1")).toBe(12);
    expect(executors.map((executor) => executor.health!.worker)).toEqual(ids);
    expect(await deaths()).toEqual([]);
  });
});

describe("the database is out of reach for longer than the lease", () => {
  const short = { slots: 5, lease: 1_500, beat: 200, poll: 100 };

  /** A run in S1, which then can't be renewed; resolves when its worker has given it up by itself. */
  async function cutOff(
    saga: "told" | "once",
    told: object,
  ): Promise<{ executor: DurableExecutor; stoppedAfterMs: number }> {
    bench.tell("S1", { loops: 200, ...told }, 1);
    const executor = await bench.here({ database: wire.url, worker: short });
    await bench.client.start(bench.saga(saga), undefined as never, { id: "r" });
    await until("it is in S1", () => bench.outside.count("S1") === 1);
    const { beat } = executor.health!.ticks;
    wire.down();
    await until("the body is aborted", () => bench.outside.count("S1-aborted") === 1);
    return { executor, stoppedAfterMs: Date.now() - beat!.getTime() };
  }

  const outcome = async () => (await bench.client.find("r"))!.outcome({ timeout: "20s" });

  test("its attempts are aborted as lost before the lease has run out; what one returns is offered, and the number decides", async () => {
    const { executor, stoppedAfterMs } = await cutOff("told", { returns: true });
    expect(stoppedAfterMs).toBeLessThan(short.lease + 200);
    expect(bench.seen("S1-aborted")).toMatchObject([{ reason: "lost" }]);
    expect(executor.health!.firm).toBe(false);
    wire.heal();
    expect((await outcome()).status).toBe("completed");
    expect(bench.outside.order("r").filter((call) => call !== "S1-aborted")).toEqual(["S1", "S2"]);
    // Nobody took it: it was never another's, and nothing is in doubt.
    const entries = (await bench.client.history("r")).map(({ entry }) => entry);
    expect(entries.filter((entry) => entry.kind === "taken_up")).toHaveLength(1);
  });

  test("what was aborted and did not return may have happened: the run goes on with that on its record, uncounted", async () => {
    await cutOff("told", {});
    wire.heal();
    expect((await outcome()).status).toBe("completed");
    expect(bench.outside.of("S1").map(({ attempt }) => attempt)).toEqual([1, 1]);
    const entries = (await bench.client.history("r")).map(({ entry }) => entry);
    expect(entries.filter((entry) => entry.kind === "taken_up")).toMatchObject([
      { crash: false },
      { crash: false, from: expect.any(String) },
    ]);
  });

  test("and where it may not be begun twice, it is not", async () => {
    await cutOff("once", {});
    wire.heal();
    expect(await outcome()).toMatchObject({ status: "failed", error: { step: "S1" } });
    expect(bench.outside.order("r").filter((call) => call !== "S1-aborted")).toEqual(["S1", "C1"]);
    expect(bench.seen("S1", "compensate")).toEqual([{ outcome: "in_doubt" }]);
  });

  test("if another took the run meanwhile, what is in hand is dropped", async () => {
    await cutOff("told", { returns: true });
    const other = await bench.worker({ worker: short });
    expect((await outcome()).status).toBe("completed");
    wire.heal();
    await until("it knows", () => bench.lines.some(({ message }) => message.includes("it was declared dead")));
    const done = (await bench.client.history("r")).filter(({ entry }) => entry.kind === "step_completed");
    expect(done.map(({ output }) => output)).toEqual([{ pidS1: other.pid }, { pidS2: other.pid }]);
  });
});

test("a claim whose answer was lost is adopted by its worker: driven once, and nothing is in doubt", async () => {
  await bench.here({ database: wire.url, worker: { ...worker, poll: 20_000 } });
  await new Promise((resolve) => setTimeout(resolve, 300));
  wire.cutWhenSending("taken_up", { arrivesAfterMs: 200 });
  const run = await bench.client.start(bench.saga("once"), undefined as never, { id: "r" });
  // Without adoption this is where it would stay: owned, by who does not know.
  await until("it is claimed, and nobody drives it", async () => {
    const [row] = await bench.database.query("select state from rubicon.runs where state = 2");
    return row !== undefined && bench.outside.calls.length === 0;
  });
  expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
  expect(bench.outside.order("r")).toEqual(["S1", "S2"]);
  expect(bench.outside.calls.map(({ attempt }) => attempt)).toEqual([1, 1]);
  const entries = (await bench.client.history("r")).map(({ entry }) => entry);
  expect(entries.filter((entry) => entry.kind === "taken_up")).toMatchObject([{ crash: false }]);
  expect(entries[0]).not.toHaveProperty("from");
});
