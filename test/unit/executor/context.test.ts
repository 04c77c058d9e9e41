import { describe, expect, test } from "vitest";
import { initialState, type RunState } from "../../../src/core/state.js";
import { defineSaga } from "../../../src/definition/define-saga.js";
import { named, step } from "../../../src/definition/step.js";
import { checkOutput, contextOf, isPlainObject, mergedOutputs } from "../../../src/executor/context.js";
import { decodeValue, encodeValue } from "../../../src/journal/codec.js";

const make = (name: string) => step({ name, run: async () => ({}) as any, nothingToUndo: true });
const saga = defineSaga({
  name: "saga",
  version: 1,
  steps: [make("S1"), named(make("S2"), "S2b", { into: "second" }), make("S3")] as ReturnType<typeof make>[],
});

/** A state in which these steps are done, with these outputs. */
function done(outputs: Record<string, unknown>): RunState {
  const state = initialState(saga.shape, 0);
  const steps = Object.entries(outputs).map(([name, output]) => [
    name,
    { ...state.steps[name]!, done: { output: encodeValue(output), attempt: 1 } },
  ]);
  return { ...state, steps: { ...state.steps, ...Object.fromEntries(steps) } };
}

function contextAt(index: number, own: boolean, state: RunState, input: unknown = { from: "input" }) {
  return contextOf(saga, encodeValue(input), state, { index, own, decode: decodeValue });
}

describe("a context", () => {
  test("is the input and the outputs of the done steps before, merged or under their key", () => {
    const state = done({ S1: { a: 1 }, S2b: { b: 2 }, S3: { c: 3 } });
    expect(contextAt(0, false, state)).toEqual({ from: "input" });
    expect(contextAt(2, false, state)).toEqual({ from: "input", a: 1, second: { b: 2 } });
    expect(contextAt(2, true, state)).toEqual({ from: "input", a: 1, second: { b: 2 }, c: 3 });
  });

  test("passes over steps that gave nothing, or are not done", () => {
    expect(contextAt(2, true, done({ S1: undefined }))).toEqual({ from: "input" });
    expect(contextAt(2, false, done({ S2b: undefined }))).toEqual({ from: "input", second: undefined });
  });

  test("is empty for a saga without input", () => {
    const options = { index: 0, own: false, decode: decodeValue };
    expect(contextOf(saga, encodeValue(undefined), done({}), options)).toEqual({});
  });

  test("is a fresh copy each time", () => {
    const state = done({ S1: { list: [1] } });
    (contextAt(1, false, state) as any).list.push(2);
    expect(contextAt(1, false, state)).toEqual({ from: "input", list: [1] });
  });

  test("keeps a key such as __proto__ as data", () => {
    const hostile = JSON.parse('{"__proto__":{"admin":true},"constructor":1}');
    const decode = () => hostile;
    const context = contextOf(saga, { format: "x", text: "" }, done({ S1: {} }), { index: 1, own: false, decode });
    expect(Object.keys(context).sort()).toEqual(["__proto__", "constructor"]);
    expect((context as any).admin).toBeUndefined();
    expect(Object.getPrototypeOf(context)).toBe(Object.prototype);
  });

  test("all outputs merged, without the input", () => {
    expect(mergedOutputs(saga, done({ S1: { a: 1 }, S2b: { b: 2 }, S3: undefined }), decodeValue)).toEqual({
      a: 1,
      second: { b: 2 },
    });
  });
});

describe("an output", () => {
  const refusal = (output: unknown, before = {}, into?: string) => {
    try {
      checkOutput({ name: "S1", ...(into === undefined ? {} : { into }) }, output, before);
    } catch (error) {
      return (error as Error).message;
    }
    return undefined;
  };

  test("is a plain object or nothing", () => {
    for (const fine of [undefined, {}, { a: 1 }, Object.create(null)]) expect(refusal(fine)).toBeUndefined();
    expect(refusal("text")).toContain("returned a string");
    expect(refusal(null)).toContain("returned null");
    expect(refusal([])).toContain("returned an array");
    expect(refusal(new Map())).toContain("returned a Map");
    expect(refusal(Object.create(Object.create(null)))).toContain("returned a object");
  });

  test("provides no key that is there already, and with `into` only that one", () => {
    expect(refusal({ a: 1, b: 2 }, { b: 1 })).toContain('provides "b"');
    expect(refusal({ b: 2 }, { b: 1 }, "under")).toBeUndefined();
    expect(refusal({}, { under: 1 }, "under")).toContain('provides "under"');
    expect(refusal({ toString: 1 }, {})).toBeUndefined();
  });

  test("of a class is none, whatever it looks like", () => {
    expect(isPlainObject(new (class Card {})())).toBe(false);
    expect(isPlainObject(Object.create(null))).toBe(true);
    expect(isPlainObject(undefined)).toBe(false);
  });
});
