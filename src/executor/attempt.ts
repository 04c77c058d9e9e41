// ONE CALL OF ONE BODY: its timeout, its grace, its signal, the user's policy around it (design 1.6). Knows nothing of
// journals; says how the call ended, and never rejects.

import type { AttemptPolicy } from "../definition/saga.js";
import { read } from "../errors/safe-text.js";
import { isSagaError } from "../errors/saga-error.js";
import { type AbortReason, NeverCalledError, StepAborted, StepTimeoutError } from "../errors/step-errors.js";
import { UsageError } from "../errors/usage-errors.js";
import type { Clock } from "../platform/clock.js";

export interface AttemptOptions {
  readonly step: string;
  /** `Infinity`: no limit. */
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly policy?: AttemptPolicy;
  readonly clock: Clock;
  readonly body: (signal: AbortSignal) => unknown;
  /** Told of a policy that calls its body twice: no attempt fails of it, since the first call is what counts. */
  readonly onMisuse: (error: UsageError) => void;
}

type Ending =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: unknown };

/** `settled` is false for a body that outlived its grace and goes on without anybody listening. */
export type AttemptEnd = Ending & { readonly settled: boolean; readonly aborted?: AbortReason };

export interface RunningAttempt {
  readonly end: Promise<AttemptEnd>;
  /** Aborts the signal and gives the body its grace. The first reason stays; after the end it does nothing. */
  abort(reason: AbortReason): void;
  /** Settles when the body does, if ever: also one that was abandoned. Never rejects. */
  readonly body: Promise<void>;
}

/** Calls the body in a later microtask. */
export function startAttempt(options: AttemptOptions): RunningAttempt {
  return new Attempt(options);
}

class Attempt implements RunningAttempt {
  readonly end: Promise<AttemptEnd>;
  readonly body: Promise<void>;
  readonly #options: AttemptOptions;
  readonly #controller = new AbortController();
  #over = false;
  #begun = false;
  #aborted: AbortReason | undefined;
  #cancelTimer = () => {};
  #settleEnd!: (end: AttemptEnd) => void;
  #settleBody!: () => void;

  constructor(options: AttemptOptions) {
    this.#options = options;
    this.end = new Promise((resolve) => {
      this.#settleEnd = resolve;
    });
    this.body = new Promise((resolve) => {
      this.#settleBody = resolve;
    });
    const { timeoutMs, clock, policy } = options;
    if (timeoutMs !== Number.POSITIVE_INFINITY) this.#cancelTimer = clock.after(timeoutMs, () => this.abort("timeout"));
    if (policy === undefined) this.#callBody(this.#controller.signal);
    else this.#callThrough(policy);
  }

  abort(reason: AbortReason): void {
    if (this.#aborted !== undefined || this.#over) return;
    const { step, clock, graceMs } = this.#options;
    this.#aborted = reason;
    this.#cancelTimer();
    // Before the abort: listeners run inside it, and the body may settle there.
    this.#cancelTimer = clock.after(graceMs, () =>
      this.#finish({ kind: "threw", error: this.#stopped(reason) }, false),
    );
    this.#controller.abort(new StepAborted(step, reason));
    if (!this.#begun) this.#neverCalled(this.#controller.signal.reason);
  }

  /** What the body comes to is what counts; of the policy only whether it calls it, and that it does so once. */
  #callThrough(policy: AttemptPolicy): void {
    const { signal } = this.#controller;
    Promise.resolve()
      .then(() => policy.execute((context) => this.#callBody(joined(signal, context?.signal)), signal))
      .then(
        () => this.#neverCalled(new Error("the policy settled without calling the body")),
        (error: unknown) => this.#neverCalled(error),
      );
  }

  #callBody(signal: AbortSignal): Promise<unknown> {
    const { step, body, onMisuse } = this.#options;
    if (this.#begun) {
      const misuse = calledTwice(step);
      onMisuse(misuse);
      throw misuse;
    }
    // A policy that had the attempt queue up may come to it when nobody waits for it any more.
    if (this.#over) throw new NeverCalledError(step, this.#controller.signal.reason);
    this.#begun = true;
    const call = Promise.resolve().then(() => body(signal));
    call.then(
      (value) => this.#finish({ kind: "returned", value }, true),
      (error: unknown) => this.#finish({ kind: "threw", error: this.#meant(error) }, true),
    );
    // Not with what it came to: a hostile value can't even be resolved with.
    const settled = () => this.#settleBody();
    call.then(settled, settled);
    return call;
  }

  #neverCalled(cause: unknown): void {
    if (!this.#begun) this.#finish({ kind: "threw", error: new NeverCalledError(this.#options.step, cause) }, true);
  }

  #finish(ending: Ending, settled: boolean): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelTimer();
    this.#settleEnd({ ...ending, settled, ...(this.#aborted === undefined ? {} : { aborted: this.#aborted }) });
  }

  /** A body that passes its signal on throws what the signal said; what matters is why it was aborted. */
  #meant(error: unknown): unknown {
    const echo = (isSagaError(error) && read(error, "code") === "step.aborted") || read(error, "name") === "AbortError";
    return echo && this.#aborted !== undefined ? this.#stopped(this.#aborted) : error;
  }

  #stopped(reason: AbortReason): Error {
    const { step, timeoutMs } = this.#options;
    return reason === "timeout" ? new StepTimeoutError(step, timeoutMs) : new StepAborted(step, reason);
  }
}

/** Aborts with the attempt, and with the policy's own signal where it has one. */
function joined(own: AbortSignal, policys: unknown): AbortSignal {
  return policys instanceof AbortSignal && policys !== own ? AbortSignal.any([own, policys]) : own;
}

function calledTwice(step: string): UsageError {
  return new UsageError(
    "policy.called_twice",
    `the policy of step "${step}" called its body twice; only the first call counts. Retries belong to the step's \`retry\``,
  );
}
