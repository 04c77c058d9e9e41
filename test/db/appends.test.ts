// Appending on a real Postgres: who gets a number, what a batch may not do to its neighbours, answers that were lost
// (design 1.2, 3.2; evidence/postgres.md).

import { afterAll, beforeAll, expect, test } from "vitest";
import { Batcher } from "../../src/store/batcher.js";
import { appendRow, appendRows, type NewRow } from "../../src/store/entries.js";
import { readNonces, rowsAfter } from "../../src/store/journal-rows.js";
import { wireTo } from "./proxy.js";
import { change, lockWaiters, newRow, type TestStore, testStore } from "./store.js";

let store: TestStore;
beforeAll(async () => {
  store = await testStore();
});
afterAll(() => store.close());

const numbersOf = async (run: string) =>
  (await rowsAfter(store.database, run, 0)).map((row) => [row.number, row.nonce]);
const fast = { lockTimeoutMs: 0, now: null };

test("a number is given once: of two writers one is appended, and the other finds it taken", async () => {
  const run = await store.run();
  const batchers = [new Batcher(store.database), new Batcher(store.open())];
  const offers = batchers.map((batcher, index) => batcher.offer(newRow({ run, number: 1, nonce: `n${index}` })));
  const kinds = (await Promise.all(offers)).map((offered) => offered.kind);
  expect(kinds.toSorted()).toEqual(["appended", "taken"]);
  expect(await numbersOf(run)).toEqual([[1, `n${kinds.indexOf("appended")}`]]);
  await Promise.all(batchers.map((batcher) => batcher.close()));
});

test("two offers of one number in one batch are told apart by nonce: a loser's change is not the winner's", async () => {
  for (const [first, second] of [
    ["a", undefined],
    [undefined, "b"],
    ["a", "b"],
  ]) {
    const run = await store.run();
    const rows = [first, second].map((status) =>
      newRow({ run, number: 1, ...(status && { change: change({ status }) }) }),
    );
    const appended = await appendRows(store.database, rows, fast);
    expect(appended.size).toBe(1);
    const winner = rows.find((row) => appended.has(row.nonce))!;
    const [row] = await store.fresh.query("select status from rubicon.runs where id = $1", [run]);
    expect(row).toEqual({ status: winner.change?.status ?? "pending" });
  }
});

test("offers of one run in one process go one after the other, and its row shows the last one", async () => {
  const run = await store.run();
  const batcher = new Batcher(store.database);
  const offers = Array.from({ length: 20 }, (_, index) =>
    batcher.offer(newRow({ run, number: index + 1, change: change({ status: `s${index + 1}` }) })),
  );
  expect((await Promise.all(offers)).every((offered) => offered.kind === "appended")).toBe(true);
  const [row] = await store.fresh.query("select status from rubicon.runs where id = $1", [run]);
  expect(row).toEqual({ status: "s20" });
  await batcher.close();
});

test("a loser's change never reaches the run's row", async () => {
  const run = await store.run();
  await appendRow(store.database, newRow({ run, number: 1, change: change({ status: "first" }) }), fast);
  const late = newRow({ run, number: 1, change: change({ status: "late", claim: "ended" }) });
  expect(await appendRow(store.database, late, fast)).toBeUndefined();
  expect(
    (await appendRows(store.database, [late, newRow({ run: await store.run(), number: 1 })], fast)).has(late.nonce),
  ).toBe(false);
  const [row] = await store.fresh.query("select status, state from rubicon.runs where id = $1", [run]);
  expect(row).toEqual({ status: "first", state: 0 });
});

/** Two transactions over the runs A and B, each touching journal and run row, released together. */
async function race(statements: (run: string, other: string) => string[]): Promise<unknown[]> {
  const [a, b] = [await store.run(), await store.run()];
  const clients = await Promise.all([store.fresh.connect(), store.fresh.connect()]);
  const failures: unknown[] = [];
  await Promise.all(clients.map((client) => client.query("begin; set local deadlock_timeout = '100ms'")));
  const [first, second] = [statements(a, b), statements(b, a)];
  for (let step = 0; step < first.length; step += 1) {
    const answers = [clients[0]!.query(first[step]!), clients[1]!.query(second[step]!)];
    for (const answer of answers) answer.catch((error) => failures.push(error));
    await Promise.race([Promise.allSettled(answers), lockWaiters(await store.fresh.connect(), 1)]);
    if (step === first.length - 1) await Promise.allSettled(answers);
  }
  await Promise.all(clients.map((client) => client.query("rollback").then(() => client.end())));
  return failures;
}

test("the harm: journal first and run rows second in one place, the other way round in another, is a deadlock", async () => {
  const journal = (run: string) =>
    `insert into rubicon.journal (run, number, kind, format, payload, writer, nonce, at) values (${run}, 1, 'x', 'x', 'x', 'x', 'x', now())`;
  const row = (run: string) => `update rubicon.runs set status = 'x' where id = ${run}`;
  // One writes a's journal and then a's row; the other, over the same runs, a's row and then a's journal.
  const failures = await race((run, other) =>
    BigInt(run) < BigInt(other) ? [journal(run), row(run)] : [row(other), journal(other)],
  );
  expect(failures.map((error: any) => error.code)).toEqual(["40P01"]);
});

test("rows first, in id order, then inserts: batches over the same runs in any order never deadlock", async () => {
  const runs = await Promise.all(Array.from({ length: 30 }, () => store.run()));
  const shuffled = (rows: readonly string[], seed: number) =>
    rows
      .map((run, index) => ({ run, key: (index * 7919 + seed * 104_729) % 101 }))
      .sort((a, b) => a.key - b.key)
      .map(({ run }) => run);
  const databases = Array.from({ length: 4 }, () => store.open());
  for (let round = 1; round <= 30; round += 1) {
    const changed = round % 2 === 0 ? { change: change() } : {};
    // One try each: a deadlock is transient, and would be hidden by trying again.
    const answers = databases.map((database, index) => {
      const rows = shuffled(runs, index + round).map((run) => newRow({ run, number: round, ...changed }));
      return appendRows({ run: (statement, values) => database.once(statement, values) }, rows, fast);
    });
    const won = (await Promise.all(answers)).reduce((sum, each) => sum + each.size, 0);
    expect(won).toBe(runs.length);
  }
});

test("an open transaction that holds one run's number holds up that run alone", async () => {
  const runs = await Promise.all(Array.from({ length: 50 }, () => store.run()));
  const holder = await store.fresh.connect();
  await holder.query("begin");
  await holder.query(
    `insert into rubicon.journal (run, number, kind, format, payload, writer, nonce, at) values (${runs[7]}, 1, 'x', 'x', 'x', 'x', 'theirs', now())`,
  );
  const batcher = new Batcher(store.database);
  const settled = new Set<string>();
  const offers = runs.map(async (run) => {
    const offered = await batcher.offer(newRow({ run, number: 1, change: change() }));
    settled.add(run);
    return offered.kind;
  });
  await Promise.all(offers.filter((_, index) => index !== 7));
  expect(settled.has(runs[7]!)).toBe(false);
  // The flusher itself is free as well.
  expect((await batcher.offer(newRow({ run: await store.run(), number: 1 }))).kind).toBe("appended");
  await holder.query("commit");
  expect(await offers[7]).toBe("taken");
  await batcher.close();
});

test("the holder of a number rolls back: who waited for it gets it", async () => {
  const run = await store.run();
  const holder = await store.fresh.connect();
  await holder.query("begin");
  await holder.query(
    `insert into rubicon.journal (run, number, kind, format, payload, writer, nonce, at) values (${run}, 1, 'x', 'x', 'x', 'x', 'theirs', now())`,
  );
  const batcher = new Batcher(store.database);
  const offer = batcher.offer(newRow({ run, number: 1 }));
  await lockWaiters(await store.fresh.connect(), 1);
  await holder.query("rollback");
  expect((await offer).kind).toBe("appended");
  await batcher.close();
});

test("SER-7, SER-9: a row that the database refuses fails alone, its neighbours in the batch are stored", async () => {
  const runs = await Promise.all(Array.from({ length: 20 }, () => store.run()));
  const batcher = new Batcher(store.database);
  const offers = runs.map((run, index) =>
    batcher.offer(newRow({ run, number: 1, payload: index === 5 ? "a\0b" : "[]" })),
  );
  const outcomes = await Promise.allSettled(offers);
  expect(outcomes.filter((outcome) => outcome.status === "fulfilled")).toHaveLength(19);
  expect(outcomes[5]).toMatchObject({ status: "rejected", reason: { code: "store.rejected" } });
  expect(await numbersOf(runs[5]!)).toEqual([]);
  await batcher.close();
});

test("an append whose answer was lost, and that lands later, is known as appended and stands once", async () => {
  const wire = await wireTo(store.fresh.url);
  const database = store.open({ database: wire.url });
  const batcher = new Batcher(database);
  const run = await store.run();
  await batcher.offer(newRow({ run, number: 1 }));
  wire.cutWhenSending("lost-answer", { arrivesAfterMs: 300 });
  const offered = await batcher.offer(newRow({ run, number: 2, nonce: "lost-answer" }));
  expect(offered).toMatchObject({ kind: "appended", row: { nonce: "lost-answer" } });
  // The first try arrives now, after the second one: at a number that is taken, by itself.
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(await numbersOf(run)).toEqual([
    [1, expect.anything()],
    [2, "lost-answer"],
  ]);
  await batcher.close();
  await wire.close();
});

test("the harm: reading right after a lost answer finds nothing, and the row lands all the same", async () => {
  const wire = await wireTo(store.fresh.url);
  const database = store.open({ database: wire.url });
  const run = await store.run();
  wire.cutWhenSending("reads-too-early", { arrivesAfterMs: 200 });
  await expect(
    database.once(
      () => `insert into rubicon.journal (run, number, kind, format, payload, writer, nonce, at)
    values (${run}, 1, 'x', 'x', 'x', 'x', 'reads-too-early', now())`,
      [],
    ),
  ).rejects.toThrow();
  expect((await readNonces(store.database, [{ run, number: 1 }])).size).toBe(0);
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect((await readNonces(store.database, [{ run, number: 1 }])).size).toBe(1);
  await wire.close();
});

test("a batch whose answer was lost is settled row by row: ours, another's, and none twice", async () => {
  const wire = await wireTo(store.fresh.url);
  const batcher = new Batcher(store.open({ database: wire.url }));
  const runs = await Promise.all(Array.from({ length: 10 }, () => store.run()));
  await appendRow(store.database, newRow({ run: runs[3]!, number: 1 }), fast);
  const gate = batcher.offer(newRow({ run: await store.run(), number: 1 }));
  wire.cutWhenSending("lost-batch-0", { arrivesAfterMs: 0 });
  const offers = runs.map((run, index) =>
    batcher.offer(newRow({ run, number: 1, nonce: `lost-batch-${index}`, change: change({ status: "won" }) })),
  );
  await gate;
  const kinds = (await Promise.all(offers)).map((offered) => offered.kind);
  expect(kinds).toEqual(runs.map((_, index) => (index === 3 ? "taken" : "appended")));
  for (const [index, run] of runs.entries()) expect(await numbersOf(run)).toHaveLength(index === 3 ? 1 : 1);
  const [count] = await store.fresh.query(
    "select count(*)::int as n from rubicon.runs where status = 'won' and id = any($1)",
    [runs],
  );
  expect(count).toEqual({ n: 9 });
  await batcher.close();
  await wire.close();
});

test("while the database is away offers wait; when it is back each is settled", async () => {
  const wire = await wireTo(store.fresh.url);
  const batcher = new Batcher(store.open({ database: wire.url }));
  const runs = await Promise.all(Array.from({ length: 5 }, () => store.run()));
  await batcher.offer(newRow({ run: runs[0]!, number: 1 }));
  wire.down();
  const offers = Promise.all(runs.map((run) => batcher.offer(newRow({ run, number: run === runs[0] ? 2 : 1 }))));
  await new Promise((resolve) => setTimeout(resolve, 300));
  wire.heal();
  expect((await offers).map((offered) => offered.kind)).toEqual(runs.map(() => "appended"));
  await batcher.close();
  await wire.close();
});

test("a batcher that is closed without a database gives its offers up, coded", async () => {
  const wire = await wireTo(store.fresh.url);
  const batcher = new Batcher(store.open({ database: wire.url }));
  wire.down();
  const offer = batcher.offer(newRow({ run: await store.run(), number: 1 }));
  const closed = batcher.close(100);
  await expect(offer).rejects.toMatchObject({ code: "store.unavailable" });
  await closed;
  await wire.close();
});

test("an append to a run that was removed is told from one that lost its number", async () => {
  const run = await store.run();
  await store.fresh.query("delete from rubicon.runs where id = $1", [run]);
  const batcher = new Batcher(store.database);
  const gone = { code: "store.run_gone" };
  await expect(batcher.offer(newRow({ run, number: 1, change: change() }))).rejects.toMatchObject(gone);
  const [first, present] = [await store.run(), await store.run()];
  const gate = batcher.offer(newRow({ run: first, number: 1 }));
  // While that one is on its way these gather.
  const inBatch = [run, present].map((key) => batcher.offer(newRow({ run: key, number: 1, change: change() })));
  await gate;
  const [lost, kept] = await Promise.allSettled(inBatch);
  expect(lost).toMatchObject({ status: "rejected", reason: gone });
  expect(kept).toMatchObject({ status: "fulfilled" });
  expect(await numbersOf(run)).toEqual([]);
  await batcher.close();
});

test("stamps come from the row that brought them, and no later append moves them", async () => {
  const run = await store.run();
  const first = (await appendRow(
    store.database,
    newRow({ run, number: 1, change: change({ cancelRequested: true }) }),
    fast,
  ))!;
  const second = (await appendRow(
    store.database,
    newRow({ run, number: 2, change: change({ cancelRequested: true, cancelRefused: true }) }),
    fast,
  ))!;
  await appendRow(store.database, newRow({ run, number: 3, change: change() }), fast);
  const [row] = await store.fresh.query(
    `select floor(extract(epoch from cancel_requested_at) * 1000)::float8 as requested, floor(extract(epoch from cancel_refused_at) * 1000)::float8 as refused
     from rubicon.runs where id = $1`,
    [run],
  );
  expect(row).toEqual({ requested: first.at, refused: second.at });
});

test("whoever writes to a run that another drives is told whom to wake; the owner's own writes wake nobody", async () => {
  const run = await store.run();
  const owned = change({ claim: "owned", owner: "token", ownerWorker: "7" });
  const pokedBy = async (row: Partial<NewRow> & { number: number }) =>
    (await appendRow(store.database, newRow({ run, change: owned, ...row }), fast))?.poked;
  expect(await pokedBy({ number: 1, writer: "token" })).toBeUndefined();
  expect(await pokedBy({ number: 2, writer: "ana" })).toBe("7");
  const [row] = await store.fresh.query(
    "select owner, owner_worker::text, poke, state from rubicon.runs where id = $1",
    [run],
  );
  expect(row).toEqual({ owner: "token", owner_worker: "7", poke: 1, state: 2 });
});

test("the end of a run that somebody waits for says so, and a reopened run has no end any more", async () => {
  const run = await store.run();
  await store.fresh.query("update rubicon.runs set awaited = true where id = $1", [run]);
  const ended = change({
    claim: "ended",
    status: "in_doubt",
    owed: ["a"],
    error: "{}",
    output: { format: "f", text: "o" },
  });
  const appended = await appendRow(store.database, newRow({ run, number: 1, change: ended }), fast);
  expect(appended?.awaited).toBe(true);
  const read = () =>
    store.fresh.query(
      "select state, status, owed, error, output, ended_at is not null as ended from rubicon.runs where id = $1",
      [run],
    );
  expect(await read()).toEqual([
    { state: 3, status: "in_doubt", owed: '["a"]', error: "{}", output: "o", ended: true },
  ]);
  await appendRow(store.database, newRow({ run, number: 2, change: change() }), fast);
  expect(await read()).toEqual([{ state: 0, status: "running", owed: null, error: null, output: null, ended: false }]);
});

test("1.3: a parent that parks where its child has ended meanwhile is due, and its writer is told so", async () => {
  const far = Date.now() + 3_600_000;
  for (const together of [false, true]) {
    const [parent, child] = [await store.run(), await store.run()];
    const owned = { claim: "owned", owner: "t1" } as const;
    await appendRow(store.database, newRow({ run: parent, number: 1, writer: "t1", change: change(owned) }), fast);
    const ends = newRow({ run: child, number: 1, change: change({ claim: "ended", status: "completed", parent }) });
    const parks = newRow({ run: parent, number: 2, writer: "t1", change: change({ dueAt: far }) });
    const offers = together ? [[ends, parks]] : [[ends], [parks]];
    const appended = [];
    for (const rows of offers) appended.push(...(await appendRows(store.database, rows, fast)).values());
    expect(appended.find(({ nonce }) => nonce === parks.nonce)).toMatchObject({ claimable: true });
    const [row] = await store.fresh.query("select state from rubicon.runs where id = $1", [parent]);
    expect(row).toEqual({ state: 0 });
  }
  const run = await store.run();
  const parks = newRow({ run, number: 1, change: change({ dueAt: far }) });
  expect(await appendRow(store.database, parks, fast)).not.toHaveProperty("due");
});
