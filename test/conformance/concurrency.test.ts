// LIMITS OVER SEVERAL WORKERS: real executors on one database, that race, crash and are deployed anew (design 1.9).

import { type DurableExecutor, defineSaga, durableExecutor, pivot } from "rubicon-saga";
import { describe, expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../src/store/db.js";
import { registerWorker, retireWorker } from "../../src/store/workers.js";
import { gate, until } from "../support/until.js";
import { anything, type Bench, uniqueName } from "./executor/bench.js";
import { onOneDatabase } from "./executor/together.js";

const db = onOneDatabase();

/** Notes how many runs of a key are between first and last step at once. */
function counting(bench: Bench, concurrency: object, name = uniqueName("limited")) {
  const now = new Map<string, number>();
  const most = new Map<string, number>();
  const move = (of: string, by: number) => {
    now.set(of, (now.get(of) ?? 0) + by);
    most.set(of, Math.max(most.get(of) ?? 0, now.get(of)!));
  };
  const saga = bench.saga(
    [
      bench.step("S1", { run: async ({ of }) => move(of, 1) }),
      bench.step("S2", { run: () => new Promise<void>((resolve) => setImmediate(resolve)) }),
      bench.step("S3", { run: async ({ of }) => move(of, -1) }),
    ],
    { name, concurrency },
  );
  return { saga, most };
}

describe("over several workers", () => {
  test("no key ever has more runs than the limit, whoever takes them, and all of them end", async () => {
    const bench = db.bench();
    const { saga, most } = counting(bench, { limit: 2, key: ({ of }: { of: string }) => of });
    await Promise.all([1, 2, 3].map(() => db.worker([saga], { worker: { slots: 5, poll: 100 } })));
    const client = await db.starter([saga]);
    const keys = ["a", "b", "c", "d", "e"];
    const runs = await client.startMany(
      saga,
      Array.from({ length: 200 }, (_, index) => ({ of: keys[index % keys.length]!, n: index })),
    );
    await Promise.all(runs.map((run) => run.outcome({ timeout: "40s" })));
    expect([...most.values()].every((each) => each <= 2)).toBe(true);
    expect(Math.max(...most.values())).toBe(2);
    expect(bench.outside.count("S3")).toBe(200);
  });

  test("FAIR-1: neither a backlog of one key nor one of an unlimited saga holds up the others", async () => {
    const bench = db.bench();
    const hold = gate();
    const limited = bench.saga([bench.step("S1", { run: ({ of }) => (of === "noisy" ? hold.promise : undefined) })], {
      concurrency: { limit: 1, key: ({ of }: { of: string }) => of },
    });
    const plain = bench.saga([bench.step("S2")]);
    const client = await db.starter([limited, plain]);
    const noisy = await client.startMany(limited, Array(5_000).fill({ of: "noisy" }));
    await db.worker([limited, plain], { worker: { slots: 4, poll: 100 } });
    await until("the first runs", () => bench.outside.count("S1") === 1);
    const startedAt = Date.now();
    const quiet = await client.start(limited, { of: "quiet" });
    const other = await client.start(plain, {});
    for (const run of [quiet, other]) expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
    expect(Date.now() - startedAt).toBeLessThan(1_000);
    expect(bench.outside.count("S1")).toBe(2);
    await Promise.all(noisy.slice(1).map((run) => client.requestCancel(run.id, { by: "the test" })));
    hold.open();
    expect((await noisy[0]!.outcome({ timeout: "20s" })).status).toBe("completed");
  });

  test("a run whose worker died keeps its place until another worker has brought it to its end", async () => {
    const bench = db.bench();
    const order: string[] = [];
    const saga = bench.saga([bench.step("S1", { run: ({ of }) => void order.push(of) })], {
      concurrency: { limit: 1 },
    });
    const client = await db.starter([saga]);
    const [first, second] = await client.startMany(saga, [{ of: "first" }, { of: "second" }]);
    // The first one is a dead worker's, as a crash leaves it.
    const database = openDatabase({ database: db.database.url });
    onTestFinished(() => database.close());
    const dead = await registerWorker(database, { host: "h", pid: 1, registered: "[]", leaseMs: 30_000, now: null });
    const entry = { kind: "taken_up", worker: dead, token: "lost", crash: false };
    await db.database.query(
      `with r as (update rubicon.runs set state = 2, placed = true, owner = 'lost', owner_worker = ${dead}, status = 'running'
        where run_id = $1 returning id)
      insert into rubicon.journal (run, number, kind, format, payload, writer, nonce, at)
      select id, 1, 'taken_up', 'entries', $2, 'lost', 'lost', now() from r`,
      [first!.id, JSON.stringify([entry])],
    );
    const worker = await db.worker([saga], { worker: { poll: 20 } });
    const claims = () => Number((worker as DurableExecutor).health!.ticks.claim ?? 0);
    const looks = new Set<number>();
    await until("it has looked for work a few times", () => looks.add(claims()).size > 5);
    expect(await client.get(second!.id)).toMatchObject({ status: "pending" });
    expect(order).toEqual([]);
    await retireWorker(database, dead, null);
    for (const run of [first!, second!]) expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
    expect(order).toEqual(["first", "second"]);
  });

  test("a run that is handed over keeps its place", async () => {
    const bench = db.bench();
    const hold = gate();
    const order: string[] = [];
    const saga = bench.saga(
      [
        bench.step("S1", {
          timeout: "1h",
          run: async ({ of }, { signal, attempt }) => {
            order.push(`${of} ${attempt}`);
            if (of !== "first" || order.length > 1) return;
            await Promise.race([
              hold.promise,
              new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason))),
            ]);
          },
        }),
      ],
      { concurrency: { limit: 1 } },
    );
    const leaving = await db.worker([saga]);
    const [first, second] = await leaving.startMany(saga, [{ of: "first" }, { of: "second" }]);
    await until("the first runs", () => order.length === 1);
    await leaving.close({ grace: 0 });
    expect(await db.client.get(second!.id)).toMatchObject({ status: "pending" });
    await db.worker([saga]);
    for (const { id } of [first!, second!])
      expect((await (await db.client.find(id))!.outcome({ timeout: "20s" })).status).toBe("completed");
    expect(order.map((each) => each.split(" ")[0])).toEqual(["first", "first", "second"]);
  });
});

describe("a deploy", () => {
  const waiting = (bench: Bench, name: string, hold: Promise<unknown>, concurrency: object | undefined) =>
    bench.saga([bench.step("S1", { run: async () => void (await hold) })], {
      name,
      ...(concurrency === undefined ? {} : { concurrency }),
    });

  test("may raise the limit: what is queued gets the new places", async () => {
    const [bench, hold, name] = [db.bench(), gate(), uniqueName("raised")];
    const before = await db.worker([waiting(bench, name, hold.promise, { limit: 1 })]);
    const saga = waiting(bench, name, hold.promise, { limit: 3 });
    const runs = await (await db.starter([saga])).startMany(saga, Array(5).fill({}));
    await until("one runs", () => bench.outside.count("S1") === 1);
    await db.worker([saga]);
    await until("three run", () => bench.outside.count("S1") === 3);
    hold.open();
    for (const run of runs) expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
    await before.close();
  });

  test("may take the limit away: what was queued before keeps to it, later starts do not", async () => {
    const [bench, hold, name] = [db.bench(), gate(), uniqueName("freed")];
    const saga = waiting(bench, name, hold.promise, { limit: 1, key: () => "all" });
    const runs = [...(await (await db.starter([saga])).startMany(saga, Array(5).fill({})))];
    const unlimited = waiting(bench, name, hold.promise, undefined);
    const after = await db.worker([unlimited]);
    runs.push(...(await after.startMany(unlimited, Array(3).fill({}))));
    await until("one and all later ones run", () => bench.outside.count("S1") === 4);
    hold.open();
    for (const run of runs) expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
  });

  test("may bring a limit: runs from before hold no place, and workers from before keep to it", async () => {
    const [bench, hold, name] = [db.bench(), gate(), uniqueName("limited")];
    const before = waiting(bench, name, hold.promise, undefined);
    const worker = (await db.worker([before])) as DurableExecutor;
    const old = await worker.startMany(before, [{}, {}]);
    await until("both run", () => bench.outside.count("S1") === 2);
    const saga = waiting(bench, name, hold.promise, { limit: 1 });
    const runs = await (await db.worker([saga])).startMany(saga, [{}, {}]);
    await until("one of the new ones runs", () => bench.outside.count("S1") >= 3);
    const looks = new Set<number>();
    await until("the old worker has looked for more", () => looks.add(Number(worker.health!.ticks.claim)).size > 3);
    expect(bench.outside.count("S1")).toBe(3);
    hold.open();
    for (const run of [...old, ...runs]) expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
  });
});

test("a run that has waited long is claimed as soon as it has its place, not at the next look from the very beginning", async () => {
  const bench = db.bench();
  const saga = bench.saga([bench.step("S1")], { concurrency: { limit: 1 } });
  const worker = await db.worker([saga]);
  await (await worker.start(saga, {})).outcome({ timeout: "20s" });
  const startedAt = Date.now();
  // What was claimed meanwhile ranks a minute later. From the very beginning is looked every three seconds.
  const old = { startAt: new Date(startedAt - 60_000) };
  for (let index = 0; index < 5; index += 1)
    expect((await (await worker.start(saga, {}, old)).outcome({ timeout: "20s" })).status).toBe("completed");
  expect(Date.now() - startedAt).toBeLessThan(6_000);
});

test("tenants have places of their own", async () => {
  const bench = db.bench();
  const hold = gate();
  const saga = bench.saga([bench.step("S1", { run: () => hold.promise as Promise<never> })], {
    concurrency: { limit: 1 },
  });
  await db.worker([saga]);
  for (const tenant of ["a", "b"]) await (await db.starter([saga], { tenant })).startMany(saga, [{}, {}]);
  await until("one of each runs", () => bench.outside.count("S1") === 2);
  hold.open();
  await until("all have run", () => bench.outside.count("S1") === 4);
});

test("a saga whose last step is transactional gives its place back to the other workers, too", async () => {
  const name = uniqueName("paid");
  const pay = pivot({
    name: "pay",
    transaction: true,
    run: async (_: object, { tx }) => void (await tx.query("select 1")),
  });
  const saga = defineSaga({ name, version: 1, input: anything, steps: [pay], concurrency: { limit: 1 } });
  const options = { sagas: [saga], database: db.database.url, worker: { poll: "1h" } } as const;
  await using _one = await durableExecutor(options);
  await using client = await durableExecutor({ ...options, worker: false });
  const runs = await client.startMany(saga, Array(6).fill({}));
  for (const run of runs) expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
});
