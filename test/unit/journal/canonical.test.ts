import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { digestOf } from "../../../src/journal/canonical.js";
import { decodeValue, encodeValue } from "../../../src/journal/codec.js";

const same = (a: unknown, b: unknown) => expect(digestOf(a)).toBe(digestOf(b));
const differ = (a: unknown, b: unknown) => expect(digestOf(a)).not.toBe(digestOf(b));
const cycle = (length: number) => {
  const links: any[] = Array.from({ length }, () => ({}));
  for (const [index, link] of links.entries()) link.next = links[(index + 1) % length];
  return links[0];
};

describe("two inputs are the same start (IDM-1)", () => {
  it.each<[string, unknown, unknown]>([
    ["whatever the order of their keys", { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }],
    ["whether undefined or absent", { a: 1, b: undefined }, { a: 1 }],
    ["whether a hole or undefined", Object.assign(new Array(2), { 1: 1 }), [undefined, 1]],
    ["whether 0 or -0", [0, { a: 0 }], [-0, { a: -0 }]],
    [
      "whatever the order of a Map or a Set",
      [
        new Map([
          ["a", 1],
          ["b", 2],
        ]),
        new Set([1, 2]),
      ],
      [
        new Map([
          ["b", 2],
          ["a", 1],
        ]),
        new Set([2, 1]),
      ],
    ],
    ["with or without a prototype", { a: 1 }, Object.assign(Object.create(null), { a: 1 })],
    ["whether equal parts are one object or two", [new Date(0), new Date(0)], Array(2).fill(new Date(0))],
    ["whatever the buffer that bytes stand in", new Uint8Array([2]), new Uint8Array([1, 2, 3]).subarray(1, 2)],
    ["NaN and invalid dates", [Number.NaN, new Date(Number.NaN)], [Number.NaN, new Date(Number.NaN)]],
    ["wherever an expression stands", /a/g, Object.assign(/a/g, { lastIndex: 2 })],
    ["cycles of one length", cycle(3), cycle(3)],
  ])("%s", (_name, a, b) => same(a, b));

  it("before and after they were stored", () => {
    const key = fc.string().filter((name) => name !== "__proto__");
    const anything = fc.anything({
      key,
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withSparseArray: true,
      withNullPrototype: true,
      withBoxedValues: true,
    });
    fc.assert(
      fc.property(anything, (value) => {
        same(decodeValue(encodeValue(value)), value);
      }),
    );
  });

  it("whatever the order in which their keys were set, at any depth", () => {
    const reversed = (value: any): any =>
      Array.isArray(value)
        ? value.map(reversed)
        : value !== null && typeof value === "object"
          ? Object.fromEntries(
              Object.entries(value)
                .reverse()
                .map(([key, inner]) => [key, reversed(inner)]),
            )
          : value;
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        same(reversed(value), value);
      }),
    );
  });
});

describe("two inputs are different starts", () => {
  it.each<[string, unknown, unknown]>([
    ["another value", { amount: 10 }, { amount: 99 }],
    ["the order of an array", [1, 2], [2, 1]],
    ["a Date and its text", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["a Date and its number", new Date(0), 0],
    ["a BigInt and its number", 1n, 1],
    ["a number and its text", 1, "1"],
    ["NaN and its text", Number.NaN, "NaN"],
    ["null and undefined", null, undefined],
    ["null and absent", { a: null }, {}],
    ["a Map and an object", new Map([["a", 1]]), { a: 1 }],
    ["a Set and an array", new Set([1]), [1]],
    ["a Map's keys", new Map<unknown, number>([[1, 1]]), new Map<unknown, number>([["1", 1]])],
    ["bytes and Buffer", new Uint8Array([1]), Buffer.from([1])],
    ["bytes of other kinds", new Uint8Array([1, 0]), new Uint16Array([1])],
    ["bytes and a DataView", new Uint8Array([1]), new DataView(new ArrayBuffer(1))],
    ["other bytes", new ArrayBuffer(1), new ArrayBuffer(2)],
    ["a boxed value", new Number(1), 1],
    ["a URL and its text", new URL("https://a.example/"), "https://a.example/"],
    ["URL parameters", new URLSearchParams("a=1"), new URLSearchParams("a=2")],
    ["an expression's flags", /a/g, /a/i],
    ["half of a surrogate pair and what UTF-8 makes of it", "\ud800", "\ufffd"],
    ["keys that run together", { "a:1,b": 1 }, { a: 1, b: 1 }],
    ["texts that run together", ['a","b'], ["a", "b"]],
    ["cycles of other lengths", cycle(2), cycle(3)],
    ["a long text and what stands for it", { a: "x".repeat(600) }, { a: "x".repeat(601) }],
  ])("%s", (_name, a, b) => differ(a, b));
});

describe("the digest", () => {
  // Stored with each run: if one of these changes, running systems take a start they know for another one.
  it.each<[unknown, string]>([
    [undefined, "eb045d78d273107348b0300c01d29b7552d622abbc6faf81b3ec55359aa9950c"],
    [
      { orderId: "o-1", quantity: 3, at: new Date(0) },
      "c480b2188f948786731566a99ea96a4919826a69101354e9d1475f9e5709b96e",
    ],
    [
      [1n, -0, "é", new Map([["a", new Set([Buffer.from("x")])]]), /a/g, new Uint16Array([1])],
      "2ea89eafa3722e0f83a16d0219d8d3443ee746bcd752f31536ec7e90b3678e41",
    ],
    [
      { long: Array.from({ length: 400 }, (_, index) => index) },
      "180c4fb09e646004ed780fcc6cd412dd0ab7edf6e77ec05dbba50d5d141600b0",
    ],
  ])("never changes (%#)", (value, digest) => expect(digestOf(value)).toBe(digest));

  it("of a value that is shared many times over takes no longer for it", () => {
    const shared = Array.from({ length: 60 }).reduce<unknown>((inner) => [inner, inner], "x");
    same(shared, decodeValue(encodeValue(shared)));
  });

  it("of a cycle takes no longer for it, and goes by what is one object", () => {
    const root: any = {};
    root.inside = Array.from({ length: 60 }).reduce<unknown>((inner) => [inner, inner, root], "x");
    same(root, decodeValue(encodeValue(root)));
    same(decodeValue(encodeValue(cycle(3))), cycle(3));
    const ring = cycle(2);
    differ({ a: ring, b: ring }, { a: cycle(2), b: cycle(2) });
    const keys: any = { b: 1, a: 2 };
    keys.self = keys;
    const others: any = { a: 2 };
    others.self = others;
    others.b = 1;
    same(keys, others);
    const map = new Map<string, unknown>([["a", 1]]).set("self", keys);
    keys.map = map;
    same(map, decodeValue(encodeValue(map)));
    differ(map, new Map([...map].reverse()));
  });

  it("of a value as deep as can be stored", () => {
    const deep = (nest: (inner: unknown) => unknown) => Array.from({ length: 1_000 }).reduce<unknown>(nest, 0);
    for (const nest of [
      (o: unknown) => ({ o }),
      (o: unknown) => [o],
      (o: unknown) => new Map([[o, o]]),
      (o: unknown) => new Set([o]),
    ])
      expect(digestOf(deep(nest))).toMatch(/^[0-9a-f]{64}$/);
  });
});
