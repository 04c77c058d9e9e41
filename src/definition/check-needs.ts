// WHETHER A CONTEXT IS WHAT A STEP NEEDS, for the compiler: a text for each key that is wanting, or has another type.

import type { AllKeys, EmptyContext, IsAny } from "./context-types.js";

/**
 * A fault for each key that is wanting; where no single key is to blame (a union, say), one for the whole. `Beside` are the
 * keys that only other members of the same `parallel` give.
 */
export type NeedsFault<Name extends string, Context, Needs, Beside = never> =
  Satisfies<Context, Needs> extends true
    ? never
    : [UnmetKey<Context, Needs, Beside>] extends [never]
      ? `step '${Name}': needs a context that the input and the earlier steps don't provide`
      : `step '${Name}': needs ${UnmetKey<Context, Needs, Beside>}`;

type UnmetKey<Context, Needs, Beside> = [Needs] extends [object]
  ? { [K in keyof Needs & string]-?: KeyFault<Context, Needs, K, Beside> }[keyof Needs & string]
  : never;

type KeyFault<Context, Needs, K extends keyof Needs & string, Beside> = K extends keyof Context
  ? Satisfies<Pick<Context, K>, Pick<Needs, K>> extends true
    ? never
    : Satisfies<{ [P in K]: Exclude<Context[P], undefined> }, Pick<Needs, K>> extends true
      ? `'${K}', which the input and the earlier steps don't always provide`
      : `another type of '${K}' than the input or an earlier step provides`
  : Satisfies<EmptyContext, Pick<Needs, K>> extends true
    ? never
    : K extends AllKeys<Context>
      ? `'${K}', which the input and the earlier steps don't always provide`
      : K extends Beside
        ? `'${K}', which only a member beside it gives; the members of a parallel see the context from before`
        : `'${K}', which neither the input nor an earlier step provides`;

/**
 * Whether a context is what a step needs. Only the keys that the step speaks of are compared: TypeScript refuses an object
 * that shares no key with a type whose keys are all optional, and a context may well not have any of them.
 */
export type Satisfies<Context, Needs> =
  IsAny<Needs> extends true
    ? true
    : [Needs] extends [never]
      ? true
      : [Relevant<Context, Needs>] extends [Needs]
        ? true
        : false;

type Relevant<Context, Needs> = Context extends unknown ? Pick<Context, keyof Context & KeysOfAny<Needs>> : never;

type KeysOfAny<T> = T extends unknown ? keyof T : never;
