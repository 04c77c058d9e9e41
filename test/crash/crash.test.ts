// What a process leaves behind when it dies in the middle: real children, real SIGKILL, real takeover.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CrashBench } from "../support/crash-bench.js";
import { gate, until } from "../support/until.js";

let bench: CrashBench;

beforeEach(async () => {
  bench = await CrashBench.open();
});

afterEach(() => bench[Symbol.asyncDispose]());

/** Kills the caller of the first call of a body, after its effect and before it hears of it. */
function killFirstCallerOf(step: string, direction: "forward" | "compensate" = "forward") {
  bench.outside.behave = async (call, earlier) => {
    if (call.step !== step || call.direction !== direction) return;
    if (earlier.some((each) => each.step === step && each.direction === direction)) return;
    await bench.byPid(call.pid).kill();
  };
}

describe("a worker that dies", () => {
  test("JRN-1: after the effect and before its record: the step runs again under the same key, its neighbours once", async () => {
    killFirstCallerOf("S1");
    await bench.workers(2);
    const run = await bench.client.start(bench.saga("two"), undefined);
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    const calls = bench.outside.of("S1");
    expect(calls.map((call) => call.key)).toEqual([`${run.id}/S1`, `${run.id}/S1`]);
    expect(calls.map((call) => call.attempt)).toEqual([1, 2]);
    expect(bench.outside.count("S2")).toBe(1);
    const history = await bench.client.history(run.id);
    expect(history.map(({ entry }) => entry.kind)).toEqual([
      "taken_up",
      "taken_up",
      "step_completed",
      "step_completed",
      "finished",
    ]);
    expect(history[1]!.entry).toMatchObject({ crash: true, from: expect.any(String) });
    expect(history[2]!.entry).toMatchObject({ step: "S1", attempt: 2 });
  });

  test("JRN-1's twin without recovery: the run stays where its worker died", async () => {
    killFirstCallerOf("S1");
    await bench.worker();
    const run = await bench.client.start(bench.saga("two"), undefined);
    await until(
      "its worker is dead",
      () => bench.outside.count("S1") === 1 && bench.byPid(bench.outside.calls[0]!.pid).alive === false,
    );
    await expect(run.outcome({ timeout: "2s" })).rejects.toMatchObject({ code: "run.wait_timeout" });
    expect(bench.outside.count("S1")).toBe(1);
  });

  test("JRN-7: between two steps: the run goes on at the second, and what waited behind it follows", async () => {
    killFirstCallerOf("S2");
    const options = { worker: { slots: 1, lease: 3_000, beat: 300, poll: 100 } };
    await bench.worker(options);
    const first = await bench.client.start(bench.saga("two"), undefined);
    await until("its worker is dead", () => bench.outside.count("S2") === 1);
    const second = await bench.client.start(bench.saga("two"), undefined);
    await bench.worker(options);
    expect((await first.outcome({ timeout: "30s" })).status).toBe("completed");
    expect((await second.outcome({ timeout: "30s" })).status).toBe("completed");
    expect(bench.outside.count("S1", "forward", first.id)).toBe(1);
    expect(bench.outside.count("S2", "forward", first.id)).toBe(2);
    expect(bench.outside.order(second.id)).toEqual(["S1", "S2"]);
  });

  test("CMP-1: while rolling back: what is recorded is not undone again, what was under way is, under the same key", async () => {
    bench.outside.behave = async (call, earlier) => {
      if (call.step === "S4") return { status: 422, body: "no stock" };
      if (call.step === "S2" && call.direction === "compensate" && !earlier.some((each) => each.key === call.key))
        await bench.byPid(call.pid).kill();
      return undefined;
    };
    await bench.workers(2);
    const run = await bench.client.start(bench.saga("four"), undefined);
    const outcome = await run.outcome({ timeout: "30s" });
    expect(outcome).toMatchObject({ status: "failed", error: { step: "S4" } });
    expect(bench.outside.order(run.id)).toEqual(["S1", "S2", "S3", "S4", "C3", "C2", "C2", "C1"]);
    expect(new Set(bench.outside.of("S2", "compensate").map((call) => call.key))).toEqual(
      new Set([`${run.id}/S2/compensate`]),
    );
  });

  test("PIV-3: after the pivot's effect and before its record: a Stop is refused, and the pivot is called again under its key", async () => {
    killFirstCallerOf("P");
    await bench.worker();
    const run = await bench.client.start(bench.saga("with-pivot"), undefined);
    await until("its worker is dead", () => bench.outside.count("P") === 1);
    const first = await bench.client.requestCancel(run.id, { by: "ana", reason: "customer called" });
    expect(first).toMatchObject({ verdict: "refused", pivot: "P", refusedAt: expect.any(Date) });
    const again = await bench.client.requestCancel(run.id, { by: "bo" });
    expect(again.refusedAt).toEqual(first.refusedAt);
    await bench.worker();
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    expect(bench.outside.of("P").map((call) => call.key)).toEqual([`${run.id}/P`, `${run.id}/P`]);
    expect(bench.outside.effects.has(`${run.id}/P`)).toBe(true);
    expect(bench.outside.count("S1", "compensate")).toBe(0);
    expect(await bench.client.get(run.id)).toMatchObject({ cancelRefusedAt: first.refusedAt });
  });

  test("after the pivot: the run completes forward and undoes nothing", async () => {
    killFirstCallerOf("S3");
    await bench.workers(2);
    const run = await bench.client.start(bench.saga("with-pivot"), undefined);
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    expect(bench.outside.order(run.id)).toEqual(["S1", "P", "S3", "S3"]);
  });

  test("with an ask on the record: the step under way counts as in doubt and is undone", async () => {
    const stopped = gate();
    bench.outside.behave = async (call) => {
      if (call.step !== "S1" || call.direction !== "forward") return;
      // Frozen first, so that it can't notice the ask; then killed.
      await bench.byPid(call.pid).kill("SIGSTOP");
      stopped.open();
    };
    const [worker] = await bench.workers(1);
    const run = await bench.client.start(bench.saga("one"), undefined);
    await stopped.promise;
    expect(await bench.client.requestCancel(run.id, { by: "ana" })).toMatchObject({ verdict: "cancelling" });
    await worker!.kill();
    await bench.worker();
    expect((await run.outcome({ timeout: "30s" })).status).toBe("cancelled");
    expect(bench.outside.order(run.id)).toEqual(["S1", "C1"]);
  });

  test("PSN-1: a step that takes its process down is begun as often as its budget says, and its neighbours complete", async () => {
    bench.outside.behave = async (call) => {
      const run = await bench.client.get(call.runId);
      if (run?.saga === "poison" && call.step === "S1" && call.direction === "forward")
        await bench.byPid(call.pid).kill();
    };
    let stopping = false;
    const supervise = async () => {
      while (!stopping) {
        const worker = await bench.worker().catch(() => undefined);
        await worker?.exited;
      }
    };
    const supervisors = [supervise(), supervise()];
    const poison = await bench.client.start(bench.saga("poison"), undefined);
    const healthy = await Promise.all(
      Array.from({ length: 20 }, () => bench.client.start(bench.saga("two"), undefined)),
    );
    for (const run of healthy) expect((await run.outcome({ timeout: "50s" })).status).toBe("completed");
    const outcome = await poison.outcome({ timeout: "50s" });
    expect(outcome).toMatchObject({ status: "failed", error: { step: "S1", cause: { code: "step.crash_loop" } } });
    expect(bench.outside.count("S1", "forward", poison.id)).toBe(3);
    // In doubt, so it is undone too.
    expect(bench.outside.count("S1", "compensate", poison.id)).toBe(1);
    stopping = true;
    await bench.killAll();
    await Promise.all(supervisors);
  });
});
