// ANY VALUE AS JSON, without failing on one: what `--json` prints. Numbers that JSON can't hold are strings (SER-5).

/**
 * `value` as indented JSON. A bigint, NaN and infinities become strings, a Date its ISO string, a Map an array of pairs, a Set an
 * array, bytes base64, an Error its name, code, message and cause. A repeated object on its own path is `"[circular]"`.
 */
export function toJson(value: unknown): string {
  return JSON.stringify(plain(value, []), undefined, 2) ?? "null";
}

function plain(value: unknown, within: readonly object[]): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  if (typeof value !== "object" || value === null) return value;
  if (within.includes(value)) return "[circular]";
  const inside = [...within, value];
  const each = (items: Iterable<unknown>) => [...items].map((item) => plain(item, inside) ?? null);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString("base64");
  if (Array.isArray(value) || value instanceof Set || value instanceof Map) return each(value);
  if (value instanceof Error) return plainError(value, inside);
  if (value instanceof RegExp || value instanceof URL) return String(value);
  if ("toJSON" in value && typeof value.toJSON === "function") return plain(value.toJSON(), inside);
  return plainObject(value, inside);
}

function plainObject(value: object, inside: readonly object[]): unknown {
  // Null prototype: a key such as `__proto__` stays a key.
  const copy: Record<string, unknown> = Object.create(null);
  for (const [key, item] of Object.entries(value)) {
    const safe = plain(item, inside);
    if (safe !== undefined) copy[key] = safe;
  }
  return copy;
}

function plainError(error: Error, inside: readonly object[]): unknown {
  const { name, message, cause } = error;
  const own = plainObject(error, inside) as Record<string, unknown>;
  const { stack: _stack, ...rest } = own;
  return { name, message, ...rest, ...(cause === undefined ? {} : { cause: plain(cause, inside) }) };
}
