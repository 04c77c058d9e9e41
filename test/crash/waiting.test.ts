// Workers that die while their runs sleep or wait: real children, real SIGKILL. The instant on the record holds, whoever comes.

import type { Entry, HistoryEntry } from "rubicon-saga";
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

const days = 86_400_000;

type Of<Kind extends Entry["kind"]> = Omit<HistoryEntry, "entry"> & {
  readonly entry: Extract<Entry, { readonly kind: Kind }>;
};

async function entries<Kind extends Entry["kind"]>(runId: string, kind: Kind): Promise<Of<Kind>[]> {
  return (await bench.client.history(runId)).filter(({ entry }) => entry.kind === kind) as never;
}

const isWaiting = async (runId: string) => (await bench.client.get(runId))!.status === "waiting";

describe("a worker that dies while its run", () => {
  test.each([
    ["sleeps, parked", "asleep", false],
    ["sleeps, in hand", "dozing", true],
  ] as const)("%s: another one wakes it at the instant on the record", async (_how, saga, inHand) => {
    const killed = await bench.worker();
    const run = await bench.client.start(bench.saga(saga), undefined);
    await until("it sleeps", async () => (await entries(run.id, "timer_started")).length === 1);
    if (!inHand) await until("it is parked", () => isWaiting(run.id));
    await killed.kill();
    const waker = await bench.worker();
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    const started = await entries(run.id, "timer_started");
    const fired = await entries(run.id, "timer_fired");
    expect([started.length, fired.length]).toEqual([1, 1]);
    expect(fired[0]!.at.getTime()).toBeGreaterThanOrEqual(started[0]!.entry.until);
    // A timer begun anew by the other worker would be up a whole sleep after its takeover.
    const takenUp = (await entries(run.id, "taken_up")).at(-1)!;
    expect(takenUp.entry.worker).not.toBe((await entries(run.id, "taken_up"))[0]!.entry.worker);
    if (!inHand) expect(takenUp.at.getTime()).toBeGreaterThanOrEqual(started[0]!.entry.until);
    expect(takenUp.entry.from !== undefined).toBe(inHand);
    expect(bench.outside.order(run.id)).toEqual(["S1", "S2"]);
    expect(bench.outside.of("S2")[0]!.pid).toBe(waker.pid);
  });

  test("waits for a signal: it is sent while nobody works, and the next worker goes on with it", async () => {
    const killed = await bench.worker();
    const run = await bench.client.start(bench.saga("paid"), undefined);
    await until("it waits", () => isWaiting(run.id));
    await killed.kill();
    expect(await bench.client.signal(run.id, "paid", { n: 1 })).toEqual({ verdict: "received" });
    await bench.worker();
    const { paid } = (await run.result({ timeout: "30s" })) as any;
    expect(paid).toEqual({ received: true, payload: { n: 1 } });
    expect(bench.outside.order(run.id)).toEqual(["S1", "S2"]);
  });

  test("SIG-3: has timed out, right after that is stored: another worker goes on, and a signal that comes now is too late", async () => {
    bench.outside.behave = async (call, earlier) => {
      if (call.step === "S2" && earlier.length === 0) await bench.byPid(call.pid).kill();
    };
    await bench.worker();
    const run = await bench.client.start(bench.saga("impatient"), undefined);
    await until("its worker is dead", () => bench.outside.calls[0] && !bench.byPid(bench.outside.calls[0].pid).alive);
    expect(await entries(run.id, "signal_timed_out")).toHaveLength(1);
    expect(await bench.client.signal(run.id, "paid", { n: 1 })).toEqual({ verdict: "received" });
    await bench.worker();
    const { paid } = (await run.result({ timeout: "30s" })) as any;
    expect(paid).toEqual({ received: false });
    expect(await entries(run.id, "signal_timed_out")).toHaveLength(1);
    expect(await entries(run.id, "signal_consumed")).toHaveLength(0);
    expect(new Set(bench.outside.calls.map(({ key }) => key))).toEqual(new Set([`${run.id}/S2`]));
  });
});

describe("a signal", () => {
  test("SIG-1: sent while no worker runs: the wait returns it at once, and it is consumed once", async () => {
    const run = await bench.client.start(bench.saga("paid"), undefined);
    expect(await bench.client.signal(run.id, "paid", { n: 1 })).toEqual({ verdict: "received" });
    expect(bench.outside.calls).toEqual([]);
    await bench.workers(2);
    const { paid } = (await run.result({ timeout: "30s" })) as any;
    expect(paid).toEqual({ received: true, payload: { n: 1 } });
    expect(await entries(run.id, "signal_consumed")).toHaveLength(1);
    // It never had to wait: nothing was parked.
    expect(await entries(run.id, "parked")).toHaveLength(0);
  });

  test("CMP-2: signal and deadline at the same instant, 50 times: the run goes on, or is undone once; never both", async () => {
    await bench.workers(2);
    const tallies = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const run = await bench.client.start(bench.saga("strict"), undefined);
        await until("S1 was called", () => bench.outside.count("S1", "forward", run.id) > 0);
        const [awaited] = await until("it waits", async () => {
          const found = await entries(run.id, "signal_awaited");
          return found.length > 0 ? found : undefined;
        });
        // Asking takes a while itself.
        const aheadMs = ((index * 7919) % 221) - 200;
        await new Promise((resolve) => setTimeout(resolve, awaited!.entry.until + aheadMs - Date.now()));
        const { verdict } = await bench.client.signal(run.id, "paid", { n: index });
        const { status } = await run.outcome({ timeout: "30s" });
        const consumed = (await entries(run.id, "signal_consumed")).length;
        const undone = bench.outside.count("S1", "compensate", run.id);
        const turned = (await entries(run.id, "rollback_started")).length;
        const records = (await entries(run.id, "step_compensated")).length;
        const won = status === "completed";
        expect({ status, consumed, undone, turned, records }).toEqual(
          won
            ? { status: "completed", consumed: 1, undone: 0, turned: 0, records: 0 }
            : { status: "failed", consumed: 0, undone: 1, turned: 1, records: 1 },
        );
        // Received says that it is on the record, not that it came in time; a refusal is never consumed.
        if (verdict !== "received") expect(won).toBe(false);
        return won;
      }),
    );
    // A race that one side always wins is none.
    expect(new Set(tallies)).toEqual(new Set([true, false]));
  });
});

describe("a sleep of 30 days", () => {
  test("ERR-9: overflows no timer, is over when the database says so, and is followed once", async () => {
    const worker = await bench.worker();
    const run = await bench.client.start(bench.saga("monthly"), undefined);
    await until("it waits", () => isWaiting(run.id));
    const [started] = await entries(run.id, "timer_started");
    const [stored] = await bench.database.query("select extract(epoch from due_at) * 1000 as due from rubicon.runs");
    expect(Number(stored!.due)).toBe(started!.entry.until);
    expect(started!.entry.until - started!.at.getTime()).toBeGreaterThan(30 * days - 1_000);
    expect(started!.entry.until - started!.at.getTime()).toBeLessThanOrEqual(30 * days);
    // A timer of 1 ms would be up long before the next beats.
    const beat = async () =>
      Number((await bench.database.query("select extract(epoch from max(beat_at)) as at from rubicon.workers"))[0]!.at);
    const before = await beat();
    await until("it has beaten for a while", async () => (await beat()) > before + 2);
    expect(bench.outside.calls).toEqual([]);
    expect(await entries(run.id, "timer_fired")).toEqual([]);
    await worker.stop();
    // For whoever connects from now on the database's clock is 30 days ahead.
    await bench.database.query(`
      create schema ahead;
      create function ahead.clock_timestamp() returns timestamptz language sql volatile
        as $$ select pg_catalog.clock_timestamp() + interval '30 days' $$;
      do $$ begin execute format('alter database %I set search_path = ahead, pg_catalog, public', current_database()); end $$;`);
    const later = await bench.worker();
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    expect(bench.outside.order(run.id)).toEqual(["S2"]);
    expect(await entries(run.id, "timer_fired")).toHaveLength(1);
    for (const { lines } of [worker, later]) expect(lines.join("\n")).not.toContain("TimeoutOverflow");
  });
});
