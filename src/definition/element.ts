// WHAT ALL ELEMENTS OF A LIST ARE MADE OF, whatever they are: the defaults of a step, so that whoever reads a list can read
// one thing only.

import { contextKeyFault, stepNameFault } from "./names.js";
import type { OptionReader } from "./option-reader.js";
import type { StepDefinition } from "./saga.js";

/** The defaults of every element, of a step too: an attempt may take 60 s, and 5 s more once it was aborted. */
export const elementDefaults = Object.freeze({
  pivot: false,
  nothingToUndo: false,
  retry: Object.freeze({}),
  compensationRetry: Object.freeze({}),
  timeoutMs: 60_000,
  graceMs: 5_000,
  transaction: false,
}) satisfies Partial<StepDefinition>;

/** The name of an element whose value goes under that name, in the context. */
export function readKeyedName(read: OptionReader): Pick<StepDefinition, "name" | "into"> {
  const name = read.name("name", read.value("name"), (value) => stepNameFault(value) ?? contextKeyFault(value));
  return { name, into: name };
}

/** A function without which the element can't be. */
export function readRequired(read: OptionReader, option: string, what: string): StepDefinition["run"] {
  const given = read.function<StepDefinition["run"]>(option);
  if (given !== undefined) return given;
  if (read.value(option) === undefined) read.refuse(option, `is missing: ${what}`);
  return () => undefined;
}
