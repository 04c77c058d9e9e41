// WHAT MAY STAND WITHIN ANOTHER ELEMENT, for the compiler: the members of a `parallel`, and the step of a `forEach`. The
// faults that depend on the list around it are found in `check-steps`.

import type { Satisfies } from "./check-needs.js";
import type { IsAny, NotPlain } from "./context-types.js";
import type { Undoing } from "./step-options.js";
import type { Parallel, Step } from "./typed-step.js";

/** What the members of a `parallel` have to be: themselves where they have no fault. A list that is no tuple can't be seen. */
export type CheckedMembers<Members extends readonly unknown[]> = number extends Members["length"]
  ? Members
  : Members extends readonly []
    ? "a parallel has at least one member"
    : { readonly [I in keyof Members]: Member<Members[I]> };

type Member<Element> =
  Element extends Step<infer Name, any, any, infer U>
    ? [U] extends ["pivot"]
      ? `step '${Name}': a pivot is no member of a parallel; the point of no return is passed alone`
      : Element
    : Element extends Parallel<any>
      ? "a parallel is no member of another; put its members beside the others"
      : "this member was not made by step() or named(), nor by sleep(), waitForSignal(), forEach() or child()";

/** Meets a `forEach`'s step where it has no fault, and is the text of its fault where it has one. */
export type CheckedItemStep<Each, Item> =
  Each extends Step<infer Name, infer Needs, infer Given, infer U, infer Marks>
    ? Undoing extends U
      ? unknown
      : [U] extends ["pivot"]
        ? `step '${Name}': is a pivot; the point of no return is passed once, not for each item`
        : [Marks] extends [never]
          ? [NotPlain<Given>] extends [never]
            ? ItemSatisfies<Item, Needs> extends true
              ? unknown
              : `step '${Name}': takes another type of item than over gives`
            : `step '${Name}': gives ${NotPlain<Given>}; an output is a plain object or nothing`
          : MarkFault<Name, Marks>
    : "this step was not made by step()";

type MarkFault<Name extends string, Marks> = "conditional" extends Marks
  ? `step '${Name}': has when; leave the items out of over instead`
  : Marks extends "keyed"
    ? `step '${Name}': has into, but outputs of items go into a list; use the step that it was made of`
    : `step '${Name}': is another element of a list; an item takes a step`;

/** An item need not be an object; where it is one, only the keys that the step speaks of count. */
type ItemSatisfies<Item, Needs> =
  IsAny<Item> extends true
    ? true
    : [Item] extends [Needs]
      ? true
      : [Item] extends [object]
        ? Satisfies<Item, Needs>
        : false;

/** What comes of one item. */
export type ItemOutput<Each> =
  Each extends Step<any, any, infer Given, any> ? ([Given] extends [void] ? undefined : Given) : never;

/** How an element says that it is undone. */
export type UndoingOf<Each> = Each extends Step<any, any, any, infer U> ? U : never;
