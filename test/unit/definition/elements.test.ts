// THE OTHER ELEMENTS OF A LIST ARE FROZEN DATA, read like steps. Their faults wait for `defineSaga`: see
// `element-faults.test.ts`.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { child } from "../../../src/definition/child.js";
import { defineSaga } from "../../../src/definition/define-saga.js";
import { forEach } from "../../../src/definition/for-each.js";
import { parallel } from "../../../src/definition/parallel.js";
import { sleep } from "../../../src/definition/sleep.js";
import { named, pivot, step } from "../../../src/definition/step.js";
import { waitForSignal } from "../../../src/definition/wait-for-signal.js";
import { UsageError } from "../../../src/errors/usage-errors.js";

/** What an element has where it says nothing of it. */
const defaults = {
  pivot: false,
  retry: {},
  compensationRetry: {},
  timeoutMs: 60_000,
  graceMs: 5_000,
  transaction: false,
  nothingToUndo: true,
};
const look = step({ name: "look", run: () => ({}), nothingToUndo: true });
const reserve = step({ name: "reserve", run: () => ({ id: 1 }), compensate: () => {} });
const charge = pivot({ name: "charge", run: () => ({}) });

const thrownBy = (body: () => unknown): unknown => {
  try {
    return body();
  } catch (error) {
    return error;
  }
};

describe("a sleep", () => {
  it("gives its length in milliseconds", () => {
    const night = sleep({ name: "night", for: "8h" });
    expect(night).toEqual({ ...defaults, name: "night", element: "sleep", sleepMs: 28_800_000, run: night.run });
    expect(night.run({}, {})).toBe(28_800_000);
    expect(sleep({ name: "none", for: 0 }).run({}, {})).toBe(0);
    expect(Object.isFrozen(night)).toBe(true);
  });

  it("computes its length of the context", () => {
    const hold = sleep({ name: "hold", for: (order: { days: number }) => `${order.days}d` });
    expect(hold.run({ days: 2 }, {})).toBe(172_800_000);
    expect(hold).not.toHaveProperty("sleepMs");
    expect(sleep({ name: "none", for: () => 0 }).run({}, {})).toBe(0);
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, "15x", undefined, null, {}, new Date(0), Promise.resolve("1s")])(
    "that computes %o throws a coded error, and is not slept",
    (length) => {
      const error = thrownBy(() => sleep({ name: "hold", for: () => length as never }).run({}, {}));
      expect(error).toBeInstanceOf(UsageError);
      expect(error).toMatchObject({
        code: "element.invalid",
        message: expect.stringMatching(/^sleep "hold": `for` gave a value that can't be slept: .*give a duration/),
      });
    },
  );
});

describe("a wait for a signal", () => {
  it("gives what comes of it under its own name, and waits without limit for the signal of that name", () => {
    const approval = waitForSignal({ name: "approval" });
    expect(approval).toEqual({
      ...defaults,
      name: "approval",
      into: "approval",
      element: "signal",
      wait: { signal: "approval", onTimeout: "give" },
      run: approval.run,
    });
    expect(approval.run({}, {})).toBeUndefined();
    expect([approval, approval.wait].every(Object.isFrozen)).toBe(true);
  });

  it("keeps its schema, deadline and signal", () => {
    const payload = z.object({ by: z.string() });
    const wait = waitForSignal({ name: "second", payload, within: "48h", onTimeout: "fail", signal: "compensate" });
    expect(wait.wait).toEqual({ signal: "compensate", payload, withinMs: 172_800_000, onTimeout: "fail" });
    expect(waitForSignal({ name: "go", within: 1, onTimeout: undefined }).wait?.onTimeout).toBe("give");
  });

  it("waits for the same signal under another name, and gives that under another key", () => {
    const second = named(waitForSignal({ name: "approval" }), "second", { into: "again" });
    expect(second).toMatchObject({ name: "second", into: "again", wait: { signal: "approval" } });
  });
});

describe("a parallel", () => {
  const { steps, shape } = defineSaga({
    name: "trip",
    version: 1,
    steps: [
      look,
      parallel([reserve, sleep({ name: "at-least", for: "1m" }), waitForSignal({ name: "passport" })]),
      parallel([named(look, "look-again")]),
      charge,
    ],
  });

  it("is laid flat: its members stand in the saga's list, and know its place in the list as it was written", () => {
    expect(steps.map(({ name, parallel }) => [name, parallel])).toEqual([
      ["look", undefined],
      ["reserve", 1],
      ["at-least", 1],
      ["passport", 1],
      ["look-again", 2],
      ["charge", undefined],
    ]);
    expect(steps[1]).toEqual({ ...reserve, parallel: 1 });
    expect(shape.steps[1]).toEqual({
      name: "reserve",
      kind: "compensatable",
      undone: true,
      transactional: false,
      parallel: 1,
    });
    expect([steps, ...steps].every(Object.isFrozen)).toBe(true);
  });

  it("leaves its members as they were, to be used elsewhere", () => {
    expect(reserve).not.toHaveProperty("parallel");
  });

  it("is frozen, and does not change when the list that it was made of does", () => {
    const members = [look, reserve];
    const both = parallel(members);
    members.push(look);
    expect(both.members).toEqual([look, reserve]);
    expect([both, both.members].every(Object.isFrozen)).toBe(true);
  });
});

describe("a forEach", () => {
  const parcel = step({
    name: "parcel",
    run: (parcel: { sku: string }) => ({ label: parcel.sku }),
    compensate: () => {},
    retry: { maxAttempts: 3 },
    compensationRetry: { maxAttempts: 4 },
    timeout: "9s",
    grace: "1s",
  });

  it("does one item after the other, by its step, and gives the outputs under its own name", () => {
    const parcels = forEach({
      name: "parcels",
      over: (order: { parcels: { sku: string }[] }) => order.parcels,
      step: parcel,
    });
    expect(parcels).toEqual({
      ...defaults,
      name: "parcels",
      into: "parcels",
      element: "each",
      each: { step: parcel, concurrency: 1 },
      nothingToUndo: false,
      retry: { maxAttempts: 3 },
      compensationRetry: { maxAttempts: 4 },
      timeoutMs: 9_000,
      graceMs: 1_000,
      run: parcels.run,
    });
    const items = [{ sku: "a" }];
    expect(parcels.run({ parcels: items }, {})).toBe(items);
    expect([parcels, parcels.each].every(Object.isFrozen)).toBe(true);
    expect(
      forEach({ name: "parcels", over: () => [{ sku: "a" }], step: parcel, concurrency: 4 }).each?.concurrency,
    ).toBe(4);
  });

  it("is undone, and has nothing to undo, and is transactional, as its step is", () => {
    const sql = step({ name: "sql", transaction: true, nothingToUndo: true, run: (_: { sku: string }) => {} });
    const { shape } = defineSaga({
      name: "s",
      version: 1,
      steps: [
        forEach({ name: "parcels", over: () => [{ sku: "a" }], step: parcel }),
        forEach({ name: "rows", over: () => [{ sku: "a" }], step: sql }),
      ],
    });
    const kind = "compensatable";
    expect(shape.steps).toEqual([
      { name: "parcels", kind, element: "each", undone: true, transactional: false },
      { name: "rows", kind, element: "each", undone: false, transactional: true },
    ]);
  });

  it.each([undefined, null, "abc", {}, new Set([1])])("that is over %o throws a coded error", (items) => {
    const error = thrownBy(() => forEach({ name: "parcels", over: () => items as never, step: parcel }).run({}, {}));
    expect(error).toBeInstanceOf(UsageError);
    expect(error).toMatchObject({
      code: "element.invalid",
      message: expect.stringMatching(/^forEach "parcels": `over` gave .*, not a list of items$/),
    });
  });
});

describe("a child", () => {
  const invoice = defineSaga({ name: "invoice", version: 3, input: z.object({ id: z.string() }), steps: [look] });

  it("runs another saga on the input that it computes, and gives its output under its own name", () => {
    const bill = child({ name: "bill", saga: invoice, input: (order: { orderId: string }) => ({ id: order.orderId }) });
    expect(bill).toEqual({
      ...defaults,
      name: "bill",
      into: "bill",
      element: "child",
      child: invoice,
      run: bill.run,
    });
    expect(bill.child).toBe(invoice);
    expect(bill.run({ orderId: "o" }, {})).toEqual({ id: "o" });
  });

  it("is undone where the saga can still turn back", () => {
    const bill = child({ name: "bill", saga: invoice, input: () => ({ id: "" }) });
    const { shape } = defineSaga({
      name: "s",
      version: 1,
      steps: [bill, charge, named(bill, "copy", { into: "copy" })],
    });
    expect(shape.steps.map(({ name, undone }) => [name, undone])).toEqual([
      ["bill", true],
      ["charge", false],
      ["copy", false],
    ]);
  });
});

describe("a step with a condition", () => {
  const when = (order: { gift: boolean }) => order.gift;
  const wrap = step({ name: "wrap", run: () => ({ paper: "red" }), nothingToUndo: true, when });

  it("keeps it, also under another name and in a parallel, and its shape says so", () => {
    const input = z.object({ gift: z.boolean() });
    const { steps, shape } = defineSaga({
      name: "s",
      version: 1,
      input,
      steps: [wrap, named(wrap, "again", { into: "again" }), parallel([named(wrap, "third", { into: "third" })])],
    });
    expect(steps.map((each) => each.when)).toEqual([when, when, when]);
    expect(shape.steps.map((each) => each.conditional)).toEqual([true, true, true]);
    expect(step({ name: "always", run: () => {}, when: undefined })).not.toHaveProperty("when");
  });
});
