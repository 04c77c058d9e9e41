// A FUNCTION ON ITS WAY from the top: the calls that it made, what it was given, how it ended. It begins nothing itself: what
// it asks for is for whoever drives the run (design 2.3).

import type {
  CallOutcome,
  FunctionCall,
  FunctionEnd,
  FunctionHost,
  FunctionReplay,
  StepDefinition,
} from "../definition/saga.js";
import type { StepKind } from "../definition/shape.js";
import { UsageError } from "../errors/usage-errors.js";
import { placed, refusal } from "./read-call.js";
import { isSuspension, Suspension } from "./suspension.js";

interface Asked {
  readonly call: FunctionCall;
  readonly promise: Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  given: boolean;
}

export class RunningFunction implements FunctionReplay {
  readonly host: FunctionHost;
  readonly unwanted = new Map<string, string | undefined>();
  readonly calls: FunctionCall[] = [];
  readonly #asked = new Map<string, Asked>();
  readonly #waiting = new Map<string, FunctionCall>();
  /** Which call's failure an error is. */
  readonly #failures = new WeakMap<object, string>();
  /** The calls that a promise waits for. */
  readonly #promises = new WeakMap<object, readonly string[]>();
  #pivot: "ahead" | "asked" | "passed" = "ahead";
  #end: FunctionEnd | undefined;
  /** The call at which it stops for now. */
  #suspended: Suspension | undefined;
  #stopped = false;

  constructor(host: FunctionHost) {
    this.host = host;
  }

  /** Calls it. */
  begin(run: () => unknown): void {
    Promise.resolve()
      .then(run)
      .then(
        (value) => this.#ended({ kind: "returned", value }),
        (error: unknown) => this.#ended({ kind: "threw", error, ...this.#blamed(error) }),
      );
  }

  get waiting(): readonly FunctionCall[] {
    return [...this.#waiting.values()];
  }

  get end(): FunctionEnd | undefined {
    return this.#end;
  }

  /** What comes of the call, whenever it does. */
  ask(name: string, read: () => StepDefinition): Promise<unknown> {
    return quiet(this.#ask(name, read));
  }

  #ask(name: string, read: () => StepDefinition): Promise<unknown> {
    if (this.#stopped) return Promise.reject(this.#askedAfterStop(name));
    if (this.#end !== undefined) return Promise.reject(refusal(name, ["the function has ended already"]));
    try {
      const asked = this.#made(name, read());
      this.#asked.set(name, asked);
      this.#waiting.set(name, asked.call);
      this.calls.push(asked.call);
      this.#promises.set(asked.promise, [name]);
      if (asked.call.step.pivot) this.#pivot = "asked";
      this.host.moved();
      return asked.promise;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #made(name: string, step: StepDefinition): Asked {
    const others = this.waiting.map((call) => `"${call.step.name}"`);
    if (this.#asked.has(name))
      throw new UsageError(
        "function.name_taken",
        `a call named "${name}" was made before in this run; names are what a replay finds its records by, so give each call its own`,
      );
    if (step.pivot && this.#pivot !== "ahead") throw refusal(name, ["a function passes at most one pivot"]);
    if (step.pivot && this.host.isChild)
      throw refusal(name, ["this run is another one's child, which may still take it back, so it passes no pivot"]);
    if (step.pivot && others.length > 0)
      throw refusal(name, [`a pivot is passed alone, and ${others.join(", ")} did not end yet; await it first`]);
    if (this.#pivot === "asked") throw refusal(name, ["the pivot did not end yet; await it first"]);
    let resolve!: Asked["resolve"];
    let reject!: Asked["reject"];
    const promise = new Promise((onDone, onFailed) => {
      resolve = onDone;
      reject = onFailed;
    });
    return { call: placed(step, this.#kindOf(step)), promise, resolve, reject, given: false };
  }

  #kindOf({ pivot }: StepDefinition): StepKind {
    if (pivot) return "pivot";
    return this.#pivot === "passed" ? "retriable" : "compensatable";
  }

  give(name: string, outcome: CallOutcome): void {
    const asked = this.#asked.get(name)!;
    asked.given = true;
    this.#waiting.delete(name);
    if (asked.call.step.pivot && outcome.kind === "done") this.#pivot = "passed";
    if (outcome.kind === "done") asked.resolve(outcome.value);
    else {
      this.#failures.set(outcome.error, name);
      asked.reject(outcome.error);
    }
  }

  refuse(error: unknown, call: string): void {
    this.#waiting.delete(call);
    this.#end ??= { kind: "threw", error, step: call };
  }

  /** `d.all` does not want those of its members any more that are calls, or another `d.all`. */
  giveUp(members: readonly unknown[], because: string | undefined): void {
    for (const name of members.flatMap((member) => this.#callsOf(member)))
      if (!this.#asked.get(name)!.given && !this.unwanted.has(name)) this.unwanted.set(name, because);
    this.host.moved();
  }

  /** What is waited for together is given up together. */
  together(promise: Promise<unknown>, members: readonly unknown[]): void {
    this.#promises.set(
      promise,
      members.flatMap((member) => this.#callsOf(member)),
    );
  }

  #callsOf(promise: unknown): readonly string[] {
    return isObject(promise) ? (this.#promises.get(promise) ?? []) : [];
  }

  /** The call whose failure it is, or whose failure caused it. */
  #blamed(error: unknown): { readonly step?: string } {
    const step = this.failedCall(error);
    return step === undefined ? {} : { step };
  }

  failedCall(error: unknown): string | undefined {
    const seen = new Set<unknown>();
    for (let at = error; at instanceof Error && !seen.has(at); at = at.cause) {
      const step = this.#failures.get(at);
      if (step !== undefined) return step;
      seen.add(at);
    }
    return undefined;
  }

  suspend(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    for (const { call, given, reject } of this.#asked.values()) {
      if (given) continue;
      const suspension = new Suspension(call.step.name);
      this.#suspended ??= suspension;
      reject(suspension);
    }
  }

  #ended(end: FunctionEnd): void {
    if (this.#stopped) {
      if (end.kind === "returned" || !isSuspension(end.error)) this.#swallowed(end.kind);
      return;
    }
    this.#end ??= end;
    this.host.moved();
  }

  #askedAfterStop(name: string): Suspension {
    // It may have been busy with something else when the run stopped, and hears of it only now.
    if (this.#suspended === undefined) this.#suspended = new Suspension(name);
    else this.#swallowed(`asked for "${name}"`);
    return this.#suspended;
  }

  #swallowed(then: string): void {
    // What returns or throws after everything was given to it swallowed nothing.
    if (this.#suspended === undefined || this.#end !== undefined) return;
    const { step } = this.#suspended;
    this.host.log.warn(
      { step, then },
      `the function caught the suspension at "${step}" and went on; nothing of that is recorded. Let it through: isSuspension(error) tells it`,
    );
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** What nobody listens to is nobody's unhandled rejection. */
export function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
