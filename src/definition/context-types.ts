// THE CONTEXT, AS A TYPE: the input and the outputs of the steps before, merged (design 2.1). Nothing here exists at run
// time.

import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Mark, Parallel, Step } from "./typed-step.js";

/** A context to which nothing was given yet. */
export type EmptyContext = Record<never, never>;

/** What a step's output adds to the context. Where it may give nothing, its keys may be absent. */
export type Provided<Given> =
  IsAny<Given> extends true ? any : [NotPlain<Given>] extends [never] ? GivenKeys<Given> : EmptyContext;

/** What an element of a list adds to the context; of what is none nothing, and of a `parallel` that is no tuple `any`. */
export type ProvidedBy<Element> =
  Element extends Step<any, any, infer Given, any, infer Marks>
    ? "conditional" extends Marks
      ? Perhaps<Provided<Given>>
      : Provided<Given>
    : Element extends Parallel<infer Members>
      ? FinalContext<Members, unknown>
      : unknown;

/** What a step that may not have run gives. One object and not a union, of which many would multiply. */
type Perhaps<Given> =
  IsAny<Given> extends true ? any : Given extends unknown ? { [K in keyof Given]?: Given[K] | undefined } : never;

type GivenKeys<Given> = [Given] extends [never]
  ? EmptyContext
  : [Extract<Given, void>] extends [never]
    ? Given
    : Exclude<Given, void> | { readonly [K in AllKeys<Exclude<Given, void>>]?: undefined };

/**
 * What an element gives once its output goes under a key of its own, instead of under the one that it went under so far. An
 * output that is no plain object stays a fault.
 */
export type GivenUnder<Given, Into, Marks extends Mark> = Into extends string
  ? [NotPlain<Given>] extends [never]
    ? { [K in Into]: "keyed" extends Marks ? Given[keyof Given] : [Given] extends [void] ? undefined : Given }
    : Given
  : Given;

/** What is wrong with an output or an input that has to be a plain object or nothing; `never` when nothing is. */
export type NotPlain<Given> =
  IsAny<Given> extends true
    ? never
    : unknown extends Given
      ? "a value of unknown type"
      : Given extends void
        ? never
        : Given extends null
          ? "null"
          : Given extends string | number | boolean | bigint | symbol
            ? "a primitive value"
            : Given extends readonly unknown[]
              ? "an array"
              : Given extends (...args: never) => unknown
                ? "a function"
                : Given extends BuiltIn
                  ? "an object of a built-in class"
                  : never;

type BuiltIn =
  | Date
  | RegExp
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | ArrayBuffer
  | ArrayBufferView
  | PromiseLike<unknown>;

/** The context that a saga begins with. */
export type InputContext<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Schema>
  : EmptyContext;

/** The context when all elements of a list are done; of a list that is no tuple nothing is known. */
export type FinalContext<Steps extends readonly unknown[], Context> = number extends Steps["length"]
  ? any
  : Steps extends readonly [infer First, ...infer Rest]
    ? FinalContext<Rest, Context & ProvidedBy<First>>
    : Context;

/** The same type, shown as one object instead of as what it was merged from. */
export type Merged<T> = T extends unknown ? { [K in keyof T]: T[K] } : never;

/** The keys of all members of a union, without index signatures. */
export type AllKeys<T> = T extends unknown ? keyof { [K in keyof T as LiteralKey<K>]: never } : never;

type LiteralKey<K> = K extends string ? (string extends K ? never : K) : never;

export type IsAny<T> = 0 extends 1 & T ? true : false;
