// Workers that die around a firing: real children, real SIGKILL. Whoever is left fires, once.

import { firingOf } from "rubicon-saga";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lookEveryMs } from "../../src/worker/firing.js";
import { CrashBench } from "../support/crash-bench.js";
import { until } from "../support/until.js";

let bench: CrashBench;

beforeEach(async () => {
  bench = await CrashBench.open();
});

afterEach(() => bench[Symbol.asyncDispose]());

const minute = 60_000;

/** The runs of the schedule's firings, by the instants that they are for, with how often their step was called. */
async function fired(id: string): Promise<{ readonly at: number; readonly calls: number }[]> {
  const { runs } = await bench.client.list({ saga: "one", limit: 1_000 });
  return runs
    .map((run) => ({ run, firing: firingOf(run.id) }))
    .filter(({ firing }) => firing?.schedule === id)
    .map(({ run, firing }) => ({
      at: firing!.scheduledFor.getTime(),
      calls: bench.outside.calls.filter((call) => call.runId === run.id).length,
    }))
    .sort((a, b) => a.at - b.at);
}

/** A schedule of every minute that is due next at `at`. */
async function everyMinute(id: string, at: number, options: object = {}): Promise<void> {
  await bench.client.schedules.put({ id, target: bench.saga("one"), every: "1m", ...options } as never);
  await bench.client.schedules.pause(id);
  await bench.database.query(
    "update rubicon.schedules set next_due_at = to_timestamp($2::float8 / 1000), paused = false where id = $1",
    [id, at],
  );
}

const databaseNow = async () =>
  Number((await bench.database.query("select extract(epoch from clock_timestamp()) * 1000 as now"))[0]!.now);

describe("schedulers that die", () => {
  test("CRN-4: one of two is killed 200 ms before a firing: the other fires it, at most one pass late, once", async () => {
    const [killed] = await bench.workers(2);
    const dueAt = Math.ceil(await databaseNow()) + 1_500;
    await everyMinute("minutely", dueAt);
    // Both hear of it: a put of another one says that something may be due sooner.
    await bench.client.schedules.put({ id: "other", target: bench.saga("one"), every: "1h" } as never);
    await until("200 ms before it", async () => (await databaseNow()) >= dueAt - 200);
    await killed!.kill();
    await until("it was fired", async () => (await fired("minutely"))[0]?.calls === 1);
    const [run] = await bench.database.query(
      "select extract(epoch from created_at) * 1000 as at from rubicon.runs where run_id like 'minutely@%'",
    );
    expect(Number(run!.at) - dueAt).toBeGreaterThanOrEqual(0);
    expect(Number(run!.at) - dueAt).toBeLessThan(lookEveryMs);
    expect(await fired("minutely")).toEqual([{ at: dueAt, calls: 1 }]);
    expect((await bench.client.schedules.get("minutely"))!.nextFiring!.getTime()).toBe(dueAt + minute);
  });

  test("CRN-4: all are down for 3 min 30 s: `once` makes up for the newest, `all` for each, `skip` for none; the last firing is in the database", async () => {
    const worker = await bench.worker();
    await worker.kill();
    // Four firings have gone by: 3 min 30 s, 2 min 30 s, 1 min 30 s and 30 s ago.
    const firstAt = Math.floor(await databaseNow()) - 3.5 * minute;
    for (const missed of ["once", "all", "skip"]) await everyMinute(missed, firstAt, { missed });
    await bench.workers(2);
    const at = (...minutes: number[]) => minutes.map((each) => ({ at: firstAt + each * minute, calls: 1 }));
    const moved = async (id: string) =>
      (await bench.client.schedules.get(id))!.nextFiring!.getTime() > firstAt + 3 * minute;
    for (const id of ["once", "all", "skip"]) await until(`${id} was looked at`, () => moved(id));
    await until("all have run", () => bench.outside.count("S1") >= 5);
    expect(await fired("once")).toEqual(at(3));
    expect(await fired("all")).toEqual(at(0, 1, 2, 3));
    expect(await fired("skip")).toEqual([]);
    const kept = await bench.database.query(
      "select id, (extract(epoch from last_due_at) * 1000)::float8 as last, (extract(epoch from next_due_at) * 1000)::float8 as next from rubicon.schedules order by id",
    );
    const [newest, next] = [firstAt + 3 * minute, firstAt + 4 * minute];
    expect(kept).toEqual([
      { id: "all", last: newest, next },
      { id: "once", last: newest, next },
      { id: "skip", last: null, next },
    ]);
  });

  test("CRN-4: one is killed between moving the schedule and starting its run: neither happened, and the next one fires it once", async () => {
    const dueAt = Math.floor(await databaseNow()) - 1_000;
    await everyMinute("minutely", dueAt);
    const lock = await bench.database.connect();
    await lock.query("begin");
    await lock.query("lock table rubicon.runs in share mode");
    const killed = await bench.worker();
    await until("it is in the middle", async () => {
      const waiting = await bench.database.query(
        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into \"rubicon\".runs%'",
      );
      return waiting.length > 0;
    });
    await killed.kill();
    await lock.query("commit");
    await until("its connections are gone", async () => {
      const others = await bench.database.query(
        "select 1 from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
      );
      return others.length === 0;
    });
    const between = await fired("minutely");
    const { nextFiring, lastFiring } = (await bench.client.schedules.get("minutely"))!;
    // The server may have finished the statement before it noticed; but then it has undone it with the connection.
    expect(between).toEqual([]);
    expect(nextFiring!.getTime()).toBe(dueAt);
    expect(lastFiring).toBeUndefined();
    await bench.worker();
    await until("it was fired", async () => (await fired("minutely"))[0]?.calls === 1);
    expect(await fired("minutely")).toEqual([{ at: dueAt, calls: 1 }]);
  });
});
