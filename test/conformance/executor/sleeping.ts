// SLEEPS AND SIGNALS: a waiting run holds nothing, its deadline is recorded once, and what was sent is never lost (issue 3;
// design 1.3, 2.1, 2.2).

import { isSagaError, sleep, waitForSignal } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { gate, until } from "../../support/until.js";
import { Bench, entriesOf, errorOf, kindsOf, type MakeExecutor, rejection, stop } from "./bench.js";

const approval = (options: Record<string, unknown> = {}) =>
  waitForSignal({ name: "approval", payload: z.object({ by: z.string() }), ...options } as any) as any;

export function sleeping(make: MakeExecutor): void {
  describe("a sleep", () => {
    test("lasts as long as it says, for what the context says, and then the saga goes on", async () => {
      const bench = new Bench(make);
      const first = bench.step("S1", { run: () => ({ ms: 60 }) });
      const nap = sleep({ name: "nap", for: (context: { ms: number }) => context.ms }) as any;
      const { outcome, executor, id } = await bench.run(bench.saga([first, nap, bench.step("S2")]));
      expect(outcome).toMatchObject({ status: "completed", output: { ms: 60 } });
      const history = await executor.history(id);
      const [started, fired] = ["timer_started", "timer_fired"].map((kind) =>
        history.find(({ entry }) => entry.kind === kind),
      );
      expect((started!.entry as any).until - started!.at.getTime()).toBeGreaterThanOrEqual(40);
      expect(fired!.at.getTime()).toBeGreaterThanOrEqual((started!.entry as any).until - 1);
    });

    test("of days is one row, and leaves its slot: the run waits, and says until when", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([sleep({ name: "nap", for: "30d" }) as any, bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("it waits", async () => (await executor.get(run.id))!.status === "waiting");
      const view = (await executor.get(run.id))!;
      expect(view.waiting).toBe('until sleep "nap" is over');
      const days = (view.nextAttemptAt!.getTime() - view.createdAt.getTime()) / 86_400_000;
      expect(days).toBeGreaterThan(29.99);
      expect(days).toBeLessThan(30.01);
      expect(view.worker).toBeUndefined();
    });

    test("CXL-5: a stop in the middle of it ends the run at once, undone, and the step after it never runs", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1"), sleep({ name: "nap", for: "24h" }) as any, bench.step("S2")]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("it waits", async () => (await executor.get(run.id))!.status === "waiting");
      expect(await stop(executor, run.id)).toMatchObject({ verdict: "cancelling" });
      expect((await run.outcome({ timeout: "10s" })).status).toBe("cancelled");
      expect(bench.outside.order()).toEqual(["S1", "C1"]);
    });

    test("retry does not cut it short: nothing of it has failed", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([sleep({ name: "nap", for: "24h" }) as any]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("it waits", async () => (await executor.get(run.id))!.status === "waiting");
      expect(isSagaError(await rejection(executor.retry(run.id, { by: "ana" })), "retry.not_applicable")).toBe(true);
    });

    test("a deadline beats it: the run is undone and ends timed_out", async () => {
      const bench = new Bench(make);
      const steps = [bench.step("S1"), sleep({ name: "nap", for: "24h" }) as any];
      const { outcome } = await bench.run(bench.saga(steps, { maxDuration: 300 }));
      expect(outcome.status).toBe("timed_out");
      expect(bench.outside.order()).toEqual(["S1", "C1"]);
    });

    test("a duration that can't be slept fails the saga for good, and undoes it", async () => {
      const bench = new Bench(make);
      const nap = sleep({ name: "nap", for: () => "soon" as any }) as any;
      const { outcome } = await bench.run(bench.saga([bench.step("S1"), nap]));
      expect(outcome.status).toBe("failed");
      expect(errorOf(outcome).cause.code).toBe("element.invalid");
      expect(bench.outside.order()).toEqual(["S1", "C1"]);
    });
  });

  describe("a signal", () => {
    test("wakes the run that waits for it, whose later steps get what was sent", async () => {
      const bench = new Bench(make);
      let seen: unknown;
      const look = (context: unknown) => {
        seen = context;
      };
      const last = bench.step("S2", { run: look });
      const saga = bench.saga([bench.step("S1"), approval({ within: "48h" }), last]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, { order: 1 });
      await until("it waits", async () => (await executor.get(run.id))!.status === "waiting");
      expect((await executor.get(run.id))!.waiting).toMatch(/^for signal "approval" until 20/);
      expect(await executor.signal(run.id, "approval", { by: "bo" })).toEqual({ verdict: "received" });
      expect((await run.outcome({ timeout: "10s" })).status).toBe("completed");
      expect(seen).toEqual({ order: 1, approval: { received: true, payload: { by: "bo" } } });
    });

    test("SIG-1: sent before the wait, before the run was claimed, or before it began: it waits in line", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1"), approval()]);
      const executor = await bench.executor([saga]);
      const later = await executor.start(saga, {}, { startAt: new Date(Date.now() + 200) });
      expect(await executor.signal(later.id, "approval", { by: "early" })).toEqual({ verdict: "received" });
      const soon = await executor.start(saga, {});
      expect(await executor.signal(soon.id, "approval", { by: "bo" })).toEqual({ verdict: "received" });
      const outcomes = await Promise.all([later, soon].map((run) => run.outcome({ timeout: "10s" })));
      expect(outcomes.map((outcome: any) => outcome.output.approval.payload.by)).toEqual(["early", "bo"]);
      const kinds = await kindsOf(executor, later.id);
      expect(kinds.filter((kind) => kind === "signal_consumed")).toHaveLength(1);
    });

    test("first in, first consumed, over waits of one name", async () => {
      const bench = new Bench(make);
      const wait = (name: string) => waitForSignal({ name, signal: "line" }) as any;
      const saga = bench.saga([wait("first"), wait("second")]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {}, { startAt: new Date(Date.now() + 200) });
      for (const payload of [1, 2]) await executor.signal(run.id, "line", payload);
      expect(await run.outcome({ timeout: "10s" })).toMatchObject({
        output: { first: { received: true, payload: 1 }, second: { received: true, payload: 2 } },
      });
    });

    test("with a key of its own is received once", async () => {
      const bench = new Bench(make);
      const wait = (name: string) => waitForSignal({ name, signal: "line", within: 200 }) as any;
      const saga = bench.saga([wait("first"), wait("second")]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {}, { startAt: new Date(Date.now() + 100) });
      const verdicts = [];
      for (const dedupeKey of ["m-1", "m-1"])
        verdicts.push((await executor.signal(run.id, "line", { dedupeKey }, { dedupeKey })).verdict);
      expect(verdicts).toEqual(["received", "duplicate"]);
      expect(await run.outcome({ timeout: "10s" })).toMatchObject({
        output: { first: { received: true }, second: { received: false } },
      });
    });

    test("that does not come in time is a value, which the saga can branch on", async () => {
      const bench = new Bench(make);
      const { outcome } = await bench.run(bench.saga([approval({ within: 30 }), bench.step("S1")]));
      expect(outcome).toMatchObject({ status: "completed", output: { approval: { received: false } } });
    });

    test("that does not come in time fails the saga where it says so: definitely, and undone", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1"), approval({ within: 30, onTimeout: "fail" })]);
      const { outcome } = await bench.run(saga);
      expect(outcome.status).toBe("failed");
      expect(errorOf(outcome).cause.code).toBe("signal.timed_out");
      expect(bench.outside.order()).toEqual(["S1", "C1"]);
    });

    test("is checked when it is sent: nothing is written of one that does not fit, or that nobody waits for", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([approval({ within: "1h" })]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("it waits", async () => (await executor.get(run.id))!.status === "waiting");
      const before = await entriesOf(executor, run.id);
      const invalid = await rejection(executor.signal(run.id, "approval", { by: 7 }));
      expect([invalid.code, invalid.faults[0].at]).toEqual(["signal.invalid", "$.by"]);
      const unknown = await rejection(executor.signal(run.id, "aproval", { by: "bo" }));
      expect([unknown.code, unknown.message]).toEqual(["signal.unknown", expect.stringContaining('"approval"')]);
      const circular: any = {};
      circular.f = () => {};
      const bad = await rejection(executor.signal(run.id, "approval", circular));
      expect([bad.code, bad.path]).toEqual(["value.unserializable", "$.f"]);
      expect(await entriesOf(executor, run.id)).toEqual(before);
    });

    test("SIG-4: to a run that has ended, is unknown, or rolls back is refused with a verdict", async () => {
      const bench = new Bench(make);
      const held = gate();
      const undo = () => held.promise;
      const saga = bench.saga([bench.step("S1", { undo }), approval({ within: "1h" })]);
      const executor = await bench.executor([saga]);
      const done = await executor.start(saga, {});
      await executor.signal(done.id, "approval", { by: "bo" });
      await done.outcome({ timeout: "10s" });
      expect(await executor.signal(done.id, "approval", { by: "bo" })).toEqual({
        verdict: "finished",
        status: "completed",
      });
      expect(await executor.signal("nobody", "approval", { by: "bo" })).toEqual({ verdict: "not_found" });
      const undoing = await executor.start(saga, {});
      await until("it waits", async () => (await executor.get(undoing.id))!.status === "waiting");
      await stop(executor, undoing.id);
      await until("it is being undone", () => bench.outside.count("S1", "compensate") === 1);
      expect(await executor.signal(undoing.id, "approval", { by: "bo" })).toEqual({
        verdict: "rolling_back",
        cause: "cancel",
      });
      held.open();
      expect((await undoing.outcome({ timeout: "10s" })).status).toBe("cancelled");
    });

    test("SIG-3: at the instant of the deadline it was received, or it was too late: never both, never neither", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([approval({ within: 40 })]);
      const executor = await bench.executor([saga]);
      const runs = await Promise.all(Array.from({ length: 60 }, () => executor.start(saga, {})));
      const tallies = await Promise.all(
        runs.map(async (run, index) => {
          await until("it waits", async () => (await kindsOf(executor, run.id)).includes("signal_awaited"));
          await new Promise((resolve) => setTimeout(resolve, 25 + (index % 30)));
          await executor.signal(run.id, "approval", { by: "bo" });
          const outcome: any = await run.outcome({ timeout: "20s" });
          const kinds = await kindsOf(executor, run.id);
          const told = kinds.filter((kind) => kind === "signal_consumed" || kind === "signal_timed_out");
          return [told, outcome.output.approval.received] as const;
        }),
      );
      for (const [told, received] of tallies) expect(told).toEqual([received ? "signal_consumed" : "signal_timed_out"]);
    });
  });
}
