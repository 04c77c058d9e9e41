// WHETHER TWO VALUES ARE THE SAME START: a digest of a value's canonical form (design 1.9). Stored and compared across
// versions of the library, so the form below never changes.

import { types } from "node:util";
import { sha256 } from "../platform/digest.js";

/** A part's canonical text, and the shallowest ancestor that it refers back to (`Infinity`: none). */
interface Part {
  readonly text: string;
  readonly back: number;
}

/** Longer texts of a part are replaced by their digest, so that what is shared many times over stays small. */
const longestPart = 512;
const noBack = Number.POSITIVE_INFINITY;

/**
 * The digest of a decoded value. The same for two values that mean the same:
 *
 * - the order of keys, of a Map's entries and of a Set's members does not matter; an array's does;
 * - a property that is undefined is absent, a hole in an array is undefined; an object without prototype is an object;
 * - 0 and -0 are the same (as for `===` and for keys of a Map), NaN is itself;
 * - whether two equal parts are one object or two does not matter; a cycle is told by how far up it leads;
 * - a Date is not its text, a BigInt not its number, a Map not an object, a Buffer not a Uint8Array.
 */
export function digestOf(value: unknown): string {
  return sha256(new Canonical().part(value, 0).text);
}

class Canonical {
  /** Depth of each object that is being looked at. */
  readonly #open = new Map<object, number>();
  /** Parts that refer to nothing above them: the same wherever they stand. */
  readonly #closed = new Map<object, Part>();

  part(value: unknown, depth: number): Part {
    if (typeof value !== "object" || value === null) return { text: primitiveText(value), back: noBack };
    const openAt = this.#open.get(value);
    if (openAt !== undefined) return { text: `^${depth - openAt}`, back: openAt };
    const known = this.#closed.get(value);
    if (known !== undefined) return known;
    this.#open.set(value, depth);
    const { text, back } = this.#container(value, depth + 1);
    this.#open.delete(value);
    const part = { text: text.length > longestPart ? `#${sha256(text)}` : text, back: back < depth ? back : noBack };
    if (part.back === noBack) this.#closed.set(value, part);
    return part;
  }

  #container(value: object, depth: number): Part {
    if (Array.isArray(value))
      return joined(
        "[",
        Array.from(value, (item) => this.part(item, depth)),
        "]",
      );
    if (types.isMap(value)) {
      const pairs = [...value].map(([key, item]) => joined("(", [this.part(key, depth), this.part(item, depth)], ")"));
      return joined("Map{", sorted(pairs), "}");
    }
    if (types.isSet(value)) return joined("Set{", sorted([...value].map((item) => this.part(item, depth))), "}");
    const leaf = leafText(value);
    return leaf === undefined ? this.#object(value as Record<string, unknown>, depth) : { text: leaf, back: noBack };
  }

  #object(value: Record<string, unknown>, depth: number): Part {
    const keys = Object.keys(value)
      .filter((key) => value[key] !== undefined)
      .sort();
    const parts = keys.map((key) => {
      const { text, back } = this.part(value[key], depth);
      return { text: `${JSON.stringify(key)}:${text}`, back };
    });
    return joined("{", parts, "}");
  }
}

function joined(open: string, parts: readonly Part[], close: string): Part {
  const back = parts.reduce((least, part) => Math.min(least, part.back), noBack);
  return { text: open + parts.map((part) => part.text).join(",") + close, back };
}

function sorted(parts: readonly Part[]): readonly Part[] {
  return [...parts].sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
}

function primitiveText(value: unknown): string {
  // JSON escapes lone surrogates, which would all be the same character in UTF-8.
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  return value === 0 ? "0" : String(value);
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
