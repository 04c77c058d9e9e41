// Workers that die with branches under way, or in the middle of a list: real children, real SIGKILL. Done is done; what was
// under way is in doubt, each for itself.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CrashBench } from "../support/crash-bench.js";
import { until } from "../support/until.js";
import { sagas } from "./waiting-sagas.js";

const open = () => CrashBench.with({ file: "crash/waiting-sagas.ts", sagas });
let bench: Awaited<ReturnType<typeof open>>;

beforeEach(async () => {
  bench = await open();
});

afterEach(() => bench[Symbol.asyncDispose]());

const rows = async (runId: string, kind: string) =>
  (await bench.client.history(runId)).filter(({ entry }) => entry.kind === kind);

const isDone = async (runId: string, step: string) =>
  (await rows(runId, "step_completed")).some(({ entry }) => "step" in entry && entry.step === step);

/** Kills the first caller that has this key, once `done` of its run is recorded. */
function killCallerOf(key: (runId: string) => string, done: string, then: { status: number } | undefined = undefined) {
  bench.outside.behave = async (call, earlier) => {
    if (call.direction !== "forward" || call.key !== key(call.runId)) return;
    if (earlier.some((each) => each.key === call.key)) return then;
    await until(`${done} is recorded`, () => isDone(call.runId, done));
    await bench.byPid(call.pid).kill();
    return undefined;
  };
}

describe("a worker that dies with two branches under way, one of them done", () => {
  test("JRN-1: the done one is not repeated, the other is tried again under the same key", async () => {
    killCallerOf((runId) => `${runId}/S3`, "S2");
    await bench.workers(2);
    const run = await bench.client.start(bench.saga("branching"), undefined);
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    expect(bench.outside.of("S3").map(({ key, attempt }) => [key, attempt])).toEqual([
      [`${run.id}/S3`, 1],
      [`${run.id}/S3`, 2],
    ]);
    for (const once of ["S1", "S2", "S4"]) expect(bench.outside.count(once)).toBe(1);
    expect((await rows(run.id, "taken_up")).at(-1)!.entry).toMatchObject({ crash: true });
  });

  test("CMP-10: the other then fails definitely: all is undone in reverse of the list, the doubtful one too", async () => {
    killCallerOf((runId) => `${runId}/S3`, "S2", { status: 422 });
    await bench.workers(2);
    const run = await bench.client.start(bench.saga("branching"), undefined);
    expect(await run.outcome({ timeout: "30s" })).toMatchObject({ status: "failed", error: { step: "S3" } });
    expect(bench.outside.order(run.id).slice(-5)).toEqual(["S3", "S3", "C3", "C2", "C1"]);
    expect((await rows(run.id, "step_failed")).map(({ entry }) => entry)).toMatchObject([
      { step: "S3", doubt: "in_doubt" },
    ]);
    for (const step of ["S1", "S2", "S3"]) expect(bench.outside.count(step, "compensate")).toBe(1);
  });

  test("CMP-1: while undoing them: what is undone stays undone, what was under way is undone again under its key", async () => {
    bench.outside.behave = async (call, earlier) => {
      if (call.step === "S4") return { status: 422, body: "no" };
      const isFirst = !earlier.some(({ key }) => key === call.key);
      if (call.step === "S2" && call.direction === "compensate" && isFirst) await bench.byPid(call.pid).kill();
      return undefined;
    };
    await bench.workers(2);
    const run = await bench.client.start(bench.saga("branching"), undefined);
    expect(await run.outcome({ timeout: "30s" })).toMatchObject({ status: "failed", error: { step: "S4" } });
    expect(bench.outside.order(run.id).slice(-5)).toEqual(["S4", "C3", "C2", "C2", "C1"]);
    expect(new Set(bench.outside.of("S2", "compensate").map(({ key }) => key)).size).toBe(1);
  });
});

describe("a worker that dies in the middle of a list", () => {
  test("JRN-1: items that are done are not repeated, and the list is not asked for again", async () => {
    killCallerOf((runId) => `${runId}/lines/2`, "lines/1");
    const first = await bench.worker();
    const run = await bench.client.start(bench.saga("listing"), undefined);
    await until("it is dead", () => !first.alive);
    await bench.worker();
    const { lines } = (await run.result({ timeout: "30s" })) as any;
    // Each item tells who listed it: a list that was made again would be the second worker's.
    expect(lines).toEqual([0, 1, 2, 3].map(() => ({ lister: first.pid })));
    expect(await rows(run.id, "items_listed")).toHaveLength(1);
    expect(bench.outside.of("line").map(({ key, attempt }) => [key, attempt])).toEqual(
      [
        [0, 1],
        [1, 1],
        [2, 1],
        [2, 2],
        [3, 1],
      ].map(([index, attempt]) => [`${run.id}/lines/${index}`, attempt]),
    );
    expect(bench.outside.count("S2")).toBe(1);
  });

  test("CMP-10: the item then fails definitely: the items are undone in reverse, the doubtful one too", async () => {
    killCallerOf((runId) => `${runId}/lines/2`, "lines/1", { status: 422 });
    await bench.workers(2);
    const run = await bench.client.start(bench.saga("listing"), undefined);
    expect((await run.outcome({ timeout: "30s" })).status).toBe("failed");
    expect(bench.outside.of("line", "compensate").map(({ key }) => key)).toEqual(
      [2, 1, 0].map((index) => `${run.id}/lines/${index}/compensate`),
    );
    expect(bench.outside.count("S2")).toBe(0);
  });
});
