import { describe, expect, it } from "vitest";
import { classifyError } from "../../../src/core/classify-error.js";

const again = { retryable: true, happened: "maybe" };
const againForSure = { retryable: true, happened: "no" };
const stopForSure = { retryable: false, happened: "no" };

const withFields = (fields: object, message = "it failed") => Object.assign(new Error(message), fields);
const wrapped = (cause: unknown) => new Error("outer", { cause });

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
