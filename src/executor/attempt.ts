// ONE CALL OF ONE BODY: its timeout, its grace, its signal, the user's policy around it (design 1.6). Knows nothing of
// journals; says how the call ended, and never rejects.

import type { AttemptPolicy } from "../definition/saga.js";
import { type AbortReason, NeverCalledError, StepAborted, StepTimeoutError } from "../errors/step-errors.js";
import { UsageError } from "../errors/usage-errors.js";
import type { Clock } from "../platform/clock.js";

export interface AttemptOptions {
  readonly step: string;
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly policy?: AttemptPolicy;
  readonly clock: Clock;
  readonly body: (signal: AbortSignal) => unknown;
}

/** `settled` is false for a body that outlived its grace and goes on without anybody listening. */
export type AttemptEnd = (
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: unknown }
) & { readonly settled: boolean; readonly aborted?: AbortReason };

export interface RunningAttempt {
  readonly end: Promise<AttemptEnd>;
  /** Aborts the signal and gives the body its grace. The first reason stays. */
  abort(reason: AbortReason): void;
  /** Settles when an abandoned body does, if ever. */
  readonly body: Promise<void>;
}

/** Calls the body in a later microtask. */
export function startAttempt(options: AttemptOptions): RunningAttempt {
  const { step, clock } = options;
  const controller = new AbortController();
  let aborted: AbortReason | undefined;
  let ended = false;
  let giveUp!: (end: AttemptEnd) => void;
  const outlived = new Promise<AttemptEnd>((resolve) => {
    giveUp = resolve;
  });
  let cancelTimer = () => {};

  const abort = (reason: AbortReason): void => {
    if (aborted !== undefined || ended) return;
    aborted = reason;
    cancelTimer();
    // Before the abort: listeners run inside it, and the body may settle there.
    cancelTimer = clock.after(options.graceMs, () =>
      giveUp({ kind: "threw", error: abortError(step, reason, options.timeoutMs), settled: false, aborted: reason }),
    );
    controller.abort(new StepAborted(step, reason));
  };
  if (options.timeoutMs !== Number.POSITIVE_INFINITY) cancelTimer = clock.after(options.timeoutMs, () => abort("timeout"));

  const call = callOnce(options, controller.signal);
  const settled = call.result.then(
    (value): AttemptEnd => ({ kind: "returned", value, settled: true, ...(aborted === undefined ? {} : { aborted }) }),
    (error: unknown): AttemptEnd => ({
      kind: "threw",
      error: aborted !== undefined && isEchoOfAbort(error) ? abortError(step, aborted, options.timeoutMs) : error,
      settled: true,
      ...(aborted === undefined ? {} : { aborted }),
    }),
  );
  const end = Promise.race([settled, outlived]).then((result) => {
    ended = true;
    cancelTimer();
    return result;
  });
  return { end, abort, body: call.body };
}

/** The user's policy may call the body once; a policy that never does has refused the attempt. */
function callOnce(options: AttemptOptions, signal: AbortSignal): { result: Promise<unknown>; body: Promise<void> } {
  const { step, policy } = options;
  let running: Promise<unknown> | undefined;
  const callBody = (inner: AbortSignal): Promise<unknown> => {
    if (running !== undefined)
      throw new UsageError("policy.called_twice", `the policy of step "${step}" called its body twice; retries belong to the step's \`retry\``);
    running = Promise.resolve().then(() => options.body(inner));
    return running;
  };
  const viaPolicy = async (): Promise<unknown> => {
    try {
      return await policy!.execute((context) => callBody(context?.signal ? AbortSignal.any([signal, context.signal]) : signal), signal);
    } catch (error) {
      if (running === undefined) throw new NeverCalledError(step, error);
      // A policy may give up before its body has: what the body comes to in its time is what counts.
      return await running;
    }
  };
  const result = policy === undefined ? callBody(signal) : viaPolicy();
  return { result, body: result.then(noop, noop) };
}

/** A body that passes its signal on throws what the signal said; what matters is why it was aborted. */
function isEchoOfAbort(error: unknown): boolean {
  return error instanceof StepAborted || (error instanceof Error && error.name === "AbortError");
}

function abortError(step: string, reason: AbortReason, timeoutMs: number): Error {
  return reason === "timeout" ? new StepTimeoutError(step, timeoutMs) : new StepAborted(step, reason);
}

function noop(): void {}
