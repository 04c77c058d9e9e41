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

describe("HTTP statuses", () => {
  const table: [number, object][] = [
    ...[400, 401, 402, 403, 404, 405, 406, 410, 413, 415, 422, 451].map((status): [number, object] => [
      status,
      stopForSure,
    ]),
    ...[425, 429].map((status): [number, object] => [status, againForSure]),
    ...[408, 500, 501, 502, 503, 504, 599].map((status): [number, object] => [status, again]),
    ...[407, 409, 411, 412, 414, 416, 417, 418, 421, 423, 424, 426, 428, 431, 499].map((status): [number, object] => [
      status,
      stop,
    ]),
  ];

  it.each(table)("%i", (status, expected) => {
    expect(classifyError(withFields({ status }))).toEqual(expected);
    expect(classifyError(withFields({ statusCode: status }))).toEqual(expected);
    expect(classifyError(withFields({ response: { status } }))).toEqual(expected);
    expect(classifyError({ status: String(status) })).toEqual(expected);
    expect(classifyError(wrapped(withFields({ status })))).toEqual(expected);
  });

  it.each([200, 302, 399, 600, 404.5, Number.NaN, "4040", "UNAVAILABLE", null])(
    "%s is no status of a failure",
    (status) => expect(classifyError(withFields({ status }))).toEqual(again),
  );

  it("the outermost error that says anything decides", () => {
    expect(classifyError(Object.assign(wrapped(withFields({ code: "ECONNREFUSED" })), { status: 409 }))).toEqual(stop);
  });
});

describe("Retry-After", () => {
  const asked = (headers: unknown) => {
    const { retryAfterMs, retryAt } = classifyError(withFields({ status: 429, headers }));
    return { retryAfterMs, retryAt };
  };
  const date = "Wed, 21 Oct 2015 07:28:00 GMT";

  it.each([
    ["a Headers", new Headers({ "Retry-After": "120" })],
    ["an object, in any case", { "RETRY-AFTER": "120" }],
    ["an object, as a number", { "retry-after": 120 }],
    ["an object, as a list", { "retry-after": ["120", "5"] }],
    ["a Map", new Map([["Retry-After", "120"]])],
    ["something with get", { get: (name: string) => (name === "retry-after" ? "120" : null) }],
    ["something whose get knows nothing", { get: () => undefined, "Retry-After": "120" }],
  ])("seconds from %s", (_name, headers) => expect(asked(headers)).toEqual({ retryAfterMs: 120_000 }));

  it("fractions of a second", () => expect(asked({ "retry-after": "1.5" })).toEqual({ retryAfterMs: 1_500 }));

  it("an HTTP date stays an instant", () =>
    expect(asked({ "retry-after": date })).toEqual({ retryAt: Date.parse(date) }));

  it("of the response, and of a cause", () => {
    const response = { status: 503, headers: new Headers({ "retry-after": "3" }) };
    expect(classifyError({ response })).toEqual({ ...again, retryAfterMs: 3_000 });
    expect(classifyError(wrapped({ response }))).toEqual({ ...again, retryAfterMs: 3_000 });
  });

  it("the error's own retryAfter, in milliseconds, before its headers", () => {
    const error = withFields({ status: 429, retryAfter: 40, headers: { "retry-after": "3" } });
    expect(classifyError(error)).toEqual({ ...againForSure, retryAfterMs: 40 });
  });

  it.each([-1, Number.NaN, "120", new Date(Number.NaN), {}, null])("retryAfter %s asks for nothing", (retryAfter) =>
    expect(classifyError(withFields({ status: 429, retryAfter }))).toEqual(againForSure),
  );

  it.each([
    ["nothing", {}],
    ["no date", { "retry-after": "later" }],
    ["an object", { "retry-after": { seconds: 1 } }],
    ["an empty list", { "retry-after": [] }],
    ["text", "retry-after: 1"],
    ["null", null],
    [
      "something hostile",
      {
        get: () => {
          throw new Error("no");
        },
      },
    ],
  ])("headers with %s ask for nothing", (_name, headers) =>
    expect(asked(headers)).toEqual({ retryAfterMs: undefined, retryAt: undefined }),
  );

  it("a Date that lies about its time asks for nothing", () => {
    const retryAfter = Object.assign(new Date(5), { getTime: () => "soon" });
    expect(classifyError(withFields({ retryAfter }))).toEqual(again);
  });

  it("what is not tried again asks for nothing", () => {
    expect(classifyError(withFields({ status: 422, headers: { "retry-after": "3" } }))).toEqual(stopForSure);
  });
});

describe("connections", () => {
  it.each(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"])("%s did not happen", (code) => {
    expect(classifyError(withFields({ code }))).toEqual(againForSure);
    expect(classifyError(new TypeError("fetch failed", { cause: withFields({ code }) }))).toEqual(againForSure);
  });

  it.each([
    "ECONNRESET",
    "ETIMEDOUT",
    "EPIPE",
    "EHOSTUNREACH",
    "ENETDOWN",
    "UND_ERR_SOCKET",
    "UND_ERR_HEADERS_TIMEOUT",
    "ERR_NETWORK",
  ])("%s may have happened", (code) => {
    expect(classifyError(withFields({ code }))).toEqual(again);
    expect(classifyError(new TypeError("fetch failed", { cause: withFields({ code }) }))).toEqual(again);
  });

  it.each(["fetch failed", "terminated"])("a TypeError that says %o is a lost connection", (message) =>
    expect(classifyError(new TypeError(message))).toEqual(again),
  );

  it("timeouts may have happened", () => {
    expect(classifyError(new DOMException("slow", "TimeoutError"))).toEqual(again);
    expect(classifyError(AbortSignal.abort().reason)).toEqual(again);
  });
});

describe("databases", () => {
  it.each(["40001", "40P01", "40000", "40002", "55P03"])("SQLSTATE %s did not happen, again", (code) =>
    expect(classifyError(withFields({ code }))).toEqual(againForSure),
  );
  it.each(["40003", "08006", "08001", "53300", "57P01", "57014", "58030", "25006", "25P03"])(
    "SQLSTATE %s may have happened, again",
    (code) => expect(classifyError(withFields({ code }))).toEqual(again),
  );
  it.each(["23505", "22P02", "42P01", "25P02", "XX000", "P0001", "55000", "0A000"])(
    "SQLSTATE %s may have happened, for good",
    (code) => expect(classifyError(withFields({ code }))).toEqual(stop),
  );
  it("of the cause, as query builders wrap it", () => {
    expect(classifyError(wrapped(withFields({ code: "40001" })))).toEqual(againForSure);
  });
  it("a code of five characters is no SQLSTATE where Postgres has no such class", () => {
    for (const code of ["E2BIG", "EBUSY", "10001", "AB123"]) expect(classifyError(withFields({ code }))).toEqual(again);
    expect(classifyError(withFields({ code: "AB123", severity: "ERROR" }))).toEqual(stop);
  });
  it("nor is a code of another length, or a number", () => {
    for (const code of ["4000", "400011", "p0001", 40001, 23505])
      expect(classifyError(withFields({ code }))).toEqual(again);
  });
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
