// HOW MANY RUNS OF A SAGA GO AT ONCE: the option, read and checked.

import { shownValue, unknownOptions } from "./option-faults.js";
import type { OptionReader } from "./option-reader.js";
import type { Concurrency } from "./saga.js";

const largestLimit = 1_000_000;

/** Undefined when it was not given, or is wrong. */
export function readConcurrency(read: OptionReader): Concurrency | undefined {
  const given = read.value("concurrency");
  if (given === undefined) return undefined;
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    read.refuse(
      "concurrency",
      `${shownValue(given)} is not an object such as { limit: 1, key: (input) => input.customer }`,
    );
    return undefined;
  }
  const { limit, key } = given as Record<string, unknown>;
  for (const { at, fault } of unknownOptions(given as Record<string, unknown>, ["limit", "key"]))
    read.refuse(`concurrency.${at}`, fault);
  const limited = typeof limit === "number" && Number.isInteger(limit) && limit >= 1 && limit <= largestLimit;
  if (!limited)
    read.refuse("concurrency.limit", `${shownValue(limit)} is not a whole number from 1 to ${largestLimit}`);
  if (key !== undefined && typeof key !== "function")
    read.refuse("concurrency.key", `${shownValue(key)} is not a function of the input`);
  if (!limited || (key !== undefined && typeof key !== "function")) return undefined;
  return Object.freeze(key === undefined ? { limit } : { limit, key: key as (input: any) => string });
}
