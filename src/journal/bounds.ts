// HOW MUCH OF A VALUE IS TOO MUCH: size while it is being written, depth once it is. Both are known before anything is
// stored, so that what was stored can always be read.

import { PayloadTooLargeError } from "../errors/usage-errors.js";

/** Levels of nesting. Reading, comparing and validating a value recurse, on stacks that may be smaller than this one. */
export const deepestNesting = 1_000;

let seen = 0;
let stopAt = Number.POSITIVE_INFINITY;
let limit = Number.POSITIVE_INFINITY;

/**
 * Runs `write` with a count of what {@link boundedOperations} see: what is far over the limit is refused before its text is
 * made. The size that is told then is what was counted so far, so the value is at least as large.
 */
export function withinLimit<T>(limitBytes: number, write: () => T): T {
  // A getter may store another value while this one is written.
  const outer = { seen, stopAt, limit };
  seen = 0;
  limit = limitBytes;
  stopAt = limitBytes * 4 + 65_536;
  try {
    return write();
  } finally {
    ({ seen, stopAt, limit } = outer);
  }
}

function count(bytes: number): void {
  expectBytes(bytes);
  seen += bytes;
}

/** Refuses what would take `bytes` more, where that is far over the limit. */
export function expectBytes(bytes: number): void {
  if (seen + bytes > stopAt) throw new PayloadTooLargeError(seen + bytes, limit);
}

/** Operations of `devalue` through which all bulk passes. */
export const boundedOperations = {
  /** Asked of each value at each place where it stands, which takes a digit and a comma at least. */
  typeOf: (value: any) => {
    count(2);
    return value === null ? ("null" as const) : typeof value;
  },
  toPrimitive: (value: any) => {
    if (typeof value === "string") count(value.length);
    return value;
  },
  /** A view of a part of a buffer is stored as a view of that part alone. */
  viewInfo: (view: NodeJS.ArrayBufferView & { readonly length: number }) => {
    const { byteOffset, byteLength, length } = view;
    count(byteLength);
    const whole = byteLength === view.buffer.byteLength;
    const buffer = whole ? view.buffer : view.buffer.slice(byteOffset, byteOffset + byteLength);
    return { buffer, byteOffset: 0, byteLength, length, bufferByteLength: byteLength };
  },
  toArrayBuffer: (buffer: ArrayBuffer) => {
    count(buffer.byteLength);
    return buffer;
  },
};

/** A level takes four characters at least (`[1],`): no shorter text can be too deep. */
const shortestDeepText = 4 * deepestNesting;

/**
 * Whether the value behind a text of `devalue` is nested deeper than {@link deepestNesting}. The text is a flat list of
 * nodes that name their children by index, each after the one that names it first: one pass gives all depths.
 */
export function isTooDeep(text: string): boolean {
  if (text.length < shortestDeepText) return false;
  const nodes = JSON.parse(text) as readonly unknown[];
  const depths = new Uint32Array(nodes.length);
  for (let index = 0; index < nodes.length; index += 1) {
    const node = nodes[index];
    if (typeof node !== "object" || node === null) continue;
    const depth = depths[index]! + 1;
    if (depth > deepestNesting) return true;
    for (const child of Array.isArray(node) ? node : Object.values(node))
      if (typeof child === "number" && child > index && depths[child] === 0) depths[child] = depth;
  }
  return false;
}
