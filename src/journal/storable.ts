// WHAT CAN BE STORED: the codec's strict look at a value, as operations for `devalue`. It accepts what comes back exactly
// and nothing else; what it refuses it can explain. Knows nothing of formats and limits.

import { types } from "node:util";
import { PayloadTooLargeError } from "../errors/usage-errors.js";
import { expectBytes } from "./bounds.js";

/** Stands for a property whose reading threw. Refused like any other foreign object, so that the path is known. */
class Unreadable {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

interface BuiltIn {
  readonly tag: string;
  /** Looks at an internal slot, which nothing can fake; never at a name that the value gives itself. */
  readonly is: (value: unknown) => boolean;
}

const viewClasses = [
  ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array],
  ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array],
];

/** By prototype: the exact one, so that an instance of a subclass is none of these. */
const builtIns: ReadonlyMap<object, BuiltIn> = new Map(
  [
    { of: Date, tag: "Date", is: types.isDate },
    { of: RegExp, tag: "RegExp", is: types.isRegExp },
    { of: Map, tag: "Map", is: types.isMap },
    { of: Set, tag: "Set", is: types.isSet },
    { of: ArrayBuffer, tag: "ArrayBuffer", is: types.isArrayBuffer },
    { of: DataView, tag: "DataView", is: types.isDataView },
    { of: URL, tag: "URL", is: hasSlotOf(URL.prototype, "href") },
    { of: URLSearchParams, tag: "URLSearchParams", is: hasSlotOf(URLSearchParams.prototype, "size") },
    { of: Number, tag: "Number", is: types.isNumberObject },
    { of: String, tag: "String", is: types.isStringObject },
    { of: Boolean, tag: "Boolean", is: types.isBooleanObject },
    { of: BigInt, tag: "BigInt", is: types.isBigIntObject },
    ...viewClasses.map((view) => ({ of: view, tag: view.name, is: isViewNamed(view.name) })),
  ].map(({ of, tag, is }) => [of.prototype as object, { tag, is }]),
);

/** The getter is the only one that reads the slot in which a typed array keeps its kind. */
function isViewNamed(tag: string): (value: unknown) => boolean {
  const kind = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)!.get!;
  return (value) => kind.call(value) === tag;
}

function hasSlotOf(prototype: object, getter: string): (value: unknown) => boolean {
  const get = Object.getOwnPropertyDescriptor(prototype, getter)!.get!;
  return (value) => {
    try {
      get.call(value);
      return true;
    } catch {
      return false;
    }
  };
}

const foreign = "not storable";
const notPlain = { kind: "not-plain" } as const;

/** The operations of `devalue` that decide what is storable. One walk: what is looked at is what is written. */
export const storableOperations = {
  /** A promise is refused like any other object of a class; `then` is a property like any other. */
  isThenable: () => false,
  tagOf,
  shapeOf,
  get: (value: any, key: string | number): unknown => {
    try {
      return value[key];
    } catch (cause) {
      return new Unreadable(cause);
    }
  },
};

/** Whether `prototype` is exactly the value's. Never throws. */
export function isOf(value: unknown, prototype: object): boolean {
  if (typeof value !== "object" || value === null) return false;
  try {
    return Object.getPrototypeOf(value) === prototype;
  } catch {
    return false;
  }
}

/**
 * The name under which `devalue` writes the object, or one that it does not know. Throws nothing that the object throws.
 * @throws PayloadTooLargeError for an array whose keys alone are too many to be listed
 */
export function tagOf(value: object): string {
  try {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) return "Object";
    if (Array.isArray(value)) return isPlainArray(value, prototype as object) ? "Array" : foreign;
    const builtIn = builtInOf(value, prototype as object);
    if (builtIn === undefined) return foreign;
    return builtIn.is(value) && extraKey(value, builtIn.tag) === undefined ? builtIn.tag : foreign;
  } catch (error) {
    if (error instanceof PayloadTooLargeError) throw error;
    return foreign;
  }
}

function builtInOf(value: object, prototype: object): BuiltIn | undefined {
  const ours = builtIns.get(prototype);
  if (ours !== undefined) return ours;
  const [of, builtIn] = [...builtIns].find(([, candidate]) => candidate.is(value)) ?? [];
  return of !== undefined && isSameClassElsewhere(prototype, of) ? builtIn : undefined;
}

/** `structuredClone` and test runners give objects of another realm: the same name at the same place of the chain. */
function isSameClassElsewhere(prototype: object, ours: object): boolean {
  return prototype.constructor?.name === ours.constructor.name && chainLength(prototype) === chainLength(ours);
}

function chainLength(prototype: object | null): number {
  return prototype === null ? 0 : 1 + chainLength(Object.getPrototypeOf(prototype));
}

function isPlainArray(value: readonly unknown[], prototype: object): boolean {
  expectBytes(value.length * 2);
  return isClassOf(prototype, Array.prototype) && extraKey(value, "Array") === undefined;
}

function isClassOf(prototype: object, ours: object): boolean {
  return prototype === ours || isSameClassElsewhere(prototype, ours);
}

/**
 * An own property that would be lost. Integer keys come first and `length` is the first of the others, so an array's last
 * key tells. Not looked for on typed arrays, whose keys are as many as their bytes.
 */
function extraKey(value: object, tag: string): PropertyKey | undefined {
  if (ArrayBuffer.isView(value) && tag !== "DataView") return undefined;
  const last = Reflect.ownKeys(value).at(-1);
  const expected = tag === "Array" || tag === "String" ? "length" : tag === "RegExp" ? "lastIndex" : undefined;
  return last === expected ? undefined : last;
}

function shapeOf(value: object): { kind: "plain" | "null-proto"; keys: string[] } | typeof notPlain {
  try {
    const prototype: object | null = Object.getPrototypeOf(value);
    if (prototype !== null && !isClassOf(prototype, Object.prototype)) return notPlain;
    const keys = Object.keys(value);
    // What is hidden, and what has a symbol for its name, would be lost.
    if (Reflect.ownKeys(value).length !== keys.length) return notPlain;
    return { kind: prototype === null ? "null-proto" : "plain", keys };
  } catch {
    return notPlain;
  }
}

/** Why `value` was refused, and at which property of it, as far as that can be told. Never throws. */
export function explainRefusal(value: unknown): {
  readonly why: string;
  readonly at?: string;
  readonly cause?: unknown;
} {
  if (typeof value === "function") return { why: "a function" };
  if (typeof value === "symbol") return { why: "a symbol" };
  try {
    if (value instanceof Unreadable) return { why: "reading it threw", cause: value.cause };
    return explainObject(value as object);
  } catch (cause) {
    return { why: "looking at it threw", cause };
  }
}

function explainObject(value: object): { readonly why: string; readonly at?: string } {
  const prototype = Object.getPrototypeOf(value);
  const isArray = Array.isArray(value);
  const plain = prototype === null || isClassOf(prototype, Object.prototype);
  if (plain || builtInOf(value, prototype)?.is(value) || (isArray && isClassOf(prototype, Array.prototype))) {
    if (plain && Object.hasOwn(value, "__proto__")) return { why: "a property of that name", at: ".__proto__" };
    const lost = Reflect.ownKeys(value).findLast((key) => !isKept(value, key, plain));
    if (typeof lost === "symbol") return { why: `it has a property named by ${String(lost)}` };
    if (lost !== undefined)
      return { why: plain ? "a hidden property" : "a property of its own on a built-in", at: `.${lost}` };
  }
  if (types.isPromise(value)) return { why: "a promise; await it" };
  const name: unknown = prototype?.constructor?.name;
  return { why: typeof name === "string" && name !== "" ? `an instance of ${name}` : "no plain object" };
}

function isKept(value: object, key: PropertyKey, plain: boolean): boolean {
  if (plain) return typeof key === "string" && Object.getOwnPropertyDescriptor(value, key)?.enumerable === true;
  return key === "length" || key === "lastIndex" || (typeof key === "string" && /^\d+$/.test(key));
}
