import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
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
const bytes = (record: ErrorRecord) => Buffer.byteLength(JSON.stringify(record));
const props = (thrown: unknown) => stored(thrown).props;
const withFields = (fields: object) => Object.assign(new Error("it failed"), fields);
const thrower = () => {
  throw new Error("hostile");
};

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

describe("properties", () => {
  it("are made JSON-safe", () => {
    const cyclic: any = { a: 1 };
    cyclic.self = cyclic;
    const kept = props(
      withFields({
        big: 10n,
        at: new Date(0),
        never: new Date(Number.NaN),
        map: new Map([["a", 1]]),
        set: new Set([1]),
        bytes: Buffer.from("hi"),
        buffer: new ArrayBuffer(3),
        pattern: /a/g,
        url: new URL("https://shop.example/a"),
        boxed: [new String("s"), new Number(1), new Boolean(false)],
        infinite: Number.POSITIVE_INFINITY,
        list: [undefined, () => 1, 2],
        run: () => 1,
        sign: Symbol("x"),
        nothing: undefined,
        cyclic,
        money: {
          toJSON: () => 5,
        },
        weak: new WeakMap(),
        inner: Object.assign(new RangeError("deep"), { at: 3 }),
        bare: Object.assign(Object.create(null), { b: 2 }),
        yes: true,
      }),
    );
    expect(kept).toEqual({
      big: "10n",
      at: "1970-01-01T00:00:00.000Z",
      never: "Invalid Date",
      map: [["a", 1]],
      set: [1],
      bytes: "[Buffer of 2 bytes]",
      buffer: "[ArrayBuffer of 3 bytes]",
      pattern: "/a/g",
      url: "https://shop.example/a",
      boxed: ["s", 1, false],
      infinite: "Infinity",
      list: [null, null, 2],
      cyclic: { a: 1, self: "[circular]" },
      money: {},
      weak: "[WeakMap]",
      inner: { name: "RangeError", message: "deep", at: 3 },
      bare: { b: 2 },
      yes: true,
    });
  });

  it("of a class are asked for their JSON, and read where they have none", () => {
    class Money {
      constructor(readonly cents: number) {}
      toJSON() {
        return { cents: this.cents, currency: "EUR" };
      }
    }
    class Point {
      x = 1;
    }
    expect(props(withFields({ money: new Money(5), point: new Point() }))).toEqual({
      money: { cents: 5, currency: "EUR" },
      point: { x: 1 },
    });
  });

  it("that are sockets or streams are named, not read", () => {
    class ClientRequest {
      _header = "Authorization: Bearer abc";
      on() {}
    }
    class Source {
      secret = "abc";
      pipe() {}
    }
    expect(props(withFields({ request: new ClientRequest(), source: new Source() }))).toEqual({
      request: "[ClientRequest]",
      source: "[Source]",
    });
  });

  it("that carry credentials are redacted", () => {
    const headers = { Authorization: "Bearer abc", cookie: "a=b", "content-type": "text/plain" };
    const kept = props(withFields({ config: { headers, auth: { username: "ana", password: "abc" } } }));
    expect(kept).toEqual({
      config: {
        headers: { Authorization: "[redacted]", cookie: "[redacted]", "content-type": "text/plain" },
        auth: { username: "ana", password: "[redacted]" },
      },
    });
  });

  it("are kept 8 levels deep", () => {
    const deep = Array.from({ length: 20 }).reduce<unknown>((inner) => ({ inner }), "end");
    expect(JSON.stringify(props(withFields({ deep })))).toBe(
      `{"deep":${'{"inner":'.repeat(7)}"[Object]"${"}".repeat(7)}}`,
    );
  });

  it("named __proto__ or constructor reach no prototype (SER-11)", () => {
    const payload = JSON.parse('{"__proto__":{"admin":true},"constructor":{"name":"x"},"toString":1,"ok":2}');
    const error = withFields({ payload });
    for (const key of Object.keys(payload))
      Object.defineProperty(error, key, { value: payload[key], enumerable: true });
    const record = stored(error);
    expect(record.props).toEqual({ payload: { ok: 2 }, ok: 2 });
    const forged = JSON.parse(
      '{"name":"E","message":"m","props":{"__proto__":{"admin":true},"toString":1,"stack":2,"a":1}}',
    );
    const back: any = reviveError(forged);
    expect(({} as any).admin).toBeUndefined();
    expect(back.admin).toBeUndefined();
    expect(Object.getPrototypeOf(back)).toBe(Error.prototype);
    expect(String(back)).toBe("E: m");
    expect(back.a).toBe(1);
  });

  it("of a revived error are its own: changing them changes no record", () => {
    const record = recordError(withFields({ data: { n: 1 } }));
    (reviveError(record) as any).data.n = 2;
    expect(record.props).toEqual({ data: { n: 1 } });
  });
});

const limit = 64 * 1024;

describe("bounds", () => {
  it("a NUL and half of a surrogate pair are replaced (SER-7, SER-9)", () => {
    expect(stored(withFields({ message: "a\0b\ud800c", code: "\udc00", key: ["k\0"] }))).toMatchObject({
      message: "a\ufffdb\ufffdc",
      code: "\ufffd",
      props: { key: ["k\ufffd"] },
    });
    expect(Object.keys(props(withFields({ "k\0": 1 }))!)).toEqual(["k\ufffd"]);
  });

  it("a text is never cut inside a surrogate pair (SER-9)", () => {
    for (const padding of [16_381, 16_382, 16_383, 16_384]) {
      const { message } = stored(new Error(`${"x".repeat(padding)}\u{1f600}yz`));
      expect(message.length).toBeLessThanOrEqual(16_384);
      expect(message).not.toMatch(/\ufffd|\p{Surrogate}/u);
      expect(message.endsWith("…")).toBe(true);
    }
    expect(stored(new Error(`${"x".repeat(16_382)}\u{1f600}`)).message.endsWith("\u{1f600}")).toBe(true);
  });

  it("causes are kept 8 deep", () => {
    const deep = Array.from({ length: 20 }).reduce<Error>(
      (cause, _, index) => new Error(`level ${19 - index}`, { cause }),
      new Error("root"),
    );
    const chain: string[] = [];
    for (let record: ErrorRecord | undefined = stored(deep); record !== undefined; record = record.cause)
      chain.push(record.message);
    expect(chain).toEqual(Array.from({ length: 9 }, (_, index) => `level ${index}`));
  });

  it("a cycle of causes is marked", () => {
    const outer = new Error("outer", { cause: new TypeError("inner") });
    (outer.cause as Error).cause = outer;
    expect(stored(outer).cause?.cause).toEqual({ name: "Error", message: "[circular]" });
    const self = new AggregateError([], "self");
    self.errors.push(self);
    expect(stored(self).errors).toEqual([{ name: "AggregateError", message: "[circular]" }]);
  });

  it.each<[string, () => unknown]>([
    ["a long message", () => new Error("x".repeat(5_000_000))],
    ["a message that JSON makes six times as long", () => new Error("\u0001".repeat(50_000))],
    [
      "long everything",
      () =>
        Object.assign(new Error("é".repeat(50_000)), {
          stack: "\u2028".repeat(50_000),
          code: "c".repeat(9_999),
          data: "d".repeat(99_999),
        }),
    ],
    [
      "many properties",
      () => withFields(Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key${index}`, index]))),
    ],
    [
      "long keys",
      () =>
        withFields(
          Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`${index}`.padEnd(1_000, "\u0001"), null])),
        ),
    ],
    ["a long array", () => withFields({ list: Array.from({ length: 1_000_000 }, () => true) })],
    ["many arrays of nothing", () => withFields({ list: Array.from({ length: 50_000 }, () => [[]]) })],
    [
      "long causes",
      () =>
        Array.from({ length: 20 }).reduce<Error>((cause) => new Error("y".repeat(20_000), { cause }), new Error("z")),
    ],
    [
      "many errors with errors",
      () =>
        Array.from({ length: 8 }).reduce<Error>(
          (inner) =>
            new AggregateError(
              Array.from({ length: 10 }, () => inner),
              "a".repeat(9_999),
            ),
          new Error("z"),
        ),
    ],
    ["a long string thrown", () => "\u{1f600}".repeat(500_000)],
  ])("%s fits into 64 KiB", (_name, make) => {
    const record = recordError(make());
    expect(bytes(record)).toBeLessThanOrEqual(limit);
    expect(JSON.stringify(record)).not.toMatch(/\\ud[89a-f]|\\u0000/);
    expect(record.message.length).toBeGreaterThan(0);
  });
});

describe("hostile values", () => {
  const trapped = new Proxy({}, Object.fromEntries(Reflect.ownKeys(Reflect).map((trap) => [trap, thrower])));
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const silent = new Proxy(new Error("x"), {
    get: thrower,
    has: thrower,
    ownKeys: thrower,
    getOwnPropertyDescriptor: thrower,
  });

  it.each<[string, unknown]>([
    ["a proxy that throws from all traps", trapped],
    ["a revoked proxy", revoked.proxy],
    ["toString throws", { toString: thrower }],
    ["toString gives no text", { toString: () => ({}) }],
    ["no prototype", Object.create(null)],
    ["Symbol.toStringTag throws", Object.defineProperty({}, Symbol.toStringTag, { get: thrower })],
  ])("are no Errors: %s", (_name, thrown) => {
    const record = stored(thrown);
    expect(record.name).toBe("NonError");
    expect(reviveError(record)).toBeInstanceOf(Error);
  });

  it("an Error that throws from all of its traps is kept as far as it can be", () => {
    expect(stored(silent)).toEqual({ name: "Error", message: "" });
  });

  it("getters that throw lose their own property only", () => {
    const error = new Error("x");
    for (const key of ["stack", "cause", "code", "secret", "errors"])
      Object.defineProperty(error, key, { get: thrower, enumerable: true });
    expect(
      stored(
        Object.assign(error, {
          ok: 1,
          deep: {
            get no() {
              return thrower();
            },
          },
        }),
      ),
    ).toEqual({
      name: "Error",
      message: "x",
      props: { ok: 1, deep: {} },
    });
  });

  it("values inside that can't be looked at are marked", () => {
    expect(
      props(
        withFields({
          trapped,
          json: new (class {
            toJSON = thrower;
          })(),
          errors: revoked.proxy,
        }),
      ),
    ).toEqual({
      trapped: "[unreadable]",
      json: "[unreadable]",
      errors: "[unreadable]",
    });
  });

  it("never throws, fits, and comes back as an Error with the same text", () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withNullPrototype: true,
      withBoxedValues: true,
      withObjectString: true,
      withSparseArray: true,
    });
    const thrown = fc.oneof(
      anything,
      fc
        .record({
          message: fc.string({ unit: "binary" }),
          fields: fc.dictionary(fc.string({ unit: "binary" }), anything),
          cause: anything,
        })
        .map(({ message, fields, cause }) => {
          const error = new Error(message, { cause });
          for (const [key, value] of Object.entries(fields))
            Object.defineProperty(error, key, { value, enumerable: true });
          return error;
        }),
    );
    fc.assert(
      fc.property(thrown, (error) => {
        const record = stored(error);
        expect(bytes(record)).toBeLessThanOrEqual(limit);
        const back = reviveError(record);
        expect(back).toBeInstanceOf(Error);
        expect([back.name, back.message]).toEqual([record.name, record.message]);
        expect(withoutStacks(recordError(back))).toEqual(withoutStacks(record));
      }),
    );
  });
});

function withoutStacks(record: ErrorRecord): unknown {
  return JSON.parse(JSON.stringify(record, (key, value: unknown) => (key === "stack" ? undefined : value)));
}
