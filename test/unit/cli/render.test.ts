// HOW THE COMMAND WRITES: JSON of anything, times, text that steers no terminal, colours.

import { describe, expect, it } from "vitest";
import { wantsColours } from "../../../src/cli/io.js";
import { toJson } from "../../../src/cli/render/json.js";
import { painter } from "../../../src/cli/render/paint.js";
import { aligned, cut, oneLine, printable } from "../../../src/cli/render/text.js";
import { instantText, spanText } from "../../../src/cli/render/time-text.js";
import { valueText } from "../../../src/cli/render/value-text.js";

const json = (value: unknown) => JSON.parse(toJson(value));

describe("toJson", () => {
  it("SER-5 holds what JSON can't, as strings", () => {
    expect(json([2n ** 64n, Number.NaN, Number.POSITIVE_INFINITY, -0, 1.5])).toEqual([
      "18446744073709551616",
      "NaN",
      "Infinity",
      0,
      1.5,
    ]);
  });

  it("holds dates, collections, bytes, expressions and addresses", () => {
    expect(json(new Date(0))).toBe("1970-01-01T00:00:00.000Z");
    expect(json(new Date(Number.NaN))).toBe("Invalid Date");
    expect(json(new Map<unknown, unknown>([["a", 1n]]))).toEqual([["a", "1"]]);
    expect(json(new Set([1, undefined]))).toEqual([1, null]);
    expect(json([Buffer.from("hi"), new Uint8Array([104, 105]).buffer])).toEqual(["aGk=", "aGk="]);
    expect(json([/a/g, new URL("https://x.example/")])).toEqual(["/a/g", "https://x.example/"]);
  });

  it("leaves out what is no value, and survives cycles and shared objects", () => {
    const shared = { a: 1 };
    const cycle: Record<string, unknown> = { shared, again: shared, f() {}, s: Symbol("s"), u: undefined };
    cycle.self = cycle;
    expect(json(cycle)).toEqual({ shared: { a: 1 }, again: { a: 1 }, self: "[circular]" });
    expect(toJson(undefined)).toBe("null");
  });

  it("keeps errors, with code and cause, without stacks; and keys that would reach a prototype", () => {
    const error = Object.assign(new Error("no", { cause: new TypeError("why") }), { code: "E1", data: 1n });
    expect(json(error)).toEqual({
      name: "Error",
      message: "no",
      code: "E1",
      data: "1",
      cause: { name: "TypeError", message: "why" },
    });
    expect(toJson(JSON.parse('{"__proto__":{"a":1}}'))).toBe('{\n  "__proto__": {\n    "a": 1\n  }\n}');
    expect(json({ toJSON: () => 5n })).toBe("5");
  });
});

describe("times", () => {
  it.each([
    [31, "0.031s"],
    [12_345, "12.3s"],
    [200_000, "3m 20s"],
    [7_500_000, "2h 05m"],
    [356_400_000, "4d 03h"],
    [-31, "-0.031s"],
    [Number.POSITIVE_INFINITY, "ever"],
  ])("%d ms is %s", (ms, text) => expect(spanText(ms)).toBe(text));

  it("are in UTC", () => {
    expect(instantText(new Date(0))).toBe("1970-01-01 00:00:00 UTC");
    expect(instantText(new Date(Number.NaN))).toBe("an unknown time");
  });
});

describe("text", () => {
  it("steers no terminal", () => {
    expect(printable("a\u001b[2J\u0000\u009b\u202eb\nc")).toBe("a\ufffd[2J\ufffd\ufffd\ufffdb\nc");
    expect(oneLine("  a\r\n\tb ")).toBe("a b");
  });

  it("is cut at whole characters", () => {
    expect(cut("a😀b", 3)).toBe("a😀b");
    expect(cut("a😀b", 2)).toBe("a…");
    expect(cut("abc", 0)).toBe("");
  });

  it("stands in columns", () => {
    expect(
      aligned([
        ["a", "bb", "c"],
        ["aaa", "b", ""],
      ]),
    ).toEqual([
      ["a  ", "bb", "c"],
      ["aaa", "b ", ""],
    ]);
  });

  it("tells a value in the room that there is, and asks nothing of it", () => {
    const sly = { [Symbol.for("nodejs.util.inspect.custom")]: () => "sly" };
    expect(valueText(sly, 100)).not.toBe("sly");
    expect(valueText({ text: "x".repeat(500) }, 20)).toHaveLength(20);
    expect(valueText({ a: "\u001b[2J\n" }, 100)).toBe("{ a: '\\x1B[2J\\n' }");
  });
});

describe("colours", () => {
  it.each([
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: "1" }, true, false],
    [{ NO_COLOR: "" }, true, true],
    [{ NO_COLOR: "1", FORCE_COLOR: "1" }, true, false],
    [{ FORCE_COLOR: "1" }, false, true],
    [{ FORCE_COLOR: "0" }, false, false],
    [{ TERM: "dumb" }, true, false],
  ])("with %j and terminal %s: %s", (env, terminal, wanted) => expect(wantsColours(env, terminal)).toBe(wanted));

  it("are written around the text, or not at all", () => {
    expect(painter(true)("x", "red", "bold")).toBe("\u001b[1m\u001b[31mx\u001b[39m\u001b[22m");
    expect(painter(false)("x", "red")).toBe("x");
  });
});
