// WHAT A BODY, OR AN ASK, MAY COME TO: the answers that the world gives, few enough that all of them are explored.

import type { StoredValue } from "../../src/core/entry.js";
import type { Outcome, Threw } from "../../src/core/record.js";
import type { AbortReason } from "../../src/errors/step-errors.js";
import { longDelayMs, shortDelayMs } from "./shapes.js";

export const output: StoredValue = { format: "text", text: "output" };

const error = { name: "Error", message: "no" };
const threw = { kind: "threw", error, counted: true } as const;

export const returned: Outcome = { kind: "returned", output };
/** Also a timeout, and a lost connection. */
export const maybeRetry: Threw = { ...threw, retryable: true, happened: "maybe", retryAfterMs: longDelayMs };
export const maybeTerminal: Threw = { ...threw, retryable: false, happened: "maybe" };
export const noRetry: Threw = { ...threw, retryable: true, happened: "no", retryAfterMs: shortDelayMs };
export const noTerminal: Threw = { ...threw, retryable: false, happened: "no" };
export const neverCalled: Threw = {
  ...threw,
  retryable: true,
  happened: "no",
  counted: false,
  retryAfterMs: longDelayMs,
};
export const askThrew: Threw = maybeRetry;
export const notHappened: Outcome = { kind: "answered", answer: "not_happened" };
export const cannotTell: Outcome = { kind: "answered", answer: "cannot_tell" };

export function abortedBy({ retryAfterMs: _later, ...outcome }: Threw, aborted: AbortReason): Threw {
  return { ...outcome, aborted };
}

/** Whether a peer may answer so for ever without anybody being at fault. */
export function isTemporary(outcome: Outcome): boolean {
  return outcome.kind === "threw" && outcome.retryable;
}
