// WHAT IS WRONG WITH OPTIONS whatever they are for: names that nobody knows, and how a refused value is shown.

import { nearestName } from "../errors/nearest.js";
import type { Fault } from "../errors/usage-errors.js";

/** A fault for each own key of `given` that is not among `known`, with the nearest known name. `prefix` goes before it. */
export function unknownOptions(given: object, known: readonly string[], prefix = ""): Fault[] {
  return Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const near = nearestName(name, known);
      return {
        at: `${prefix}${name}`,
        fault:
          near === undefined
            ? `is not an option; there are ${known.join(", ")}`
            : `is not an option; did you mean ${near}?`,
      };
    });
}

/** A refused value, short enough for a message. */
export function shownValue(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
    case "number":
    case "boolean":
    case "undefined":
      return String(value);
    case "object":
      return value === null ? "null" : Array.isArray(value) ? "an array" : "an object";
    default:
      return `a ${typeof value}`;
  }
}
