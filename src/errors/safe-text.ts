// TEXT THAT CAN BE STORED ANYWHERE: no NUL, no half of a surrogate pair, cut at whole code points. Never throws.

/** What stands for a NUL character, or for half of a surrogate pair. */
const replacement = "\ufffd";

/** Marks where a text was cut. */
const ellipsis = "…";

/**
 * `text` without what a database refuses, cut to at most `limit` UTF-16 units, the mark of the cut included. Costs no more
 * than `limit`, however long the text is.
 */
export function safeText(text: string, limit: number): string {
  const kept = text.length <= limit ? text : text.slice(0, Math.max(0, limit - ellipsis.length));
  const whole = text.length > kept.length && endsInHighSurrogate(kept) ? kept.slice(0, -1) : kept;
  // A lone surrogate is the only thing that \p{Surrogate} matches under the u flag.
  const clean = whole.replace(/\0|\p{Surrogate}/gu, replacement);
  return text.length > kept.length && limit > 0 ? clean + ellipsis : clean;
}

function endsInHighSurrogate(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

/** Bytes of UTF-8 that `text` takes as a JSON string, its quotes included. */
export function jsonBytes(text: string): number {
  return new TextEncoder().encode(JSON.stringify(text)).length;
}

/** `String(value)`, or a fixed text where that throws or gives no string: a hostile `toString`, a revoked proxy. */
export function printed(value: unknown): string {
  try {
    return String(value);
  } catch {
    return "[unprintable value]";
  }
}

/** `value[key]`, or undefined where reading it throws. */
export function read(value: unknown, key: PropertyKey): unknown {
  if (value === null || value === undefined) return undefined;
  try {
    return (value as Record<PropertyKey, unknown>)[key];
  } catch {
    return undefined;
  }
}
