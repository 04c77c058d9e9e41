// 200 of each race, on a real database between real processes; counted by the outside server. Never both, never neither,
// never two outcomes.

import type { RunHandle } from "rubicon-saga";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { briskWorker, CrashBench } from "../support/crash-bench.js";
import { until } from "../support/until.js";

const repetitions = 200;

let bench: CrashBench;

beforeEach(async () => {
  bench = await CrashBench.open();
});

afterEach(() => bench[Symbol.asyncDispose]());

function startMany(saga: "one" | "two" | "with-pivot" | "slow"): Promise<RunHandle<unknown>[]> {
  return Promise.all(Array.from({ length: repetitions }, () => bench.client.start(bench.saga(saga), undefined)));
}

/** Different for each repetition, and the same in each run of the suite. */
function offsetMs(index: number, spread: number): number {
  return ((index * 7919) % 1_000) * (spread / 1_000);
}

describe("200 races", () => {
  test("CXL-4: cancel against pivot: exactly one wins, and the caller is told which", async () => {
    await bench.workers(2, { worker: { ...briskWorker, slots: 50 } });
    // Let go together, so that each ask meets its run near the pivot.
    const asks = await Promise.all(
      Array.from({ length: repetitions }, async (_, index) => {
        const run = await bench.client.start(bench.saga("with-pivot"), undefined);
        await until("S1 was called", () => bench.outside.count("S1", "forward", run.id) > 0, 60_000);
        await new Promise((resolve) => setTimeout(resolve, offsetMs(index, 12)));
        return { run, answer: await bench.client.requestCancel(run.id, { by: "race" }) };
      }),
    );
    const seen = { cancelling: 0, refused: 0, finished: 0 };
    for (const { run, answer } of asks) {
      const { status } = await run.outcome({ timeout: "60s" });
      const pivots = bench.outside.count("P", "forward", run.id);
      const undone = bench.outside.count("S1", "compensate", run.id);
      const view = await bench.client.get(run.id);
      seen[answer.verdict as keyof typeof seen] += 1;
      if (answer.verdict === "cancelling")
        expect({ status, pivots, undone, refused: view?.cancelRefusedAt }).toEqual({
          status: "cancelled",
          pivots: 0,
          undone: 1,
          refused: undefined,
        });
      else {
        expect(["refused", "finished"]).toContain(answer.verdict);
        expect({ status, pivots, undone }).toEqual({ status: "completed", pivots: 1, undone: 0 });
        if (answer.verdict === "refused") expect(view?.cancelRefusedAt).toEqual(answer.refusedAt);
      }
    }
    expect(seen.cancelling + seen.refused + seen.finished).toBe(repetitions);
    // A race that one side always wins is none.
    expect(seen.cancelling).toBeGreaterThan(0);
    expect(seen.refused).toBeGreaterThan(0);
  });

  test("CXL-1: cancel against completion: accepted and cancelled, or finished and completed", async () => {
    await bench.workers(2, { worker: { ...briskWorker, slots: 50 } });
    const asks = await Promise.all(
      Array.from({ length: repetitions }, async (_, index) => {
        const run = await bench.client.start(bench.saga("one"), undefined);
        await until("S1 was called", () => bench.outside.count("S1", "forward", run.id) > 0, 60_000);
        await new Promise((resolve) => setTimeout(resolve, offsetMs(index, 12)));
        return { run, answer: await bench.client.requestCancel(run.id, { by: "race" }) };
      }),
    );
    const seen = { cancelling: 0, finished: 0 };
    for (const { run, answer } of asks) {
      const { status } = await run.outcome({ timeout: "60s" });
      const undone = bench.outside.count("S1", "compensate", run.id);
      seen[answer.verdict as keyof typeof seen] += 1;
      if (answer.verdict === "finished")
        expect({ answered: answer.status, status, undone }).toEqual({
          answered: "completed",
          status: "completed",
          undone: 0,
        });
      else
        expect({ verdict: answer.verdict, status, undone }).toEqual({
          verdict: "cancelling",
          status: "cancelled",
          undone: 1,
        });
    }
    expect(seen.cancelling + seen.finished).toBe(repetitions);
    expect(seen.cancelling).toBeGreaterThan(0);
    expect(seen.finished).toBeGreaterThan(0);
  });

  test("JRN-3: two recoveries at once: each run is taken by one, its value is one", async () => {
    let hold = true;
    bench.outside.behave = async (call) => {
      // The first worker's calls are held until it is dead.
      while (hold && call.step === "S1") await new Promise((resolve) => setTimeout(resolve, 10));
    };
    const victim = await bench.worker({ worker: { ...briskWorker, slots: repetitions } });
    const runs = await startMany("slow");
    await until("each is in S1", () => bench.outside.count("S1") === repetitions, 60_000);
    const rescuers = await bench.workers(2, { worker: { ...briskWorker, slots: repetitions } });
    hold = false;
    await victim.kill();
    const outputs = await Promise.all(runs.map((run) => run.result({ timeout: "60s" })));
    const takers = new Set<string>();
    for (const [index, run] of runs.entries()) {
      const history = await bench.client.history(run.id);
      const takeovers = history.filter(({ entry }) => entry.kind === "taken_up" && entry.from !== undefined);
      const completed = history.filter(({ entry }) => entry.kind === "step_completed" && entry.step === "S1");
      expect(takeovers).toHaveLength(1);
      expect(completed).toHaveLength(1);
      expect(outputs[index]).toMatchObject(completed[0]!.output as object);
      expect(bench.outside.count("S1", "forward", run.id)).toBe(2);
      expect(bench.outside.count("S2", "forward", run.id)).toBe(1);
      takers.add(String(bench.outside.of("S2", "forward", run.id)[0]!.pid));
    }
    for (const taker of takers) expect(rescuers.map((rescuer) => String(rescuer.pid))).toContain(taker);
  });

  test("LSE-1: a frozen worker that wakes after its runs were taken changes nothing", async () => {
    const frozenPid = { pid: 0 };
    bench.outside.behave = async (call) => {
      while (call.step === "S1" && call.pid === frozenPid.pid) {
        if (bench.outside.count("S2") >= repetitions) return;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    const lease = { slots: repetitions, lease: 1_500, beat: 250, poll: 100 };
    const frozen = await bench.worker({ worker: lease });
    frozenPid.pid = frozen.pid;
    const runs = await startMany("slow");
    await until("each is in S1", () => bench.outside.count("S1") === repetitions, 60_000);
    await frozen.kill("SIGSTOP");
    await bench.worker({ worker: lease });
    const outputs = await Promise.all(runs.map((run) => run.result({ timeout: "60s" })));
    await frozen.kill("SIGCONT");
    await until("the woken worker knows", () => frozen.lines.some((line) => line.includes("lost")), 30_000);
    await frozen.stop();
    for (const [index, run] of runs.entries()) {
      const history = await bench.client.history(run.id);
      const completed = history.filter(({ entry }) => entry.kind === "step_completed" && entry.step === "S1");
      expect(completed).toHaveLength(1);
      expect(completed[0]!.output).not.toMatchObject({ fromS1: { pid: frozen.pid } });
      expect(outputs[index]).toMatchObject(completed[0]!.output as object);
      expect(history.filter(({ entry }) => entry.kind === "finished")).toHaveLength(1);
      expect(bench.outside.count("S2", "forward", run.id)).toBe(1);
      expect((await bench.client.get(run.id))?.status).toBe("completed");
    }
  });
});
