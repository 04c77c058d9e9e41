// WHOSE FUNCTIONS A UNIT CALLS, and with which context: the definition of an element, or of one item of a list (design 2.1).

import type { StoredValue } from "../core/entry.js";
import type { RunState } from "../core/state.js";
import type { SagaDefinition, StepDefinition } from "../definition/saga.js";
import type { RunHeader } from "../journal/journal.js";
import { type Context, contextOf, type Decode } from "./context.js";

/** A run, and the code that drives it. */
export interface Subject {
  readonly saga: SagaDefinition;
  readonly header: RunHeader;
  readonly state: RunState;
}

/** A unit with its place in the code. */
export interface Body {
  readonly step: StepDefinition;
  /** The place of its element in the list. */
  readonly index: number;
  /** Which item of the list it is for. */
  readonly item?: number;
}

/** The body of the unit of that name; undefined when this saga has no such unit. */
export function bodyOf(saga: SagaDefinition, unit: string): Body | undefined {
  const index = saga.steps.findIndex((step) => step.name === unit);
  if (index !== -1) return { step: saga.steps[index]!, index };
  const slash = unit.lastIndexOf("/");
  const element = saga.steps.findIndex((step) => step.each !== undefined && step.name === unit.slice(0, slash));
  if (element === -1) return undefined;
  return {
    step: { ...saga.steps[element]!.each!.step, name: unit },
    index: element,
    item: Number(unit.slice(slash + 1)),
  };
}

/** What its functions get: the context, or its item. With `own`, the context as it stood when it completed. */
export function contextFor({ saga, header, state }: Subject, body: Body, decode: Decode, own: boolean): Context {
  // A function's calls have their own scope for a context.
  if (saga.function !== undefined) return {};
  const { index, item } = body;
  if (item === undefined) return contextOf(saga, header.input, state, { index, own, decode });
  const element = saga.steps[index]!;
  const items = decode(state.steps[element.name]!.items!.stored) as readonly unknown[];
  return items[item] as Context;
}

/** The state as it is once the unit has given `output`. */
export function afterGiving({ saga, state }: Subject, { step, index, item }: Body, output: StoredValue): RunState {
  const done = { output, attempt: 1 };
  const after = { ...state, steps: { ...state.steps, [step.name]: { ...state.steps[step.name]!, done } } };
  if (item === undefined) return after;
  const element = saga.steps[index]!.name;
  const { items } = after.steps[element]!;
  if (items!.units.some(({ name }) => after.steps[name]!.done === undefined)) return after;
  return { ...after, steps: { ...after.steps, [element]: { ...after.steps[element]!, done: { attempt: 1 } } } };
}
