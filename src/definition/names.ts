// WHICH NAMES SAGAS, STEPS AND CONTEXT KEYS MAY HAVE. Idempotency keys are `runId/step`, `runId/step/compensate` and, of an
// item, `runId/step/index`; and run ids are free to contain "/": without these rules two different bodies could share a key.

import { shownValue } from "./option-faults.js";

const maxLength = 200;

/** Control characters, NUL among them, spoil lists and terminals; NUL and lone surrogates can't be stored. */
const unprintable = /[\p{Cc}\p{Cs}]/u;

/** What is wrong with a saga's name; undefined when nothing is. */
export function nameFault(name: unknown): string | undefined {
  if (typeof name !== "string") return `${shownValue(name)} is not a string`;
  if (name.trim() === "") return "is empty";
  if (name.length > maxLength) return `has ${name.length} characters; at most ${maxLength} are allowed`;
  if (unprintable.test(name)) return `${shownValue(name)} contains a control character or half a surrogate pair`;
  if (name.includes("/")) return `${shownValue(name)} contains "/", which separates the parts of idempotency keys`;
  return name === "__proto__" ? `"__proto__" is reserved` : undefined;
}

/** What is wrong with a step's name; undefined when nothing is. */
export function stepNameFault(name: unknown): string | undefined {
  if (name === "compensate") return `"compensate" is reserved: keys of compensations end in it`;
  if (typeof name === "string" && /^\d+$/.test(name))
    return `${shownValue(name)} is a whole number, which is reserved: keys of the items of a forEach end in one`;
  return nameFault(name);
}

/** What is wrong with a key of the context; undefined when nothing is. */
export function contextKeyFault(key: unknown): string | undefined {
  if (typeof key !== "string") return `${shownValue(key)} is not a string`;
  if (key === "") return "is empty";
  return key === "__proto__" ? `"__proto__" is reserved` : undefined;
}
