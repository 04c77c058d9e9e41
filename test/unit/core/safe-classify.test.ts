import { describe, expect, it } from "vitest";
import { safeClassify } from "../../../src/core/classify-error.js";
import { RetryableError, TerminalError } from "../../../src/errors/step-errors.js";

const again = { retryable: true, happened: "maybe" };
const againForSure = { retryable: true, happened: "no" };
const stopForSure = { retryable: false, happened: "no" };

const hostile = new Proxy(
  {},
  {
    get: () => {
      throw new Error("no");
    },
    has: () => {
      throw new Error("no");
    },
    getPrototypeOf: () => {
      throw new Error("no");
    },
  },
);

describe("safeClassify", () => {
  const now = 1_000_000;
  const inDoubt = { classification: { ...again, counted: true } };

  it("uses the default classifier where there is no other, and turns its instants into delays", () => {
    expect(safeClassify(undefined, new TerminalError("x"), now)).toEqual({
      classification: { ...stopForSure, counted: true },
    });
    const at = (ms: number) => safeClassify(undefined, new RetryableError("x", { retryAfter: new Date(ms) }), now);
    expect(at(now + 5).classification.retryAfterMs).toBe(5);
    expect(at(now - 5).classification.retryAfterMs).toBe(0);
  });

  it("more than 24 hours counts as 24 hours", () => {
    const day = 86_400_000;
    for (const retryAfter of [day + 1, 1e20, Number.POSITIVE_INFINITY, new Date(8.64e15)])
      expect(safeClassify(undefined, new RetryableError("x", { retryAfter }), now)).toEqual({
        classification: { ...again, counted: true, retryAfterMs: day },
      });
  });

  it("takes a custom answer, and the later of two delays", () => {
    const answer = { retryable: true, happened: "no", retryAfterMs: 10, retryAt: now + 30, counted: false };
    expect(safeClassify(() => answer, "x", now)).toEqual({
      classification: { ...againForSure, counted: false, retryAfterMs: 30 },
    });
  });

  it("a custom classifier that throws leaves the error retryable and in doubt, and is reported", () => {
    const fault = new Error("broken classifier");
    const thrower = () => {
      throw fault;
    };
    expect(safeClassify(thrower, new TerminalError("x"), now)).toEqual({ ...inDoubt, classifierError: fault });
  });

  it.each([
    undefined,
    null,
    "no",
    {},
    { retryable: 1, happened: "no" },
    { retryable: true, happened: "yes" },
    { retryable: true, happened: "no", counted: 0 },
    hostile,
  ])("so does one that answers nonsense", (answer) =>
    expect(safeClassify(() => answer, "x", now)).toEqual({ ...inDoubt, classifierError: expect.any(Error) }),
  );

  it("and an asynchronous one, whose rejection goes nowhere", async () => {
    const result = safeClassify(() => Promise.reject(new Error("late")), "x", now);
    expect(result).toEqual({ ...inDoubt, classifierError: expect.any(TypeError) });
    await new Promise((resolve) => setImmediate(resolve));
  });

  it.each([-5, Number.NaN, "100", null])("a delay of %s is left out with a warning (ERR-6)", (retryAfterMs) =>
    expect(safeClassify(() => ({ ...againForSure, retryAfterMs }), "x", now)).toEqual({
      classification: { ...againForSure, counted: true },
      classifierError: expect.any(TypeError),
    }),
  );

  it.each([-5, Number.NaN, "soon", new Date(Number.NaN)])(
    "a RetryableError that asks for %s falls back with a warning (ERR-6)",
    (retryAfter) =>
      expect(safeClassify(undefined, new RetryableError("x", { retryAfter: retryAfter as number }), now)).toEqual({
        ...inDoubt,
        classifierError: expect.any(TypeError),
      }),
  );
});
