import { describe, expect, test, vi } from "vitest";
import { type AbortReason, StepAborted } from "../../../src/errors/step-errors.js";
import { settled } from "../../support/manual-clock.js";

import { attempt, held } from "./attempting.js";

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
