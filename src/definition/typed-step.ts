// A STEP WITH ITS TYPES: what `step`, `pivot` and `named` return, and what the checks of a list read off it.

import type { StepDefinition } from "./saga.js";
import type { Undoing } from "./step-options.js";

/** Keeps what a step gives and how it is undone in its type. Never set. */
declare const typed: unique symbol;

/**
 * One element of a saga's list: frozen data, to be used in as many sagas as one likes.
 *
 * - `Needs`: what it takes from the context; `Step` alone is any step.
 * - `Gives`: what it adds to the context; a pivot's `U` is `"pivot"`.
 */
export interface Step<Name extends string = string, Needs = never, Gives = unknown, U extends Undoing = Undoing>
  extends StepDefinition {
  readonly name: Name;
  /** The function as it was written, to be called in unit tests. */
  readonly run: (context: Needs, tools: any) => any;
  readonly [typed]?: { readonly gives: Gives; readonly undoing: U };
}
