import { describe, expect, test } from "vitest";
import { z } from "zod";
import { isSagaError } from "../../../src/errors/saga-error.js";
import { parseList, parseOperator, parseStart, parseWait } from "../../../src/executor/call-options.js";
import {
  durationOption,
  executorOptions,
  parseInProcessOptions,
  parseOptions,
  policyOptions,
} from "../../../src/executor/options.js";
import { systemClock } from "../../../src/platform/clock.js";
import { systemChance } from "../../../src/platform/ids.js";

/** The faults of a refused call, by place. */
function faultsOf(call: () => unknown): Record<string, string> {
  try {
    call();
  } catch (error) {
    if (!isSagaError(error, "options.invalid")) throw error;
    return Object.fromEntries((error as any).faults.map(({ at, fault }: any) => [at, fault]));
  }
  throw new Error("it was accepted");
}

describe("an executor's options", () => {
  test("defaults are filled in", () => {
    const parsed = parseInProcessOptions({ sagas: [] });
    expect(parsed).toMatchObject({
      sagas: [],
      retry: {},
      compensationRetry: {},
      maxValueBytes: 1_048_576,
      maxCrashes: 5,
    });
    expect(parsed.platform).toEqual({ clock: systemClock, chance: systemChance });
    for (const level of ["debug", "info", "warn", "error"] as const)
      expect(() => parsed.logger[level]({})).not.toThrow();
    expect(policyOptions(parsed)).toEqual({ retry: {}, compensationRetry: {}, maxCrashes: 5 });
  });

  test("durations become milliseconds, and what is absent stays absent", () => {
    const { retry, compensationRetry } = parseInProcessOptions({
      sagas: [],
      retry: { maxAttempts: Number.POSITIVE_INFINITY, firstDelay: "2s", maxDelay: "1m", factor: 3 },
      compensationRetry: { firstDelay: 7 },
    });
    expect(retry).toEqual({
      maxAttempts: Number.POSITIVE_INFINITY,
      firstDelayMs: 2_000,
      maxDelayMs: 60_000,
      factor: 3,
    });
    expect(compensationRetry).toEqual({ firstDelayMs: 7 });
  });

  test("an explicit undefined is as good as absent", () => {
    const parsed = parseInProcessOptions({ sagas: [], logger: undefined, retry: undefined, codec: undefined } as never);
    expect(parsed.retry).toEqual({});
  });

  test("every fault is told at once, with its place", () => {
    const faults = faultsOf(() =>
      parseInProcessOptions({
        sagas: [{}, "saga"],
        logger: { info() {} },
        classifyError: "x",
        retry: { maxAttempts: 0, firstDelay: "soon", factor: 0.5 },
        compensationRetry: 3,
        codec: { format: "x" },
        maxValueBytes: 0,
        maxCrashes: 1.5,
        platform: { clock: {}, chance: 1 },
      } as never),
    );
    expect(Object.keys(faults).sort()).toEqual(
      [
        "classifyError",
        "codec",
        "compensationRetry",
        "logger",
        "maxCrashes",
        "maxValueBytes",
        "platform.chance",
        "platform.clock",
        "retry.factor",
        "retry.firstDelay",
        "retry.maxAttempts",
        "sagas.0",
        "sagas.1",
      ].sort(),
    );
    expect(faults["sagas.0"]).toBe("must be made by defineSaga");
    expect(faults["retry.firstDelay"]).toContain('"soon" is not a duration');
  });

  test.each([0, -1, 2.5, Number.NaN, "3", null])("ERR-8: maxAttempts %s is refused", (maxAttempts) => {
    const faults = faultsOf(() => parseInProcessOptions({ sagas: [], retry: { maxAttempts } } as never));
    expect(faults["retry.maxAttempts"]).toContain("whole number from 1");
  });

  test("a first delay longer than the longest is a contradiction", () => {
    expect(
      faultsOf(() => parseInProcessOptions({ sagas: [], retry: { firstDelay: "1m", maxDelay: "1s" } })),
    ).toHaveProperty(["retry.firstDelay"]);
  });

  test("an unknown option is refused with the nearest name, or with those that there are", () => {
    expect(faultsOf(() => parseInProcessOptions({ saga: [], sagas: [] } as never))).toEqual({
      saga: 'is not an option; did you mean "sagas"?',
    });
    expect(faultsOf(() => parseInProcessOptions({ sagas: [], database: "x" } as never)).database).toContain(
      "known are sagas, logger",
    );
  });

  test("nested, too", () => {
    const nested = { sagas: [], retry: { maxAttemps: 3 }, platform: { clok: 1 } };
    const faults = faultsOf(() => parseInProcessOptions(nested as never));
    expect(faults["retry.maxAttemps"]).toContain("maxAttempts");
    expect(faults["platform.clok"]).toBe('is not an option; did you mean "clock"?');
  });

  test("nested in defaults, optionals, unions and transformations", () => {
    const schema = z.strictObject({
      defaulted: z.strictObject({ lease: z.number().optional() }).default({}),
      filled: z.strictObject({ lease: z.number().default(1) }).prefault({}),
      either: z.union([z.literal(false), z.strictObject({ lease: z.number() })]).optional(),
      changed: z.strictObject({ lease: z.number() }).transform(Object.keys).optional(),
    });
    const faults = faultsOf(() =>
      parseOptions("f", schema, { defaulted: { leas: 1 }, filled: { leas: 1 }, changed: { lease: 1, leas: 1 } }),
    );
    for (const at of ["defaulted.leas", "filled.leas", "changed.leas"]) expect(faults[at]).toContain('"lease"');
    expect(Object.keys(faultsOf(() => parseOptions("f", schema, { either: { lease: 1, leas: 1 } })))).toEqual([
      "either.leas",
    ]);
    expect(Object.keys(faultsOf(() => parseOptions("f", schema, { either: "x" })))).toEqual(["either"]);
  });

  test.each([undefined, null, "options", 7, []])("what is no object of options is refused: %j", (options) => {
    expect(Object.keys(faultsOf(() => parseInProcessOptions(options as never)))).toHaveLength(1);
  });

  test("the call is named in the message", () => {
    expect(() => parseOptions("durableExecutor", z.strictObject(executorOptions), { sagas: 7 })).toThrow(
      /^durableExecutor can't take these options:\n {2}- sagas: /,
    );
  });

  test("a duration's range is the option's own", () => {
    const schema = z.strictObject({
      timeout: durationOption({ infinite: true }),
      grace: durationOption({ positive: true }),
    });
    expect(parseOptions("f", schema, { timeout: Number.POSITIVE_INFINITY, grace: 1 })).toEqual({
      timeout: Number.POSITIVE_INFINITY,
      grace: 1,
    });
    expect(Object.keys(faultsOf(() => parseOptions("f", schema, { timeout: -1, grace: 0 })))).toEqual([
      "timeout",
      "grace",
    ]);
  });
});

describe("a call's options", () => {
  test("start: an id is looked at by itself", () => {
    expect(parseStart("start", { id: 7 as never })).toEqual({ id: 7 });
    expect(faultsOf(() => parseStart("start", { timeout: 5 } as never))).toHaveProperty("timeout");
    expect(parseStart("execute", { timeout: "5s" })).toMatchObject({ timeout: 5_000 });
    expect(faultsOf(() => parseStart("start", { tx: {} } as never))).toEqual({ tx: "must have query(text, values)" });
  });

  test("waiting: what is absent stays absent", () => {
    expect(parseWait({})).toEqual({});
    expect(parseWait({ timeout: 5 })).toEqual({ timeoutMs: 5 });
  });

  test("an operator has a name; a reason is short", () => {
    expect(parseOperator("requestCancel", { by: "ana" })).toEqual({ by: "ana" });
    expect(parseOperator("requestCancel", { by: "ana", reason: "x" })).toEqual({ by: "ana", reason: "x" });
    expect(faultsOf(() => parseOperator("requestCancel", { by: "ana", reason: "x".repeat(10_001) }))).toHaveProperty(
      "reason",
    );
    expect(faultsOf(() => parseOperator("retry", { by: 1, reason: "x" }))).toEqual({
      by: expect.any(String),
      reason: expect.any(String),
    });
  });

  test("list: 50 by default", () => {
    expect(parseList({})).toEqual({ limit: 50 });
    expect(faultsOf(() => parseList({ status: "finished" as never })).status).toContain("in_doubt");
  });
});
