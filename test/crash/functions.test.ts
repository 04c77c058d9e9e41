// What a process leaves of a durable function when it dies in the middle: real children, real SIGKILL, real takeover.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CrashBench } from "../support/crash-bench.js";

let bench: CrashBench;

beforeEach(async () => {
  bench = await CrashBench.open();
});

afterEach(() => bench[Symbol.asyncDispose]());

/** Kills the caller of the first call of each of these, after its effect and before it hears of it. */
function killFirstCallersOf(...bodies: readonly (readonly [string, "forward" | "compensate"])[]) {
  bench.outside.behave = async (call, earlier) => {
    if (call.step === "P" && bodies.some(([, direction]) => direction === "compensate"))
      return { status: 422, body: "declined" };
    const isOne = bodies.some(([step, direction]) => call.step === step && call.direction === direction);
    if (isOne && !earlier.some(({ key }) => key === call.key)) await bench.byPid(call.pid).kill();
    return undefined;
  };
}

describe("a worker that dies in a durable function", () => {
  test("at any of its steps: another one runs it from the top; what is recorded is not done again, what was under way is, under its key", async () => {
    killFirstCallersOf(["S1", "forward"], ["P", "forward"], ["S4", "forward"]);
    await bench.workers(4);
    const run = await bench.client.start(bench.saga("function"), undefined);
    const outcome = await run.outcome({ timeout: "50s" });
    expect(outcome).toMatchObject({ status: "completed", output: { n: expect.any(Number) } });
    const counts = ["S1", "S2", "S3", "P", "S4"].map((step) => bench.outside.count(step));
    expect(counts).toEqual([2, 1, 1, 2, 2]);
    for (const step of ["S1", "P", "S4"])
      expect(bench.outside.of(step).map(({ key }) => key)).toEqual([`${run.id}/${step}`, `${run.id}/${step}`]);
    const kinds = (await bench.client.history(run.id)).map(({ entry }) => entry.kind);
    expect(kinds.filter((kind) => kind === "pivot_entered")).toHaveLength(1);
  });

  test("while it is undone: how is found by running it from the top; what is recorded as undone is not undone again", async () => {
    killFirstCallersOf(["S1", "compensate"], ["S2", "compensate"]);
    await bench.workers(3);
    const run = await bench.client.start(bench.saga("function"), undefined);
    expect((await run.outcome({ timeout: "50s" })).status).toBe("failed");
    const undone = ["S1", "S2", "S3"].map((step) => bench.outside.count(step, "compensate"));
    expect(undone).toEqual([2, 2, 1]);
    expect(bench.outside.count("S4")).toBe(0);
  });
});
