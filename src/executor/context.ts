// WHAT A BODY IS GIVEN: the input and the outputs of the steps before it, merged, decoded from the journal (design 2.1, 1.2).

import type { StoredValue } from "../core/entry.js";
import type { RunState } from "../core/state.js";
import type { SagaDefinition, StepDefinition } from "../definition/saga.js";
import { UsageError } from "../errors/usage-errors.js";

export type Context = Readonly<Record<string, unknown>>;

/** Reads a stored value. Each call gives a fresh copy: no body can change what another one sees. */
export type Decode = (stored: StoredValue) => unknown;

/**
 * The context of the element at `index`: the input and what all done elements before it gave; what runs beside it is not
 * before it. With `own`, what it gave itself as well: how it stood when it completed, which is what its compensation gets
 * (1.8).
 */
export function contextOf(
  saga: SagaDefinition,
  input: StoredValue,
  state: RunState,
  options: { readonly index: number; readonly own: boolean; readonly decode: Decode },
): Context {
  const { index, own, decode } = options;
  const beside = saga.steps[index]?.parallel;
  const before = saga.steps.slice(0, index).filter(({ parallel }) => parallel === undefined || parallel !== beside);
  return given(own ? [...before, saga.steps[index]!] : before, state, decode, asContext(decode(input)));
}

/** All outputs merged, without the input: a saga's output when it names none. */
export function mergedOutputs(saga: SagaDefinition, state: RunState, decode: Decode): Context {
  return given(saga.steps, state, decode, {});
}

function given(elements: readonly StepDefinition[], state: RunState, decode: Decode, onto: Context): Context {
  return elements.reduce<Context>((context, element) => {
    const output = outputOf(element, state, decode);
    return output === undefined ? context : merged(context, element.into, output.value);
  }, onto);
}

/** What an element gave; undefined while it is not done, and for one that was skipped or gives nothing. */
function outputOf(element: StepDefinition, state: RunState, decode: Decode): { readonly value: unknown } | undefined {
  const { done, items, holds } = state.steps[element.name]!;
  if (done === undefined || holds === false || element.element === "sleep") return undefined;
  const stored = done.output;
  if (stored !== undefined) {
    const value = decode(stored);
    return { value: element.element === "signal" ? { received: true, payload: value } : value };
  }
  if (element.element === "signal") return { value: { received: false } };
  return { value: items?.units.map(({ name }) => decode(state.steps[name]!.done!.output!)) };
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
