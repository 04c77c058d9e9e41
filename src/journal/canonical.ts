// WHETHER TWO VALUES ARE THE SAME START: a digest of a value's canonical form (design 1.9). Stored and compared across
// versions of the library, so the form below never changes.

import { types } from "node:util";
import { sha256 } from "../platform/digest.js";

/** Longer texts of a part are replaced by their digest, so that what is shared many times over stays small. */
const longestPart = 512;

/**
 * The digest of a decoded value. The same for two values that mean the same:
 *
 * - the order of keys, of a Map's entries and of a Set's members does not matter; an array's does;
 * - a property that is undefined is absent, a hole in an array is undefined; an object without prototype is an object;
 * - 0 and -0 are the same (as for `===` and for keys of a Map), NaN is itself;
 * - whether two equal parts are one object or two does not matter;
 * - a Date is not its text, a BigInt not its number, a Map not an object, a Buffer not a Uint8Array.
 *
 * A value with a cycle has no such form that could be found in reasonable time: for it, the order of Maps and Sets and what
 * is one object do matter.
 */
export function digestOf(value: unknown): string {
  const tree = new Canonical();
  const text = tree.textOf(value);
  return sha256(tree.cyclic ? `cyclic ${new CanonicalGraph().textOf(value)}` : text);
}

class Canonical {
  /** Whether what was looked at has a cycle; then its text means nothing. */
  cyclic = false;
  readonly #open = new Set<object>();
  readonly #known = new Map<object, string>();

  textOf(value: unknown): string {
    if (typeof value !== "object" || value === null) return primitiveText(value);
    return this.#known.get(value) ?? this.#entered(value);
  }

  #entered(value: object): string {
    if (this.#open.has(value)) {
      this.cyclic = true;
      return "";
    }
    this.#open.add(value);
    const text = shortened(containerText(value, (part) => this.textOf(part), sorted));
    this.#open.delete(value);
    this.#known.set(value, text);
    return text;
  }
}

/** Each object by the number of its first appearance: what appears again is told by that. */
class CanonicalGraph {
  readonly #numbers = new Map<object, number>();

  textOf(value: unknown): string {
    if (typeof value !== "object" || value === null) return primitiveText(value);
    const number = this.#numbers.get(value);
    if (number !== undefined) return `^${number}`;
    this.#numbers.set(value, this.#numbers.size);
    return shortened(
      containerText(
        value,
        (part) => this.textOf(part),
        (texts) => texts,
      ),
    );
  }
}

function shortened(text: string): string {
  return text.length > longestPart ? `#${sha256(text)}` : text;
}

/** Loops and no callbacks where a value is entered: a value may be as deep as the stack allows. */
function containerText(
  value: object,
  textOf: (part: unknown) => string,
  ordered: (texts: string[]) => readonly string[],
): string {
  const texts: string[] = [];
  if (Array.isArray(value)) {
    for (const item of value) texts.push(textOf(item));
    return `[${texts.join(",")}]`;
  }
  if (types.isMap(value)) {
    for (const [key, item] of value) texts.push(`(${textOf(key)},${textOf(item)})`);
    return `Map{${ordered(texts).join(",")}}`;
  }
  if (types.isSet(value)) {
    for (const item of value) texts.push(textOf(item));
    return `Set{${ordered(texts).join(",")}}`;
  }
  const leaf = leafText(value);
  if (leaf !== undefined) return leaf;
  const properties = value as Record<string, unknown>;
  for (const key of Object.keys(value).sort())
    if (properties[key] !== undefined) texts.push(`${JSON.stringify(key)}:${textOf(properties[key])}`);
  return `{${texts.join(",")}}`;
}

/** By UTF-16 units, as `sort` does it. */
function sorted(texts: string[]): readonly string[] {
  return texts.sort();
}

function primitiveText(value: unknown): string {
  // JSON escapes lone surrogates, which would all be the same character in UTF-8.
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  return String(value);
}

/** Built-ins that hold no other values; undefined for a plain object. */
function leafText(value: object): string | undefined {
  if (types.isDate(value)) return `Date(${value.getTime()})`;
  if (types.isRegExp(value)) return `RegExp(${JSON.stringify(value.source)},${value.flags})`;
  if (value instanceof URL || value instanceof URLSearchParams)
    return `${value.constructor.name}(${JSON.stringify(String(value))})`;
  if (types.isBoxedPrimitive(value)) return `Object(${primitiveText(value.valueOf())})`;
  if (types.isAnyArrayBuffer(value)) return `ArrayBuffer(${Buffer.from(value).toString("base64")})`;
  if (!ArrayBuffer.isView(value)) return undefined;
  const name = Buffer.isBuffer(value) ? "Buffer" : types.isDataView(value) ? "DataView" : viewName(value);
  return `${name}(${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64")})`;
}

function viewName(view: ArrayBufferView): string {
  return (view as Uint8Array)[Symbol.toStringTag];
}
