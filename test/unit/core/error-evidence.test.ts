import { describe, expect, it } from "vitest";
import { classifyError } from "../../../src/core/classify-error.js";

const again = { retryable: true, happened: "maybe" };
const againForSure = { retryable: true, happened: "no" };
const stop = { retryable: false, happened: "maybe" };
const stopForSure = { retryable: false, happened: "no" };

const withFields = (fields: object, message = "it failed") => Object.assign(new Error(message), fields);
const wrapped = (cause: unknown) => new Error("outer", { cause });

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
