import { describe, expect, it } from "vitest";
import { PayloadTooLargeError } from "../../../src/errors/usage-errors.js";
import { encodeValue } from "../../../src/journal/codec.js";

describe("size", () => {
  it("the limit is 1 MiB of UTF-8 by default, and is named (SER-14)", () => {
    const limit = 1024 * 1024;
    expect(() => encodeValue("x".repeat(limit - 4))).not.toThrow();
    expect(() => encodeValue("x".repeat(limit - 3))).toThrow(new PayloadTooLargeError(limit + 1, limit));
    expect(() => encodeValue("é".repeat(limit / 2))).toThrow(PayloadTooLargeError);
  });

  it("the limit can be set", () => {
    expect(() => encodeValue({ a: "xxxxxxxxxx" }, { limitBytes: 10 })).toThrow(PayloadTooLargeError);
    expect(() => encodeValue("x".repeat(2_000_000), { limitBytes: 3_000_000 })).not.toThrow();
  });

  it.each<[string, () => unknown]>([
    ["a long text", () => "x".repeat(400_000_000)],
    ["a large buffer", () => Buffer.alloc(400_000_000)],
    ["a part of a large buffer", () => new Uint8Array(new ArrayBuffer(400_000_001), 1)],
    ["a large ArrayBuffer", () => new ArrayBuffer(400_000_000)],
    ["a long array of one value", () => Array.from({ length: 20_000_000 }, () => 1)],
    ["a text repeated", () => Array.from({ length: 20_000_000 }, () => "xxxxxxxxxxxxxxxxxxxx")],
  ])("%s far over the limit is refused before its text is made (SER-14)", (_name, make) => {
    const value = make();
    const before = process.memoryUsage();
    const started = performance.now();
    expect(() => encodeValue(value)).toThrow(PayloadTooLargeError);
    expect(performance.now() - started).toBeLessThan(5_000);
    const after = process.memoryUsage();
    expect(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(150_000_000);
  });

  it("a getter that stores another value meanwhile has a limit of its own", () => {
    const value = {
      get inner() {
        encodeValue("y".repeat(100_000));
        return 1;
      },
      rest: "x".repeat(50),
    };
    expect(() => encodeValue(value, { limitBytes: 100 })).not.toThrow();
    const larger = {
      get inner() {
        encodeValue("y", { limitBytes: 10 });
        return 1;
      },
      rest: "x".repeat(500_000),
    };
    expect(() => encodeValue(larger)).not.toThrow();
  });

  it("collections are counted as they are walked", () => {
    const set = new Set(Array.from({ length: 3_000_000 }, (_, index) => index));
    const error = attempt(() => encodeValue({ set }));
    expect(error).toBeInstanceOf(PayloadTooLargeError);
    expect((error as PayloadTooLargeError).size).toBeLessThan(5_000_000);
  });
});

function attempt(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}
