// The sagas that crash tests run in other processes. Each body does one thing: it calls the outside server, which decides
// what becomes of the call and of the caller.

import { defineFunction, defineSaga, pivot, type RunTools, step, TerminalError } from "rubicon-saga";

type Who = Pick<RunTools, "runId" | "key" | "attempt" | "signal">;

export interface Answer {
  readonly pid: number;
  readonly n: number;
}

/** Calls the outside server for a body. */
function caller(outside: string) {
  return async (
    name: string,
    direction: "forward" | "compensate",
    { runId, key, attempt, signal }: Who,
  ): Promise<Answer> => {
    const body = JSON.stringify({ runId, step: name, direction, key, attempt, pid: process.pid });
    const response = await fetch(outside, { method: "POST", body, signal });
    if (response.ok) return (await response.json()) as Answer;
    const text = await response.text();
    if (response.status === 422) throw new TerminalError(text || "refused");
    throw Object.assign(new Error(`${name}: ${response.status}`), { status: response.status });
  };
}

export const quick = { firstDelay: 20, maxDelay: 100 } as const;

/** Makes steps whose bodies call the outside server. */
export function bodies(outside: string) {
  const call = caller(outside);
  const undoable = <Name extends string>(
    name: Name,
    options: { timeout?: number; grace?: number; maxAttempts?: number } = {},
  ) =>
    step({
      name,
      run: async (_context: object, tools) =>
        ({ [`from${name}`]: await call(name, "forward", tools) }) as Record<`from${Name}`, Answer>,
      compensate: async (_context, undo) => {
        await call(name, "compensate", undo);
      },
      retry: { ...quick, ...(options.maxAttempts === undefined ? {} : { maxAttempts: options.maxAttempts }) },
      compensationRetry: quick,
      timeout: options.timeout ?? 5_000,
      grace: options.grace ?? 200,
    });
  const forward = <Name extends string>(name: Name) =>
    step({
      name,
      run: async (_context: object, tools) =>
        ({ [`from${name}`]: await call(name, "forward", tools) }) as Record<`from${Name}`, Answer>,
      retry: quick,
      timeout: 5_000,
      grace: 200,
    });
  const decisive = pivot({
    name: "P",
    run: async (_context: object, tools) => ({ fromP: await call("P", "forward", tools) }),
    retry: quick,
    timeout: 5_000,
    grace: 200,
  });
  return { call, undoable, forward, decisive };
}

export function sagas(outside: string) {
  const { call, undoable, forward, decisive } = bodies(outside);
  const S1 = undoable("S1");
  const S2 = undoable("S2");
  const S3 = undoable("S3");
  const S4 = undoable("S4");
  return [
    defineSaga({ name: "one", version: 1, steps: [S1] }),
    defineSaga({ name: "two", version: 1, steps: [S1, S2] }),
    defineSaga({ name: "four", version: 1, steps: [S1, S2, S3, S4] }),
    defineSaga({ name: "with-pivot", version: 1, steps: [S1, decisive, forward("S3")] }),
    defineSaga({ name: "poison", version: 1, steps: [undoable("S1", { maxAttempts: 3 }), S2] }),
    defineFunction({
      name: "function",
      version: 1,
      run: async (_, d) => {
        const undone = (name: string) => ({ compensate: (undo: Who) => call(name, "compensate", undo) });
        const options = { retry: quick, compensationRetry: quick, timeout: 5_000, grace: 200 };
        const did = (name: string) => (tools: Who) => call(name, "forward", tools);
        const given = await d.step("S1", did("S1"), { ...options, ...undone("S1") });
        await d.sleep("nap", 1_200);
        await d.all([
          d.step("S2", did("S2"), { ...options, ...undone("S2") }),
          d.step("S3", did("S3"), { ...options, ...undone("S3") }),
        ]);
        await d.pivot("P", did("P"), { retry: quick, timeout: 5_000, grace: 200 });
        await d.step("S4", did("S4"), { retry: quick, timeout: 5_000, grace: 200, nothingToUndo: true });
        return given;
      },
    }),
    defineSaga({ name: "slow", version: 1, steps: [undoable("S1", { timeout: 30_000 }), S2] }),
  ] as const;
}
