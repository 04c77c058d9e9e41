// THE TABLE OF 1.1 AND THE FLOW OF DATA, CHECKED BY THE COMPILER: each element of a list becomes itself, or the texts of
// its faults, which no step can be assigned to. The error then stands at that element and reads "not assignable to" the
// text. Single quotes, because the compiler escapes double ones.

import type { NeedsFault } from "./check-needs.js";
import type { AllKeys, EmptyContext, NotPlain, ProvidedBy } from "./context-types.js";
import type { Undoing } from "./step-options.js";
import type { Parallel, Step } from "./typed-step.js";

/**
 * What a list has to be: itself where it has no fault, so that `Steps` can be inferred from it. A list that is no tuple
 * can't be looked into and is checked at run time only.
 */
export type CheckedSteps<Steps extends readonly unknown[], Input> = number extends Steps["length"]
  ? Steps
  : Steps extends readonly []
    ? "a saga has at least one step"
    : Steps extends CheckFrom<Steps, Input, never, never, readonly []>
      ? Steps
      : CheckFrom<Steps, Input, never, never, readonly []>;

/** Walks the list, with the context so far, the names so far, and the name of the pivot once it was passed. */
type CheckFrom<
  Rest extends readonly unknown[],
  Context,
  Names extends string,
  Pivot extends string,
  Checked extends readonly unknown[],
> = Rest extends readonly [infer First, ...infer More]
  ? First extends Step<infer Name, infer Needs, infer Given, infer U>
    ? CheckFrom<
        More,
        Context & ProvidedBy<First>,
        Names | Known<Name>,
        [Pivot] extends [never] ? (U extends "pivot" ? Name : never) : Pivot,
        readonly [
          ...Checked,
          Verdict<
            First,
            | NameFault<Name, Names>
            | PlaceFault<Name, U, Pivot>
            | NeedsFault<Name, Context, Needs>
            | OutputFault<Name, Given>
            | TwiceFault<Name, Context, Given>
          >,
        ]
      >
    : First extends Parallel<infer Members>
      ? CheckFrom<
          More,
          Context & ProvidedBy<First>,
          Names | NamesOf<Members>,
          Pivot,
          readonly [
            ...Checked,
            Verdict<First, MemberFaults<Members, Context, Names, Pivot, EmptyContext, KeysOf<Members>>>,
          ]
        >
      : CheckFrom<
          More,
          Context,
          Names,
          Pivot,
          readonly [
            ...Checked,
            "this element was not made by step(), pivot() or named(), nor by sleep(), waitForSignal(), parallel(), forEach() or child()",
          ]
        >
  : Checked;

/**
 * The faults of all members of a `parallel`: each needs what was there before it, and gives what neither that nor a member
 * before it gave. What is no element, or none that may be a member, has its fault where `parallel` is called.
 */
type MemberFaults<
  Rest extends readonly unknown[],
  Context,
  Names extends string,
  Pivot extends string,
  Given,
  Beside,
  Faults = never,
> = Rest extends readonly [infer First, ...infer More]
  ? First extends Step<infer Name, infer Needs, infer Gives, infer U>
    ? MemberFaults<
        More,
        Context,
        Names | Known<Name>,
        Pivot,
        Given & ProvidedBy<First>,
        Beside,
        | Faults
        | NameFault<Name, Names>
        | PlaceFault<Name, U, Pivot>
        | NeedsFault<Name, Context, Needs, Exclude<Beside, AllKeys<Gives>>>
        | OutputFault<Name, Gives>
        | TwiceFault<Name, Context, Gives>
        | BesideFault<Name, Given, Gives>
      >
    : MemberFaults<More, Context, Names, Pivot, Given, Beside, Faults>
  : Faults;

type NamesOf<Members extends readonly unknown[]> = {
  [I in keyof Members]: Members[I] extends Step<infer Name, any, any, any> ? Known<Name> : never;
}[number];

/** All keys that the members of a `parallel` give. */
type KeysOf<Members extends readonly unknown[]> = { [I in keyof Members]: AllKeys<ProvidedBy<Members[I]>> }[number];

type Verdict<Element, Faults> = [Faults] extends [never] ? Element : Faults;

/** A name that is only known to be some string clashes with no other as far as the compiler can tell. */
type Known<Name extends string> = string extends Name ? never : Name;

type NameFault<Name extends string, Names extends string> = string extends Name
  ? never
  : Name extends Names
    ? `step '${Name}': an earlier step has the same name; use named(step, 'another name')`
    : Name extends "" | "compensate" | "__proto__" | `${string}/${string}`
      ? `step '${Name}': a name is not empty, contains no '/', and is not reserved`
      : IsWhole<Name> extends true
        ? `step '${Name}': a whole number is reserved: keys of the items of a forEach end in one`
        : never;

type IsWhole<Name extends string> = Name extends `${Digit}${infer Rest}`
  ? Rest extends ""
    ? true
    : IsWhole<Rest>
  : false;

type Digit = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;

/** The table of 1.1. A step whose way of being undone is not known to the compiler is checked at run time. */
type PlaceFault<Name extends string, U extends Undoing, Pivot extends string> = Undoing extends U
  ? never
  : U extends "both"
    ? `step '${Name}': has both compensate and nothingToUndo; keep one of the two`
    : [Pivot] extends [never]
      ? U extends "neither"
        ? `step '${Name}': can be rolled back, so it needs compensate, or nothingToUndo: true`
        : never
      : U extends "pivot"
        ? `step '${Name}': is a second pivot, after '${Pivot}'; a saga has at most one`
        : U extends "compensate"
          ? `step '${Name}': comes after the pivot '${Pivot}', where nothing is undone, so it can't have compensate`
          : never;

type OutputFault<Name extends string, Given> = [NotPlain<Given>] extends [never]
  ? never
  : `step '${Name}': gives ${NotPlain<Given>}; an output is a plain object or nothing`;

type TwiceFault<Name extends string, Context, Given> = [NotPlain<Given>] extends [never]
  ? `step '${Name}': gives '${AllKeys<Given> & AllKeys<Context> & string}', which the input or an earlier step gives already; use named(step, '…', { into: '…' })`
  : never;

type BesideFault<Name extends string, Beside, Given> = [NotPlain<Given>] extends [never]
  ? `step '${Name}': gives '${AllKeys<Given> & AllKeys<Beside> & string}', which a member beside it gives already; use named(step, '…', { into: '…' })`
  : never;
