// Schedules on Postgres: who fires when several would, what a firing leaves behind when it fails, what a restart and a
// deploy move, and whose they are.

import {
  type DurableExecutor,
  type DurableOptions,
  defineSaga,
  durableExecutor,
  firingOf,
  type SagaExecutor,
  step,
} from "rubicon-saga";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { fireDue } from "../../src/executor/firing.js";
import { openDatabase } from "../../src/store/db.js";
import { nextSchedules } from "../../src/store/schedules.js";
import { PgScheduleBook, recordOf } from "../../src/worker/pg-schedule-book.js";
import { type FreshDatabase, freshDatabase } from "../support/postgres.js";
import { until } from "../support/until.js";

let database: FreshDatabase;
let client: SagaExecutor;
const calls: string[] = [];

const report = defineSaga({
  name: "report",
  version: 1,
  steps: [step({ name: "write", nothingToUndo: true, run: async (_: object, { runId }) => void calls.push(runId) })],
});

beforeAll(async () => {
  database = await freshDatabase();
  client = await open({ worker: false, migrate: true });
});

afterEach(async () => {
  calls.length = 0;
  await database.query("truncate rubicon.schedules");
  await database.query("delete from rubicon.runs");
});

afterAll(async () => {
  await client.close();
  await database.drop();
});

function open(options: Partial<DurableOptions> = {}): Promise<DurableExecutor> {
  return durableExecutor({ sagas: [report], database: database.url, ...options });
}

/** A worker until the end of the test. */
async function worker(options: Partial<DurableOptions> = {}): Promise<DurableExecutor> {
  const executor = await open({ worker: { poll: "100ms" }, ...options });
  onTestFinished(() => executor.close({ grace: 0 }));
  return executor;
}

/** As if it had been put `ms` earlier: its next firing is due by as much sooner. */
async function putBack(id: string, ms: number): Promise<void> {
  await database.query(
    "update rubicon.schedules set next_due_at = next_due_at - $2 * interval '1 millisecond' where id = $1",
    [id, ms],
  );
}

async function runIds(): Promise<string[]> {
  return (await database.query("select run_id from rubicon.runs order by id")).map((row) => row.run_id);
}

const revisions = async () =>
  (await database.query("select revision::int as n from rubicon.schedules")).map((row) => row.n);

const minute = 60_000;

describe("racing workers", () => {
  test("two that race for 200 firings fire each exactly once", async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `s-${index}`);
    for (const id of ids) {
      await client.schedules.put({ id, target: report, every: "1m", missed: "all" });
      // Due 10 minutes ago and 30 s more: ten firings.
      await putBack(id, 10 * minute + 30_000);
    }
    await Promise.all([worker(), worker()]);
    await until("all have run", async () => calls.length >= 200);
    await until(
      "none is under way",
      async () => (await client.list({ status: "completed", limit: 1_000 })).runs.length === 200,
    );
    expect(new Set(calls).size).toBe(200);
    expect(calls).toHaveLength(200);
    const perSchedule = ids.map((id) => calls.filter((runId) => firingOf(runId)?.schedule === id).length);
    expect(perSchedule).toEqual(ids.map(() => 10));
    // Whoever came second wrote nothing.
    expect(await revisions()).toEqual(ids.map(() => 2));
  });

  test("of two that read the same record one moves it, 200 times over", async () => {
    const databases = [openDatabase({ database: database.url }), openDatabase({ database: database.url })];
    onTestFinished(async () => void (await Promise.all(databases.map((each) => each.close()))));
    const books = databases.map((each) => new PgScheduleBook({ database: each, tenant: "", announce: () => {} }));
    for (let index = 0; index < 200; index += 1)
      await client.schedules.put({ id: `s-${index}`, target: report, every: "1m" });
    await database.query("update rubicon.schedules set next_due_at = now() - interval '1 second'");
    const { now, schedules } = await nextSchedules(databases[0]!, 200, null);
    expect(schedules).toHaveLength(200);
    const fired = await Promise.all(
      schedules.map((row) => Promise.all(books.map((book) => fireDue(book, recordOf(row), now)))),
    );
    expect(fired.map(([one, other]) => one! + other!)).toEqual(schedules.map(() => 1));
    expect(await runIds()).toHaveLength(200);
    expect(await revisions()).toEqual(schedules.map(() => 2));
  });

  test("ten workers that declare the same schedule at once put it once", async () => {
    const declares = defineSaga({
      name: "declares",
      version: 1,
      steps: report.steps as never,
      schedules: [{ every: "1h" }],
    });
    const workers = await Promise.all(Array.from({ length: 10 }, () => worker({ sagas: [declares] })));
    expect((await workers[0]!.schedules.list()).map((each) => each.id)).toEqual(["declares"]);
    expect(await revisions()).toEqual([1]);
  });
});

describe("a firing", () => {
  test("is its run and the schedule's next firing together, or neither", async () => {
    await client.schedules.put({ id: "s", target: report, every: "1m" });
    await putBack("s", minute + 1_000);
    await database.query(
      "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = 'P0001'; end $$",
    );
    await database.query("create trigger refuse before insert on rubicon.runs for each row execute function refuse()");
    const errors: unknown[] = [];
    const logger = { debug() {}, info() {}, warn() {}, error: (fields: object) => void errors.push(fields) };
    await worker({ logger });
    await until("it was tried", () => errors.length > 0);
    expect(errors[0]).toMatchObject({ schedule: "s" });
    expect(await revisions()).toEqual([1]);
    expect(await runIds()).toEqual([]);
    await database.query("drop function refuse() cascade");
    await worker();
    await until("it was fired", () => calls.length === 1);
    expect(await revisions()).toEqual([2]);
  });

  test("one that can't be fired keeps no other one waiting", async () => {
    for (const id of ["broken", "well"]) await client.schedules.put({ id, target: report, cron: "0 0 * * *" });
    await database.query("update rubicon.schedules set next_due_at = now() - interval '1 s'");
    await database.query(
      "update rubicon.schedules set cron = 'what?', next_due_at = now() - interval '1 h' where id = 'broken'",
    );
    await worker();
    await until("the other one ran", () => calls.length === 1);
    expect(firingOf(calls[0]!)?.schedule).toBe("well");
  });

  test("whose saga no live worker has starts a run that says so", async () => {
    await client.schedules.put({ id: "s", target: report, every: "1m" });
    await putBack("s", minute);
    await worker({ sagas: [] });
    const runId = await until("it was fired", async () => (await runIds())[0]);
    expect(await client.get(runId)).toMatchObject({
      status: "blocked",
      blocked: ['no live worker has saga "report"'],
    });
    await worker();
    await until("it ran", () => calls.includes(runId));
  });

  test("whose run is there already is that run", async () => {
    const { nextFiring } = await client.schedules.put({ id: "s", target: report, every: "1m" });
    const due = new Date(nextFiring!.getTime() - minute);
    await client.start(report, undefined, { id: `s@${due.toISOString()}` });
    await putBack("s", minute);
    await worker();
    await until("it was fired", async () => (await client.schedules.get("s"))?.lastFiring !== undefined);
    expect((await client.schedules.get("s"))!.lastFiring).toEqual({
      scheduledFor: due,
      runId: `s@${due.toISOString()}`,
    });
    await until("it ran", () => calls.length === 1);
    expect(await runIds()).toHaveLength(1);
  });

  test("keeps an input whose codec makes a text of it that no column can hold", async () => {
    const seen: unknown[] = [];
    const odd = defineSaga({
      name: "odd",
      version: 1,
      input: z.object({ text: z.string() }),
      steps: [
        step({ name: "see", nothingToUndo: true, run: async ({ text }: { text: string }) => void seen.push(text) }),
      ],
    });
    const codec = {
      format: "odd",
      encode: (text: string) => `\0${text}\ud800`,
      decode: (text: string) => text.slice(1, -1),
    };
    const executor = await worker({ sagas: [odd], codec });
    await executor.schedules.put({ id: "s", target: odd, input: { text: "secret" }, every: "1h" });
    expect((await executor.schedules.get("s"))!.input).toEqual({ text: "secret" });
    expect((await client.schedules.get("s"))!.input).toMatchObject({ format: "odd" });
    await (await executor.schedules.trigger("s")).outcome();
    expect(seen).toEqual(["secret"]);
  });
});

describe("a client without a worker", () => {
  test("puts, pauses, resumes and fires; a worker that sleeps until later hears of it", async () => {
    const sleeper = await worker({ worker: { poll: "1h" } });
    await until("it has looked, and sleeps", () => sleeper.health!.ticks.schedules !== undefined);
    const { id } = await client.schedules.put({ id: "s", target: report, every: "1s" });
    await until("it fired", () => calls.length >= 1, 4_000);
    await client.schedules.pause(id);
    await using knowsNothing = await open({ sagas: [], worker: false });
    expect((await knowsNothing.schedules.list()).map((each) => [each.id, each.paused])).toEqual([["s", true]]);
    const run = await knowsNothing.schedules.trigger("s");
    expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
  });

  test("behind a pooler, without LISTEN, firings are found by looking", async () => {
    await worker({ pooled: true });
    await client.schedules.put({ id: "s", target: report, every: "1s" });
    await until("it fired", () => calls.length >= 1);
  });
});

describe("a restart, a deploy", () => {
  const declares = (schedule: object, version = 1) =>
    defineSaga({ name: "declares", version, steps: report.steps as never, schedules: [schedule as never] });
  const shown = async () => (await client.schedules.get("declares"))!;

  test("does not move what did not change, and not what is due but for the timing itself", async () => {
    const restart = async (saga: ReturnType<typeof declares>) =>
      (await open({ sagas: [saga], worker: { poll: "100ms" } })).close({ grace: 0 });
    await restart(declares({ every: "1h" }));
    const first = await shown();
    await restart(declares({ every: "60m" }));
    expect(await shown()).toEqual(first);
    await client.schedules.pause("declares");
    await putBack("declares", 2 * 60 * minute);
    const due = (await database.query("select next_due_at from rubicon.schedules"))[0]!.next_due_at;
    await restart(declares({ every: "1h", overlap: "skip" }, 2));
    expect(await shown()).toMatchObject({ version: 2, overlap: "skip", paused: true });
    expect((await database.query("select next_due_at from rubicon.schedules"))[0]!.next_due_at).toEqual(due);
    await restart(declares({ every: "2h" }, 2));
    expect((await client.schedules.resume("declares")).nextFiring!.getTime()).toBeGreaterThan(Date.now() + 60 * minute);
  });

  test("an input that its saga refuses keeps the worker from starting", async () => {
    const input = {
      "~standard": { version: 1, vendor: "test", validate: () => ({ issues: [{ message: "never" }] }) },
    } as const;
    const saga = defineSaga({
      name: "refuses",
      version: 1,
      input: input as never,
      steps: report.steps as never,
      schedules: [{ every: "1h" }] as never,
    });
    await expect(open({ sagas: [saga] })).rejects.toMatchObject({ code: "input.invalid" });
    const clientOnly = await open({ sagas: [saga], worker: false });
    await clientOnly.close();
  });
});

describe("tenants", () => {
  test("have their own schedules under one id, and their runs are theirs, whichever worker fires", async () => {
    const [one, other] = await Promise.all(["one", "other"].map((tenant) => open({ tenant, worker: false })));
    onTestFinished(async () => void (await Promise.all([one!.close(), other!.close()])));
    await one!.schedules.put({ id: "s", target: report, every: "1m" });
    await putBack("s", minute);
    expect(await other!.schedules.get("s")).toBeUndefined();
    expect(await other!.schedules.list()).toEqual([]);
    expect(await other!.schedules.remove("s")).toBe(false);
    await expect(other!.schedules.trigger("s")).rejects.toMatchObject({ code: "schedule.not_found" });
    await worker();
    await until("it ran", () => calls.length === 1);
    await until("it is completed", async () => (await one!.get(calls[0]!))!.status === "completed");
    expect(await client.get(calls[0]!)).toBeUndefined();
    await other!.schedules.put({ id: "s", target: report, every: "2m" });
    expect((await one!.schedules.get("s"))!.every).toBe("1m");
  });
});

describe("looking for due schedules", () => {
  test("reads a few pages, however many are paused or for later", async () => {
    await database.query(
      `insert into rubicon.schedules (id, saga, version, shape_hash, input, input_format, input_digest, every_ms, missed,
        overlap, paused, next_due_at, created_at, changed_at)
       select 's-' || n, 'report', 1, 'x', '{}', 'x', 'x', 60000, 'once', 'allow', n % 2 = 0, now() + n * interval '1 minute',
         now(), now() from generate_series(1, 20000) n`,
    );
    await database.query("analyze rubicon.schedules");
    const [plan] = await database.query(
      "explain (analyze, buffers, format json) select id from rubicon.schedules s where not s.paused and s.next_due_at is not null order by s.next_due_at limit 200",
    );
    const buffers =
      plan!["QUERY PLAN"][0].Plan["Shared Hit Blocks"] + plan!["QUERY PLAN"][0].Plan["Shared Read Blocks"];
    expect(buffers).toBeLessThan(250);
    expect(JSON.stringify(plan)).toContain("schedules_due");
  });
});
