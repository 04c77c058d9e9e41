import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ErrorRecord, recordError, reviveError } from "../../../src/errors/error-record.js";

/** As the journal gives it back. */
const stored = (thrown: unknown): ErrorRecord => JSON.parse(JSON.stringify(recordError(thrown)));
const bytes = (record: ErrorRecord) => Buffer.byteLength(JSON.stringify(record));
const props = (thrown: unknown) => stored(thrown).props;
const withFields = (fields: object) => Object.assign(new Error("it failed"), fields);
const thrower = () => {
  throw new Error("hostile");
};

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
