// RUNS THAT THE CODE OF TODAY CAN'T DRIVE: of another shape, with values it no longer accepts, with rows it can't read. They
// read as blocked, nothing of them is begun, their neighbours get on; and with the right code back they go on.

import {
  type Codec,
  type DurableOptions,
  defineSaga,
  type Saga,
  type SagaExecutor,
  step,
  TerminalError,
} from "rubicon-saga";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { Undecodable } from "../../src/journal/codec.js";
import { quickWorker, TroubleBench } from "../support/trouble-bench.js";
import { until } from "../support/until.js";

let bench: TroubleBench;
let operator: SagaExecutor;

beforeEach(async () => {
  bench = await TroubleBench.open();
  // Knows no sagas, and can do everything but start.
  operator = await bench.executor({ sagas: [], worker: false });
});

afterEach(() => bench[Symbol.asyncDispose]());

type Fails = Readonly<Record<string, unknown>>;

/** A saga of these steps, always of one name and version. `fails`: what a step throws; `accepts`: its input. */
function code(names: readonly string[], { fails = {}, accepts }: { fails?: Fails; accepts?: z.ZodType } = {}) {
  const steps = names.map((name) =>
    step({
      name,
      run: async (_context: object, tools) => {
        bench.outside.did(name, tools);
        if (fails[name] !== undefined) throw fails[name];
      },
      compensate: async (_context, undo) => bench.outside.undid(name, undo),
      // Long enough for a deploy.
      retry: { firstDelay: "1h", maxDelay: "1h" },
    }),
  );
  // What types check is known to be right: the list is made at run time.
  const definition = { name: "order", version: 1, steps, ...(accepts === undefined ? {} : { input: accepts }) };
  return defineSaga(definition as never) as unknown as Saga<any, any>;
}

const busy = new Error("busy");
const refusing = new TerminalError("no stock");

const deploy = (saga: Saga<any, any>, options: Partial<DurableOptions> = {}) =>
  bench.executor({ sagas: [saga], ...options });

/** Starts a run on a worker of that code, lets it come to rest there, and takes the worker away. */
async function leftWith(
  saga: Saga<any, any>,
  id: string,
  input?: object,
  options: Partial<DurableOptions> = {},
): Promise<void> {
  const executor = await deploy(saga, options);
  await executor.start(saga, input, { id });
  await until("it waits", async () => (await operator.get(id))?.status === "waiting");
  await executor.close({ grace: 0 });
}

const outcome = async (id: string) => (await (await operator.find(id))!.outcome({ timeout: "15s" })).status;

/** A run of the same saga that begins and ends on this worker: the worker has looked for work, and gets on. */
async function neighbourEnds(worker: SagaExecutor, saga: Saga<any, any>, input?: object) {
  const { status } = await (await worker.start(saga, input)).outcome({ timeout: "15s" });
  return status;
}

describe("VER-1: the code has another shape", () => {
  for (const [what, names, difference] of [
    ["a step was renamed", ["hold", "charge", "ship"], ['step 1: "reserve" is now "hold"']],
    [
      "steps changed places",
      ["charge", "reserve", "ship"],
      ['step 1: "reserve" is now "charge"', 'step 2: "charge" is now "reserve"'],
    ],
  ] as const)
    test(`${what}: the run is left, and reads as blocked with the difference; with the old code back it goes on`, async () => {
      const now = code(names);
      await leftWith(code(["reserve", "charge", "ship"], { fails: { charge: busy } }), "o1");
      const worker = await deploy(now);
      await operator.retry("o1", { by: "ana" });
      expect(await neighbourEnds(worker, now)).toBe("completed");
      expect(await operator.get("o1")).toMatchObject({ status: "blocked", blocked: difference, step: "charge" });
      expect((await operator.list({ status: "blocked" })).runs.map(({ id }) => id)).toEqual(["o1"]);
      expect(bench.outside.order("o1")).toEqual(["reserve", "charge"]);
      await worker.close();
      await deploy(code(["reserve", "charge", "ship"]));
      expect(await outcome("o1")).toBe("completed");
      expect(bench.outside.order("o1")).toEqual(["reserve", "charge", "charge", "ship"]);
    });

  test("it can be stopped by whoever knows no sagas; the undoing waits for the code that can", async () => {
    const before = code(["reserve", "charge", "ship"], { fails: { charge: busy } });
    await leftWith(before, "o1");
    const worker = await deploy(code(["hold", "charge", "ship"]));
    expect(await operator.requestCancel("o1", { by: "ana" })).toMatchObject({ verdict: "cancelling" });
    expect(await operator.get("o1")).toMatchObject({ status: "blocked", cancelRequestedAt: expect.any(Date) });
    await worker.close();
    await deploy(before);
    expect(await outcome("o1")).toBe("cancelled");
    expect(bench.outside.count("charge", "compensate")).toBe(1);
    expect(bench.outside.count("reserve", "compensate")).toBe(1);
  });

  test("one that ended in a person's hands is settled by whoever knows no sagas", async () => {
    const executor = await bench.executor();
    bench.on.S3 = () => {
      throw new TerminalError("no such address");
    };
    const run = await executor.start(bench.saga("pivoted"), undefined);
    expect(await outcome(run.id)).toBe("forward_incomplete");
    await executor.close();
    await operator.resolve(run.id, { step: "S3", as: "done", by: "ana", note: "sent by hand" });
    await bench.executor();
    expect(await outcome(run.id)).toBe("completed");
    expect(bench.outside.order(run.id)).toEqual(["S1", "P", "S3"]);
  });
});

test("VER-3: a step that is gone from the code is not forgotten: nothing is undone without it", async () => {
  await leftWith(code(["S1", "S2", "S3"], { fails: { S3: busy } }), "o1");
  const shorter = code(["S1", "S3"], { fails: { S3: refusing } });
  const worker = await deploy(shorter);
  await operator.retry("o1", { by: "ana" });
  expect(await neighbourEnds(worker, shorter)).toBe("failed");
  expect(await operator.get("o1")).toMatchObject({
    status: "blocked",
    blocked: ['step 2: "S2" is now "S3"', 'step 3: "S3" is missing'],
  });
  expect(bench.outside.order("o1")).toEqual(["S1", "S2", "S3"]);
  await worker.close();
  await deploy(code(["S1", "S2", "S3"], { fails: { S3: refusing } }));
  expect(await outcome("o1")).toBe("failed");
  expect(bench.outside.count("S2", "compensate", "o1")).toBe(1);
  expect(bench.outside.count("S1", "compensate", "o1")).toBe(1);
});

test("VER-5: two sagas under one name and version are refused, in whatever order; the same object twice is one", async () => {
  const [first, second] = [code(["S1"]), code(["S1", "S2"])];
  for (const sagas of [
    [first, second],
    [second, first],
    [first, code(["S1"])],
  ])
    await expect(bench.executor({ sagas })).rejects.toMatchObject({
      code: "saga.duplicate",
      message: expect.stringContaining('"order" version 1'),
    });
  const executor = await bench.executor({ sagas: [first, first] });
  expect(await neighbourEnds(executor, first)).toBe("completed");
});

describe("values that the code of today does not take", () => {
  test("an input that its schema no longer accepts: blocked with the fault, its neighbours complete, the old code completes it", async () => {
    const cents = code(["S1", "S2"], { accepts: z.object({ amountCents: z.int() }), fails: { S2: busy } });
    await leftWith(cents, "o1", { amountCents: 10 });
    const renamed = code(["S1", "S2"], { accepts: z.object({ amount: z.string() }) });
    const worker = await deploy(renamed);
    await operator.retry("o1", { by: "ana" });
    await until("the worker has looked at it", () => bench.said("the run is blocked", "error") === 1);
    expect(await neighbourEnds(worker, renamed, { amount: "10" })).toBe("completed");
    expect(await worker.get("o1")).toMatchObject({
      status: "blocked",
      blocked: [expect.stringMatching(/^the input no longer fits its schema: \$\.amount/)],
    });
    // Given back for a minute: looked at once, nothing begun, nothing counted.
    expect(bench.said("the run is blocked", "error")).toBe(1);
    expect(bench.outside.order("o1")).toEqual(["S1", "S2"]);
    expect((await operator.get("o1"))?.nextAttemptAt?.getTime()).toBeGreaterThan(Date.now() + 30_000);
    await worker.close();
    await deploy(code(["S1", "S2"], { accepts: z.object({ amountCents: z.int() }) }));
    await operator.retry("o1", { by: "ana" });
    expect(await outcome("o1")).toBe("completed");
    expect(bench.outside.order("o1")).toEqual(["S1", "S2", "S2"]);
  });

  test("SER-16: a codec that is not there any more: blocked and shown as undecodable; with the codec back it completes", async () => {
    const codec: Codec = {
      format: "rot-1",
      encode: (text) => [...text].reverse().join(""),
      decode: (text) => [...text].reverse().join(""),
    };
    const httpError = Object.assign(new Error("service is busy"), { name: "HttpError", status: 503 });
    await leftWith(code(["S1", "S2"], { fails: { S2: httpError } }), "o1", { sku: "a" }, { codec });
    const plain = code(["S1", "S2"]);
    const worker = await deploy(plain);
    await operator.retry("o1", { by: "ana" });
    await until("the worker has looked at it", () => bench.said("the run is blocked", "error") === 1);
    expect(await neighbourEnds(worker, plain)).toBe("completed");
    const view = await worker.get("o1");
    expect(view).toMatchObject({
      status: "blocked",
      lastError: { name: "HttpError", message: "service is busy", status: 503 },
    });
    expect(view!.blocked).toContainEqual(expect.stringContaining("no codec of that format is configured"));
    expect(view!.input).toBeInstanceOf(Undecodable);
    const history = await operator.history("o1");
    expect(history.find(({ entry }) => entry.kind === "step_completed")?.output).toBeInstanceOf(Undecodable);
    expect(history.find(({ entry }) => entry.kind === "attempt_failed")?.entry).toMatchObject({
      error: { name: "HttpError", message: "service is busy" },
    });
    expect((await operator.list()).runs).toHaveLength(2);
    expect(bench.outside.order("o1")).toEqual(["S1", "S2"]);
    await worker.close();
    await deploy(plain, { codec });
    await operator.retry("o1", { by: "ana" });
    await until("it has completed", async () => (await operator.get("o1"))?.status === "completed");
  });
});

describe("what can't be read at all", () => {
  const damages = {
    "a row of its journal is damaged": `update rubicon.journal set payload = '[{"kind"' where run = $1 and number = 2`,
    "a row of its journal is of a later format":
      "update rubicon.journal set format = 'entries-9' where run = $1 and number = 2",
  } as const;
  for (const [what, damage] of Object.entries(damages))
    test(`${what}: that run alone is blocked, nothing spins over it, and once it is mended it goes on`, async () => {
      const saga = code(["S1", "S2"], { fails: { S2: busy } });
      await leftWith(saga, "o1");
      const [run] = await bench.database.query("select id from rubicon.runs where run_id = 'o1'");
      const [before] = await bench.database.query(
        "select payload, format from rubicon.journal where run = $1 and number = 2",
        [run!.id],
      );
      await bench.database.query(damage, [run!.id]);
      await bench.database.query("update rubicon.runs set due_at = now(), rank = now() where id = $1", [run!.id]);
      const mended = code(["S1", "S2"]);
      const worker = await deploy(mended);
      await until("the worker has looked at it", () => bench.said("can't be read", "error") > 0);
      expect(await neighbourEnds(worker, mended)).toBe("completed");
      expect(await operator.get("o1")).toMatchObject({
        status: "blocked",
        saga: "order",
        blocked: [expect.stringMatching(/can't (be )?read/)],
      });
      expect((await operator.list()).runs).toHaveLength(2);
      await expect(operator.history("o1")).rejects.toMatchObject({ code: "journal.unreadable" });
      // Ten beats later.
      const beats = () => worker.health!.ticks.beat!.getTime();
      const since = beats();
      await until("ten beats are over", () => beats() - since > 10 * quickWorker.beat);
      expect(bench.lines.filter(({ level }) => level !== "info").length).toBeLessThanOrEqual(2);
      expect(bench.outside.order("o1")).toEqual(["S1", "S2"]);
      await bench.database.query("update rubicon.journal set payload = $2, format = $3 where run = $1 and number = 2", [
        run!.id,
        before!.payload,
        before!.format,
      ]);
      // Its turn had not come by the journal, whatever the row was made to say.
      await until("it can be read again", async () => (await operator.get("o1"))?.status === "waiting");
      await operator.retry("o1", { by: "ana" });
      expect(await outcome("o1")).toBe("completed");
      expect(bench.uncaught).toEqual([]);
    });

  test("a shape, an input, and what a worker said of itself: lists show every run, the others are told of in full", async () => {
    const other = code(["S1"]);
    await leftWith(code(["S1", "S2"], { fails: { S2: busy } }), "o1", { sku: "a" });
    const worker = await deploy(other);
    await worker.start(other, { sku: "b" }, { id: "o2" });
    expect(await outcome("o2")).toBe("completed");
    await bench.database.query(
      "update rubicon.shapes set shape = '{' where hash = (select shape_hash from rubicon.runs where run_id = 'o1')",
    );
    await bench.database.query(
      "update rubicon.runs set input = '[[', input_format = 'escaped:plain' where run_id = 'o2'",
    );
    await bench.database.query(
      "insert into rubicon.workers (host, pid, registered, started_at, beat_at, lease_until) values ('h', 1, '{\"v\":9}', now(), now(), now() + interval '1 hour')",
    );
    expect((await operator.list()).runs.map(({ id, status }) => [id, status])).toEqual([
      ["o2", "completed"],
      ["o1", "blocked"],
    ]);
    expect(await operator.get("o2")).toMatchObject({ status: "completed", input: expect.any(Undecodable) });
    await expect(operator.get("o1")).rejects.toMatchObject({
      code: "journal.unreadable",
      message: expect.stringContaining('the shape of run "o1"'),
    });
    expect(await neighbourEnds(worker, other)).toBe("completed");
  });
});
