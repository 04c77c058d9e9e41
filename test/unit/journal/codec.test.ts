import { deepStrictEqual } from "node:assert";
import { inspect } from "node:util";
import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSagaError } from "../../../src/errors/saga-error.js";
import { PayloadTooLargeError } from "../../../src/errors/usage-errors.js";
import {
  type Codec,
  decodeValue,
  encodeValue,
  isUndecodable,
  tryDecode,
  Undecodable,
  Values,
} from "../../../src/journal/codec.js";

/** Through the text of a row, as the journal does it. */
const trip = (value: unknown): any => decodeValue(JSON.parse(JSON.stringify(encodeValue(value))));

const thrower = () => {
  throw new Error("hostile");
};

describe("a value comes back exactly as it was", () => {
  it("the value of SER-3, in this process and from its text (SER-3)", () => {
    const x = new Date(0);
    const value = {
      d: new Date(0),
      same: [x, x],
      m: new Map([["a", 1]]),
      s: new Set([1]),
      b: 10n,
      u: undefined,
      re: /a/g,
      buf: Buffer.from("hi"),
    };
    const back = trip(value);
    deepStrictEqual(back, value);
    expect(Buffer.isBuffer(back.buf)).toBe(true);
    expect("u" in back).toBe(true);
    expect(back.same[0]).toBe(back.same[1]);
  });

  it("undefined is undefined, and not null (SER-1)", () => {
    expect(encodeValue(undefined)).toEqual({ format: "devalue", text: "-1" });
    expect(trip(undefined)).toBeUndefined();
    expect(trip(null)).toBeNull();
  });

  it.each<[string, unknown]>([
    ["numbers beyond 2^53 (SER-6)", { id: 9007199254740993n, num: 9007199254740991, s: "9007199254740993" }],
    ["a large BigInt (SER-5)", 2n ** 64n],
    ["-0, NaN and infinities", [-0, 0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 5e-324]],
    ["NUL in text and key (SER-7)", { t: "a\u0000b", "k\u0000": 1 }],
    ["half of a surrogate pair (SER-9)", ["\ud800", "\udc00\ud800", { "\udfff": "😀" }]],
    ["text that looks like markup or code", ["</script>", "\u2028", '"\\', "\u0001"]],
    ["an expression that stands somewhere", Object.assign(/a/g, { lastIndex: 3 })],
    ["an expression without flags", /[/]\n/],
    [
      "keys of a Map that are objects",
      new Map<unknown, unknown>([
        [{ a: 1 }, [1]],
        [Number.NaN, -0],
      ]),
    ],
    ["nested collections", new Set([new Map([["a", new Set([1n])]])])],
    ["holes", Object.assign(new Array(4), { 0: 1, 2: undefined })],
    ["a very sparse array", Object.assign([], { 1000000: "x" })],
    ["an object without prototype", Object.assign(Object.create(null), { a: 1 })],
    ["boxed values", [new Number(1), new String("a"), new Boolean(false), Object(1n)]],
    ["URLs", [new URL("https://shop.example/a?b#c"), new URLSearchParams("a=1&a=2")]],
    ["an empty Buffer", Buffer.alloc(0)],
    ["keys such as constructor (SER-11)", JSON.parse('{"constructor":{"name":"x"},"toString":1,"hasOwnProperty":2}')],
  ])("%s", (_name, value) => deepStrictEqual(trip(value), value));

  it.each([
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    Float32Array,
    Float64Array,
  ])("%o", (View) => expect(trip(new View([1, 2, 3]))).toStrictEqual(new View([1, 2, 3])));

  it("other bytes", () => {
    const value = [
      new BigInt64Array([-1n]),
      new BigUint64Array([1n]),
      new DataView(new ArrayBuffer(3)),
      new ArrayBuffer(2),
    ];
    deepStrictEqual(trip(value), value);
  });

  it("an invalid date", () => {
    expect(trip(new Date(Number.NaN))).toStrictEqual(new Date(Number.NaN));
  });

  it("cycles and repeated references", () => {
    const cyclic: any = { list: [], map: new Map(), set: new Set() };
    cyclic.list.push(cyclic);
    cyclic.map.set("self", cyclic.map);
    cyclic.set.add(cyclic);
    const back = trip(cyclic);
    expect(back.list[0]).toBe(back);
    expect(back.map.get("self")).toBe(back.map);
    expect(back.set.has(back)).toBe(true);
    const buffer = Buffer.from("one");
    const [first, second] = trip([buffer, buffer]);
    expect(first).toBe(second);
  });

  it("a view is cut to its own bytes", () => {
    const whole = new Uint8Array(10_000).fill(7);
    const part = whole.subarray(5_000, 5_003);
    expect(encodeValue(part).text.length).toBeLessThan(100);
    const back = trip({ part, words: new Uint16Array(whole.buffer, 2, 1), view: new DataView(whole.buffer, 9, 1) });
    expect(back.part).toStrictEqual(new Uint8Array([7, 7, 7]));
    expect(back.part.buffer.byteLength).toBe(3);
    expect(back.words).toStrictEqual(new Uint16Array([0x0707]));
    expect(back.view.byteLength).toBe(1);
    const text = Buffer.from("pooled");
    expect(trip(text).equals(text)).toBe(true);
  });

  it("a value of another realm comes back as one of this realm", () => {
    const far = runInNewContext(
      '({ a: [1], m: new Map([["k", new Set([1])]]), d: new Date(0), r: /x/i, b: new Uint8Array([1]) })',
    );
    expect(trip(far)).toStrictEqual({
      a: [1],
      m: new Map([["k", new Set([1])]]),
      d: new Date(0),
      r: /x/i,
      b: new Uint8Array([1]),
    });
  });

  it("a property with a getter comes back as the value that it gave", () => {
    const value = Object.defineProperty({}, "now", { get: () => 5, enumerable: true });
    expect(trip(value)).toStrictEqual({ now: 5 });
    expect(trip(new Proxy({ a: [1] }, {}))).toStrictEqual({ a: [1] });
  });

  it("each reading gives a fresh copy", () => {
    const stored = encodeValue({ list: [1] });
    (decodeValue(stored) as any).list.push(2);
    expect(decodeValue(stored)).toEqual({ list: [1] });
  });

  it("any value that fast-check can think of", () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withSparseArray: true,
      withNullPrototype: true,
      withBoxedValues: true,
      key: fc.string({ unit: "binary" }).filter((key) => key !== "__proto__"),
      values: [
        fc.string({ unit: "binary" }),
        fc.double(),
        fc.integer(),
        fc.bigInt(),
        fc.boolean(),
        fc.constantFrom(undefined, null, -0),
      ],
      maxDepth: 4,
    });
    fc.assert(
      fc.property(anything, (value) => {
        // `assert` holds no invalid date to be equal to itself.
        fc.pre(!inspect(value, { depth: null }).includes("Invalid Date"));
        deepStrictEqual(trip(value), value);
      }),
    );
  });
});

describe("formats (SER-16)", () => {
  const reversed: Codec = {
    format: "reversed",
    encode: (text) => [...text].reverse().join(""),
    decode: (text) => [...text].reverse().join(""),
  };

  it("a codec's format is stored with each value, and values without it stay readable", () => {
    const values = new Values({ codec: reversed });
    const stored = values.encode({ secret: 1 });
    expect(stored.format).toBe("reversed");
    expect(stored.text).not.toContain("secret");
    expect(values.decode(stored)).toEqual({ secret: 1 });
    expect(values.decode(encodeValue({ a: 2 }))).toEqual({ a: 2 });
  });

  it("a value whose codec is gone is shown as such, and read by nobody", () => {
    const stored = encodeValue({ secret: 1 }, { codec: reversed });
    const shown = tryDecode(stored);
    expect(shown).toBeInstanceOf(Undecodable);
    expect(isUndecodable(shown)).toBe(true);
    expect(String(shown)).toBe("undecodable (format reversed)");
    expect(JSON.stringify({ shown })).toBe('{"shown":"undecodable (format reversed)"}');
    expect((shown as Undecodable).reason).toMatch(/set `codec`/);
    expect(
      isSagaError(
        attempt(() => decodeValue(stored)),
        "value.undecodable",
      ),
    ).toBe(true);
    expect(isUndecodable({ format: "x" })).toBe(false);
  });

  it.each(["", "[", "{}", '[["Nope",1]]', '[{"__proto__":1},2]', "[5", '"x"', "99"])(
    "damaged text %j spoils nothing",
    (text) => {
      expect(isUndecodable(tryDecode({ format: "devalue", text }))).toBe(true);
    },
  );

  it("a codec that can't read its own text is reported as such", () => {
    const values = new Values({ codec: { ...reversed, decode: thrower } });
    expect(isUndecodable(values.tryDecode(values.encode(1)))).toBe(true);
    expect(attempt(() => values.decode(values.encode(1)))).toMatchObject({
      code: "value.undecodable",
      cause: new Error("hostile"),
    });
  });

  it("a codec that fails to write, or is asynchronous, is named", async () => {
    const failing = attempt(() => encodeValue(1, { codec: { ...reversed, encode: thrower } }));
    expect(failing).toMatchObject({ code: "codec.failed", cause: new Error("hostile") });
    const late = { ...reversed, encode: (() => Promise.reject(new Error("late"))) as never };
    expect(attempt(() => encodeValue(1, { codec: late }))).toMatchObject({ code: "codec.failed" });
    expect(attempt(() => encodeValue(1, { codec: { ...reversed, encode: () => 5 as never } }))).toMatchObject({
      code: "codec.failed",
    });
    await new Promise((resolve) => setImmediate(resolve));
  });

  it("the size that counts is the one before the codec", () => {
    const codec = { ...reversed, encode: (text: string) => text.repeat(3) };
    expect(encodeValue("x".repeat(10), { codec, limitBytes: 20 }).text.length).toBeGreaterThan(20);
    expect(new Values({ maxValueBytes: 20 }).encode("x").format).toBe("devalue");
    expect(() => new Values({ maxValueBytes: 20 }).encode("x".repeat(20))).toThrow(PayloadTooLargeError);
  });
});

function attempt(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}
