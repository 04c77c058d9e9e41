// What a run costs, counted by the server itself: not timed, counted.

import { defineSaga, durableExecutor, pivot, step } from "rubicon-saga";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FreshDatabase, freshDatabase, type SuiteServer, startServer } from "../support/postgres.js";
import { until } from "../support/until.js";

let server: SuiteServer;
let database: FreshDatabase;

beforeAll(async () => {
  server = await startServer({
    settings: { shared_preload_libraries: "pg_stat_statements", "pg_stat_statements.track": "top" },
  });
  database = await freshDatabase(server.url);
  await database.query("create extension pg_stat_statements");
});

afterAll(() => server.stop());

const undoable = (name: string) => step({ name, run: async (_context: object) => {}, compensate: async () => {} });
const five = defineSaga({
  name: "five",
  version: 1,
  steps: [
    undoable("a"),
    undoable("b"),
    pivot({ name: "p", run: async (_context: object) => {} }),
    step({ name: "c", run: async (_context: object) => {} }),
    step({ name: "d", run: async (_context: object) => {} }),
  ],
});

interface Counted {
  readonly query: string;
  readonly calls: number;
}

/** What the server counted since the last reset, our own looking left out. */
async function counted(): Promise<Counted[]> {
  const rows = await database.query<{ query: string; calls: string }>(
    "select s.query, s.calls from pg_stat_statements s join pg_database d on d.oid = s.dbid where d.datname = current_database() and s.query like '%rubicon%'",
  );
  return rows.map(({ query, calls }) => ({ query: query.replace(/\s+/g, " "), calls: Number(calls) }));
}

function calls(statements: readonly Counted[], pattern: RegExp): number {
  return statements.filter(({ query }) => pattern.test(query)).reduce((sum, each) => sum + each.calls, 0);
}

const claim = /from_rank/;
const start = /insert into "rubicon"\.runs/;
const journaled = /insert into "rubicon"\.journal/;
const touchesRuns = /update "rubicon"\.runs/;

test("a five-step saga costs one statement to start, one to claim, five to journal and end, and only the last touches its row", async () => {
  const worker = await durableExecutor({
    sagas: [five],
    database: database.url,
    migrate: true,
    worker: { poll: "1h", beat: "5s" },
  });
  const client = await durableExecutor({ sagas: [five], database: database.url, worker: false });
  // Not counted: what is done once per process, such as keeping the shape.
  const warm = await client.start(five, undefined);
  await until("the first run has ended", async () => (await client.get(warm.id))?.status === "completed");
  await database.query("select pg_stat_statements_reset()");

  const run = await client.start(five, undefined);
  await until("the run has ended", async () => (await client.get(run.id))?.status === "completed");
  const statements = await counted();

  expect(calls(statements, start)).toBe(1);
  // A claim that found something; empty looks are apart.
  expect((await client.history(run.id)).filter(({ entry }) => entry.kind === "taken_up")).toHaveLength(1);
  const appends = statements.filter(({ query }) => journaled.test(query) && !claim.test(query) && !start.test(query));
  expect(appends.reduce((sum, each) => sum + each.calls, 0)).toBe(5);
  const touching = appends.filter(({ query }) => touchesRuns.test(query));
  expect(touching.reduce((sum, each) => sum + each.calls, 0)).toBe(1);
  // Nothing else wrote: the other statements read, beat, look for the dead or find nothing to claim.
  const rest = statements.filter(
    ({ query }) => !start.test(query) && !journaled.test(query) && touchesRuns.test(query),
  );
  expect(rest.filter(({ query }) => !/select id from due/.test(query))).toEqual([]);
  await worker.close();
  await client.close();
});

test("`execute` with a free slot costs no claim: the run and its taking up are one statement", async () => {
  await using worker = await durableExecutor({ sagas: [five], database: database.url, worker: { poll: "1h" } });
  await worker.execute(five, undefined);
  await database.query("select pg_stat_statements_reset()");
  await worker.execute(five, undefined);
  const statements = await counted();
  expect(calls(statements, start)).toBe(1);
  expect(calls(statements, /insert into "rubicon"\.runs.*insert into "rubicon"\.journal/)).toBe(1);
  expect(
    statements
      .filter(({ query }) => journaled.test(query) && !claim.test(query) && !start.test(query))
      .reduce((sum, each) => sum + each.calls, 0),
  ).toBe(5);
});
