// The rows of runs on a real Postgres: idempotent starts, the caller's own transaction, lists (design 1.9, 3.1).

import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { RunStart } from "../../src/journal/journal.js";
import { PgJournal, shapeHash } from "../../src/journal/pg-journal.js";
import { listRuns } from "../../src/store/run-list.js";
import { findRunById, startRun } from "../../src/store/runs.js";
import { borrowedRunner } from "../../src/store/sql.js";
import { buffersOf } from "./buffers.js";
import { wireTo } from "./proxy.js";
import { lockWaiters, newRun, type TestStore, testStore } from "./store.js";

let store: TestStore;
beforeAll(async () => {
  store = await testStore();
});
beforeEach(() => store.fresh.query("truncate rubicon.runs, rubicon.journal restart identity"));
afterAll(() => store.close());

const runStart = (given: Partial<RunStart> = {}): RunStart => ({
  runId: "r",
  saga: "s",
  version: 1,
  shape: { steps: [{ name: "a", kind: "compensatable", undone: true, transactional: false }] },
  input: { format: "f", text: "x" },
  inputDigest: "d",
  priority: 0,
  ...given,
});

describe("starting", () => {
  test("IDM-3: fifty starts of one id make one run, and no unique violation is seen", async () => {
    const databases = Array.from({ length: 5 }, () => store.open());
    const starts = Array.from({ length: 50 }, (_, index) =>
      startRun(databases[index % 5]!, newRun({ runId: "same" }), null),
    );
    const started = await Promise.all(starts);
    expect(started.filter((each) => each.created)).toHaveLength(1);
    expect(new Set(started.map((each) => each.run.key)).size).toBe(1);
  });

  test("the first start's version, input and options come back, whatever the second one said", async () => {
    const first = await startRun(store.database, newRun({ version: 1, priority: 5, startAt: 1_000 }), null);
    const second = await startRun(store.database, newRun({ version: 2, inputDigest: "other", priority: 0 }), null);
    expect(second).toMatchObject({
      created: false,
      run: { key: first.run.key, version: 1, inputDigest: "digest", priority: 5, startAt: 1_000 },
    });
  });

  test("TEN-1: ids are a tenant's own", async () => {
    const a = await startRun(store.database, newRun({ tenant: "a" }), null);
    const b = await startRun(store.database, newRun({ tenant: "b" }), null);
    expect([a.created, b.created, a.run.key === b.run.key]).toEqual([true, true, false]);
    expect(await findRunById(store.database, "c", "run")).toBeUndefined();
    expect((await listRuns(store.database, { tenant: "a", limit: 10 })).map((run) => run.key)).toEqual([a.run.key]);
  });

  test("in the caller's transaction the run exists if and only if that commits", async () => {
    const journal = new PgJournal({ database: store.database });
    for (const end of ["rollback", "commit"]) {
      const client = await store.fresh.connect();
      await client.query("begin");
      expect((await journal.startIn(client, runStart())).created).toBe(true);
      expect(await journal.load("r")).toBeUndefined();
      await client.query(end);
      expect((await journal.load("r")) !== undefined).toBe(end === "commit");
      await client.end();
    }
  });

  test("a start that meets another's open transaction waits for its end, and makes the run if that is undone", async () => {
    const client = await store.fresh.connect();
    await client.query("begin");
    await startRun(borrowedRunner(client, "rubicon"), newRun(), null);
    const waiting = startRun(store.database, newRun(), null);
    await lockWaiters(await store.fresh.connect(), 1);
    await client.query("rollback");
    expect((await waiting).created).toBe(true);
  });

  test("run and first row are written together; a lost answer is told from another's run by the nonce", async () => {
    const wire = await wireTo(store.fresh.url);
    const journal = new PgJournal({ database: store.open({ database: wire.url }) });
    await journal.start(runStart({ runId: "warm" }));
    wire.cutWhenSending("the-lost-nonce", { arrivesAfterMs: 0 });
    const entry = { kind: "taken_up", worker: "7", token: "t", crash: false } as const;
    const started = await journal.start(runStart(), { entry, nonce: "the-lost-nonce" });
    expect(started).toMatchObject({ created: true, row: { number: 1, entries: [entry], nonce: "the-lost-nonce" } });
    const again = await journal.start(runStart(), { entry: { ...entry, token: "u" }, nonce: "another" });
    expect(again.created).toBe(false);
    expect(again.row).toBeUndefined();
    expect((await journal.load("r"))?.rows).toHaveLength(1);
    await wire.close();
  });

  test("SER-7, SER-9: an input whose text holds NUL or half a surrogate pair comes back as it was", async () => {
    const journal = new PgJournal({ database: store.database });
    for (const text of ["a\0b", "\ud800", "xxxxxxxxx\ud83d\ude00", '"\\u0000"', ""]) {
      const input = { format: "custom", text };
      await journal.start(runStart({ runId: `r${text.length}-${text.charCodeAt(0)}`, input }));
      expect((await journal.load(`r${text.length}-${text.charCodeAt(0)}`))?.header.input).toEqual(input);
    }
  });
});

describe("lists", () => {
  test("LSE-10: runs of one instant are paged without skip or repetition, also while others are inserted", async () => {
    const journal = new PgJournal({ database: store.database });
    await store.fresh.query(`insert into rubicon.runs (run_id, saga, version, shape_hash, input, input_format, input_digest, start_at, created_at, status, state, due_at, rank)
      select 'same-' || n, 's', 1, 'shape', '', '', '', t, t, 'pending', 0, t, t
      from generate_series(1, 25) n, (select '2026-01-01 00:00:00.123456Z'::timestamptz as t) t`);
    for (const walk of ["first", "second"]) {
      const seen: string[] = [];
      const sizes: number[] = [];
      let cursor: string | undefined;
      do {
        const page = await journal.list({ limit: 10, ...(cursor === undefined ? {} : { cursor }) });
        const known = page.lines.filter((line) => line.runId.startsWith("same-"));
        seen.push(...known.map((line) => line.runId));
        sizes.push(known.length);
        cursor = page.cursor;
        await journal.start(runStart({ runId: `${walk}-${sizes.length}` }));
      } while (cursor !== undefined && seen.length < 25);
      expect(seen).toEqual(Array.from({ length: 25 }, (_, index) => `same-${25 - index}`));
      if (walk === "first") expect(sizes).toEqual([10, 10, 5]);
    }
  });

  test("SER-6: identities beyond 2^53 are told apart, ordered and paged exactly", async () => {
    await store.fresh.query("alter table rubicon.runs alter column id restart with 9007199254740992");
    const journal = new PgJournal({ database: store.database });
    for (let index = 0; index < 6; index += 1) await journal.start(runStart({ runId: `big-${index}` }));
    const keys = (await listRuns(store.database, { tenant: "", limit: 10 })).map((run) => run.key);
    expect(keys).toEqual([
      "9007199254740997",
      "9007199254740996",
      "9007199254740995",
      "9007199254740994",
      "9007199254740993",
      "9007199254740992",
    ]);
    const first = await journal.list({ limit: 4 });
    const second = await journal.list({ limit: 4, cursor: first.cursor! });
    expect([...first.lines, ...second.lines].map((line) => line.runId)).toEqual([
      "big-5",
      "big-4",
      "big-3",
      "big-2",
      "big-1",
      "big-0",
    ]);
    const { header } = (await journal.load("big-1"))!;
    expect(header.key).toBe("9007199254740993");
    await journal.append({ header, number: 1, nonce: "n", writer: "w", entries: [{ kind: "retried", by: "x" }] });
    expect((await journal.load("big-1"))?.rows).toHaveLength(1);
    expect((await journal.load("big-0"))?.rows).toHaveLength(0);
    await journal.close();
  });

  test("by attributes that few have, costs what those few cost, also in a plan that knows no values", async () => {
    await store.fresh.query(`insert into rubicon.runs (run_id, saga, version, shape_hash, input, input_format, input_digest, start_at, created_at, status, state, due_at, rank, attributes)
      select 'many-' || n, 'saga', 1, 'shape', '', '', '', now(), now(), 'completed', 3, now(), now(), jsonb_build_object('customer', n, 'shop', 's') from generate_series(1, 20000) n`);
    await store.fresh.query("vacuum analyze rubicon.runs");
    const filter = { tenant: "", attributes: '{"customer":17,"shop":"s"}', limit: 50 };
    expect(await listRuns(store.database, filter)).toHaveLength(1);
    expect(await buffersOf(store, (runner) => listRuns(runner, filter))).toBeLessThan(300);
    await store.fresh.query("delete from rubicon.runs where run_id like 'many-%'");
  });

  test("by status, saga and attributes; a cursor that no page gave is refused", async () => {
    const add = (runId: string, saga: string, attributes: string) =>
      startRun(store.database, newRun({ runId, saga, attributes }), null);
    await add("a", "one", '{"city":"Berlin"}');
    await add("b", "two", '{"city":"Oslo"}');
    await store.fresh.query("update rubicon.runs set status = 'in_doubt', state = 3 where run_id = 'b'");
    const ids = async (filter: object) =>
      (await listRuns(store.database, { tenant: "", limit: 10, ...filter })).map((run) => run.runId);
    expect(await ids({})).toEqual(["b", "a"]);
    expect(await ids({ status: ["in_doubt"] })).toEqual(["b"]);
    expect(await ids({ status: ["in_doubt", "pending"] })).toEqual(["b", "a"]);
    expect(await ids({ status: [] })).toEqual([]);
    expect(await ids({ saga: "one" })).toEqual(["a"]);
    expect(await ids({ attributes: '{"city":"Oslo"}' })).toEqual(["b"]);
    const journal = new PgJournal({ database: store.database });
    for (const cursor of ["", "x", "1; drop table runs", "-1"])
      await expect(journal.list({ limit: 1, cursor })).rejects.toMatchObject({ code: "cursor.invalid" });
  });

  test("what needs a person is found among many ended runs without reading them", async () => {
    await store.fresh.query(`insert into rubicon.runs (run_id, saga, version, shape_hash, input, input_format, input_digest, start_at, created_at, status, state, due_at, rank)
      select 'e' || n, 's', 1, 'shape', '', '', '', now(), now(), case n when 7 then 'in_doubt' else 'completed' end, 3, now(), now() from generate_series(1, 20000) n`);
    await store.fresh.query("vacuum analyze rubicon.runs");
    const client = await store.fresh.connect();
    const runner = {
      run: async (statement: (schema: string) => string, values: readonly unknown[]) => {
        const { rows } = await client.query(`explain (analyze, buffers, format json) ${statement("rubicon")}`, [
          ...values,
        ]);
        const { Plan } = rows[0]["QUERY PLAN"][0];
        return [{ buffers: String(Plan["Shared Hit Blocks"] + Plan["Shared Read Blocks"]) }];
      },
    };
    const buffers: string[] = [];
    await listRuns(
      {
        run: async (statement, values) => {
          buffers.push((await runner.run(statement, values))[0]!.buffers);
          return [];
        },
      },
      { tenant: "", status: ["in_doubt", "forward_incomplete"], limit: 50 },
    );
    expect(Number(buffers[0])).toBeLessThan(20);
  });

  test("a run whose shape can't be read spoils no list; loading that run says so", async () => {
    const journal = new PgJournal({ database: store.database });
    const shape = { steps: [{ name: "gone", kind: "pivot", undone: false, transactional: false }] } as const;
    await journal.start(runStart({ runId: "bad", shape }));
    await journal.start(runStart({ runId: "good" }));
    await store.fresh.query("delete from rubicon.shapes where hash = $1", [shapeHash(shape)]);
    expect((await journal.list({ limit: 10 })).lines.map((line) => line.runId)).toEqual(["good", "bad"]);
    await expect(journal.load("bad")).rejects.toMatchObject({ code: "journal.unreadable" });
    expect((await journal.load("good"))?.header.runId).toBe("good");
  });
});

test("a row that can't be read is that run's trouble alone", async () => {
  const journal = new PgJournal({ database: store.database });
  const { header } = await journal.start(runStart());
  await journal.start(runStart({ runId: "other" }));
  await journal.append({ header, number: 1, nonce: "n", writer: "w", entries: [{ kind: "retried", by: "x" }] });
  await store.fresh.query("update rubicon.journal set format = 'from the future'");
  await expect(journal.load("r")).rejects.toMatchObject({
    code: "journal.unreadable",
    message: expect.stringContaining("from the future"),
  });
  expect(await journal.load("other")).toBeDefined();
  await journal.close();
});

test("the user's `pg` type parsers see none of our columns in a borrowed transaction", async () => {
  const client = new pg.Client({
    connectionString: store.fresh.url,
    types: { getTypeParser: (oid: number) => (text: string) => (oid === 25 ? text : "spoilt") } as never,
  });
  await client.connect();
  await client.query("begin");
  const { run } = await startRun(borrowedRunner(client, "rubicon"), newRun(), null);
  expect(run.version).toBe(1);
  await client.query("commit");
  await client.end();
});
