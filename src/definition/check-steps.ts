// THE TABLE OF 1.1 AND THE FLOW OF DATA, CHECKED BY THE COMPILER: each element of a list becomes itself, or the texts of
// its faults, which no step can be assigned to. The error then stands at that element and reads "not assignable to" the
// text. Single quotes, because the compiler escapes double ones.

import type { AllKeys, EmptyContext, IsAny, NotPlain, Provided } from "./context-types.js";
import type { Undoing } from "./step-options.js";
import type { Step } from "./typed-step.js";

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
        Context & Provided<Given>,
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
    : CheckFrom<
        More,
        Context,
        Names,
        Pivot,
        readonly [...Checked, "this element was not made by step(), pivot() or named()"]
      >
  : Checked;

type Verdict<Element, Faults> = [Faults] extends [never] ? Element : Faults;

/** A name that is only known to be some string clashes with no other as far as the compiler can tell. */
type Known<Name extends string> = string extends Name ? never : Name;

type NameFault<Name extends string, Names extends string> = string extends Name
  ? never
  : Name extends Names
    ? `step '${Name}': an earlier step has the same name; use named(step, 'another name')`
    : Name extends "" | "compensate" | "__proto__" | `${string}/${string}`
      ? `step '${Name}': a name is not empty, contains no '/', and is not reserved`
      : never;

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

/** A fault for each key that is wanting; where no single key is to blame (a union, say), one for the whole. */
type NeedsFault<Name extends string, Context, Needs> =
  Satisfies<Context, Needs> extends true
    ? never
    : [UnmetKey<Context, Needs>] extends [never]
      ? `step '${Name}': needs a context that the input and the earlier steps don't provide`
      : `step '${Name}': needs ${UnmetKey<Context, Needs>}`;

type UnmetKey<Context, Needs> = [Needs] extends [object]
  ? { [K in keyof Needs & string]-?: KeyFault<Context, Needs, K> }[keyof Needs & string]
  : never;

type KeyFault<Context, Needs, K extends keyof Needs & string> = K extends keyof Context
  ? Satisfies<Pick<Context, K>, Pick<Needs, K>> extends true
    ? never
    : Satisfies<{ [P in K]: Exclude<Context[P], undefined> }, Pick<Needs, K>> extends true
      ? `'${K}', which the input and the earlier steps don't always provide`
      : `another type of '${K}' than the input or an earlier step provides`
  : Satisfies<EmptyContext, Pick<Needs, K>> extends true
    ? never
    : K extends AllKeys<Context>
      ? `'${K}', which the input and the earlier steps don't always provide`
      : `'${K}', which neither the input nor an earlier step provides`;

/**
 * Whether a context is what a step needs. Only the keys that the step speaks of are compared: TypeScript refuses an object
 * that shares no key with a type whose keys are all optional, and a context may well not have any of them.
 */
type Satisfies<Context, Needs> =
  IsAny<Needs> extends true
    ? true
    : [Needs] extends [never]
      ? true
      : [Relevant<Context, Needs>] extends [Needs]
        ? true
        : false;

type Relevant<Context, Needs> = Context extends unknown ? Pick<Context, keyof Context & KeysOfAny<Needs>> : never;

type KeysOfAny<T> = T extends unknown ? keyof T : never;

type OutputFault<Name extends string, Given> = [NotPlain<Given>] extends [never]
  ? never
  : `step '${Name}': gives ${NotPlain<Given>}; an output is a plain object or nothing`;

type TwiceFault<Name extends string, Context, Given> = [NotPlain<Given>] extends [never]
  ? `step '${Name}': gives '${AllKeys<Given> & AllKeys<Context> & string}', which the input or an earlier step gives already; use named(step, '…', { into: '…' })`
  : never;
