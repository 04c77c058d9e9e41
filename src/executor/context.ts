// WHAT A BODY IS GIVEN: the input and the outputs of the steps before it, merged, decoded from the journal (design 2.1, 1.2).

import type { StoredValue } from "../core/entry.js";
import type { RunState } from "../core/state.js";
import type { SagaDefinition } from "../definition/saga.js";
import { UsageError } from "../errors/usage-errors.js";

export type Context = Readonly<Record<string, unknown>>;

/** Reads a stored value. Each call gives a fresh copy: no body can change what another one sees. */
export type Decode = (stored: StoredValue) => unknown;

/**
 * The context of the step at `index`: the input and the outputs of all done steps before it. With `own`, its own output
 * as well: how it stood when the step completed, which is what its compensation gets (1.8).
 */
export function contextOf(
  saga: SagaDefinition,
  input: StoredValue,
  state: RunState,
  options: { readonly index: number; readonly own: boolean; readonly decode: Decode },
): Context {
  const steps = saga.steps.slice(0, options.own ? options.index + 1 : options.index);
  return steps.reduce<Context>(
    (context, step) => {
      const done = state.steps[step.name]!.done;
      return done === undefined ? context : merged(context, step.into, options.decode(done.output));
    },
    asContext(options.decode(input)),
  );
}

/** All outputs merged, without the input: a saga's output when it names none. */
export function mergedOutputs(saga: SagaDefinition, state: RunState, decode: Decode): Context {
  return saga.steps.reduce<Context>((context, step) => {
    const done = state.steps[step.name]!.done;
    return done === undefined ? context : merged(context, step.into, decode(done.output));
  }, {});
}

/** An input that is no plain object is a context of its own only for sagas that take none. */
function asContext(input: unknown): Context {
  return isPlainObject(input) ? input : {};
}

/** Spreading creates own properties: a key such as `__proto__` stays data (unlike assignment). */
function merged(context: Context, into: string | undefined, output: unknown): Context {
  if (into !== undefined) return { ...context, [into]: output };
  return isPlainObject(output) ? { ...context, ...output } : context;
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * Checks what types can't in plain JavaScript: an output is a plain object or nothing, and provides no key that is there
 * already.
 * @throws UsageError `output.invalid`
 */
export function checkOutput(
  step: { readonly name: string; readonly into?: string },
  output: unknown,
  before: Context,
): void {
  if (output !== undefined && !isPlainObject(output))
    throw new UsageError(
      "output.invalid",
      `step "${step.name}" returned ${describe(output)}; an output is a plain object or nothing`,
    );
  const keys = step.into === undefined ? Object.keys(output ?? {}) : [step.into];
  const taken = keys.find((key) => Object.hasOwn(before, key));
  if (taken !== undefined)
    throw new UsageError(
      "output.invalid",
      `step "${step.name}" provides "${taken}", which the input or an earlier step provides already; use \`named(step, …, { into })\``,
    );
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? `a ${value.constructor?.name ?? "object"}` : `a ${typeof value}`;
}
