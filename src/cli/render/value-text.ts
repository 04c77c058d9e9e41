// A STORED VALUE IN A FEW WORDS, for a line of a timeline.

import { inspect } from "node:util";
import { isUndecodable } from "../../index.js";
import { cut, oneLine } from "./text.js";

/** At most `width` characters. Never throws, and calls nothing of the value's own. */
export function valueText(value: unknown, width: number): string {
  if (isUndecodable(value)) return cut(oneLine(String(value)), width);
  const options = {
    depth: 4,
    breakLength: Number.POSITIVE_INFINITY,
    maxArrayLength: 20,
    maxStringLength: 200,
    customInspect: false,
  };
  return cut(oneLine(inspect(value, options)), width);
}
