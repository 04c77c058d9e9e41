// Workers on a real Postgres: leases, locks, who is dead, and taking over (design 3.3).

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { claimRuns } from "../../src/store/claims.js";
import { appendRow, type NewRow } from "../../src/store/entries.js";
import { rowsAfter, type StoredRow } from "../../src/store/journal-rows.js";
import { findSilentWorkers, type TakeOverOptions, takeOverRuns } from "../../src/store/recovery.js";
import type { RunRow } from "../../src/store/runs.js";
import type { Runner } from "../../src/store/sql.js";
import {
  beatWorker,
  forgetDeadWorkers,
  holdWorkerLock,
  liveWorkers,
  registerWorker,
  retireWorker,
} from "../../src/store/workers.js";
import { change, eventually, lockWaiters, newRow, type TestStore, testStore } from "./store.js";

let store: TestStore;
beforeAll(async () => {
  store = await testStore();
});
beforeEach(async () => {
  await store.fresh.query("truncate rubicon.runs, rubicon.journal, rubicon.workers, rubicon.worker_locks");
});
afterAll(() => store.close());

const leaseMs = 30_000;
const register = (now: number | null = null) =>
  registerWorker(store.database, { host: "h", pid: 1, registered: "[]", leaseMs, now });
const beat = (worker: string, now: number | null = null) => beatWorker(store.database, { worker, leaseMs, now });
const dead = async (worker: string, now: number | null = null) =>
  (await findSilentWorkers(store.database, { worker, now }))
    .filter(({ why }) => why !== "suspected")
    .map(({ id }) => id);

/** A connection that holds a worker's lock, as a live process does. */
async function hold(worker: string): Promise<{ session: Runner; pid: number; die: () => Promise<void> }> {
  const connection = await store.database.keep();
  expect(await holdWorkerLock(connection, worker)).toBe("held");
  const pid = Number((await connection.raw("select pg_backend_pid() as pid")).rows[0].pid);
  return { session: connection, pid, die: async () => connection.release(true) };
}

async function owned(worker: string, count: number): Promise<string[]> {
  const keys: string[] = [];
  for (let index = 0; index < count; index += 1) keys.push(await store.run({ runId: `${worker}-${index}` }));
  const offers = keys.map((key) => ({ token: `token-${key}`, nonce: `claim-${key}`, payload: "[]" }));
  const groups = [{ saga: "saga", version: 1, shapeHash: "shape" }];
  const claimed = await claimRuns(store.database, {
    worker,
    groups,
    offers,
    format: "test",
    suspects: false,
    now: null,
  });
  expect(claimed).toHaveLength(count);
  return keys;
}

function takeOver(from: string, by: string, given: Partial<TakeOverOptions> = {}) {
  const decide = (run: RunRow, rows: readonly StoredRow[]): NewRow =>
    newRow({
      run: run.key,
      number: (rows.at(-1)?.number ?? 0) + 1,
      kind: "taken_up",
      writer: `taken-${run.key}`,
      change: change({ claim: "owned", owner: `taken-${run.key}`, ownerWorker: by }),
    });
  return takeOverRuns(store.database, { dead: from, limit: 100, except: [], now: null, decide, ...given });
}

describe("beats", () => {
  test("a beat renews the lease; on a row marked dead it is refused", async () => {
    const worker = await register();
    expect(await beat(worker)).toMatchObject({ owned: [] });
    await retireWorker(store.database, worker, null);
    expect(await beat(worker)).toBeUndefined();
  });

  test("LSE-7: leases are compared by the database's clock, whatever a process takes the time to be", async () => {
    const [worker, other] = [await register(), await register()];
    // A process whose own clock is ten minutes fast has nothing to say: no statement takes its time.
    const { now } = Date;
    Date.now = () => now() + 600_000;
    try {
      expect(await dead(other)).toEqual([]);
      expect(await takeOver(worker, other)).toMatchObject({ dead: false });
    } finally {
      Date.now = now;
    }
  });

  test("a beat names the worker's runs that others wrote to", async () => {
    const worker = await register();
    const [key] = await owned(worker, 2);
    const ask = newRow({
      run: key!,
      number: 2,
      writer: "ana",
      change: change({ claim: "owned", owner: `token-${key}`, cancelRequested: true }),
    });
    await appendRow(store.database, ask, { lockTimeoutMs: 0, now: null });
    const pokes = (await beat(worker))!.owned.map((run) => run.pokes);
    expect(pokes.toSorted()).toEqual([0, 1]);
  });

  test("BLT-1: beats are heap-only updates", async () => {
    const worker = await register();
    for (let index = 0; index < 100; index += 1) await beat(worker);
    const stats = await eventually(async () => {
      // The backend that beat keeps its counts to itself for a while.
      await store.database.once(() => "select pg_stat_force_next_flush()::text", []);
      const [row] = await store.fresh.query(
        "select n_tup_upd::int as updates, n_tup_hot_upd::int as hot from pg_stat_user_tables where schemaname = 'rubicon' and relname = 'workers'",
      );
      return row!.updates >= 100 && row;
    });
    expect(stats!.hot / stats!.updates).toBeGreaterThan(0.9);
  });

  test("LSE-9: a thousand claims and ends by token, and not one is taken for another's", async () => {
    const worker = await register();
    for (let round = 0; round < 100; round += 1) {
      const keys = await owned(worker, 10);
      const ends = keys.map((key) =>
        appendRow(
          store.database,
          newRow({
            run: key,
            number: 2,
            writer: `token-${key}`,
            change: change({ claim: "ended", status: "completed" }),
          }),
          { lockTimeoutMs: 0, now: null },
        ),
      );
      expect((await Promise.all(ends)).every((row) => row !== undefined && row.poked === undefined)).toBe(true);
      await store.fresh.query("delete from rubicon.runs");
    }
  });

  test("who is alive is who was not declared dead and whose lease has not run out", async () => {
    const [a, b, c] = [await register(), await register(Date.now() - 60_000), await register()];
    await retireWorker(store.database, c!, null);
    expect((await liveWorkers(store.database, null)).map(({ id }) => id)).toEqual([a]);
    expect(b).not.toBe(a);
  });
});

describe("dead by lease", () => {
  test("a worker whose lease ran out is dead, and all its runs are taken with a row in each journal", async () => {
    const [worker, other] = [await register(), await register()];
    const keys = await owned(worker, 3);
    const later = Date.now() + leaseMs + 1_000;
    await beat(other, later);
    expect(await dead(other)).toEqual([]);
    expect(await dead(other, later)).toEqual([worker]);
    const { taken } = await takeOver(worker, other, { now: later });
    expect(taken.map(({ run }) => run.key)).toEqual(keys);
    for (const key of keys) expect(await rowsAfter(store.database, key, 0)).toHaveLength(2);
    expect(await beat(worker, later)).toBeUndefined();
    expect((await beat(other, later))!.owned.map((run) => run.key).toSorted()).toEqual(keys.toSorted());
  });

  test("as many as the taker has slots; the rest is found again and taken later", async () => {
    const [worker, other] = [await register(), await register()];
    await owned(worker, 5);
    const later = Date.now() + leaseMs + 1_000;
    await beat(other, later);
    expect((await takeOver(worker, other, { now: later, limit: 2 })).taken).toHaveLength(2);
    expect(await dead(other, later)).toEqual([worker]);
    expect((await takeOver(worker, other, { now: later })).taken).toHaveLength(3);
    expect(await dead(other, later)).toEqual([]);
  });

  test("a beat that was faster saves the worker and its runs", async () => {
    const [worker, other] = [await register(), await register()];
    await owned(worker, 1);
    const later = Date.now() + leaseMs + 1_000;
    expect(await dead(other, later)).toContain(worker);
    await beat(worker, later);
    expect(await takeOver(worker, other, { now: later })).toEqual({ dead: false, taken: [], refused: [] });
  });

  test("a beat that comes while the runs are being taken waits, and is refused", async () => {
    const [worker, other] = [await register(), await register()];
    await owned(worker, 1);
    const later = Date.now() + leaseMs + 1_000;
    let late: Promise<unknown> = Promise.resolve();
    const watcher = await store.fresh.connect();
    await takeOver(worker, other, {
      now: later,
      decide: (run, rows) => {
        late = beat(worker, later);
        return newRow({
          run: run.key,
          number: rows.length + 1,
          change: change({ claim: "owned", owner: "x", ownerWorker: other }),
        });
      },
    });
    expect(await late).toBeUndefined();
    await watcher.end();
  });

  test("JRN-3: of two workers that recover at once, each run has one taker", async () => {
    for (let round = 0; round < 10; round += 1) {
      const worker = await register(Date.now() - leaseMs * 2);
      const takers = [await register(), await register()];
      const keys = await Promise.all(
        Array.from({ length: 6 }, (_, index) => store.run({ runId: `r-${round}-${index}` })),
      );
      await store.fresh.query(
        "update rubicon.runs set state = 2, owner = 'gone', owner_worker = $1 where id = any($2)",
        [worker, keys],
      );
      const taken = (await Promise.all(takers.map((taker) => takeOver(worker, taker)))).flatMap((each) => each.taken);
      expect(taken.map(({ run }) => run.key).toSorted()).toEqual(keys.toSorted());
      for (const key of keys) expect(await rowsAfter(store.database, key, 0)).toHaveLength(1);
    }
  });

  test("a run whose number is held by an open transaction, or that can't be read, spoils nobody else's recovery", async () => {
    const [worker, other] = [await register(), await register()];
    const keys = await owned(worker, 4);
    const later = Date.now() + leaseMs + 1_000;
    await beat(other, later);
    const holder = await store.fresh.connect();
    await holder.query("begin");
    await holder.query(
      `insert into rubicon.journal (run, number, kind, format, payload, writer, nonce, at) values (${keys[0]}, 2, 'x', 'x', 'x', 'x', 'x', now())`,
    );
    const result = await takeOver(worker, other, {
      now: later,
      decide: (run, rows) => {
        if (run.key === keys[1]) throw new Error("unreadable");
        return newRow({
          run: run.key,
          number: rows.length + 1,
          change: change({ claim: "owned", owner: "x", ownerWorker: other }),
        });
      },
    });
    expect(result.taken.map(({ run }) => run.key)).toEqual([keys[2], keys[3]]);
    expect(result.refused).toMatchObject([{ key: keys[1], error: { message: "unreadable" } }]);
    await holder.query("rollback");
    const rest = await takeOver(worker, other, { now: later, except: [keys[1]!] });
    expect(rest.taken.map(({ run }) => run.key)).toEqual([keys[0]]);
  });

  test("a run whose row somebody else holds is left for the next look, and not waited for", async () => {
    const [worker, other] = [await register(), await register()];
    const keys = await owned(worker, 3);
    const later = Date.now() + leaseMs + 1_000;
    const holder = await store.fresh.connect();
    await holder.query("begin");
    await holder.query("select 1 from rubicon.runs where id = $1 for update", [keys[1]]);
    expect((await takeOver(worker, other, { now: later })).taken.map(({ run }) => run.key)).toEqual([keys[0], keys[2]]);
    await holder.query("rollback");
    expect((await takeOver(worker, other, { now: later })).taken.map(({ run }) => run.key)).toEqual([keys[1]]);
  });

  test("a zombie's append against the takeover: one of them has the number", async () => {
    for (let round = 0; round < 20; round += 1) {
      const worker = await register();
      const other = await register();
      const [key] = await owned(worker, 1);
      const later = Date.now() + leaseMs + 1_000;
      const zombie = appendRow(store.database, newRow({ run: key!, number: 2, writer: `token-${key}` }), {
        lockTimeoutMs: 0,
        now: null,
      });
      const [late, { taken }] = await Promise.all([zombie, takeOver(worker, other, { now: later })]);
      const numbers = (await rowsAfter(store.database, key!, 0)).map((row) => row.number);
      // Read before the zombie's row: it takes number 2, and the takeover either lost or saw it and took number 3.
      expect(numbers).toEqual(numbers.map((_, index) => index + 1));
      expect(numbers).toHaveLength(1 + (late === undefined ? 0 : 1) + taken.length);
      expect(late !== undefined || taken.length === 1).toBe(true);
    }
  });
});

describe("dead by lock", () => {
  const bySuspicion = async (observer: string) => {
    const first = await dead(observer);
    await new Promise((resolve) => setTimeout(resolve, 550));
    return [first, await dead(observer)];
  };

  test("a killed process is dead after two looks, long before its lease; its runs are taken", async () => {
    const [worker, other] = [await register(), await register()];
    const lock = await hold(worker);
    const keys = await owned(worker, 2);
    expect(await bySuspicion(other)).toEqual([[], []]);
    await store.fresh.query("select pg_terminate_backend($1)", [lock.pid]);
    await eventually(
      async () => (await store.fresh.query("select 1 from pg_locks where pid = $1", [lock.pid])).length === 0,
    );
    expect(await bySuspicion(other)).toEqual([[], [worker]]);
    expect((await takeOver(worker, other)).taken.map(({ run }) => run.key)).toEqual(keys);
    await lock.die();
  });

  test("two looks that are less than half a second apart are one", async () => {
    const [worker, other] = [await register(), await register()];
    const lock = await hold(worker);
    await lock.die();
    await eventually(
      async () => (await store.fresh.query("select 1 from pg_locks where locktype = 'advisory'")).length === 0,
    );
    const now = Date.now();
    for (const sinceFirst of [0, 1, 499]) expect(await dead(other, now + sinceFirst)).toEqual([]);
    expect(await takeOver(worker, other, { now: now + 499 })).toMatchObject({ dead: false });
    expect(await dead(other, now + 500)).toEqual([worker]);
  });

  test("a free lock is no death certificate: whoever beats in between lives", async () => {
    const [worker, other] = [await register(), await register()];
    const lock = await hold(worker);
    await lock.die();
    await eventually(
      async () => (await store.fresh.query("select 1 from pg_locks where locktype = 'advisory'")).length === 0,
    );
    expect(await dead(other)).toEqual([]);
    await beat(worker);
    await new Promise((resolve) => setTimeout(resolve, 550));
    expect(await dead(other)).toEqual([]);
  });

  test("whoever takes the lock again in time lives, and the suspicion is gone", async () => {
    const [worker, other] = [await register(), await register()];
    const lock = await hold(worker);
    await lock.die();
    await eventually(
      async () => (await store.fresh.query("select 1 from pg_locks where locktype = 'advisory'")).length === 0,
    );
    expect(await dead(other)).toEqual([]);
    const again = await hold(worker);
    await new Promise((resolve) => setTimeout(resolve, 550));
    expect(await dead(other)).toEqual([]);
    expect(await takeOver(worker, other)).toMatchObject({ dead: false });
    await again.die();
  });

  test("a worker that takes its lock just before the takeover is spared", async () => {
    const [worker, other] = [await register(), await register()];
    const lock = await hold(worker);
    await owned(worker, 1);
    await lock.die();
    await eventually(async () => (await bySuspicion(other))[1]!.includes(worker));
    // Only the lock, as in the instant between taking it and saying so.
    const session = await store.database.keep();
    await session.raw(
      "select pg_advisory_lock(classid::int, objid::int) from (values (hashtext('rubicon-saga worker \"rubicon\"'), $1::int)) v(classid, objid)",
      [worker],
    );
    expect(await takeOver(worker, other)).toEqual({ dead: false, taken: [], refused: [] });
    session.release(true);
  });

  test("a worker that never held a lock, behind a pooler say, is not suspected", async () => {
    const [worker, other] = [await register(), await register()];
    expect(worker).not.toBe(other);
    expect(await bySuspicion(other)).toEqual([[], []]);
  });

  test("after a restart of the server all locks are free and nobody is dead for it", async () => {
    const [worker, other] = [await register(), await register()];
    const lock = await hold(worker);
    await lock.die();
    await store.fresh.query("update rubicon.worker_locks set server = server - interval '1 hour'");
    expect(await bySuspicion(other)).toEqual([[], []]);
  });

  test("a worker that was declared dead does not get its lock back", async () => {
    const worker = await register();
    await retireWorker(store.database, worker, null);
    const connection = await store.database.keep();
    expect(await holdWorkerLock(connection, worker)).toBe("lost");
    connection.release(true);
  });

  test("while the old connection still holds the lock, a new one is told to try again", async () => {
    const worker = await register();
    const lock = await hold(worker);
    const connection = await store.database.keep();
    expect(await holdWorkerLock(connection, worker)).toBe("busy");
    connection.release(true);
    await lock.die();
  });

  test("a look does not wait for a takeover that holds the row", async () => {
    const [worker, other] = [await register(), await register()];
    const lock = await hold(worker);
    await lock.die();
    const holder = await store.fresh.connect();
    await holder.query("begin");
    await holder.query("select 1 from rubicon.workers where id = $1 for update", [worker]);
    expect(await dead(other)).toEqual([]);
    await expect(lockWaiters(holder, 0)).resolves.toBeUndefined();
    await holder.query("rollback");
  });
});

test("the rows of workers long dead are removed, those that still have runs are not", async () => {
  const [idle, busy, alive] = [await register(), await register(), await register()];
  await owned(busy!, 1);
  const long = Date.now() - 2 * 3_600_000;
  for (const worker of [idle, busy]) await retireWorker(store.database, worker!, long);
  expect(await forgetDeadWorkers(store.database, null)).toBe(1);
  expect(await store.fresh.query("select id::text from rubicon.workers order by id")).toEqual([
    { id: busy },
    { id: alive },
  ]);
});
