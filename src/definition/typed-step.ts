// AN ELEMENT OF A LIST WITH ITS TYPES: what `step`, `pivot`, `named` and the makers of the other elements return, and what
// the checks of a list read off it.

import type { StepDefinition } from "./saga.js";
import type { Undoing } from "./step-options.js";

/** Keeps what an element gives and how it is undone in its type. Never set. */
declare const typed: unique symbol;

/**
 * What else the compiler knows of an element: what it is, whether it always runs (`conditional`), and whether its value
 * goes under a key of its own (`keyed`). A plain step has no mark.
 */
export type Mark = "sleep" | "signal" | "each" | "child" | "conditional" | "keyed";

/**
 * One element of a saga's list: frozen data, to be used in as many sagas as one likes.
 *
 * - `Needs`: what it takes from the context; `Step` alone is any element but a `parallel`.
 * - `Gives`: what it adds to the context; a pivot's `U` is `"pivot"`.
 * - `Marks`: what it is beside a plain step that always runs.
 */
export interface Step<
  Name extends string = string,
  Needs = never,
  Gives = unknown,
  U extends Undoing = Undoing,
  Marks extends Mark = never,
> extends StepDefinition {
  readonly name: Name;
  /** The function as it was written, to be called in unit tests. */
  readonly run: (context: Needs, tools: any) => any;
  /** Marks are a parameter, so that an element without one, as far as the compiler knows, may turn out to have some. */
  readonly [typed]?: { readonly gives: Gives; readonly undoing: U; readonly marks: (marks: Marks) => void };
}

/** Elements that run at once: one place of a saga's list. `defineSaga` lays its members flat into `saga.steps`. */
export interface Parallel<Members extends readonly unknown[] = readonly unknown[]> {
  readonly members: Members;
}
