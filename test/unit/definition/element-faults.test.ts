// WHAT THE COMPILER COULD NOT SEE OF THE OTHER ELEMENTS is refused when the saga is defined, all faults at once, each with
// its element's name.

import { describe, expect, it } from "vitest";
import type { Fault, SagaInvalidError } from "../../../src/index.js";
import * as door from "../../../src/index.js";

// Plain JavaScript has no types.
type Loose = (...given: unknown[]) => any;
const { child, defineSaga, forEach, named, parallel, pivot, sleep, step, waitForSignal } = door as unknown as Record<
  string,
  Loose
> & {
  [K in
    | "child"
    | "defineSaga"
    | "forEach"
    | "named"
    | "parallel"
    | "pivot"
    | "sleep"
    | "step"
    | "waitForSignal"]: Loose;
};

const look = step({ name: "look", run: () => ({}), nothingToUndo: true });
const reserve = step({ name: "reserve", run: () => ({}), compensate: () => {} });
const charge = pivot({ name: "charge", run: () => ({}) });
const ship = step({ name: "ship", run: () => ({}) });
const inner = defineSaga({ name: "inner", version: 1, steps: [look] });
const turning = defineSaga({ name: "turning", version: 1, steps: [look, pivot({ name: "turn", run: () => ({}) })] });
const input = () => ({});

/** The faults that defining a saga of this list brings up; empty when it is accepted. */
function faultsOf(...steps: unknown[]): readonly Fault[] {
  try {
    defineSaga({ name: "order", version: 1, steps });
    return [];
  } catch (error) {
    expect(door.isSagaError(error, "saga.invalid")).toBe(true);
    return (error as SagaInvalidError).faults;
  }
}

const textsOf = (...steps: unknown[]) => faultsOf(...steps).map(({ at, fault }) => `${at}: ${fault}`);

describe("the options of an element", () => {
  it.each<[string, unknown, string]>([
    ["a sleep that says not how long", sleep({ name: "x" }), "x: `for` is missing: how long to sleep"],
    ["a sleep with a typo", sleep({ name: "x", for: "15x" }), 'x: `for` "15x" is not a duration'],
    ["a sleep of less than nothing", sleep({ name: "x", for: -1 }), "x: `for` -1 is negative"],
    ["a sleep of NaN", sleep({ name: "x", for: Number.NaN }), "x: `for` NaN is not a duration"],
    ["a sleep for ever", sleep({ name: "x", for: Infinity }), "x: `for` Infinity is not allowed here"],
    ["a sleep until a date", sleep({ name: "x", for: new Date(0) }), "x: `for` an object is not a duration"],
    ["a sleep's other option", sleep({ name: "x", fro: "1s", for: 1 }), "x: `fro` is not an option; did you mean for?"],
    ["a sleep's name", sleep({ name: "a/b", for: 1 }), 'step 1: `name` "a/b" contains "/"'],
    ["a wait's schema", waitForSignal({ name: "x", payload: {} }), "x: `payload` an object is not a Standard Schema"],
    ["a wait of no time", waitForSignal({ name: "x", within: 0 }), "x: `within` 0 is not more than zero"],
    ["a wait within for ever", waitForSignal({ name: "x", within: Infinity }), "x: `within` Infinity is not allowed"],
    [
      "a wait's way out that is none",
      waitForSignal({ name: "x", within: 1, onTimeout: "throw" }),
      'x: `onTimeout` "throw" is not "give" or "fail"',
    ],
    [
      "a wait's way out without a deadline",
      waitForSignal({ name: "x", onTimeout: "fail" }),
      "x: `onTimeout` has no use without `within`; leave it out",
    ],
    ["a wait's signal", waitForSignal({ name: "x", signal: "" }), "x: `signal` is empty"],
    [
      "a wait's other option",
      waitForSignal({ name: "x", wihtin: 1 }),
      "x: `wihtin` is not an option; did you mean within?",
    ],
    ["a wait's name", waitForSignal({ name: "" }), "step 1: `name` is empty"],
    [
      "a forEach without a function",
      forEach({ name: "x", step: look }),
      "x: `over` is missing: the function that gives",
    ],
    ["a forEach over a list", forEach({ name: "x", over: [], step: look }), "x: `over` an array is not a function"],
    ["a forEach without a step", forEach({ name: "x", over: () => [] }), "x: `step` is missing: the step of an item"],
    [
      "a forEach of a function",
      forEach({ name: "x", over: () => [], step: () => {} }),
      "x: `step` a function is not a step",
    ],
    [
      "a forEach of a parallel",
      forEach({ name: "x", over: () => [], step: parallel([look]) }),
      "x: `step` an object is not a step",
    ],
    [
      "a forEach's pivot",
      forEach({ name: "x", over: () => [], step: charge }),
      "x: `step` is a pivot; the point of no",
    ],
    [
      "a forEach of an element",
      forEach({ name: "x", over: () => [], step: sleep({ name: "night", for: 1 }) }),
      'x: `step` "night" is another element of a list; an item takes a step',
    ],
    [
      "a forEach's condition",
      forEach({
        name: "x",
        over: () => [],
        step: step({ name: "w", run: input, nothingToUndo: true, when: () => true }),
      }),
      'x: `step` "w" has `when`; leave the items out of `over` instead',
    ],
    [
      "a forEach's key",
      forEach({ name: "x", over: () => [], step: named(look, "l", { into: "k" }) }),
      'x: `step` "l" has `into`, but outputs of items go into a list',
    ],
    [
      "a forEach's step that is wrong itself",
      forEach({ name: "x", over: () => [], step: step({ name: "w", run: 5, nothingToUndo: true }) }),
      "x: `step.run` 5 is not a function",
    ],
    [
      "none at once",
      forEach({ name: "x", over: () => [], step: look, concurrency: 0 }),
      "x: `concurrency` 0 is not a whole",
    ],
    [
      "half a one",
      forEach({ name: "x", over: () => [], step: look, concurrency: 1.5 }),
      "x: `concurrency` 1.5 is not a",
    ],
    [
      "all at once",
      forEach({ name: "x", over: () => [], step: look, concurrency: Infinity }),
      "x: `concurrency` Infinity is",
    ],
    [
      "a number as text",
      forEach({ name: "x", over: () => [], step: look, concurrency: "2" }),
      'x: `concurrency` "2" is not',
    ],
    [
      "a forEach's other option",
      forEach({ name: "x", over: () => [], step: look, steps: 1 }),
      "x: `steps` is not an option",
    ],
    ["a child without a saga", child({ name: "x", input }), "x: `saga` is missing: the saga to run"],
    ["a child of a step", child({ name: "x", saga: look, input }), "x: `saga` an object was not made by defineSaga()"],
    ["a child without an input", child({ name: "x", saga: inner }), "x: `input` is missing: the function that gives"],
    ["a child's input", child({ name: "x", saga: inner, input: {} }), "x: `input` an object is not a function"],
    [
      "a child's other option",
      child({ name: "x", saga: inner, input, sga: 1 }),
      "x: `sga` is not an option; did you mean saga?",
    ],
    [
      "a step's condition",
      step({ name: "x", run: input, nothingToUndo: true, when: true }),
      "x: `when` true is not a function",
    ],
    [
      "a pivot's condition",
      pivot({ name: "x", run: input, when: () => true }),
      "x: `when` is not for pivots: a saga that",
    ],
  ])("are refused: %s", (_, element, text) => {
    expect(textsOf(element)).toEqual([expect.stringContaining(text)]);
  });

  it("are an object", () => {
    for (const [made, name] of [
      [sleep(), "sleep"],
      [waitForSignal("x"), "waitForSignal"],
      [forEach(null), "forEach"],
      [child(5), "child"],
    ])
      expect(textsOf(made)[0]).toMatch(new RegExp(`is not an object; ${name}\\(\\) takes an object of options$`));
  });

  it("need not name a forEach's step well, for its name is not used", () => {
    expect(
      faultsOf(forEach({ name: "x", over: () => [], step: step({ name: "", run: input, nothingToUndo: true }) })),
    ).toEqual([]);
  });

  it("are not mended by another name where the name went into more than that", () => {
    expect(textsOf(named(waitForSignal({ name: "" }), "mended"))).toEqual(["mended: `name` is empty"]);
    expect(textsOf(named(sleep({ name: "", for: 1 }), "mended"))).toEqual([]);
  });
});

describe("the table of kinds", () => {
  it("holds for a forEach by its step", () => {
    const each = (item: unknown) => forEach({ name: "x", over: () => [], step: item });
    expect(faultsOf(each(look), charge)).toEqual([]);
    expect(faultsOf(each(reserve), charge)).toEqual([]);
    expect(faultsOf(charge, each(ship))).toEqual([]);
    expect(textsOf(each(ship), charge)).toEqual([
      "x: can be rolled back, so it needs `compensate`, or `nothingToUndo: true`",
    ]);
    expect(textsOf(charge, each(reserve))).toEqual([
      expect.stringContaining('x: comes after the pivot "charge", where nothing is undone'),
    ]);
  });

  it("holds for each member of a parallel", () => {
    expect(faultsOf(parallel([look, reserve]), charge, parallel([ship, sleep({ name: "s", for: 1 })]))).toEqual([]);
    expect(textsOf(parallel([look, ship]), charge)).toEqual([
      expect.stringContaining("ship: can be rolled back, so it"),
    ]);
    expect(textsOf(charge, parallel([ship, reserve]))).toEqual([
      expect.stringContaining("reserve: comes after the pivot"),
    ]);
  });

  it("lets sleeps, waits and children stand on both sides of the pivot", () => {
    const elements = (n: number) => [
      sleep({ name: `s${n}`, for: 1 }),
      waitForSignal({ name: `w${n}` }),
      child({ name: `c${n}`, saga: inner, input }),
    ];
    expect(faultsOf(...elements(1), charge, ...elements(2))).toEqual([]);
  });

  it("lets a child whose saga has a pivot stand only after the pivot", () => {
    const bill = child({ name: "bill", saga: turning, input });
    const fault =
      'bill: runs the saga "turning", whose pivot "turn" can\'t be undone; put it after a pivot of this saga';
    expect(textsOf(charge, bill)).toEqual([]);
    expect(textsOf(bill, charge)).toEqual([fault]);
    expect(textsOf(bill)).toEqual([fault]);
    expect(textsOf(parallel([look, bill]), charge)).toEqual([fault]);
  });
});

describe("a parallel", () => {
  it("has at least one member, and takes them as one list", () => {
    expect(textsOf(look, parallel([]))).toEqual(["step 2: is empty; a parallel has at least one member"]);
    expect(textsOf(parallel([]))).toEqual(["step 1: is empty; a parallel has at least one member"]);
    expect(textsOf(parallel(look, reserve))).toEqual([
      "step 1: an object is not a list of elements; parallel() takes one list",
    ]);
    expect(faultsOf(parallel([look]))).toEqual([]);
  });

  it("has neither a pivot nor another parallel nor what is no element among its members", () => {
    expect(textsOf(parallel([look, charge]))).toEqual([
      "charge: is a pivot, and a member of a parallel; the point of no return is passed alone",
    ]);
    expect(textsOf(parallel([look, parallel([reserve]), {}, null]))).toEqual([
      "step 1, member 2: is a parallel within a parallel; put its members beside the others",
      expect.stringContaining("step 1, member 3: an object was not made by step(), pivot() or named(), nor by sleep()"),
      expect.stringContaining("step 1, member 4: null was not made by"),
    ]);
  });

  it("has members whose names and keys are no one else's in the whole saga", () => {
    expect(textsOf(look, parallel([reserve, look]))).toEqual([
      expect.stringContaining("look: an earlier step has the"),
    ]);
    expect(textsOf(parallel([reserve, look]), look)).toEqual([
      expect.stringContaining("look: an earlier step has the"),
    ]);
    expect(textsOf(parallel([look, look]))).toEqual([
      expect.stringContaining("look: an earlier step has the same name"),
    ]);
    expect(textsOf(parallel([waitForSignal({ name: "a" }), named(look, "b", { into: "a" })]))).toEqual([
      'b: its output goes into "a", and so does that of "a"',
    ]);
  });

  it("has no name", () => {
    expect(textsOf(named(parallel([look]), "both"))[0]).toBe(
      "both: `step` is a parallel, which has no name; name its members",
    );
  });
});

describe("names and keys", () => {
  it("are one per element, also where an element gives under its own name", () => {
    const wait = waitForSignal({ name: "approval" });
    expect(textsOf(wait, wait)).toEqual([
      expect.stringContaining("approval: an earlier step has the same name"),
      'approval: its output goes into "approval", and so does that of "approval"',
    ]);
    expect(textsOf(wait, named(wait, "second"))).toEqual([
      'second: its output goes into "approval", and so does that of "approval"',
    ]);
    expect(faultsOf(wait, named(wait, "second", { into: "second" }))).toEqual([]);
  });

  it("are no whole numbers, for an item's key ends in one", () => {
    const text = 'step 1: `name` "17" is a whole number, which is reserved: keys of the items of a forEach end in one';
    expect(textsOf(named(look, "17"))).toEqual([text]);
    expect(textsOf(sleep({ name: "17", for: 1 }))).toEqual([text]);
    expect(faultsOf(named(look, "17b"), named(look, "-1"), named(look, "1.5"))).toEqual([]);
  });
});

it("all faults of all elements come at once", () => {
  expect(
    textsOf(
      sleep({ name: "night", for: "x" }),
      parallel([]),
      parallel([ship, charge, 5]),
      child({ name: "bill", saga: turning, input: 1 }),
    ).map((text) => text.slice(0, 24)),
  ).toEqual([
    "step 2: is empty; a para",
    'night: `for` "x" is not ',
    "ship: can be rolled back",
    "charge: is a pivot, and ",
    "step 3, member 3: 5 was ",
    "bill: `input` 1 is not a",
  ]);
});
