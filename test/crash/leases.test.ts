// Whose a run is, and until when (design 3.3): leases that are kept, lost and read by the right clock, in real processes.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ToldBench } from "../support/told-bench.js";
import { until } from "../support/until.js";

let bench: ToldBench;

beforeEach(async () => {
  bench = await ToldBench.open();
});

afterEach(() => bench[Symbol.asyncDispose]());

const beatsOf = () => bench.database.query("select id, beat_at from rubicon.workers order by id");

describe("a lease", () => {
  test("JRN-4: what a process has just started its own recovery leaves alone, 50 times", async () => {
    const worker = await bench.here({ worker: { slots: 60, lease: 1_500, beat: 100, poll: 20 } });
    bench.tell("S1", { waitMs: 600 });
    const runs = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        // Half of them in a slot at once, half by a claim.
        index % 2 === 0
          ? worker.start(bench.saga("told"), undefined as never)
          : worker.execute(bench.saga("told"), undefined as never, { id: `executed-${index}` }),
      ),
    );
    for (const run of runs)
      if (run !== null && typeof run === "object" && "outcome" in run) await (run as any).outcome();
    expect(bench.outside.count("S1")).toBe(50);
    expect(bench.outside.count("S2")).toBe(50);
    const rows = await bench.database.query(
      "select run, count(*) filter (where step = 'S1' and kind = 'step_completed')::int as done, count(*) filter (where kind = 'taken_up')::int as taken from rubicon.journal group by run",
    );
    expect(rows).toHaveLength(50);
    for (const row of rows) expect(row).toMatchObject({ done: 1, taken: 1 });
  });

  test("LSE-3: a body that blocks the event loop for longer than the lease: warned of by name, completed once", async () => {
    const worker = { slots: 5, lease: 2_000, beat: 300, poll: 100 };
    bench.tell("S1", { busyMs: 5_000 }, 1);
    const [a, b] = await Promise.all([bench.worker({ worker }), bench.worker({ worker })]);
    const run = await bench.start("told");
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    const blocked = [a, b].find(({ pid }) => pid === bench.outside.of("S1")[0]!.pid)!;
    const warning = await until("the blocked worker says so", () =>
      blocked.lines.find((line) => line.includes("the event loop was kept busy")),
    );
    expect(warning).toMatch(/"lagMs":4\d\d\d/);
    expect(warning).toContain('"step":"S1"');
    await until("it knows that its runs are not its own any more", () =>
      blocked.lines.some((line) => line.includes("it was declared dead")),
    );
    expect(bench.outside.count("S1")).toBe(2);
    expect(bench.outside.count("S2")).toBe(1);
    const history = await bench.client.history(run.id);
    const entries = history.map(({ entry }) => entry);
    const done = history.filter(({ entry }) => entry.kind === "step_completed" && entry.step === "S1");
    const other = [a, b].find((each) => each !== blocked)!;
    expect(done.map(({ output }) => output)).toEqual([{ pidS1: other.pid }]);
    expect(entries.filter((entry) => entry.kind === "finished")).toHaveLength(1);
  });

  test("LSE-3: with a longer lease the same body keeps its run: S1 = 1", async () => {
    const worker = { slots: 5, lease: 10_000, beat: 300, poll: 100 };
    bench.tell("S1", { busyMs: 5_000 });
    await Promise.all([bench.worker({ worker }), bench.worker({ worker })]);
    const run = await bench.start("told");
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    expect([bench.outside.count("S1"), bench.outside.count("S2")]).toEqual([1, 1]);
  });

  test("LSE-5: a step's timeout and the lease have nothing to do with each other: both attempts time out, then it rolls back", async () => {
    const worker = { slots: 5, lease: 1_000, beat: 200, poll: 100 };
    bench.tell("S1", { waitMs: 1_500 });
    await Promise.all([bench.here({ worker }), bench.here({ worker })]);
    const run = await bench.start("short");
    expect(await run.outcome({ timeout: "30s" })).toMatchObject({ status: "failed", error: { step: "S1" } });
    expect(bench.outside.order(run.id)).toEqual(["S1", "S1", "C1"]);
    const entries = (await bench.client.history(run.id)).map(({ entry }) => entry);
    expect(entries.filter((entry) => entry.kind === "taken_up")).toHaveLength(1);
    expect(entries.filter((entry) => entry.kind === "attempt_failed" || entry.kind === "step_failed")).toMatchObject([
      { error: { name: "StepTimeoutError" } },
      { error: { name: "StepTimeoutError" } },
    ]);
  });

  test("LSE-6: a body that takes ten leases keeps its owner, who beats all along", async () => {
    const worker = { slots: 5, lease: 1_000, beat: 300, poll: 100 };
    bench.tell("S1", { waitMs: 10_000 });
    await Promise.all([bench.worker({ worker }), bench.worker({ worker })]);
    const run = await bench.start("told");
    const stamps = new Map<string, Set<number>>();
    let ended = false;
    const outcome = run.outcome({ timeout: "30s" }).finally(() => {
      ended = true;
    });
    while (!ended)
      for (const { id, beat_at } of await beatsOf()) {
        stamps.set(id, (stamps.get(id) ?? new Set()).add(beat_at.getTime()));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    expect((await outcome).status).toBe("completed");
    expect(bench.outside.count("S1")).toBe(1);
    const entries = (await bench.client.history(run.id)).map(({ entry }) => entry);
    expect(entries.filter((entry) => entry.kind === "taken_up")).toHaveLength(1);
    for (const renewals of stamps.values()) expect(renewals.size).toBeGreaterThanOrEqual(9);
  });

  test("LSE-7: a worker whose clock is ten minutes fast takes nothing from a living one", async () => {
    const worker = { slots: 1, lease: 30_000, beat: 1_000, poll: 50 };
    bench.tell("S1", { waitMs: 5_000 }, 1);
    await bench.worker({ worker });
    const run = await bench.start("told");
    await until("it is in S1", () => bench.outside.count("S1") === 1);
    const fast = await bench.worker({
      worker,
      prelude: "const now = Date.now; Date.now = () => now() + 600_000;",
    });
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    expect(bench.outside.count("S1")).toBe(1);
    expect(bench.outside.of("S1")[0]!.pid).not.toBe(fast.pid);
    // What it does take up, it stamps with the database's time.
    const second = await bench.start("told");
    expect((await second.outcome({ timeout: "30s" })).status).toBe("completed");
    for (const { at } of await bench.client.history(second.id))
      expect(Math.abs(at.getTime() - Date.now())).toBeLessThan(60_000);
  });

  test("LSE-9: a thousand runs claimed, renewed and ended, and none is taken for lost", async () => {
    const worker = await bench.here({ worker: { slots: 100, lease: 3_000, beat: 50, poll: 20 } });
    const runs = await Promise.all(Array.from({ length: 1_000 }, () => bench.start("silent")));
    for (const run of runs) expect((await run.outcome({ timeout: "60s" })).status).toBe("completed");
    expect(bench.lines.filter(({ message }) => message.includes("lost"))).toEqual([]);
    expect(worker.health).toMatchObject({ firm: true, slots: { used: 0, free: 100 } });
  });
});

test("IDM-3: fifty starts of one id from five processes: one run, one creator, one execution", async () => {
  const remotes = await Promise.all(Array.from({ length: 5 }, () => bench.remote()));
  await bench.here();
  const started = await Promise.all(
    remotes.map((remote) => remote.ask({ kind: "start", saga: "told", id: "order-1", times: 10 })),
  );
  const all: { id: string; created: boolean }[] = started.flat();
  expect(all).toHaveLength(50);
  expect(new Set(all.map(({ id }) => id))).toEqual(new Set(["order-1"]));
  expect(all.filter(({ created }) => created)).toHaveLength(1);
  const run = await bench.client.find("order-1");
  expect((await run!.outcome({ timeout: "30s" })).status).toBe("completed");
  expect(await bench.database.query("select count(*)::int as n from rubicon.runs")).toEqual([{ n: 1 }]);
  expect(bench.outside.order("order-1")).toEqual(["S1", "S2"]);
});

describe("what a step gave, after a crash of its process", () => {
  /** The first call of the step's body takes its process down. */
  async function crashIn(step: string): Promise<void> {
    const workers = new Map<number, { kill: () => Promise<void> }>();
    const before = bench.outside.behave;
    bench.outside.behave = async (call, earlier) => {
      const first = call.step === step && call.direction === "forward" && !earlier.some((each) => each.step === step);
      if (first) await workers.get(call.pid)!.kill();
      return before(call, earlier);
    };
    for (const worker of [await bench.worker(), await bench.worker()]) workers.set(worker.pid, worker);
  }

  test("SER-1: undefined stays undefined, and its step is not begun again", async () => {
    await crashIn("S2");
    const run = await bench.start("nothing");
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    expect(bench.outside.order(run.id)).toEqual(["S1", "S2", "S2"]);
    expect(bench.seen("S2")).toEqual([{ keys: [] }, { keys: [] }]);
    const entries = (await bench.client.history(run.id)).map(({ entry }) => entry);
    const done = entries.find((entry) => entry.kind === "step_completed");
    // The tag tells a stored undefined from nothing stored.
    expect(done).toMatchObject({ output: { format: "devalue", text: "-1" } });
  });

  test("SER-3: every kind of value is the same before and after", async () => {
    await crashIn("S2");
    const run = await bench.start("values");
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    expect(bench.outside.order(run.id)).toEqual(["S1", "S2", "S2"]);
    const exact = { equal: true, one: true, there: true };
    expect(bench.seen("S2")).toEqual([exact, exact]);
    expect(new Set(bench.outside.of("S2").map(({ pid }) => pid)).size).toBe(2);
  });

  test("CMP-16: a compensation in another process gets the input, and what the next step saw", async () => {
    bench.outside.behave = (call) => (call.step === "S2" ? { status: 422, body: "no seat" } : undefined);
    await crashIn("S2");
    const run = await bench.start("booking", { who: "ana" });
    expect(await run.outcome({ timeout: "30s" })).toMatchObject({ status: "failed", error: { step: "S2" } });
    expect(bench.outside.order(run.id)).toEqual(["S1", "S2", "S2", "C1"]);
    expect(bench.seen("S2")).toEqual([{ equal: true }, { equal: true }]);
    expect(bench.seen("S1", "compensate")).toEqual([{ equal: true, who: "ana" }]);
  });
});
