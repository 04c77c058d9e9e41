import { BrokenCircuitError, BulkheadRejectedError, TaskCancelledError } from "cockatiel";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { classifyError, safeClassify } from "../../../src/core/classify-error.js";
import { recordError, reviveError } from "../../../src/errors/error-record.js";
import { SagaFailedError } from "../../../src/errors/outcome-errors.js";
import {
  NeverCalledError,
  RetryableError,
  StepAborted,
  StepTimeoutError,
  TerminalError,
} from "../../../src/errors/step-errors.js";
import { StoreError } from "../../../src/errors/store-errors.js";
import {
  InputInvalidError,
  PayloadTooLargeError,
  SerializationError,
  UsageError,
} from "../../../src/errors/usage-errors.js";

const again = { retryable: true, happened: "maybe" };
const againForSure = { retryable: true, happened: "no" };
const stop = { retryable: false, happened: "maybe" };
const stopForSure = { retryable: false, happened: "no" };

const withFields = (fields: object, message = "it failed") => Object.assign(new Error(message), fields);
const wrapped = (cause: unknown) => new Error("outer", { cause });
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

describe("the library's own errors", () => {
  it("a TerminalError did not happen and is not tried again, whatever its cause says (ERR-2 a)", () => {
    expect(classifyError(new TerminalError("sold out"))).toEqual(stopForSure);
    expect(classifyError(new TerminalError("sold out", { cause: withFields({ status: 503 }) }))).toEqual(stopForSure);
  });

  it("a TerminalError that is only a cause does not count (ERR-2 b)", () => {
    expect(classifyError(wrapped(new TerminalError("sold out")))).toEqual(again);
  });

  it("a TerminalError of a second copy of the package is one (ERR-2 c)", () => {
    const foreign = withFields({ [Symbol.for("rubicon-saga.terminal")]: true });
    expect(classifyError(foreign)).toEqual(stopForSure);
  });

  it("a TerminalError that was stored and read back is one still (ERR-2 d)", () => {
    const revived = reviveError(
      JSON.parse(JSON.stringify(recordError(new TerminalError("sold out", { code: "SOLD" })))),
    );
    expect(classifyError(revived)).toEqual(stopForSure);
  });

  it("a RetryableError may have happened, and asks for its own delay only", () => {
    const cause = withFields({ status: 422, headers: { "retry-after": "7" } });
    expect(classifyError(new RetryableError("busy", { cause }))).toEqual(again);
    expect(classifyError(new RetryableError("busy", { cause, retryAfter: 1_500 }))).toEqual({
      ...again,
      retryAfterMs: 1_500,
    });
    expect(classifyError(new RetryableError("busy", { retryAfter: new Date(9_000) }))).toEqual({
      ...again,
      retryAt: 9_000,
    });
  });

  it("a stored RetryableError still knows the instant that it asked for", () => {
    const revived = reviveError(recordError(new RetryableError("busy", { retryAfter: new Date(9_000) })));
    expect(classifyError(revived)).toEqual({ ...again, retryAt: 9_000 });
  });

  it("a body that was never called did not happen and uses up no attempt", () => {
    expect(classifyError(new NeverCalledError("pay", new BrokenCircuitError()))).toEqual({
      ...againForSure,
      counted: false,
    });
  });

  it.each([
    ["StepAborted", new StepAborted("pay", "cancelled")],
    ["StepTimeoutError", new StepTimeoutError("pay", 100)],
    [
      "the end of another run, whose cause speaks for a step of that run",
      new SagaFailedError({ runId: "r", saga: "s", step: "x", cause: withFields({ status: 422 }) }),
    ],
    ["StoreError", new StoreError("store.unavailable", "no database")],
  ])("%s may have happened and is tried again", (_name, error) => expect(classifyError(error)).toEqual(again));

  it.each([
    ["SerializationError", new SerializationError("$.a", "a function")],
    ["PayloadTooLargeError", new PayloadTooLargeError(2, 1)],
    ["an output that does not fit", new UsageError("output.invalid", "no")],
    ["an input that does not fit", new InputInvalidError("saga", [])],
  ])("%s is not tried again, and the step had run", (_name, error) => expect(classifyError(error)).toEqual(stop));
});

describe("policies", () => {
  it("an open circuit and a full bulkhead never called, and use up no attempt", () => {
    for (const error of [new BrokenCircuitError(), new BulkheadRejectedError(1, 0), { isHydratingCircuitError: true }])
      expect(classifyError(error)).toEqual({ ...againForSure, counted: false });
  });
  it("a policy's timeout may have happened", () => expect(classifyError(new TaskCancelledError())).toEqual(again));
});

describe("faults of the code", () => {
  it.each([
    new TypeError("x"),
    new ReferenceError("x"),
    new RangeError("x"),
    new SyntaxError("x"),
    withFields({ name: "TypeError" }),
  ])("%s is not tried again, and may have happened", (error) => expect(classifyError(error)).toEqual(stop));
  it("a subclass is one too; other built-in errors are not", () => {
    class Mine extends TypeError {}
    expect(classifyError(new Mine("x"))).toEqual(stop);
    expect(classifyError(new URIError("x"))).toEqual(again);
  });
  it("one that is only a cause does not count", () =>
    expect(classifyError(wrapped(new TypeError("x")))).toEqual(again));
  it("validation errors", () => {
    expect(classifyError(z.object({ a: z.string() }).safeParse({ a: 1 }).error)).toEqual(stop);
    expect(classifyError({ issues: [{ message: "no" }] })).toEqual(stop);
    expect(classifyError(withFields({ name: "ValidationError" }))).toEqual(stop);
  });
  it.each([[[]], [["no"]], ["no"], [[{ message: 1 }]], [[null]]])("issues %j are none of a schema's", (issues) =>
    expect(classifyError({ issues })).toEqual(again),
  );
});

describe("anything", () => {
  it.each([
    undefined,
    null,
    0,
    "boom",
    10n,
    Symbol("x"),
    () => {},
    {},
    [],
    Object.create(null),
    hostile,
    withFields({ code: 5 }),
  ])("whatever else was thrown may have happened and is tried again (ERR-4)", (thrown) =>
    expect(classifyError(thrown)).toEqual(again),
  );

  it("a cycle of causes ends", () => {
    const error = wrapped(undefined);
    error.cause = wrapped(error);
    expect(classifyError(error)).toEqual(again);
  });

  it("causes are asked 8 deep", () => {
    const deep = (depth: number) => Array.from({ length: depth }).reduce<Error>(wrapped, withFields({ status: 422 }));
    expect(classifyError(deep(8))).toEqual(stopForSure);
    expect(classifyError(deep(9))).toEqual(again);
  });

  it("never throws, and always answers", () => {
    const thrown = fc.oneof(
      fc.anything({ withNullPrototype: true, withMap: true, withDate: true, withBigInt: true, withSparseArray: true }),
      fc.record(
        {
          status: fc.anything(),
          code: fc.anything(),
          cause: fc.anything(),
          headers: fc.anything(),
          response: fc.anything(),
          retryAfter: fc.anything(),
          issues: fc.anything(),
          name: fc.anything(),
        },
        { requiredKeys: [] },
      ),
    );
    fc.assert(
      fc.property(thrown, (error) => {
        const { classification, classifierError } = safeClassify(undefined, error, 0);
        expect(classifierError).toBeUndefined();
        expect(typeof classification.retryable).toBe("boolean");
        expect(["no", "maybe"]).toContain(classification.happened);
        expect(classification.retryAfterMs ?? 0).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
