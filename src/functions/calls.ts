// `d` FOR ONE RUN: each call is read, and asked for.

import type { FunctionHost } from "../definition/saga.js";
import { isSagaError } from "../errors/saga-error.js";
import { TerminalError } from "../errors/step-errors.js";
import { sha256 } from "../platform/digest.js";
import { all } from "./all.js";
import type { Durable } from "./durable.js";
import { readChildCall, readSleepCall, readStartCall, readStepCall, readWaitCall, refusal } from "./read-call.js";
import type { RunningFunction } from "./running-function.js";

export function callsOf(running: RunningFunction): Durable {
  const { host } = running;
  const counts = { now: 0, uuid: 0 };
  const counted = (kind: keyof typeof counts, name: string | undefined): string => {
    if (name !== undefined) return name;
    counts[kind] += 1;
    return `${kind}#${counts[kind]}`;
  };
  const d = {
    step: (name: string, run: unknown, options: unknown) =>
      running.ask(name, () => readStepCall(name, run, options, false)),
    pivot: (name: string, run: unknown, options: unknown) =>
      running.ask(name, () => readStepCall(name, run, options, true)),
    sleep: (name: string, duration: unknown) => running.ask(name, () => readSleepCall(name, duration)),
    waitForSignal: (name: string, options: unknown) => running.ask(name, () => readWaitCall(name, options)),
    child: (name: string, saga: unknown, input: unknown) => running.ask(name, () => readChildCall(name, saga, input)),
    start: (name: string, saga: any, input: unknown, options: { readonly id?: string } = {}) =>
      running.ask(name, () => ({
        ...readStartCall(name, saga),
        run: async () => ({ id: await started(() => host.start(saga, input, name, options.id)) }),
      })),
    all: (calls: readonly unknown[]) => all(running, calls),
    now: (given?: string) => {
      const name = counted("now", given);
      const run = () => new Date(host.now());
      return running.ask(name, () => readStepCall(name, run, { nothingToUndo: true }, false));
    },
    uuid: (given?: string) => {
      if (given !== undefined && typeof given !== "string") throw refusal(given, ["a name is a string"]);
      return uuidOf(host, counted("uuid", given));
    },
  };
  return Object.freeze(d) as unknown as Durable;
}

const refusals = ["input.invalid", "run.conflict", "run.id_invalid", "value.unserializable", "value.too_large"];

/** What the start itself refuses did not happen, and would not another time: the function may catch it. */
async function started(start: () => Promise<string>): Promise<string> {
  try {
    return await start();
  } catch (error) {
    if (!isSagaError(error) || !refusals.includes(error.code)) throw error;
    throw new TerminalError(error.message, { code: error.code, cause: error });
  }
}

/** Of its own kind (version 8): made of the run's id and the name, so that there is nothing to record. */
function uuidOf({ runId }: FunctionHost, name: string): string {
  const hex = sha256(JSON.stringify([runId, name]));
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}
