// WHAT EACH TEST OF THE SUITE WORKS WITH: an outside world, steps that note their calls there, and executors of one kind,
// closed after the test. Names of sagas are unique, so that executors on one database do not meet.

import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  type CancelAnswer,
  type CloseOptions,
  defineSaga,
  type Entry,
  type ExecutorOptions,
  isSagaError,
  pivot,
  type RunOutcome,
  type RunTools,
  type Saga,
  type SagaExecutor,
  step,
} from "rubicon-saga";
import { expect, onTestFinished } from "vitest";
import type { Row } from "../../../src/core/entry.js";
import { checkJournal } from "../../../src/core/rules.js";
import type { Step } from "../../../src/definition/typed-step.js";
import { systemChance } from "../../../src/platform/ids.js";
import { Outside } from "../../support/outside.js";

/** Makes an executor of the kind under test. `retry` and the like have short delays unless told otherwise. */
export type MakeExecutor = (options: ExecutorOptions) => Promise<SagaExecutor>;

export type AnySaga = Saga<any, any>;

/** What `compensate` gets, as far as tests look. */
export type UndoTools = RunTools & {
  readonly outcome: "done" | "in_doubt";
  readonly output: any;
  readonly forwardKey: string;
  readonly cause: string;
};

/** A body, by what it does after its call was noted. */
type Body = (context: any, tools: RunTools) => unknown;
type Undo = (context: any, tools: UndoTools) => unknown;

export interface StepBehaviour {
  readonly run?: Body;
  readonly undo?: Undo;
  readonly [option: string]: unknown;
}

/** Takes any input as it is. */
export const anything: StandardSchemaV1<any, any> = {
  "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) },
};

let made = 0;

export class Bench {
  readonly outside = new Outside();
  readonly #make: MakeExecutor;

  constructor(make: MakeExecutor) {
    this.#make = make;
  }

  /** A step that notes each call, then does what it is told. Undoing it does nothing more, unless told. */
  step(name: string, { run, undo, ...options }: StepBehaviour = {}): Step {
    return step({
      name,
      run: async (context: any, tools: RunTools) => {
        this.outside.did(name, tools);
        return (await run?.(context, tools)) as any;
      },
      compensate: async (context: any, tools: any) => {
        this.outside.undid(name, tools);
        await undo?.(context, tools);
      },
      ...options,
    } as any) as unknown as Step;
  }

  /** A step that is not undone: after the pivot, or with `nothingToUndo`. */
  forward(name: string, { run, ...options }: StepBehaviour = {}): Step {
    return this.step(name, { ...(run === undefined ? {} : { run }), ...options, compensate: undefined });
  }

  pivot(name: string, { run, ...options }: StepBehaviour = {}): Step {
    return pivot({
      name,
      run: async (context: any, tools: RunTools) => {
        this.outside.did(name, tools);
        return (await run?.(context, tools)) as any;
      },
      ...options,
    } as any) as unknown as Step;
  }

  saga(steps: readonly Step[], options: Readonly<Record<string, unknown>> = {}): AnySaga {
    return defineSaga({ name: uniqueName("saga"), version: 1, input: anything, steps, ...options } as any) as AnySaga;
  }

  /** An executor for these sagas, closed after the test. */
  async executor(sagas: readonly AnySaga[], options: Omit<ExecutorOptions, "sagas"> = {}): Promise<SagaExecutor> {
    const executor = await this.#make({
      retry: { firstDelay: 1 },
      compensationRetry: { firstDelay: 1 },
      ...options,
      sagas,
    });
    onTestFinished(async () => {
      await obeyRules(executor, sagas).finally(() => executor.close(atOnce));
    });
    return executor;
  }

  /** Runs a saga whose only step throws `error`, twice at most; `options` of that step go before. */
  async fail(error: unknown, options: StepBehaviour = {}): Promise<Failed> {
    const undone: string[] = [];
    const run = () => {
      throw error;
    };
    const undo = (_: unknown, { outcome }: UndoTools) => void undone.push(outcome);
    const step = this.step("S1", { retry: { maxAttempts: 2, firstDelay: 1 }, undo, run, ...options });
    const ran = await this.run(this.saga([step]));
    return { ...ran, executions: this.outside.count("S1"), undone: undone[0] ?? "not at all" };
  }

  /** Runs one saga to its end. */
  async run(saga: AnySaga, input: unknown = {}, options: Omit<ExecutorOptions, "sagas"> = {}): Promise<Ran> {
    const executor = await this.executor([saga], options);
    const handle = await executor.start(saga, input);
    return { id: handle.id, executor, outcome: await handle.outcome({ timeout: "20s" }) };
  }
}

function noneWhenClosed(error: unknown): { readonly runs: readonly never[] } {
  if (isSagaError(error, "store.closed")) return { runs: [] };
  throw error;
}

/** Whatever a test was about: no journal that it leaves breaks a rule. */
async function obeyRules(executor: SagaExecutor, sagas: readonly AnySaga[]): Promise<void> {
  for (const saga of sagas) {
    const { runs } = await executor.list({ saga: saga.name, limit: 20 }).catch(noneWhenClosed);
    for (const run of runs.filter(({ version }) => version === saga.version)) {
      const rows = new Map<number, Row>();
      for (const { number, at, entry } of await executor.history(run.id)) {
        const entries = [...(rows.get(number)?.entries ?? []), entry];
        rows.set(number, { number, at: at.getTime(), entries, nonce: "" });
      }
      expect(checkJournal(saga.shape, [...rows.values()])).toEqual([]);
    }
  }
}

export interface Ran {
  readonly id: string;
  readonly executor: SagaExecutor;
  readonly outcome: RunOutcome<any>;
}

export interface Failed extends Ran {
  readonly executions: number;
  /** As what it was undone: `done`, `in_doubt`, or `not at all`. */
  readonly undone: string;
}

const atOnce: CloseOptions = { grace: 0 };

export function uniqueName(kind: string): string {
  made += 1;
  return `${kind}-${process.pid}-${Date.now().toString(36)}-${made}`;
}

/** Makes every delay the longest that it can be, where a test has to act before it is over. */
export const longestDelays = { platform: { chance: { ...systemChance, random: () => 0.999 } } };

/** The kinds of a run's entries, without who drove it when: executors differ in that. */
export async function kindsOf(executor: SagaExecutor, runId: string): Promise<string[]> {
  const driving = ["taken_up", "parked", "handed_over"];
  return (await entriesOf(executor, runId)).map(({ kind }) => kind).filter((kind) => !driving.includes(kind));
}

export async function entriesOf(executor: SagaExecutor, runId: string): Promise<Entry[]> {
  return (await executor.history(runId)).map(({ entry }) => entry);
}

/** The error of an outcome that is none of success. */
export function errorOf(outcome: RunOutcome<any>): any {
  if (outcome.status === "completed") throw new Error("the run completed");
  return outcome.error;
}

/** Asks to stop, as everybody in these tests does. */
export function stop(executor: SagaExecutor, runId: string, reason?: string): Promise<CancelAnswer> {
  return executor.requestCancel(runId, { by: "ana@shop.example", ...(reason === undefined ? {} : { reason }) });
}

/** What a call rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<any> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it did not reject");
}

/** Resolves when the signal aborts, with its reason. */
export function aborted(signal: AbortSignal): Promise<any> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });
}

/** Never settles. */
export function never(): Promise<never> {
  return new Promise(() => {});
}
