import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { Waiters, type WaitLimits } from "../../../src/executor/waiting.js";
import { ManualClock, settled } from "../../support/manual-clock.js";
import { gate } from "../../support/until.js";

function waiting(limits: Partial<WaitLimits> = {}) {
  const waiters = new Waiters();
  const clock = new ManualClock();
  const found: { value: string | undefined; looks: number } = { value: undefined, looks: 0 };
  const look = async () => {
    found.looks += 1;
    return found.value;
  };
  const wait = () => waiters.until("r1", look, { clock, ...limits });
  return { waiters, clock, found, wait };
}

async function rejected(promise: Promise<unknown>): Promise<any> {
  return promise.then(
    () => undefined,
    (error) => error,
  );
}

describe("waiting", () => {
  test("what is there is found at once, and nothing is left behind", async () => {
    const { waiters, found, wait, clock } = waiting({ timeoutMs: 500 });
    found.value = "end";
    expect(await wait()).toBe("end");
    expect([waiters.runIds, clock.waits]).toEqual([[], []]);
  });

  test("looks again at each waking, and only then", async () => {
    const { waiters, found, wait } = waiting();
    const end = wait();
    await settled();
    expect(found.looks).toBe(1);
    expect([waiters.has("r1"), waiters.has("r2"), waiters.runIds]).toEqual([true, false, ["r1"]]);
    waiters.wake("r1");
    waiters.wake("r2");
    await settled();
    expect(found.looks).toBe(2);
    found.value = "end";
    waiters.wakeAll();
    expect(await end).toBe("end");
    expect(waiters.has("r1")).toBe(false);
  });

  test("a waking during a look is not lost", async () => {
    const waiters = new Waiters();
    const looking = gate();
    let [looks, value] = [0, undefined as string | undefined];
    const end = waiters.until(
      "r1",
      async () => {
        looks += 1;
        const seen = value;
        if (looks === 1) await looking.promise;
        return seen;
      },
      { clock: new ManualClock() },
    );
    await settled();
    value = "end";
    waiters.wake("r1");
    looking.open();
    expect(await end).toBe("end");
  });

  test("many wait for one run: each is woken; one that leaves takes nobody along", async () => {
    const { waiters, found, wait } = waiting();
    const controller = new AbortController();
    const leaves = rejected(
      waiters.until("r1", async () => undefined, { clock: new ManualClock(), signal: controller.signal }),
    );
    const stay = [wait(), wait()];
    await settled();
    controller.abort();
    await leaves;
    expect(waiters.has("r1")).toBe(true);
    found.value = "end";
    waiters.wake("r1");
    expect(await Promise.all(stay)).toEqual(["end", "end"]);
  });

  test("the timeout gives up, also while a look is on its way", async () => {
    const { waiters, clock } = waiting();
    const hangs = waiters.until("r1", () => new Promise<never>(() => {}), { clock, timeoutMs: 500 });
    const error = rejected(hangs);
    await clock.pass(499);
    expect(waiters.has("r1")).toBe(true);
    await clock.pass(1);
    expect(await error).toMatchObject({ code: "run.wait_timeout", message: expect.stringContaining("500 ms") });
    expect([waiters.has("r1"), clock.waits]).toEqual([false, []]);
  });

  test("Infinity is no timeout", () => {
    const { clock, wait } = waiting({ timeoutMs: Number.POSITIVE_INFINITY });
    void wait();
    expect(clock.waits).toEqual([]);
  });

  test("a signal gives up with its reason, and keeps no listener; one that is aborted already does not look", async () => {
    const controller = new AbortController();
    const { waiters, found, wait } = waiting({ signal: controller.signal });
    const error = rejected(wait());
    await settled();
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    controller.abort("gone");
    expect(await error).toBe("gone");
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
    expect(waiters.has("r1")).toBe(false);
    expect(await rejected(wait())).toBe("gone");
    expect(found.looks).toBe(1);
  });

  test("MEM-1: a thousand waits with one signal have one listener, and leave none", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const { waiters, found, wait } = waiting({ signal });
    const many = Array.from({ length: 1_000 }, wait);
    await settled();
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    found.value = "end";
    waiters.wake("r1");
    await Promise.all(many);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    found.value = undefined;
    const aborted = Array.from({ length: 1_000 }, () => rejected(wait()));
    await settled();
    controller.abort("gone");
    expect(new Set(await Promise.all(aborted))).toEqual(new Set(["gone"]));
    expect(waiters.runIds).toEqual([]);
  });

  test("a look that throws ends the wait with that, and a later throw reaches nobody", async () => {
    const { waiters, clock } = waiting();
    const thrown = new Error("pruned");
    expect(await rejected(waiters.until("r1", () => Promise.reject(thrown), { clock, timeoutMs: 5 }))).toBe(thrown);
    expect([waiters.has("r1"), clock.waits]).toEqual([false, []]);
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    const late = gate<undefined>();
    const error = rejected(waiters.until("r1", () => late.promise, { clock, timeoutMs: 5 }));
    await clock.pass(5);
    await error;
    late.fail(new Error("much too late"));
    await settled();
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });

  test("once closed: who waits looks once more, then is told; so is who comes later", async () => {
    const { waiters, found, wait } = waiting();
    const closed = new Error("closed");
    const [told, late] = [rejected(wait()), rejected(wait())];
    await settled();
    waiters.close(closed);
    expect([await told, await late]).toEqual([closed, closed]);
    expect(await rejected(wait())).toBe(closed);
    const away = async () => {
      throw new Error("the database is closed");
    };
    expect(await rejected(waiters.until("r1", away, { clock: new ManualClock() }))).toBe(closed);
    found.value = "end";
    expect(await wait()).toBe("end");
    expect(waiters.runIds).toEqual([]);
  });
});
