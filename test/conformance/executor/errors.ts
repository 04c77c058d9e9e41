// WHAT A THROWN VALUE COMES TO: tried again or not, in doubt or not, how often, how long, and how it is kept.

import { isSagaError, isTerminalError, RetryableError, TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { gate, until } from "../../support/until.js";
import { aborted, Bench, entriesOf, errorOf, type MakeExecutor, never } from "./bench.js";

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
  const failures = async (bench: Bench, error: unknown, options: Record<string, unknown> = {}) => {
    const outcomes: unknown[] = [];
    const undo = (_: unknown, { outcome }: any) => void outcomes.push(outcome);
    const retry = { maxAttempts: 2, firstDelay: 1 };
    const ran = await bench.run(bench.saga([bench.step("S1", { retry, undo, ...throwing(error), ...options })]));
    return { ...ran, executions: bench.outside.count("S1"), undone: outcomes[0] ?? "not at all" };
  };

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
      const ran = await failures(bench, error());
      expect(ran.outcome.status).toBe("failed");
      expect([ran.executions, ran.undone]).toEqual([executions, undone]);
    });

    test("ERR-2: a TerminalError of a second copy of the package is one", async () => {
      const bench = new Bench(make);
      const foreign = Object.assign(new Error("no"), { code: "step.terminal" });
      for (const brand of ["rubicon-saga.error", "rubicon-saga.terminal"])
        Object.defineProperty(foreign, Symbol.for(brand), { value: true });
      const { executions, undone, outcome } = await failures(bench, foreign);
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
      const { outcome, executions, undone, executor, id } = await failures(bench, thrown);
      expect([executions, undone]).toEqual([2, "in_doubt"]);
      expect(outcome.status).toBe("failed");
      expect(errorOf(outcome)).toBeInstanceOf(Error);
      expect(errorOf(outcome).cause).toMatchObject({ name: "NonError", message });
      const failed = (await entriesOf(executor, id)).find((entry) => entry.kind === "step_failed");
      expect(failed!.error.message).toBe(message);
    });

    test("ERR-4: a rejected promise that was returned is a throw", async () => {
      const bench = new Bench(make);
      const { executions } = await failures(bench, undefined, { run: () => Promise.reject() });
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
      const { outcome, executions } = await failures(bench, hostile);
      expect([outcome.status, executions]).toEqual(["failed", 2]);
    });

    test("a hostile proxy that is thrown after the abort harms nobody either", async () => {
      const bench = new Bench(make);
      const { proxy, revoke } = Proxy.revocable(new Error("x"), {});
      revoke();
      const { outcome } = await failures(bench, undefined, {
        timeout: 5,
        run: (_: unknown, { signal }: any) => aborted(signal).then(() => Promise.reject(proxy)),
      });
      expect(outcome.status).toBe("failed");
    });

    test("ERR-1: name, message, stack, status and cause are kept, wherever it is read", async () => {
      const bench = new Bench(make);
      const { outcome, executor, id } = await failures(bench, new HttpError(409, new TypeError("x")));
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
      const { outcome, executor, id } = await failures(bench, huge);
      expect(outcome.status).toBe("failed");
      const failed = (await entriesOf(executor, id)).find((entry) => entry.kind === "step_failed");
      expect(JSON.stringify(failed!.error).length).toBeLessThanOrEqual(64 * 1024);
    });

    test("SER-9: an error's text that is cut never ends in half of a pair, and a NUL in it is replaced", async () => {
      const bench = new Bench(make);
      const { executor, id } = await failures(bench, new TerminalError(`${"😀".repeat(20_000)}\0`));
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

  describe("how often and when", () => {
    test.each([1, 3, 12])("ERR-8, SER-6: maxAttempts %i means exactly so many executions", async (maxAttempts) => {
      const bench = new Bench(make);
      const retry = { maxAttempts, firstDelay: 1, factor: 1 };
      await bench.run(bench.saga([bench.step("S1", { retry, ...throwing(new Error("down")) })]));
      expect(bench.outside.calls.filter((call) => call.direction === "forward").map((call) => call.attempt)).toEqual(
        Array.from({ length: maxAttempts }, (_, index) => index + 1),
      );
    });

    test("by default a step before the pivot is executed 8 times", async () => {
      const bench = new Bench(make);
      await bench.run(bench.saga([bench.step("S1", throwing(new Error("down")))]));
      expect(bench.outside.count("S1")).toBe(8);
    });

    test("Retry-After is honoured, and jitter never undercuts it", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          run: (_, { attempt }) => {
            if (attempt === 1) throw new RetryableError("busy", { retryAfter: 120 });
          },
        }),
      ]);
      expect((await bench.run(saga)).outcome.status).toBe("completed");
      const [first, second] = bench.outside.calls;
      // By the journal's clock; this one may differ from it by a few milliseconds.
      expect(second!.at - first!.at).toBeGreaterThanOrEqual(100);
    });

    test("more than a day counts as a day, and the run is parked meanwhile", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step(
          "S1",
          throwing(Object.assign(new Error("busy"), { status: 429, headers: { "retry-after": "999999999" } })),
        ),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("it is parked", async () => (await executor.get(run.id))?.status === "waiting");
      const { nextAttemptAt, waiting, attempts, step } = (await executor.get(run.id))!;
      expect(nextAttemptAt!.getTime() - Date.now()).toBeGreaterThan(23.9 * 3_600_000);
      expect(nextAttemptAt!.getTime() - Date.now()).toBeLessThanOrEqual(24 * 3_600_000);
      expect({ waiting, attempts, step }).toEqual({ waiting: 'to try step "S1" again', attempts: 1, step: "S1" });
    });

    test("a wait of a second or more parks the run, which then goes on by itself", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          run: (_, { attempt }) => {
            if (attempt === 1) throw new RetryableError("busy", { retryAfter: 1_050 });
          },
        }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("completed");
      expect((await entriesOf(executor, id)).map(({ kind }) => kind)).toEqual([
        "taken_up",
        "attempt_failed",
        "parked",
        "taken_up",
        "step_completed",
        "finished",
      ]);
    });
  });

  describe("timeouts", () => {
    test("the signal aborts at the timeout, with a StepAborted of that reason", async () => {
      const bench = new Bench(make);
      let reason: any;
      const { outcome, executions, undone } = await failures(bench, undefined, {
        timeout: 15,
        retry: { maxAttempts: 1 },
        run: async (_: unknown, { signal }: any) => {
          reason = await aborted(signal);
          throw reason;
        },
      });
      expect(isSagaError(reason, "step.aborted")).toBe(true);
      expect(reason).toMatchObject({ reason: "timeout", step: "S1" });
      expect(errorOf(outcome).cause).toMatchObject({ name: "StepTimeoutError", code: "step.timeout", timeoutMs: 15 });
      expect([executions, undone]).toEqual([1, "in_doubt"]);
    });

    test("what returns within the grace counts", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          timeout: 10,
          grace: 5_000,
          run: (_, { signal }) => aborted(signal).then(() => ({ late: 1 })),
        }),
      ]);
      expect((await bench.run(saga)).outcome).toEqual({ status: "completed", output: { late: 1 } });
    });

    test("ERR-11: what comes after the grace is dropped: the second attempt's result counts", async () => {
      const bench = new Bench(make);
      const late = gate<object>();
      const seen: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          timeout: 15,
          grace: 0,
          run: (_, { attempt }) => (attempt === 1 ? late.promise : { value: "ok" }),
        }),
        bench.step("S2", {
          run: async ({ value }) => {
            late.open({ value: "late" });
            await new Promise((resolve) => setTimeout(resolve, 5));
            seen.push(value);
          },
        }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome).toEqual({ status: "completed", output: { value: "ok" } });
      expect(seen).toEqual(["ok"]);
      expect(bench.outside.order()).toEqual(["S1", "S1", "S2"]);
      const failed = (await entriesOf(executor, id)).filter((entry) => entry.kind === "attempt_failed");
      expect(failed).toMatchObject([{ error: { code: "step.timeout" }, counted: true, doubt: true, attempts: 1 }]);
    });

    test("LSE-5: each attempt that times out is recorded as one and uses up one, then the saga rolls back", async () => {
      const bench = new Bench(make);
      const { executions, undone, outcome } = await failures(bench, undefined, { timeout: 10, grace: 0, run: never });
      expect([outcome.status, executions, undone]).toEqual(["failed", 2, "in_doubt"]);
    });

    test("ERR-13: a late rejection of an abandoned body reaches nobody", async () => {
      const unhandled: unknown[] = [];
      const note = (reason: unknown) => void unhandled.push(reason);
      process.on("unhandledRejection", note);
      try {
        const bench = new Bench(make);
        const late = gate<never>();
        await failures(bench, undefined, { timeout: 5, grace: 0, retry: { maxAttempts: 1 }, run: () => late.promise });
        late.fail(new Error("much too late"));
        await new Promise((resolve) => setTimeout(resolve, 20));
        expect(unhandled).toEqual([]);
      } finally {
        process.off("unhandledRejection", note);
      }
    });

    test("Infinity is no timeout; 40 days work without overflow", async () => {
      const warnings: Error[] = [];
      const note = (warning: Error) => void warnings.push(warning);
      process.on("warning", note);
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          timeout: Number.POSITIVE_INFINITY,
          run: () => new Promise((resolve) => setTimeout(resolve, 20)),
        }),
        bench.step("S2", { timeout: "40d", run: () => new Promise((resolve) => setTimeout(resolve, 20)) }),
      ]);
      expect((await bench.run(saga)).outcome.status).toBe("completed");
      process.off("warning", note);
      expect(bench.outside.order()).toEqual(["S1", "S2"]);
      expect(warnings.filter(({ name }) => name === "TimeoutOverflowWarning")).toEqual([]);
    });
  });
}
