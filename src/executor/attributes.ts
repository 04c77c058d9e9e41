// WHAT RUNS CAN BE FOUND BY (design 1.9): which attributes a run can have, checked at the door, all faults at once. They are
// stored as JSON, so they have to be what JSON can hold exactly.

import { z } from "zod";
import type { Attributes } from "../journal/journal.js";
import { isPlainObject } from "./context.js";

const mostAttributes = 64;
const longestKey = 200;
const mostBytes = 8_192;

/** An option that takes attributes, a frozen copy once parsed; undefined for an empty object, which says nothing. */
export const attributesOption = z
  .unknown()
  .transform((value, context): Attributes | undefined => {
    if (value === undefined) return undefined;
    const faults = faultsOf(value);
    for (const { path, fault } of faults) context.addIssue({ code: "custom", message: fault, path });
    if (faults.length > 0) return z.NEVER;
    return Object.keys(value as Attributes).length === 0 ? undefined : Object.freeze({ ...(value as Attributes) });
  })
  .optional();

interface AttributeFault {
  readonly path: string[];
  readonly fault: string;
}

function faultsOf(value: unknown): readonly AttributeFault[] {
  if (!isPlainObject(value)) return [{ path: [], fault: "must be a plain object of strings, numbers and booleans" }];
  const entries = Object.entries(value);
  const faults = entries.flatMap(([key, each]) => {
    const fault = keyFault(key) ?? valueFault(each);
    return fault === undefined ? [] : [{ path: [key], fault }];
  });
  if (entries.length > mostAttributes)
    faults.push({ path: [], fault: `has ${entries.length} attributes; at most ${mostAttributes} are allowed` });
  if (faults.length > 0) return faults;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  return bytes <= mostBytes
    ? []
    : [
        {
          path: [],
          fault: `has ${bytes} bytes as JSON; at most ${mostBytes} are allowed: keep what is large in the input`,
        },
      ];
}

function keyFault(key: string): string | undefined {
  if (key === "") return "its key is empty";
  if (key === "__proto__") return "its key is reserved";
  if (key.length > longestKey) return `its key has ${key.length} characters; at most ${longestKey} are allowed`;
  return textFault(key, "its key");
}

function valueFault(value: unknown): string | undefined {
  if (typeof value === "string") return textFault(value, "it");
  if (typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))) return undefined;
  return "must be a string, a finite number, true or false";
}

function textFault(text: string, what: string): string | undefined {
  if (text.includes("\0")) return `${what} contains a NUL character, which can't be stored`;
  return /\p{Surrogate}/u.test(text) ? `${what} contains half of a surrogate pair, which can't be stored` : undefined;
}
