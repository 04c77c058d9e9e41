import { describe, expect, test } from "vitest";
import { z } from "zod";
import { gate, until } from "../support/until.js";
import { aborted, kindsOf, rejection, stop, uniqueName } from "./executor/bench.js";
import { down, terminal } from "./executor/bodies.js";
import { onOneDatabase } from "./executor/together.js";

const db = onOneDatabase();

describe("a db.client that knows no saga", () => {
  test("sees and stops what others run, and is woken when it ends", async () => {
    const bench = db.bench();
    let reason: any;
    const saga = bench.saga([
      bench.step("S1", {
        run: async (_, { signal }) => {
          reason = await aborted(signal);
          throw reason;
        },
      }),
    ]);
    const executor = await bench.executor([saga]);
    const { id } = await executor.start(saga, { n: 1 });
    await until("S1 runs", () => bench.outside.count("S1") === 1);
    const wait = (await db.client.find(id))!.outcome({ timeout: "20s" });
    expect(await db.client.get(id)).toMatchObject({ status: "running", step: "S1", input: { n: 1 } });
    const askedAt = Date.now();
    expect(await stop(db.client, id)).toMatchObject({ verdict: "cancelling" });
    expect((await wait).status).toBe("cancelled");
    expect(Date.now() - askedAt).toBeLessThan(2_000);
    expect(reason.reason).toBe("cancelled");
    expect((await db.client.list({ saga: saga.name })).runs).toMatchObject([{ id, status: "cancelled" }]);
    expect(await kindsOf(db.client, id)).toContain("step_compensated");
  });

  test("retries and settles, from shape and journal alone", async () => {
    const bench = db.bench();
    let mended = false;
    const saga = bench.saga([
      bench.pivot("P", { retry: { maxAttempts: 1 }, run: down }),
      bench.forward("S2", { run: ({ chargeId }) => (mended ? { shipped: chargeId } : terminal()()) }),
    ]);
    const { id, outcome } = await bench.run(saga);
    expect(outcome.status).toBe("in_doubt");
    await db.client.resolve(id, { step: "P", as: "done", output: { chargeId: "c1" }, by: "ana" });
    const handle = (await db.client.find(id))!;
    expect((await handle.outcome({ timeout: "20s" })).status).toBe("forward_incomplete");
    mended = true;
    await db.client.retry(id, { by: "ana" });
    expect(await handle.outcome({ timeout: "20s" })).toEqual({
      status: "completed",
      output: { chargeId: "c1", shipped: "c1" },
    });
  });

  test("closes at once, also while its connections are being opened", async () => {
    for (let round = 0; round < 5; round += 1) {
      const openedAt = Date.now();
      const brief = await db.starter([]);
      await brief.close();
      expect(Date.now() - openedAt).toBeLessThan(2_000);
    }
  });

  test("can start nothing", async () => {
    const bench = db.bench();
    expect(await rejection(db.client.start(bench.saga([bench.step("S1")]), {}))).toMatchObject({
      code: "saga.unknown",
    });
  });
});

describe("a run that no live worker can take", () => {
  test("VER-1: of another shape: it reads as blocked, with the difference, runs nothing, and goes on where the shape is", async () => {
    const bench = db.bench();
    const name = uniqueName("renamed");
    const [v1, v2] = [
      bench.saga([bench.step("reserve"), bench.step("ship")], { name }),
      bench.saga([bench.step("hold"), bench.step("ship")], { name }),
    ];
    const { id } = await (await db.starter([v1])).start(v1, {});
    const deployed = await db.worker([v2]);
    await until("it is blocked", async () => (await db.client.get(id))?.status === "blocked");
    expect((await deployed.get(id))!.blocked).toEqual(['step 1: "reserve" is now "hold"']);
    expect((await db.client.list({ status: "blocked", saga: name })).runs).toMatchObject([{ id, status: "blocked" }]);
    expect((await db.client.list({ status: "pending", saga: name })).runs).toEqual([]);
    expect(bench.outside.calls).toEqual([]);
    await db.worker([v1]);
    expect((await (await db.client.find(id))!.outcome({ timeout: "20s" })).status).toBe("completed");
    expect(bench.outside.order()).toEqual(["reserve", "ship"]);
  });

  test("VER-3: what was done under the old shape is undone by nobody else", async () => {
    const bench = db.bench();
    const name = uniqueName("shortened");
    const [hold, v2] = [gate(), bench.saga([bench.step("S1"), bench.step("S3", { run: terminal() })], { name })];
    const v1 = () =>
      bench.saga(
        [
          bench.step("S1"),
          bench.step("S2"),
          bench.step("S3", { timeout: 400, grace: 0, run: () => hold.promise.then(terminal()) }),
        ],
        {
          name,
        },
      );
    const old = v1();
    const first = await db.worker([old]);
    const { id } = await first.start(old, {});
    await until("S3 runs", () => bench.outside.count("S3") === 1);
    await first.close({ grace: 0 });
    await db.worker([v2]);
    await until("it is blocked", async () => (await db.client.get(id))?.status === "blocked");
    expect(bench.outside.order().filter((call) => call.startsWith("C"))).toEqual([]);
    hold.open();
    await db.worker([v1()]);
    expect((await (await db.client.find(id))!.outcome({ timeout: "20s" })).status).toBe("failed");
    expect(bench.outside.order().filter((call) => call.startsWith("C"))).toEqual(["C3", "C2", "C1"]);
  });

  test("every verb works on it: it is cancelled at once", async () => {
    const bench = db.bench();
    const saga = bench.saga([bench.step("S1")]);
    const { id } = await (await db.starter([saga])).start(saga, {});
    await db.worker([bench.saga([bench.step("S9")])]);
    await until("it is blocked", async () => (await db.client.get(id))?.status === "blocked");
    expect((await db.client.get(id))!.blocked).toEqual([`no live worker has saga "${saga.name}"`]);
    expect(await stop(db.client, id)).toMatchObject({ verdict: "cancelled" });
    expect((await db.client.get(id))!.status).toBe("cancelled");
  });

  test("SER-16: because its values are in a codec's format that the worker does not have: untouched, and told", async () => {
    const bench = db.bench();
    const reverse = (text: string) => [...text].reverse().join("");
    const codec = { format: "reversed", encode: reverse, decode: reverse };
    const saga = bench.saga([bench.step("S1", { run: ({ card }) => ({ last: card.slice(-2) }) })]);
    const { id } = await (await db.starter([saga], { codec })).start(saga, { card: "4242" });
    const without = await db.worker([saga]);
    await until("it was given back", async () => (await db.client.get(id))?.status === "waiting");
    expect(await without.get(id)).toMatchObject({ status: "blocked", blocked: [expect.stringContaining("reversed")] });
    expect((await without.list({ saga: saga.name })).runs).toHaveLength(1);
    expect(bench.outside.calls).toEqual([]);
    await without.close();
    const having = await db.worker([saga], { codec });
    await having.retry(id, { by: "ana" }).catch(() => {});
    expect(await having.get(id)).toMatchObject({ input: { card: "4242" } });
    expect((await having.get(id))!.status).not.toBe("blocked");
  });

  test("because a schema accepts its input no longer: blocked, and no attempt is used up", async () => {
    const bench = db.bench();
    const name = uniqueName("stricter");
    const version = (input: z.ZodType) => bench.saga([bench.step("S1")], { name, input });
    const before = version(z.object({ quantity: z.number() }));
    const { id } = await (await db.starter([before])).start(before, { quantity: -1 });
    const stricter = await db.worker([version(z.object({ quantity: z.number().positive() }))]);
    await until("it was given back", async () => (await db.client.get(id))?.status === "waiting");
    const view = (await stricter.get(id))!;
    expect(view).toMatchObject({ status: "blocked", attempts: 0 });
    expect(view.blocked![0]).toMatch(/^the input no longer fits its schema: \$\.quantity: /);
    expect(bench.outside.calls).toEqual([]);
  });
});
