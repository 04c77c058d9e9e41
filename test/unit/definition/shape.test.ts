// THE SHAPE: what can be decided from without a saga's functions, and how two of them differ.

import { describe, expect, it } from "vitest";
import { defineSaga } from "../../../src/definition/define-saga.js";
import { type Shape, type StepShape, shapeDifference, shapeText } from "../../../src/definition/shape.js";
import { pivot, step } from "../../../src/definition/step.js";

const undone = step({ name: "undone", run: () => ({}), compensate: () => {} });
const harmless = step({ name: "harmless", run: () => ({}), nothingToUndo: true, transaction: true });
const turn = pivot({ name: "turn", run: () => ({}) });
const after = step({ name: "after", run: () => ({}) });

describe("the kind of a step", () => {
  it("follows from the place of the pivot", () => {
    const { shape } = defineSaga({ name: "s", version: 1, steps: [undone, harmless, turn, after] });
    expect(shape.steps).toEqual([
      { name: "undone", kind: "compensatable", undone: true, transactional: false },
      { name: "harmless", kind: "compensatable", undone: false, transactional: true },
      { name: "turn", kind: "pivot", undone: false, transactional: false },
      { name: "after", kind: "retriable", undone: false, transactional: false },
    ]);
  });

  it("is compensatable everywhere in a saga without a pivot", () => {
    const { shape } = defineSaga({ name: "s", version: 1, steps: [undone, harmless] });
    expect(shape.steps.map((each) => each.kind)).toEqual(["compensatable", "compensatable"]);
  });

  it("is retriable for all that follows a first step that is the pivot", () => {
    const { shape } = defineSaga({ name: "s", version: 1, steps: [turn, after, harmless] });
    expect(shape.steps.map((each) => each.kind)).toEqual(["pivot", "retriable", "retriable"]);
  });
});

describe("two shapes", () => {
  const one: StepShape = { name: "one", kind: "compensatable", undone: true, transactional: false };
  const two: StepShape = { name: "two", kind: "retriable", undone: false, transactional: true };
  const shape = (...steps: StepShape[]): Shape => ({ steps });

  const wait: StepShape = { ...one, element: "signal", signal: "go" };

  it("have the same text exactly when they are equal", () => {
    expect(shapeText(shape(one, two))).toBe(shapeText(shape({ ...one }, { ...two })));
    const others = [
      shape(two, one),
      shape(one),
      shape({ ...one, name: "x" }, two),
      shape({ ...one, kind: "pivot" }, two),
      shape({ ...one, undone: false }, two),
      shape({ ...one, transactional: true }, two),
      shape({ ...one, element: "sleep" }, two),
      shape(wait, two),
      shape({ ...wait, signal: "stop" }, two),
      shape({ ...one, parallel: 0 }, two),
      shape({ ...one, parallel: 1 }, two),
      shape({ ...one, conditional: true }, two),
      { steps: [], function: true } as const,
    ];
    expect(new Set([shape(one, two), ...others].map(shapeText)).size).toBe(14);
  });

  it.each<[string, Shape, Shape, string[]]>([
    ["nothing", shape(one), shape(one), []],
    ["an added step", shape(one), shape(one, two), [`step 2: "two" was added`]],
    ["a missing step", shape(one, two), shape(one), [`step 2: "two" is missing`]],
    ["another name", shape(one), shape({ ...one, name: "uno" }), [`step 1: "one" is now "uno"`]],
    [
      "another kind",
      shape(one),
      shape({ ...one, kind: "retriable" }),
      [`step "one" was compensatable and is now retriable`],
    ],
    [
      "a lost compensation",
      shape(one),
      shape({ ...one, undone: false }),
      [`step "one" had a compensation and has none now`],
    ],
    [
      "a new compensation",
      shape({ ...one, undone: false }),
      shape(one),
      [`step "one" had no compensation and has one now`],
    ],
    [
      "a lost transaction",
      shape(two),
      shape({ ...two, transactional: false }),
      [`step "two" was transactional and is not now`],
    ],
    [
      "another element",
      shape({ ...one, element: "sleep" }),
      shape({ ...one, element: "each" }),
      [`step "one" was a sleep and is now a forEach`],
    ],
    ["a step that is now a wait", shape(one), shape(wait), [`step "one" was a step and is now a wait for a signal`]],
    [
      "a child that is now a step",
      shape({ ...one, element: "child" }),
      shape(one),
      [`step "one" was a child and is now a step`],
    ],
    [
      "another signal",
      shape(wait),
      shape({ ...wait, signal: "stop" }),
      [`step "one" waited for the signal "go" and waits for "stop" now`],
    ],
    ["a new condition", shape(one), shape({ ...one, conditional: true }), [`step "one" runs only at times now`]],
    [
      "a lost condition",
      shape({ ...one, conditional: true }),
      shape(one),
      [`step "one" ran only at times and runs always now`],
    ],
    [
      "a new parallel",
      shape(one),
      shape({ ...one, parallel: 0 }),
      [`step "one" was alone and is in the parallel at place 1 now`],
    ],
    [
      "another parallel",
      shape({ ...one, parallel: 2 }),
      shape({ ...one, parallel: 0 }),
      [`step "one" was in the parallel at place 3 and is in the parallel at place 1 now`],
    ],
    [
      "all of it",
      shape(wait),
      shape({ ...two, name: "one", parallel: 1 }),
      [
        `step "one" was a wait for a signal and is now a step`,
        `step "one" was compensatable and is now retriable`,
        `step "one" had a compensation and has none now`,
        `step "one" is transactional now`,
        `step "one" was alone and is in the parallel at place 2 now`,
      ],
    ],
    ["a function", { steps: [], function: true } as const, shape(one), ["was a function and is a list now"]],
    ["a list", shape(one), { steps: [], function: true } as const, ["was a list and is a function now"]],
    ["a new transaction", shape(one), shape({ ...one, transactional: true }), [`step "one" is transactional now`]],
  ])("differ readably: %s", (_, wanted, present, lines) => {
    expect(shapeDifference(wanted, present)).toEqual(lines);
  });
});
