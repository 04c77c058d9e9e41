import { bulkhead, fallback, handleAll, retry, TimeoutStrategy, timeout } from "cockatiel";
import { describe, expect, test, vi } from "vitest";
import type { AttemptPolicy } from "../../../src/definition/saga.js";
import { settled } from "../../support/manual-clock.js";
import { gate } from "../../support/until.js";

import { attempt, held } from "./attempting.js";

describe("a policy around it", () => {
  const through = (execute: (body: () => Promise<unknown>) => Promise<unknown>): AttemptPolicy =>
    ({ execute: (body: any, signal: AbortSignal) => execute(() => body({ signal })) }) as AttemptPolicy;

  test("that calls the body once: what the body comes to is the attempt's end", async () => {
    expect(await attempt({ policy: through((body) => body()) }).running.end).toMatchObject({
      kind: "returned",
      value: "value",
    });
    const error = new Error("no");
    const { running } = attempt({ policy: through((body) => body()), body: () => Promise.reject(error) });
    expect(await running.end).toMatchObject({ kind: "threw", error });
  });

  test.each([
    [
      "throws at once",
      () => {
        throw new Error("open");
      },
      "open",
    ],
    ["rejects", () => Promise.reject(new Error("full")), "full"],
    ["resolves all the same", () => Promise.resolve("made up"), "the policy settled without calling the body"],
  ])("that never calls it, and %s: the attempt was never made", async (_, execute, said) => {
    const body = vi.fn();
    const { running, clock } = attempt({ policy: through(execute), body });
    expect(await running.end).toMatchObject({
      kind: "threw",
      error: { code: "step.never_called", cause: { message: said } },
      settled: true,
    });
    expect(body).not.toHaveBeenCalled();
    expect(clock.waits).toEqual([]);
  });

  test("that makes up for the body's failure does not: the body's error counts", async () => {
    const policy = fallback(handleAll, "instead") as unknown as AttemptPolicy;
    const { running } = attempt({ policy, body: () => Promise.reject(new Error("down")) });
    expect(await running.end).toMatchObject({ kind: "threw", error: { message: "down" } });
  });

  test("that calls it twice is told about, and the first call counts", async () => {
    let calls = 0;
    const body = async () => {
      calls += 1;
      throw new Error(`call ${calls}`);
    };
    const { running, misuses } = attempt({ policy: retry(handleAll, { maxAttempts: 2 }), body });
    expect(await running.end).toMatchObject({ kind: "threw", error: { message: "call 1" } });
    await vi.waitUntil(() => misuses.length === 2);
    expect(calls).toBe(1);
    expect(misuses).toEqual(["policy.called_twice", "policy.called_twice"]);
  });

  test("that gives up before its body has: what the body comes to in its time counts", async () => {
    const hold = held();
    const policy = through(async (body) => {
      void body();
      throw new Error("the policy's own timeout");
    });
    const { running } = attempt({ policy, body: hold.body });
    await settled();
    hold.open("in time");
    expect(await running.end).toMatchObject({ kind: "returned", value: "in time", settled: true });
  });

  test("that times out by itself aborts the body's signal", async () => {
    const policy = timeout(10, TimeoutStrategy.Cooperative) as unknown as AttemptPolicy;
    const { running } = attempt({
      policy,
      body: (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("heard")))),
    });
    expect(await running.end).toMatchObject({ kind: "threw", error: { message: "heard" }, settled: true });
  });

  test("the attempt's timeout reaches a body inside a policy that has a signal of its own", async () => {
    const own = new AbortController();
    const policy = { execute: (body: any) => body({ signal: own.signal }) } as AttemptPolicy;
    const hold = held();
    const { clock } = attempt({ policy, body: hold.body });
    await clock.pass(1_000);
    expect(hold.signals[0]!.reason).toMatchObject({ reason: "timeout" });
    expect(own.signal.aborted).toBe(false);
  });

  test.each([
    ["no context", undefined],
    ["a context without a signal", {}],
    ["a signal that is none", { signal: "soon" }],
  ])("that hands on %s: the body has the attempt's own signal", async (_, context) => {
    const hold = held();
    const { clock } = attempt({ policy: { execute: (body: any) => body(context) } as AttemptPolicy, body: hold.body });
    await clock.pass(1_000);
    expect(hold.signals[0]!.aborted).toBe(true);
  });

  test("that lets the attempt queue up until its timeout: it was never made, and is not made later", async () => {
    const policy = bulkhead(1, 5);
    const busy = gate();
    const occupied = policy.execute(() => busy.promise);
    const body = vi.fn();
    const { clock, ended } = attempt({ policy, body });
    await clock.pass(1_000);
    expect(ended()).toMatchObject({ error: { code: "step.never_called" }, settled: true, aborted: "timeout" });
    expect(clock.waits).toEqual([]);
    busy.open();
    await occupied;
    await settled();
    expect(body).not.toHaveBeenCalled();
  });

  test("that queues without looking at the signal, and calls late, is refused then", async () => {
    const turn = gate();
    const body = vi.fn();
    const refusals: unknown[] = [];
    const policy = through(async (call) => {
      await turn.promise;
      try {
        return await call();
      } catch (error) {
        refusals.push(error);
        throw error;
      }
    });
    const { running } = attempt({ policy, body });
    await settled();
    running.abort("cancelled");
    expect(await running.end).toMatchObject({ error: { code: "step.never_called" }, aborted: "cancelled" });
    turn.open();
    await settled();
    expect(body).not.toHaveBeenCalled();
    expect(refusals).toMatchObject([{ code: "step.never_called" }]);
  });

  test("a body that rejects inside a policy that drops it reaches nobody", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    const policy = through((body) => {
      void body();
      return new Promise(() => {});
    });
    const { running } = attempt({ policy, body: () => Promise.reject(new Error("dropped")) });
    expect(await running.end).toMatchObject({ kind: "threw", error: { message: "dropped" } });
    await settled();
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });
});
