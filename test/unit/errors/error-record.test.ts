import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { type ErrorRecord, recordError, reviveError } from "../../../src/errors/error-record.js";
import { isSagaError } from "../../../src/errors/saga-error.js";
import {
  isRetryableError,
  isTerminalError,
  RetryableError,
  StepAborted,
  TerminalError,
} from "../../../src/errors/step-errors.js";

class HttpError extends Error {
  status = 409;
}

/** As the journal gives it back. */
const stored = (thrown: unknown): ErrorRecord => JSON.parse(JSON.stringify(recordError(thrown)));
const revived = (thrown: unknown): any => reviveError(stored(thrown));
const props = (thrown: unknown) => stored(thrown).props;
const withFields = (fields: object) => Object.assign(new Error("it failed"), fields);

describe("an Error", () => {
  it("keeps its class's name, message, stack, properties and cause, and reads the same after a restart (ERR-1)", () => {
    const original = new HttpError("conflict", { cause: new TypeError("x") });
    for (const error of [reviveError(recordError(original)), revived(original)]) {
      expect(error).toBeInstanceOf(Error);
      expect(error.name).toBe("HttpError");
      expect(error.message).toBe("conflict");
      expect(error.stack).toBe(original.stack);
      expect(error.status).toBe(409);
      expect(error.cause).toBeInstanceOf(Error);
      expect(error.cause).toMatchObject({ name: "TypeError", message: "x" });
      expect(Object.keys(error)).toEqual(["status"]);
    }
  });

  it("keeps a name that was set, on the error or on its class", () => {
    class Coded extends Error {
      override name = "CodedError";
    }
    class Named extends Error {
      override get name() {
        return "FromGetter";
      }
    }
    expect(stored(new Coded("x")).name).toBe("CodedError");
    expect(stored(new Named("x")).name).toBe("FromGetter");
    expect(stored(new RangeError("x")).name).toBe("RangeError");
    expect(stored(Object.assign(new HttpError("x"), { name: "Error" })).name).toBe("Error");
    expect(stored(new (class extends Error {})("x")).name).toBe("Error");
    expect(stored(withFields({ name: "" })).name).toBe("Error");
    expect(stored(withFields({ name: 5, constructor: 5 })).name).toBe("Error");
  });

  it("keeps a code that is text or a number beside the properties, and any other among them", () => {
    expect(stored(withFields({ code: "E1" }))).toMatchObject({ code: "E1" });
    expect(revived(withFields({ code: 42 })).code).toBe(42);
    expect(stored(withFields({ code: { deep: 1 } }))).toMatchObject({ props: { code: { deep: 1 } } });
    expect(props(withFields({ code: "E1" }))).toBeUndefined();
  });

  it("may have a cause that is no Error", () => {
    expect(revived(new Error("x", { cause: "boom" })).cause).toMatchObject({
      name: "NonError",
      message: "boom",
      value: "boom",
    });
    expect("cause" in revived(new Error("x", { cause: undefined }))).toBe(false);
    expect(revived(new Error("x", { cause: null })).cause).toMatchObject({ message: "null" });
  });

  it("of another realm is one", () => {
    expect(stored(runInNewContext('new TypeError("far")'))).toMatchObject({ name: "TypeError", message: "far" });
  });

  it("without a message or a stack has none", () => {
    const error = new Error();
    Object.defineProperty(error, "stack", { value: 5 });
    Object.defineProperty(error, "message", { value: undefined });
    expect(recordError(error)).toEqual({ name: "Error", message: "" });
    expect(reviveError({ name: "Odd", message: "no stack" }).stack).toBe("Odd: no stack");
  });

  it("keeps the errors of an AggregateError, 10 of them", () => {
    const all = new AggregateError(
      Array.from({ length: 12 }, (_, index) => new HttpError(`no ${index}`)),
      "all failed",
    );
    const error = revived(all);
    expect(error.errors).toHaveLength(11);
    expect(error.errors[9]).toMatchObject({ name: "HttpError", message: "no 9", status: 409 });
    expect(error.errors[10]).toMatchObject({ message: "2 more" });
    expect(revived(new AggregateError([new Error("one"), "two"])).errors.map(String)).toEqual([
      "Error: one",
      "NonError: two",
    ]);
  });

  it("keeps a property named errors that holds something else", () => {
    expect(props(withFields({ errors: ["email is missing"] }))).toEqual({ errors: ["email is missing"] });
  });
});

describe("the library's own errors", () => {
  it("a TerminalError is one after a restart, with its code and data (ERR-2 d)", () => {
    const error = revived(new TerminalError("sold out", { code: "SOLD", data: { sku: "a" } }));
    expect(isTerminalError(error)).toBe(true);
    expect(isRetryableError(error)).toBe(false);
    expect(isSagaError(error, "SOLD")).toBe(true);
    expect(error).toMatchObject({ name: "TerminalError", data: { sku: "a" } });
  });

  it("so are a RetryableError and any other", () => {
    expect(isRetryableError(revived(new RetryableError("busy")))).toBe(true);
    const aborted = revived(new StepAborted("pay", "shutdown"));
    expect(isSagaError(aborted, "step.aborted")).toBe(true);
    expect(isTerminalError(aborted)).toBe(false);
    expect(aborted).toMatchObject({ step: "pay", reason: "shutdown" });
  });

  it("nothing else is", () => {
    expect(isSagaError(revived(new Error("x")))).toBe(false);
    expect(isSagaError(reviveError({ name: "X", message: "", brand: "toString" as "error" }))).toBe(false);
  });

  it("a TerminalError as a cause stays one, as a cause", () => {
    const error = revived(new Error("outer", { cause: new TerminalError("inner") }));
    expect(isTerminalError(error)).toBe(false);
    expect(isTerminalError(error.cause)).toBe(true);
  });
});

describe("what is no Error (ERR-4)", () => {
  it.each<[unknown, string, unknown]>([
    ["boom", "boom", "boom"],
    [null, "null", null],
    [42, "42", 42],
    [10n, "10", "10n"],
    [Number.NaN, "NaN", "NaN"],
    [false, "false", false],
    [[1, "a"], "1,a", [1, "a"]],
    [{ status: 500 }, "[object Object]", { status: 500 }],
    [{ message: "told", a: 1 }, "told", { message: "told", a: 1 }],
  ])("is kept with its text and its value (%#)", (thrown, message, value) => {
    const record = stored(thrown);
    expect(record).toEqual({ name: "NonError", message, props: { value } });
    expect(reviveError(record)).toMatchObject({ name: "NonError", message, value });
  });

  it.each([
    [undefined, "undefined"],
    [Symbol("x"), "Symbol(x)"],
    [() => 1, "() => 1"],
  ])("%s has no value that JSON could hold", (thrown, message) => {
    expect(stored(thrown)).toEqual({ name: "NonError", message });
    expect(revived(thrown)).toBeInstanceOf(Error);
  });

  it("a Response or another object that can't say what it is is told by its class", () => {
    class Odd {}
    expect(stored(new Odd())).toEqual({ name: "NonError", message: "[object Object]", props: { value: "[Odd]" } });
  });
});
