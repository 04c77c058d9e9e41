import { bulkhead, fallback, handleAll, retry, TimeoutStrategy, timeout } from "cockatiel";
import { describe, expect, test, vi } from "vitest";
import type { AttemptPolicy } from "../../../src/definition/saga.js";
import { type AbortReason, StepAborted } from "../../../src/errors/step-errors.js";
import { type AttemptEnd, type AttemptOptions, startAttempt } from "../../../src/executor/attempt.js";
import { ManualClock, settled } from "../../support/manual-clock.js";
import { gate } from "../../support/until.js";

function attempt(options: Partial<AttemptOptions> = {}) {
  const clock = new ManualClock();
  const misuses: string[] = [];
  const running = startAttempt({
    step: "S1",
    timeoutMs: 1_000,
    graceMs: 100,
    clock,
    body: () => "value",
    onMisuse: (error) => void misuses.push(error.code),
    ...options,
  });
  let end: AttemptEnd | undefined;
  void running.end.then((ended) => {
    end = ended;
  });
  return { clock, misuses, running, ended: () => end };
}

/** A body that settles when it is told to, and remembers its signal. */
function held() {
  const { promise, open, fail } = gate<unknown>();
  const signals: AbortSignal[] = [];
  const body = (signal: AbortSignal) => {
    signals.push(signal);
    return promise;
  };
  return { body, open, fail, signals };
}

describe("an attempt", () => {
  test("returns what its body returns, and leaves no timer", async () => {
    const { running, clock } = attempt();
    expect(await running.end).toEqual({ kind: "returned", value: "value", settled: true });
    expect(clock.waits).toEqual([]);
  });

  test("calls its body later, so that whoever started it is ready", async () => {
    const body = vi.fn();
    const { running } = attempt({ body });
    expect(body).not.toHaveBeenCalled();
    await running.end;
    expect(body).toHaveBeenCalledTimes(1);
  });

  test.each([
    [
      "throws at once",
      () => {
        throw new Error("sync");
      },
      "sync",
    ],
    ["rejects", () => Promise.reject(new Error("async")), "async"],
    [
      "returns a thenable that throws",
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: the point of this case
        get then() {
          throw new Error("hostile");
        },
      }),
      "hostile",
    ],
  ])("throws what its body throws: one that %s", async (_, body, message) => {
    const { running, clock } = attempt({ body });
    expect(await running.end).toMatchObject({ kind: "threw", error: { message }, settled: true });
    expect(clock.waits).toEqual([]);
  });

  test("at the timeout its signal aborts, with a StepAborted; the body has its grace", async () => {
    const hold = held();
    const { clock, ended } = attempt({ body: hold.body });
    await clock.pass(999);
    expect(hold.signals[0]!.aborted).toBe(false);
    await clock.pass(1);
    expect(hold.signals[0]!.reason).toBeInstanceOf(StepAborted);
    expect(hold.signals[0]!.reason).toMatchObject({ step: "S1", reason: "timeout" });
    await clock.pass(99);
    expect(ended()).toBeUndefined();
    hold.open("late");
    await settled();
    expect(ended()).toEqual({ kind: "returned", value: "late", settled: true, aborted: "timeout" });
    expect(clock.waits).toEqual([]);
  });

  test("after the grace it is abandoned; what the body then comes to is dropped, and told by `body` alone", async () => {
    const hold = held();
    const { clock, ended, running } = attempt({ body: hold.body });
    await clock.pass(1_100);
    const end = {
      kind: "threw",
      error: { code: "step.timeout", timeoutMs: 1_000 },
      settled: false,
      aborted: "timeout",
    };
    expect(ended()).toMatchObject(end);
    expect(clock.waits).toEqual([]);
    let over = false;
    void running.body.then(() => {
      over = true;
    });
    await settled();
    expect(over).toBe(false);
    hold.fail(new Error("too late"));
    await settled();
    expect(over).toBe(true);
    expect(ended()).toMatchObject(end);
  });

  test.each(["cancelled", "deadline", "resolved", "lost", "shutdown"] as const)(
    "asked to stop (%s), it has its grace as well",
    async (reason: AbortReason) => {
      const hold = held();
      const { clock, ended, running } = attempt({ body: hold.body });
      await settled();
      running.abort(reason);
      expect(hold.signals[0]!.reason).toMatchObject({ reason });
      await clock.pass(100);
      expect(ended()).toMatchObject({
        kind: "threw",
        error: { code: "step.aborted", reason },
        settled: false,
        aborted: reason,
      });
      expect(clock.waits).toEqual([]);
    },
  );

  test("the first reason stays, and gives no second grace", async () => {
    const hold = held();
    const { clock, ended, running } = attempt({ body: hold.body });
    await settled();
    running.abort("cancelled");
    await clock.pass(60);
    running.abort("shutdown");
    await clock.pass(40);
    expect(ended()).toMatchObject({ aborted: "cancelled", error: { reason: "cancelled" } });
  });

  test("after its end an abort does nothing", async () => {
    const signals: AbortSignal[] = [];
    const { running, clock } = attempt({ body: (signal) => void signals.push(signal) });
    await running.end;
    running.abort("shutdown");
    expect(signals[0]!.aborted).toBe(false);
    expect(clock.waits).toEqual([]);
  });

  test.each([
    ["the signal's reason", (signal: AbortSignal) => signal.reason],
    ["an AbortError, as fetch and others throw it", () => new DOMException("This operation was aborted", "AbortError")],
  ])("a body that throws %s on is told by why it was aborted", async (_, error) => {
    const body = (signal: AbortSignal) =>
      new Promise((__, reject) => signal.addEventListener("abort", () => reject(error(signal))));
    const timed = attempt({ body });
    await timed.clock.pass(1_000);
    expect(timed.ended()).toMatchObject({
      kind: "threw",
      error: { code: "step.timeout" },
      settled: true,
      aborted: "timeout",
    });
    const asked = attempt({ body });
    await settled();
    asked.running.abort("deadline");
    await settled();
    expect(asked.ended()).toMatchObject({ error: { code: "step.aborted", reason: "deadline" }, aborted: "deadline" });
  });

  test("an AbortError of the body's own, unasked, is just an error; another error after the abort stays itself", async () => {
    const own = new DOMException("mine", "AbortError");
    expect(await attempt({ body: () => Promise.reject(own) }).running.end).toMatchObject({ error: own });
    const hold = held();
    const { clock, ended } = attempt({ body: hold.body });
    await clock.pass(1_000);
    const said = new Error("declined");
    hold.fail(said);
    await settled();
    expect(ended()).toMatchObject({ error: said, aborted: "timeout", settled: true });
  });

  test("a revoked proxy that is thrown after the abort ends it like any other error", async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const hold = held();
    const { clock, ended } = attempt({ body: hold.body });
    await clock.pass(1_000);
    hold.fail(proxy);
    await settled();
    expect(ended()?.kind).toBe("threw");
  });

  test("Infinity is no timeout: no timer at all", async () => {
    const hold = held();
    const { clock, running } = attempt({ body: hold.body, timeoutMs: Number.POSITIVE_INFINITY });
    await settled();
    expect(clock.waits).toEqual([]);
    hold.open("done");
    expect(await running.end).toMatchObject({ kind: "returned" });
  });

  test("grace 0: it ends at the timeout", async () => {
    const hold = held();
    const { clock, ended } = attempt({ body: hold.body, graceMs: 0 });
    await clock.pass(1_000);
    expect(ended()).toMatchObject({ kind: "threw", settled: false });
  });
});

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
