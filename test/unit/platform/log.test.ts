import { describe, expect, it, vi } from "vitest";
import { type LogSink, safeLogger, silentLogger, withFields } from "../../../src/platform/log.js";

const levels = ["debug", "info", "warn", "error"] as const;
const sink = () => ({ debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() });

describe("logging", () => {
  it("passes each line on at its level", () => {
    const logger = sink();
    for (const level of levels) safeLogger(logger)[level]({ level }, "said");
    for (const level of levels) expect(logger[level].mock.calls).toEqual([[{ level }, "said"]]);
  });

  it("calls the logger as its own method", () => {
    const lines: unknown[] = [];
    class Bound implements LogSink {
      readonly #lines = lines;
      debug(fields: object) {
        this.#lines.push(fields);
      }
      info = this.debug;
      warn = this.debug;
      error = this.debug;
    }
    safeLogger(new Bound()).debug({ a: 1 });
    expect(lines).toEqual([{ a: 1 }]);
  });

  it("adds fields, of which those of the line win", () => {
    const logger = sink();
    withFields(withFields(logger, { runId: "r", step: "a" }), { step: "b" }).warn({ step: "c", at: 1 }, "said");
    expect(logger.warn.mock.calls).toEqual([[{ runId: "r", step: "c", at: 1 }, "said"]]);
  });

  it("survives a logger that throws, that rejects, and one that lacks a level", async () => {
    const thrower = () => {
      throw new Error("disk full");
    };
    const rejecting = { ...sink(), info: (() => Promise.reject(new Error("late"))) as () => void };
    const broken = [
      { debug: thrower, info: thrower, warn: thrower, error: thrower },
      rejecting,
      {} as LogSink,
      null as never,
    ];
    for (const logger of broken)
      for (const level of levels) {
        expect(() => safeLogger(logger)[level]({}, "said")).not.toThrow();
        expect(() => withFields(logger, { a: 1 })[level]({}, "said")).not.toThrow();
      }
    await new Promise((resolve) => setImmediate(resolve));
  });

  it("is silent by default", () => {
    for (const level of levels) expect(silentLogger[level]({}, "said")).toBeUndefined();
    expect(Object.isFrozen(silentLogger)).toBe(true);
  });
});
