// WHAT A THROWN VALUE COMES TO: tried again or not, in doubt or not, how often, how long, and how it is kept.

import { isTerminalError, RetryableError, TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { until } from "../../support/until.js";
import { aborted, Bench, entriesOf, errorOf, type MakeExecutor } from "./bench.js";

const throwing = (error: unknown) => ({
  run: () => {
    throw error;
  },
});

class HttpError extends Error {
  readonly status: number;

  constructor(status: number, cause?: unknown) {
    super(`HTTP ${status}`, { cause });
    this.status = status;
  }
}

export function failing(make: MakeExecutor): void {
  describe("what an error says of its attempt", () => {
    const cases: [string, () => unknown, number, string][] = [
      ["ERR-2: a TerminalError: it did not happen", () => new TerminalError("no"), 1, "not at all"],
      [
        "ERR-2: a TerminalError that is merely a cause: retried",
        () => new Error("outer", { cause: new TerminalError("no") }),
        2,
        "in_doubt",
      ],
      ["a RetryableError: maybe", () => new RetryableError("later"), 2, "in_doubt"],
      ["any Error: maybe", () => new Error("?"), 2, "in_doubt"],
      ["a TypeError: a bug, maybe after the call", () => new TypeError("x is undefined"), 1, "in_doubt"],
      [
        "a refused connection: it did not happen",
        () => Object.assign(new Error("no"), { code: "ECONNREFUSED" }),
        2,
        "not at all",
      ],
      [
        "a lost connection as the cause of what fetch throws",
        () => new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "ECONNRESET" }) }),
        2,
        "in_doubt",
      ],
      ["HTTP 422: it did not happen", () => new HttpError(422), 1, "not at all"],
      ["HTTP 409: maybe it did, before", () => new HttpError(409), 1, "in_doubt"],
      ["HTTP 429: it did not happen, try again", () => new HttpError(429), 2, "not at all"],
      ["HTTP 503: maybe, try again", () => new HttpError(503), 2, "in_doubt"],
      [
        "SQLSTATE 40001: it did not happen, try again",
        () => Object.assign(new Error("serialization"), { code: "40001" }),
        2,
        "not at all",
      ],
      ["SQLSTATE 23505: maybe", () => Object.assign(new Error("duplicate"), { code: "23505" }), 1, "in_doubt"],
    ];
    test.each(cases)("%s", async (_, error, executions, undone) => {
      const bench = new Bench(make);
      const ran = await bench.fail(error());
      expect(ran.outcome.status).toBe("failed");
      expect([ran.executions, ran.undone]).toEqual([executions, undone]);
    });

    test("ERR-2: a TerminalError of a second copy of the package is one", async () => {
      const bench = new Bench(make);
      const foreign = Object.assign(new Error("no"), { code: "step.terminal" });
      for (const brand of ["rubicon-saga.error", "rubicon-saga.terminal"])
        Object.defineProperty(foreign, Symbol.for(brand), { value: true });
      const { executions, undone, outcome } = await bench.fail(foreign);
      expect([executions, undone]).toEqual([1, "not at all"]);
      expect(isTerminalError(errorOf(outcome).cause)).toBe(true);
    });

    const odd: [string, unknown, string][] = [
      ["a string", "boom", "boom"],
      ["undefined", undefined, "undefined"],
      ["null", null, "null"],
      ["a number", 42, "42"],
      ["a symbol", Symbol("s"), "Symbol(s)"],
      ["an object", { reason: "x" }, "[object Object]"],
    ];
    test.each(odd)("ERR-4: what is thrown is %s: tried again, kept, told as an Error", async (_, thrown, message) => {
      const bench = new Bench(make);
      const { outcome, executions, undone, executor, id } = await bench.fail(thrown);
      expect([executions, undone]).toEqual([2, "in_doubt"]);
      expect(outcome.status).toBe("failed");
      expect(errorOf(outcome)).toBeInstanceOf(Error);
      expect(errorOf(outcome).cause).toMatchObject({ name: "NonError", message });
      const failed = (await entriesOf(executor, id)).find((entry) => entry.kind === "step_failed");
      expect(failed!.error.message).toBe(message);
    });

    test("ERR-4: a rejected promise that was returned is a throw", async () => {
      const bench = new Bench(make);
      const { executions } = await bench.fail(undefined, { run: () => Promise.reject() });
      expect(executions).toBe(2);
    });

    test("a hostile proxy that was thrown harms nobody", async () => {
      const bench = new Bench(make);
      const hostile = new Proxy(new Error("x"), {
        get() {
          throw new Error("get");
        },
        getPrototypeOf() {
          throw new Error("getPrototypeOf");
        },
        ownKeys() {
          throw new Error("ownKeys");
        },
        has() {
          throw new Error("has");
        },
      });
      const { outcome, executions } = await bench.fail(hostile);
      expect([outcome.status, executions]).toEqual(["failed", 2]);
    });

    test("a hostile proxy that is thrown after the abort harms nobody either", async () => {
      const bench = new Bench(make);
      const { proxy, revoke } = Proxy.revocable(new Error("x"), {});
      revoke();
      const { outcome } = await bench.fail(undefined, {
        timeout: 5,
        run: (_: unknown, { signal }: any) => aborted(signal).then(() => Promise.reject(proxy)),
      });
      expect(outcome.status).toBe("failed");
    });

    test("ERR-1: name, message, stack, status and cause are kept, wherever it is read", async () => {
      const bench = new Bench(make);
      const { outcome, executor, id } = await bench.fail(new HttpError(409, new TypeError("x")));
      const expected = {
        name: "HttpError",
        message: "HTTP 409",
        status: 409,
        cause: { name: "TypeError", message: "x" },
      };
      for (const error of [errorOf(outcome).cause, (await executor.get(id))!.error as any]) {
        expect(error).toBeInstanceOf(Error);
        expect(error).toMatchObject(expected);
        expect(error.stack).toContain("HTTP 409");
      }
      const failed = (await entriesOf(executor, id)).find((entry) => entry.kind === "step_failed");
      expect(failed!.error).toMatchObject({ name: "HttpError", props: { status: 409 }, cause: { name: "TypeError" } });
    });

    test("a huge error is bounded, a cyclic one ends", async () => {
      const bench = new Bench(make);
      const huge: any = new Error("x".repeat(300_000));
      huge.cause = huge;
      huge.data = { more: "y".repeat(300_000) };
      const { outcome, executor, id } = await bench.fail(huge);
      expect(outcome.status).toBe("failed");
      const failed = (await entriesOf(executor, id)).find((entry) => entry.kind === "step_failed");
      expect(JSON.stringify(failed!.error).length).toBeLessThanOrEqual(64 * 1024);
    });

    test("SER-9: an error's text that is cut never ends in half of a pair, and a NUL in it is replaced", async () => {
      const bench = new Bench(make);
      const { executor, id } = await bench.fail(new TerminalError(`${"😀".repeat(20_000)}\0`));
      const { error } = (await entriesOf(executor, id)).find((entry) => entry.kind === "step_failed")!;
      expect(error.message).not.toMatch(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])/);
      expect(error.message).not.toContain("\0");
    });
  });

  describe("a classifier of one's own", () => {
    test("replaces the default for the executor, and a step's goes before it", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1", throwing(new Error("known")))]);
      const { outcome } = await bench.run(saga, {}, { classifyError: () => ({ retryable: false, happened: "no" }) });
      expect(outcome.status).toBe("failed");
      expect(bench.outside.order()).toEqual(["S1"]);
      const other = bench.saga([
        bench.step("S2", {
          ...throwing(new Error("known")),
          classifyError: () => ({ retryable: false, happened: "maybe" }),
        }),
      ]);
      await bench.run(other, {}, { classifyError: () => ({ retryable: true, happened: "no" }) });
      expect(bench.outside.order().slice(1)).toEqual(["S2", "C2"]);
    });

    test.each([
      [
        "throws",
        () => {
          throw new Error("the classifier's own");
        },
      ],
      ["answers nonsense", () => "retry" as never],
      ["answers a promise", () => Promise.resolve({ retryable: false, happened: "no" }) as never],
    ])("that %s leaves the error retryable and in doubt, and is named in the log", async (_, classifyError) => {
      const bench = new Bench(make);
      const errors: any[] = [];
      const logger = { debug() {}, info() {}, warn() {}, error: (fields: object) => void errors.push(fields) };
      const saga = bench.saga([
        bench.step("S1", { retry: { maxAttempts: 2, firstDelay: 1 }, ...throwing(new TerminalError("own")) }),
      ]);
      const { outcome } = await bench.run(saga, {}, { classifyError, logger });
      expect(outcome).toMatchObject({ status: "failed", error: { cause: { message: "own" } } });
      expect(bench.outside.order()).toEqual(["S1", "S1", "C1"]);
      expect(errors.some(({ err }) => err instanceof Error)).toBe(true);
    });

    test("ERR-6: a delay of its that makes no sense falls back to the default, with a warning", async () => {
      for (const retryAfterMs of [Number.NaN, -5, "100", Number.POSITIVE_INFINITY]) {
        const bench = new Bench(make);
        const lines: unknown[] = [];
        const logger = {
          debug() {},
          info() {},
          warn: (f: object) => void lines.push(f),
          error: (f: object) => void lines.push(f),
        };
        const saga = bench.saga([
          bench.step("S1", {
            classifyError: () => ({ retryable: true, happened: "no", retryAfterMs }) as never,
            retry: { firstDelay: 2, factor: 1 },
            run: (_, { attempt }) => {
              if (attempt === 1) throw new Error("once");
            },
          }),
        ]);
        if (retryAfterMs === Number.POSITIVE_INFINITY) {
          const executor = await bench.executor([saga], { logger });
          const run = await executor.start(saga, {});
          await until("it waits", async () => (await executor.get(run.id))?.status === "waiting");
          const { nextAttemptAt } = (await executor.get(run.id))!;
          expect(nextAttemptAt!.getTime() - Date.now()).toBeLessThanOrEqual(24 * 3_600_000);
        } else {
          expect((await bench.run(saga, {}, { logger })).outcome.status).toBe("completed");
          expect(lines.length).toBeGreaterThan(0);
        }
      }
    });
  });
}
