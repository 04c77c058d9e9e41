// Sagas for the tests of leases, shutdown, poison and cancels: the outside server's answer tells a body what to do next.

import { isDeepStrictEqual } from "node:util";
import { defineSaga, type RunTools, StepAborted, step, TerminalError } from "rubicon-saga";
import { z } from "zod";

/** What the answer to a body's call tells it. */
export interface Told {
  /** Keep the event loop busy. */
  readonly busyMs?: number;
  /** Wait on a timer, and stop at the signal where `heed` says so. */
  readonly waitMs?: number;
  readonly heed?: boolean;
  /** Count up in small waits, telling the outside the count when the signal is aborted. */
  readonly loops?: number;
  /** Then return in good order. */
  readonly returns?: boolean;
}

const quick = { firstDelay: 20, maxDelay: 100 } as const;

export const precious = () => {
  const x = new Date(5);
  return {
    d: new Date(0),
    same: [x, x],
    m: new Map([["a", 1]]),
    s: new Set([1]),
    b: 10n,
    u: undefined,
    re: /a/g,
    buf: Buffer.from("hi"),
  };
};

const booking = () => ({ bookingId: "b1", at: new Date(1_700_000_000_000) });

type Who = Pick<RunTools, "runId" | "key" | "attempt">;
type Direction = "forward" | "compensate";

export function sagas(outside: string) {
  const call = async (name: string, direction: Direction, who: Who, seen?: unknown): Promise<Told> => {
    const { runId, key, attempt } = who;
    const body = JSON.stringify({ runId, step: name, direction, key, attempt, pid: process.pid, seen });
    const response = await fetch(outside, { method: "POST", body });
    if (response.status === 422) throw new TerminalError(await response.text());
    if (!response.ok) throw Object.assign(new Error(`${name}: ${response.status}`), { status: response.status });
    return (await response.json()) as Told;
  };

  const obey = async (told: Told, name: string, tools: RunTools): Promise<void> => {
    if (told.busyMs !== undefined) for (const end = Date.now() + told.busyMs; Date.now() < end; );
    if (told.waitMs !== undefined) await wait(told.waitMs, told.heed ? tools.signal : undefined);
    for (let count = 0; count < (told.loops ?? 0); count += 1) {
      await wait(50);
      if (!tools.signal.aborted) continue;
      const { reason } = tools.signal;
      await call(`${name}-aborted`, "forward", tools, {
        count,
        reason: reason instanceof StepAborted ? reason.reason : String(reason),
      });
      if (told.returns) return;
      tools.signal.throwIfAborted();
    }
  };

  const told = <Name extends string>(
    name: Name,
    options: { timeout?: number; grace?: number; maxAttempts?: number } = {},
  ) =>
    step({
      name,
      run: async (_context: object, tools) => {
        await obey(await call(name, "forward", tools), name, tools);
        return { [`pid${name}`]: process.pid } as Record<`pid${Name}`, number>;
      },
      compensate: async (_context, undo) => {
        await call(name, "compensate", undo, { outcome: undo.outcome });
      },
      retry: { ...quick, ...(options.maxAttempts === undefined ? {} : { maxAttempts: options.maxAttempts }) },
      compensationRetry: quick,
      timeout: options.timeout ?? 60_000,
      grace: options.grace ?? 500,
    });

  return [
    defineSaga({ name: "told", version: 1, steps: [told("S1"), told("S2")] }),
    defineSaga({ name: "told-three", version: 1, steps: [told("S1"), told("S2"), told("S3")] }),
    defineSaga({
      name: "silent",
      version: 1,
      steps: [step({ name: "S1", run: async (_context: object) => {}, nothingToUndo: true })],
    }),
    defineSaga({ name: "once", version: 1, steps: [told("S1", { maxAttempts: 1, timeout: 3_000 }), told("S2")] }),
    defineSaga({ name: "five-times", version: 1, steps: [told("S1", { maxAttempts: 5, timeout: 5_000 }), told("S2")] }),
    defineSaga({ name: "thrice", version: 1, steps: [told("S1", { maxAttempts: 3, timeout: 5_000 }), told("S2")] }),
    defineSaga({
      name: "short",
      version: 1,
      steps: [told("S1", { timeout: 1_000, grace: 0, maxAttempts: 2 }), told("S2")],
    }),
    defineSaga({ name: "no-grace", version: 1, steps: [told("S1", { grace: 0 }), told("S2")] }),
    // Its first delay is long enough for anything to come in between.
    defineSaga({
      name: "backing-off",
      version: 1,
      steps: [
        told("S1"),
        step({
          name: "S2",
          run: async (_context: object, tools) => {
            await call("S2", "forward", tools);
            return {};
          },
          compensate: async (_context, undo) => {
            await call("S2", "compensate", undo, { outcome: undo.outcome });
          },
          retry: { firstDelay: 3_000, maxDelay: 3_000, maxAttempts: 5 },
        }),
      ],
    }),
    defineSaga({
      name: "values",
      version: 1,
      steps: [
        step({
          name: "S1",
          run: async (_context: object, tools) => {
            await call("S1", "forward", tools);
            return precious();
          },
          nothingToUndo: true,
        }),
        step({
          name: "S2",
          run: async (context: ReturnType<typeof precious>, tools) => {
            const { d, same, m, s, b, u, re, buf } = context;
            const equal = isDeepStrictEqual({ d, same, m, s, b, u, re, buf }, precious());
            await call("S2", "forward", tools, { equal, one: same[0] === same[1], there: "u" in context });
            return {};
          },
          nothingToUndo: true,
        }),
      ],
    }),
    defineSaga({
      name: "nothing",
      version: 1,
      steps: [
        step({
          name: "S1",
          run: async (_context: object, tools) => {
            await call("S1", "forward", tools);
            return undefined;
          },
          compensate: async (_context, undo) => {
            await call("S1", "compensate", undo, { outcome: undo.outcome, undefined: undo.output === undefined });
          },
        }),
        step({
          name: "S2",
          run: async (context: object, tools) => {
            await call("S2", "forward", tools, { keys: Object.keys(context) });
            return {};
          },
          nothingToUndo: true,
        }),
      ],
    }),
    defineSaga({
      name: "booking",
      version: 1,
      input: z.object({ who: z.string() }),
      steps: [
        step({
          name: "S1",
          run: async (_context: { readonly who: string }, tools) => {
            await call("S1", "forward", tools);
            return booking();
          },
          compensate: async ({ who }, undo) => {
            const equal = isDeepStrictEqual(undo.output, booking()) && undo.output?.at instanceof Date;
            await call("S1", "compensate", undo, { equal, who });
          },
          compensationRetry: quick,
        }),
        step({
          name: "S2",
          run: async ({ bookingId, at }: ReturnType<typeof booking>, tools) => {
            await call("S2", "forward", tools, { equal: isDeepStrictEqual({ bookingId, at }, booking()) });
            return {};
          },
          nothingToUndo: true,
          retry: quick,
        }),
      ],
    }),
  ] as const;
}

function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
