import { deepStrictEqual } from "node:assert";
import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { SerializationError } from "../../../src/errors/usage-errors.js";
import { decodeValue, encodeValue } from "../../../src/journal/codec.js";

/** Through the text of a row, as the journal does it. */
const trip = (value: unknown): any => decodeValue(JSON.parse(JSON.stringify(encodeValue(value))));

function refusal(value: unknown): SerializationError {
  try {
    encodeValue(value);
  } catch (error) {
    expect(error).toBeInstanceOf(SerializationError);
    return error as SerializationError;
  }
  throw new Error("it was stored");
}

const thrower = () => {
  throw new Error("hostile");
};

describe("what would not come back is refused, with its path", () => {
  class Point {
    x = 1;
  }
  class Tags extends Set {}
  class Row extends Array {}

  it.each<[string, unknown, string, RegExp]>([
    ["a function (SER-12)", { f() {} }, "$.f", /a function/],
    ["a function by itself", () => 1, "$", /a function/],
    ["a symbol", { list: [Symbol("x")] }, "$.list[0]", /a symbol/],
    ["an instance of a class", { user: { avatar: new Point() } }, "$.user.avatar", /an instance of Point/],
    ["an instance of a class without a name", [new (class {})()], "$[0]", /no plain object/],
    ["a subclass of a collection", { tags: new Tags() }, "$.tags", /an instance of Tags/],
    ["a subclass of Array", { row: new Row() }, "$.row", /an instance of Row/],
    ["a subclass of Date", { at: new (class Day extends Date {})() }, "$.at", /an instance of Day/],
    [
      "a subclass of RegExp that stands somewhere",
      { re: Object.assign(new (class Re extends RegExp {})("a"), { lastIndex: 1 }) },
      "$.re",
      /an instance of Re/,
    ],
    ["an Error", { error: new RangeError("x") }, "$.error", /an instance of RangeError/],
    ["a promise", { later: Promise.resolve(1) }, "$.later", /await it/],
    ["a WeakMap", { weak: new WeakMap() }, "$.weak", /an instance of WeakMap/],
    ["an iterator", { items: [1].values() }, "$.items", /no plain object|an instance of/],
    ["shared memory", { shared: new SharedArrayBuffer(1) }, "$.shared", /an instance of SharedArrayBuffer/],
    ["what only looks like a Date", { at: Object.create(Date.prototype) }, "$.at", /an instance of Date/],
    [
      "what only says that it is a Map",
      { map: { [Symbol.toStringTag]: "Map" } },
      "$.map",
      /a property named by a symbol|Symbol/,
    ],
    ["a key that is a symbol", { deep: { [Symbol("id")]: 1 } }, "$.deep", /Symbol\(id\)/],
    [
      "a hidden property",
      { user: Object.defineProperty({ a: 1 }, "secret", { value: 1 }) },
      "$.user.secret",
      /a hidden property/,
    ],
    ["a property of an array", { match: "abc".match(/b/) }, "$.match.groups", /a property of its own/],
    ["a property of a Map", { map: Object.assign(new Map(), { extra: 1 }) }, "$.map.extra", /a property of its own/],
    [
      "a property of an expression",
      { re: Object.assign(/a/, { extra: 1, lastIndex: 1 }) },
      "$.re.extra",
      /a property of its own/,
    ],
    ["an object that inherits", { child: Object.create({ a: 1 }) }, "$.child", /an instance of Object|no plain object/],
    [
      "an object that inherits from one without prototype",
      { child: Object.create(Object.create(null)) },
      "$.child",
      /no plain object/,
    ],
    ["a key of a Map", new Map([[() => 1, 1]]), "$.get(...)", /a function/],
    ["a value of a Map", new Map([["key", () => 1]]), '$.get("key")', /a function/],
    ["a member of a Set", { tags: new Set([() => 1]) }, "$.tags", /a function/],
    ["a key that has to be quoted", { "a b": { f() {} } }, '$["a b"].f', /a function/],
    ["toJSON, which is not asked", { toJSON: () => 1 }, "$.toJSON", /a function/],
    ["a thenable", { ["then".trim()]: () => 1 }, "$.then", /a function/],
    [
      "the key __proto__ (SER-11)",
      { body: JSON.parse('{"__proto__":{"admin":true},"constructor":1}') },
      "$.body.__proto__",
      /a property of that name/,
    ],
    ["a module", { path: { ns: globalThis.Math } }, "$.path.ns", /instance of Object|no plain object|Symbol/],
  ])("%s", (_name, value, path, why) => {
    const error = refusal(value);
    expect(error.path).toBe(path);
    expect(error.message).toMatch(why);
    expect(({} as any).admin).toBeUndefined();
  });

  it("a getter that throws, with its error as the cause", () => {
    const error = refusal({
      a: {
        get b() {
          return thrower();
        },
      },
    });
    expect(error.path).toBe("$.a.b");
    expect(error.cause).toEqual(new Error("hostile"));
    const list = Object.defineProperty([1], 0, { get: thrower, enumerable: true });
    expect(refusal({ list }).path).toBe("$.list[0]");
  });

  it("a proxy that throws, from any of its traps", () => {
    for (const trap of Reflect.ownKeys(Reflect).filter((key) => typeof key === "string")) {
      const proxy = new Proxy({ a: 1 }, { [trap]: thrower });
      try {
        expect(trip({ proxy })).toEqual({ proxy: { a: 1 } });
      } catch (error) {
        expect(error).toBeInstanceOf(SerializationError);
        expect((error as SerializationError).path).toMatch(/^\$\.proxy/);
      }
    }
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(refusal({ proxy }).path).toBe("$.proxy");
  });

  it("an iterator that throws on the way", () => {
    const set = new Set([1]);
    const spy = vi.spyOn(Set.prototype, Symbol.iterator).mockImplementation(thrower);
    try {
      expect(refusal(set)).toMatchObject({ path: "$", cause: new Error("hostile") });
    } finally {
      spy.mockRestore();
    }
  });

  it("a value nested deeper than 1,000 levels, in objects, arrays and collections", () => {
    const nests: ((inner: unknown) => unknown)[] = [
      (o) => ({ o }),
      (o) => [o],
      (o) => new Map([[1, o]]),
      (o) => new Set([o]),
    ];
    for (const nest of nests) {
      const nested = (depth: number) => Array.from({ length: depth }).reduce<unknown>(nest, 0);
      expect(() => trip(nested(1_000))).not.toThrow();
      expect(refusal(nested(1_001)).message).toMatch(/nested deeper than 1000 levels/);
      expect(refusal(nested(100_000)).message).toMatch(/nested deeper than 1000 levels/);
    }
  });

  it("a value that fast-check can think of is stored exactly, or refused", () => {
    fc.assert(
      fc.property(
        fc.object({ values: [fc.anything(), fc.func(fc.nat()), fc.constant(Symbol("s"))], maxDepth: 3 }),
        (value) => {
          let back: unknown;
          try {
            back = trip(value);
          } catch (error) {
            expect(error).toBeInstanceOf(SerializationError);
            expect((error as SerializationError).path).toMatch(/^\$/);
            return;
          }
          deepStrictEqual(back, value);
        },
      ),
    );
  });
});
