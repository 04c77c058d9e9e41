// WHOSE RUNS ARE WHOSE, on one database (design 1.9): what a client sees and touches, and whom a worker serves.

import { child, type DurableExecutor, TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { initialState } from "../../src/core/state.js";
import { PgJournal } from "../../src/journal/pg-journal.js";
import { openDatabase } from "../../src/store/db.js";
import { registerWorker, retireWorker } from "../../src/store/workers.js";
import { gate, until } from "../support/until.js";
import { kindsOf, rejection, stop, uniqueName } from "./executor/bench.js";
import { onOneDatabase } from "./executor/together.js";

const db = onOneDatabase();
const by = "ana@shop.example";
const tenants = ["a", "b", "acme/eu", ""];

describe("tenants", () => {
  test("TEN-1: one worker drives all tenants' runs of one id, each under a key of its own, and each waiter gets its own", async () => {
    const bench = db.bench();
    const hold = gate();
    const saga = bench.saga([bench.step("S1", { run: ({ of }) => hold.promise.then(() => ({ was: of })) })]);
    await db.worker([saga], { tenant: "a" });
    const clients = await Promise.all(tenants.map((tenant) => db.starter([saga], { tenant })));
    const id = uniqueName("order");
    const runs = await Promise.all(clients.map((client, index) => client.start(saga, { of: tenants[index] }, { id })));
    expect(runs.map(({ created }) => created)).toEqual([true, true, true, true]);
    const ends = runs.map((run) => run.outcome({ timeout: "20s" }));
    await until("all run", () => bench.outside.count("S1") === tenants.length);
    hold.open();
    expect(await Promise.all(ends)).toEqual(tenants.map((of) => ({ status: "completed", output: { was: of } })));
    const keys = bench.outside.calls.map(({ key }) => key).sort();
    expect(keys).toEqual([`${id}/S1`, `a/${id}/S1/`, `acme%2Feu/${id}/S1/`, `b/${id}/S1/`].sort());
    for (const [index, client] of clients.entries()) {
      expect((await client.get(id))!.input).toEqual({ of: tenants[index] });
      expect((await client.list({ saga: saga.name })).runs).toHaveLength(1);
    }
  });

  test("TEN-1: nobody else sees, stops, retries or settles a run that is under way, by any verb", async () => {
    const bench = db.bench();
    const hold = gate();
    const saga = bench.saga([
      bench.step("S1", {
        run: async (_, { note }) => {
          note("a's secret");
          await hold.promise;
        },
      }),
    ]);
    const worker = await db.worker([saga], { tenant: "b" });
    const a = await db.starter([saga], { tenant: "a" });
    const id = uniqueName("order");
    const run = await a.start(saga, {}, { id });
    await until("S1 runs", () => bench.outside.count("S1") === 1);
    for (const stranger of [worker, db.client]) {
      expect(await stranger.get(id)).toBeUndefined();
      expect(await stranger.find(id)).toBeUndefined();
      expect((await stranger.list({ saga: saga.name })).runs).toEqual([]);
      expect(await stop(stranger, id)).toEqual({ verdict: "not_found" });
      const notFound = { code: "run.not_found", message: `there is no run "${id}"` };
      expect(await rejection(stranger.history(id))).toMatchObject(notFound);
      expect(await rejection(stranger.retry(id, { by }))).toMatchObject(notFound);
      expect(await rejection(stranger.resolve(id, { step: "S1", as: "done", by }))).toMatchObject(notFound);
    }
    // The same id of one's own shows nothing of theirs.
    await worker.start(saga, {}, { id, startAt: new Date(Date.now() + 3_600_000) });
    expect(await worker.get(id)).not.toHaveProperty("note");
    expect(await stop(worker, id)).toMatchObject({ verdict: "cancelled" });
    hold.open();
    expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
    expect(await kindsOf(a, id)).toEqual(["step_completed", "finished"]);
  });

  test("TEN-1: a run that ends wakes no other tenant's waiter for that id into an answer", async () => {
    const bench = db.bench();
    const hold = gate();
    const saga = bench.saga([bench.step("S1", { run: ({ of }) => (of === "b" ? hold.promise : undefined) })]);
    await db.worker([saga]);
    const [a, b] = [await db.starter([saga], { tenant: "a" }), await db.starter([saga], { tenant: "b" })];
    const id = uniqueName("order");
    const slow = await b.start(saga, { of: "b" }, { id });
    let ended = false;
    const waiting = slow.outcome({ timeout: "20s" }).then((end) => {
      ended = true;
      return end;
    });
    const quick = await a.start(saga, { of: "a" }, { id });
    expect((await quick.outcome({ timeout: "20s" })).status).toBe("completed");
    expect(await b.get(id)).toMatchObject({ status: "running" });
    expect(ended).toBe(false);
    hold.open();
    expect((await waiting).status).toBe("completed");
  });
});

describe("a worker of some tenants", () => {
  test("takes up theirs and nobody else's, `execute` of its own process included; what no worker serves reads as blocked", async () => {
    const bench = db.bench();
    const saga = bench.saga([bench.step("S1")]);
    const only = await db.worker([saga], { tenant: "b", worker: { poll: 50, tenants: ["a", ""] } });
    const a = await db.starter([saga], { tenant: "a" });
    const none = await db.starter([saga]);
    const left = await only.start(saga, {}, { id: uniqueName("order") });
    const executed = only.execute(saga, {}, { timeout: "20s" });
    for (const client of [a, none])
      expect((await (await client.start(saga, {})).outcome({ timeout: "20s" })).status).toBe("completed");
    expect(await only.get(left.id)).toMatchObject({
      status: "blocked",
      blocked: ['no live worker serves tenant "b"'],
    });
    expect(bench.outside.count("S1")).toBe(2);
    await db.worker([saga], { worker: { poll: 50, tenants: ["b"] } });
    expect((await left.outcome({ timeout: "20s" })).status).toBe("completed");
    await executed;
    expect(bench.outside.count("S1")).toBe(4);
    expect((await only.get(left.id))!.status).toBe("completed");
  });

  test("leaves a dead worker's run of another tenant to who serves that one", async () => {
    const bench = db.bench();
    const saga = bench.saga([bench.step("S1")]);
    const database = openDatabase({ database: db.database.url });
    const journal = new PgJournal({ database, tenant: "b" });
    const dead = await registerWorker(database, { host: "h", pid: 1, registered: "[]", leaseMs: 30_000, now: null });
    const b = await db.starter([saga], { tenant: "b" });
    const id = uniqueName("order");
    const { input, ...start } = { runId: id, saga: saga.name, version: 1, shape: saga.shape, priority: 0, input: {} };
    const made = await b.start(saga, input, { startAt: new Date(Date.now() + 3_600_000) });
    const like = (await journal.find(made.id))!;
    const entry = { kind: "taken_up", worker: dead, token: "t", crash: false } as const;
    const { header } = await journal.start(
      { ...start, input: like.input, inputDigest: like.inputDigest },
      { entry, nonce: "n" },
    );
    expect([header.tenant, initialState(header.shape, header.startAt).owner]).toEqual(["b", undefined]);
    await retireWorker(database, dead, null);
    const only = (await db.worker([saga], { worker: { poll: 50, tenants: ["a"] } })) as DurableExecutor;
    const looks = new Set<number>();
    await until("it has looked twice", () => looks.add(Number(only.health!.ticks.recovery ?? 0)).size > 2);
    expect(await kindsOf(b, id)).toEqual([]);
    expect((await b.history(id)).map(({ entry: each }) => each.kind)).toEqual(["taken_up"]);
    await db.worker([saga], { worker: { poll: 50, tenants: ["b"] } });
    expect((await (await b.find(id))!.outcome({ timeout: "20s" })).status).toBe("completed");
    await journal.close();
    await database.close();
  });

  test("a child is of its parent's tenant, whoever drives it: its key, its signal and its undoing too", async () => {
    const bench = db.bench();
    const inner = bench.saga([bench.step("S1"), bench.step("S2")]);
    const declined = () => {
      throw new TerminalError("declined");
    };
    const outer = bench.saga([
      (child as any)({ name: "kid", saga: inner, input: () => ({}) }),
      bench.step("S3", { run: declined }),
    ]);
    await db.worker([outer]);
    const [acme, globex] = [
      await db.starter([outer], { tenant: "acme" }),
      await db.starter([outer], { tenant: "globex" }),
    ];
    const id = uniqueName("order");
    const run = await acme.start(outer, {}, { id });
    expect((await run.outcome({ timeout: "20s" })).status).toBe("failed");
    expect((await acme.get(`${id}/kid`))!.status).toBe("cancelled");
    for (const other of [globex, db.client]) expect(await other.get(`${id}/kid`)).toBeUndefined();
    const keys = bench.outside.calls.filter(({ step }) => step === "S1").map(({ key }) => key);
    expect(keys).toEqual([`acme/${id}/kid/S1/`, `acme/${id}/kid/S1/compensate/`]);
  });
});
