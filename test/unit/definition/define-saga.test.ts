// WHAT THE COMPILER COULD NOT SEE IS REFUSED WHEN THE SAGA IS DEFINED, all faults at once, each with its step's name.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineSaga } from "../../../src/definition/define-saga.js";
import { isSaga } from "../../../src/definition/made-by.js";
import { named, pivot, step } from "../../../src/definition/step.js";
import type { Step } from "../../../src/definition/typed-step.js";
import { type Fault, SagaInvalidError } from "../../../src/errors/usage-errors.js";

// Plain JavaScript has no types.
const looseSaga = defineSaga as unknown as (options: unknown) => unknown;
const looseStep = step as unknown as (options: unknown) => Step;
const loosePivot = pivot as unknown as (options: unknown) => Step;
const looseNamed = named as unknown as (original: unknown, name: unknown, options?: unknown) => Step;

const look = step({ name: "look", run: () => ({}), nothingToUndo: true });
const reserve = step({ name: "reserve", run: () => ({}), compensate: () => {} });
const charge = pivot({ name: "charge", run: () => ({}) });
const ship = step({ name: "ship", run: () => ({}) });

/** The faults that defining a saga brings up; empty when it is accepted. */
function faultsOf(options: unknown): readonly Fault[] {
  try {
    looseSaga(options);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(SagaInvalidError);
    return (error as SagaInvalidError).faults;
  }
}

const faultsOfSteps = (...steps: unknown[]) => faultsOf({ name: "order", version: 1, steps });

/** The faults of a single step that has `options` beside what it needs. */
const faultsOfStep = (options: object) =>
  faultsOfSteps(looseStep({ name: "only", run: () => ({}), nothingToUndo: true, ...options }));

describe("a saga", () => {
  it("is frozen data: its list, its steps and its shape", () => {
    const saga = defineSaga({ name: "order", version: 3, steps: [reserve, charge, ship] });
    expect(saga).toMatchObject({ name: "order", version: 3, steps: [reserve, charge, ship] });
    expect(
      [saga, saga.steps, ...saga.steps, saga.shape, saga.shape.steps, ...saga.shape.steps].every(Object.isFrozen),
    ).toBe(true);
    expect(saga).not.toHaveProperty("maxDurationMs");
  });

  it("does not change when the list that it was made of does", () => {
    const list: Step[] = [look];
    const saga = defineSaga({ name: "order", version: 1, steps: list });
    list.push(reserve);
    expect(saga.steps).toEqual([look]);
  });

  it("keeps its input schema, output function and longest duration", () => {
    const input = z.object({ sku: z.string() });
    const output = () => ({ done: true });
    const saga = defineSaga({ name: "order", version: 1, input, steps: [look], maxDuration: "2h", output });
    expect(saga).toMatchObject({ input, output, maxDurationMs: 7_200_000 });
  });

  it("shares its steps with other sagas", () => {
    const first = defineSaga({ name: "first", version: 1, steps: [look, charge] });
    const second = defineSaga({ name: "second", version: 1, steps: [charge, look] });
    expect(first.steps[0]).toBe(second.steps[1]);
    expect(first.shape.steps[0]!.kind).toBe("compensatable");
    expect(second.shape.steps[1]!.kind).toBe("retriable");
  });

  it("is known as one, and nothing else is", () => {
    expect(isSaga(defineSaga({ name: "order", version: 1, steps: [look] }))).toBe(true);
    for (const other of [undefined, null, "saga", {}, { name: "order", version: 1, steps: [] }])
      expect(isSaga(other)).toBe(false);
  });

  it("accepts whatever is a Standard Schema, also one that is a function", () => {
    const standard = { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) };
    const schema = Object.assign(() => true, { "~standard": standard });
    expect(faultsOf({ name: "order", version: 1, steps: [look], input: schema })).toEqual([]);
  });
});

describe("the table of kinds", () => {
  it("holds for a list without a pivot, with one, and with one that comes first", () => {
    expect(faultsOfSteps(reserve, look)).toEqual([]);
    expect(faultsOfSteps(reserve, look, charge, ship)).toEqual([]);
    expect(faultsOfSteps(charge, ship, look)).toEqual([]);
  });

  it("refuses a second pivot", () => {
    expect(faultsOfSteps(charge, named(charge, "again"))).toEqual([
      { at: "again", fault: `is a second pivot, after "charge"; a saga has at most one` },
    ]);
  });

  it("refuses a compensation after the pivot", () => {
    expect(faultsOfSteps(charge, reserve)).toEqual([
      {
        at: "reserve",
        fault: `comes after the pivot "charge", where nothing is undone, so it can't have \`compensate\``,
      },
    ]);
  });

  it("refuses a step that may be rolled back and does not say how", () => {
    const fault = "can be rolled back, so it needs `compensate`, or `nothingToUndo: true`";
    expect(faultsOfSteps(ship)).toEqual([{ at: "ship", fault }]);
    expect(faultsOfSteps(ship, charge)).toEqual([{ at: "ship", fault }]);
  });

  it("refuses two steps of one name", () => {
    expect(faultsOfSteps(look, look)).toEqual([
      { at: "look", fault: `an earlier step has the same name; use named(step, "another name")` },
    ]);
    expect(faultsOfSteps(look, named(look, "look-again"))).toEqual([]);
  });

  it("refuses two outputs under one key", () => {
    const first = named(look, "first", { into: "seen" });
    expect(faultsOfSteps(first, named(look, "second", { into: "seen" }))).toEqual([
      { at: "second", fault: `its output goes into "seen", and so does that of "first"` },
    ]);
    expect(faultsOfSteps(first, named(look, "second", { into: "other" }), look)).toEqual([]);
  });

  it.each([undefined, null, "look", {}, () => {}, { name: "plain", run: () => ({}) }])(
    "refuses an element that was not made by the library: %o",
    (element) => {
      expect(faultsOfSteps(look, element)).toEqual([
        { at: "step 2", fault: expect.stringContaining("was not made by step(), pivot() or named()") },
      ]);
    },
  );

  it("finds the fault of a step also beside elements that are none", () => {
    expect(faultsOfSteps({}, charge, null, reserve).map((fault) => fault.at)).toEqual(["step 1", "step 3", "reserve"]);
  });
});

describe("concurrency", () => {
  const of = (concurrency: unknown) => faultsOf({ name: "order", version: 1, steps: [look], concurrency });

  it("is a limit, and a key where there is one; frozen, and no part of the shape", () => {
    const key = () => "all";
    const saga = defineSaga({ name: "order", version: 1, steps: [look], concurrency: { limit: 3, key } });
    expect(saga.concurrency).toEqual({ limit: 3, key });
    expect(Object.isFrozen(saga.concurrency)).toBe(true);
    const plain = defineSaga({
      name: "order",
      version: 1,
      steps: [look],
      concurrency: { limit: 1_000_000, key: undefined },
    });
    expect(plain.concurrency).toEqual({ limit: 1_000_000 });
    expect(plain.shape).toEqual(saga.shape);
    expect(defineSaga({ name: "order", version: 1, steps: [look] })).not.toHaveProperty("concurrency");
  });

  it("that can't be is refused, each fault by its place", () => {
    for (const limit of [0, -1, 1.5, "1", null, undefined, Number.NaN, Number.POSITIVE_INFINITY, 1_000_001])
      expect(of({ limit }).map(({ at }) => at)).toEqual(["concurrency.limit"]);
    for (const wrong of [1, null, "all", [1]]) expect(of(wrong).map(({ at }) => at)).toEqual(["concurrency"]);
    expect(of({ limit: 0, key: "customer", limt: 1 }).map(({ at }) => at)).toEqual([
      "concurrency.limt",
      "concurrency.limit",
      "concurrency.key",
    ]);
    expect(of({ limit: 1, limt: 1 })[0]!.fault).toContain("did you mean limit?");
  });
});

describe("all faults", () => {
  it("come at once, in one coded error that names each step", () => {
    const error = (() => {
      try {
        looseSaga({
          name: "order",
          version: 0,
          steps: [looseStep({ name: "a", timeout: "15x", grace: -1 }), ship, charge, reserve, loosePivot({ run: 5 })],
          maxDuration: 0,
          inptu: z.object({}),
        });
      } catch (thrown) {
        return thrown as SagaInvalidError;
      }
      throw new Error("it was accepted");
    })();
    expect(error.code).toBe("saga.invalid");
    expect(error.faults.map(({ at, fault }) => `${at}: ${fault}`)).toEqual([
      "inptu: is not an option; did you mean input?",
      "version: 0 is not a whole number from 1 to 2147483647",
      expect.stringContaining("maxDuration: 0 is not more than zero"),
      "a: `run` is missing: the function that does the step",
      expect.stringContaining('a: `timeout` "15x" is not a duration'),
      expect.stringContaining("a: `grace` -1 is negative"),
      "a: can be rolled back, so it needs `compensate`, or `nothingToUndo: true`",
      "ship: can be rolled back, so it needs `compensate`, or `nothingToUndo: true`",
      expect.stringContaining("reserve: comes after the pivot"),
      "step 5: `name` undefined is not a string",
      "step 5: `run` 5 is not a function",
      expect.stringContaining("step 5: is a second pivot"),
    ]);
    for (const { at, fault } of error.faults) expect(error.message).toContain(`${at}: ${fault}`);
    expect(error.message).toContain(`saga "order" can't be defined`);
  });

  it.each([undefined, null, "order", 5])("are reported of options that are no object: %o", (options) => {
    expect(faultsOf(options)[0]).toEqual({
      at: "options",
      fault: expect.stringContaining("is not an object; defineSaga() takes an object of options"),
    });
  });

  it.each([undefined, null, "steps", {}, look])("are reported of a list that is none: %o", (steps) => {
    expect(faultsOf({ name: "order", version: 1, steps })).toEqual([
      { at: "steps", fault: expect.stringContaining("is not a list of steps") },
    ]);
  });

  it("are reported of an empty list", () => {
    expect(faultsOfSteps()).toEqual([{ at: "steps", fault: "is empty; a saga has at least one step" }]);
  });
});

describe("a name", () => {
  const bad: [unknown, string][] = [
    [undefined, "undefined is not a string"],
    [5, "5 is not a string"],
    ["", "is empty"],
    ["  ", "is empty"],
    ["x".repeat(201), "has 201 characters; at most 200 are allowed"],
    ["a\u0000b", "contains a control character"],
    ["a\nb", "contains a control character"],
    ["a\ud800b", "half a surrogate pair"],
    ["a/b", `contains "/", which separates the parts of idempotency keys`],
    ["__proto__", "is reserved"],
  ];

  it.each(bad)("of a saga may not be %o", (name, why) => {
    expect(faultsOf({ name, version: 1, steps: [look] })).toEqual([
      { at: "name", fault: expect.stringContaining(why) },
    ]);
  });

  it.each([...bad, ["compensate", "keys of compensations end in it"] as [unknown, string]])(
    "of a step may not be %o, also when it is named once more",
    (name, why) => {
      const expected = [{ at: "step 1", fault: expect.stringContaining(why) }];
      expect(faultsOfStep({ name }).map((fault) => ({ ...fault }))).toEqual(expected);
      expect(faultsOfSteps(looseNamed(look, name))).toEqual(expected);
    },
  );

  it.each(["a", "x".repeat(200), "Größe 🙂", "a.b:c_d-e", "constructor"])("may be %o", (name) => {
    expect(faultsOf({ name, version: 1, steps: [named(look, name)] })).toEqual([]);
  });

  it("and its version may be as long and as large as is kept", () => {
    expect(faultsOf({ name: "x".repeat(200), version: 2 ** 31 - 1, steps: [look] })).toEqual([]);
  });

  it("that is wrong is mended by another one", () => {
    expect(faultsOfSteps(looseNamed(looseStep({ name: "", run: () => ({}), nothingToUndo: true }), "mended"))).toEqual(
      [],
    );
  });

  it.each([undefined, null, "1", 0, -1, 1.5, Number.NaN, Infinity, 2 ** 31])(
    "goes with a version that is not %o",
    (version) => {
      expect(faultsOf({ name: "order", version, steps: [look] })).toEqual([
        { at: "version", fault: expect.stringContaining("is not a whole number from 1") },
      ]);
    },
  );
});

describe("a step's options", () => {
  it.each<[string, object, string]>([
    ["run", { run: "x" }, '`run` "x" is not a function'],
    ["compensate", { compensate: {}, nothingToUndo: undefined }, "`compensate` an object is not a function"],
    ["reconcile", { reconcile: 5 }, "`reconcile` 5 is not a function"],
    ["classifyError", { classifyError: [] }, "`classifyError` an array is not a function"],
    ["nothingToUndo", { nothingToUndo: "yes" }, '`nothingToUndo` "yes" is not true or false'],
    ["transaction", { transaction: 1 }, "`transaction` 1 is not true or false"],
    ["output", { output: {} }, "`output` an object is not a Standard Schema"],
    ["output (no validate)", { output: { "~standard": {} } }, "`output` an object is not a Standard Schema"],
    ["output (null standard)", { output: { "~standard": null } }, "`output` an object is not a Standard Schema"],
    ["output (null)", { output: null }, "`output` null is not a Standard Schema"],
    ["output (text)", { output: "x".repeat(80) }, `"${"x".repeat(80)}" is not a Standard Schema`],
    ["output (long text)", { output: "x".repeat(81) }, `"${"x".repeat(80)}…" is not a Standard Schema`],
    ["policy", { policy: {} }, "`policy` an object is not a policy"],
    ["policy (null)", { policy: null }, "`policy` null is not a policy"],
    ["policy (function)", { policy: () => {} }, "`policy` a function is not a policy"],
    ["retry", { retry: 3 }, "`retry` 3 is not an object"],
    ["retry.maxAttempts", { retry: { maxAttempts: 0 } }, "`retry.maxAttempts` 0 is not a whole number"],
    ["compensationRetry.factor", { compensationRetry: { factor: 0 } }, "`compensationRetry.factor` 0 is not"],
    ["retry.tries", { retry: { tries: 3 } }, "`retry.tries` is not an option; there are maxAttempts"],
    ["timeout", { timeout: 0 }, "`timeout` 0 is not more than zero"],
    ["timeout (negative)", { timeout: "-1s" }, '`timeout` "-1s" is not a duration'],
    ["grace", { grace: Infinity }, "`grace` Infinity is not allowed here"],
    ["grace (NaN)", { grace: Number.NaN }, "`grace` NaN is not a duration"],
  ])("are checked: %s", (_, options, why) => {
    const faults = faultsOfStep(options);
    expect(faults[0]).toEqual({ at: "only", fault: expect.stringContaining(why) });
  });

  it.each([
    ["nothingToUdo", "nothingToUndo"],
    ["TIMEOUT", "timeout"],
    ["compensat", "compensate"],
    ["retyr", "retry"],
  ])("are known by name: %s is refused, and %s suggested", (given, meant) => {
    expect(faultsOfStep({ [given]: true })).toEqual([
      { at: "only", fault: `\`${given}\` is not an option; did you mean ${meant}?` },
    ]);
  });

  it("are listed where no name is near", () => {
    expect(faultsOfStep({ somethingElse: 1 })[0]!.fault).toMatch(
      /^`somethingElse` is not an option; there are name, run/,
    );
  });

  it("can't both undo the step and say that there is nothing to undo", () => {
    expect(faultsOfStep({ compensate: () => {} })).toEqual([
      { at: "only", fault: "`nothingToUndo` contradicts compensate; keep one of the two" },
    ]);
    expect(faultsOfStep({ compensate: () => {}, nothingToUndo: false })).toEqual([]);
  });

  it("can't reconcile a transactional step, which is never in doubt", () => {
    expect(faultsOfStep({ transaction: true, reconcile: () => undefined })).toEqual([
      { at: "only", fault: "`reconcile` has no use in a transactional step, which is never in doubt; leave it out" },
    ]);
    expect(faultsOfStep({ transaction: false, reconcile: () => undefined })).toEqual([]);
    expect(faultsOfStep({ transaction: true, policy: { execute: () => {} } })).toEqual([]);
  });

  it("are an object", () => {
    const faults = faultsOfSteps(looseStep(undefined), loosePivot("charge"));
    expect(faults.map((fault) => fault.fault)).toContain(
      "`options` undefined is not an object; step() takes an object of options",
    );
    expect(faults.map((fault) => fault.fault)).toContain(
      '`options` "charge" is not an object; pivot() takes an object of options',
    );
  });

  it("are not for pivots where they undo", () => {
    const turn = loosePivot({
      name: "turn",
      run: () => ({}),
      compensate: () => {},
      nothingToUndo: true,
      compensationRetry: {},
    });
    expect(faultsOfSteps(turn)).toEqual(
      ["compensate", "nothingToUndo", "compensationRetry"].map((name) => ({
        at: "turn",
        fault: `\`${name}\` is not for pivots: once a pivot is passed nothing is undone`,
      })),
    );
  });
});

describe("a step under another name", () => {
  it("keeps the faults of the step that it was made of", () => {
    expect(faultsOfSteps(looseNamed(looseStep({ name: "a", run: 5, nothingToUndo: true }), "b"))).toEqual([
      { at: "b", fault: "`run` 5 is not a function" },
    ]);
  });

  it.each([undefined, null, {}, "look"])("is made of a step, not of %o", (original) => {
    expect(faultsOfSteps(looseNamed(original, "b"))[0]).toEqual({
      at: "b",
      fault: expect.stringContaining("was not made by step(), pivot() or named()"),
    });
  });

  it.each<[unknown, string]>([
    ["", "`into` is empty"],
    [5, "`into` 5 is not a string"],
    ["__proto__", '`into` "__proto__" is reserved'],
  ])("does not go into %o", (into, why) => {
    expect(faultsOfSteps(looseNamed(look, "b", { into }))).toEqual([{ at: "b", fault: why }]);
  });

  it("takes no other option", () => {
    expect(faultsOfSteps(looseNamed(look, "b", { inot: "x" }))).toEqual([
      { at: "b", fault: "`inot` is not an option; did you mean into?" },
    ]);
  });

  it("is no pivot for what came from nowhere", () => {
    expect(faultsOfSteps(looseNamed({ pivot: true }, "b"), charge).map((fault) => fault.at)).toContain("b");
  });
});
