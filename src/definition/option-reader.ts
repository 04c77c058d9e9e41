// OPTIONS OF ANY KIND, READ ONE BY ONE: a wrong one leaves a fault behind and counts as absent, so that the reading goes on
// and all faults are found at once.

import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Fault } from "../errors/usage-errors.js";
import { type DurationRange, readDuration } from "./duration.js";
import { shownValue, unknownOptions } from "./option-faults.js";
import { readRetry } from "./retry-options.js";
import type { AttemptPolicy, RetryOverride } from "./saga.js";

export class OptionReader {
  readonly faults: Fault[] = [];
  readonly #given: Readonly<Record<string, unknown>>;

  /** `maker` is the call that takes the options, for the fault when they are not an object at all. */
  constructor(options: unknown, maker: string, known: readonly string[]) {
    const isObject = typeof options === "object" && options !== null;
    this.#given = isObject ? (options as Record<string, unknown>) : {};
    if (isObject) this.faults.push(...unknownOptions(this.#given, known));
    else this.refuse("options", `${shownValue(options)} is not an object; ${maker} takes an object of options`);
  }

  /** The raw value, for options that are read by hand. */
  value(name: string): unknown {
    return this.#given[name];
  }

  refuse(at: string, fault: string): void {
    this.faults.push({ at, fault });
  }

  /** A name, by its rules; empty when it breaks them. */
  name(at: string, value: unknown, faultOf: (value: unknown) => string | undefined): string {
    const fault = faultOf(value);
    if (fault === undefined) return value as string;
    this.refuse(at, fault);
    return "";
  }

  function<F>(name: string): F | undefined {
    return this.#optional(name, (value) => typeof value === "function", "a function");
  }

  /** Whether it was set. Only `true` and `false` are accepted. */
  flag(name: string): boolean {
    return this.#optional<boolean>(name, (value) => typeof value === "boolean", "true or false") ?? false;
  }

  schema(name: string): StandardSchemaV1 | undefined {
    return this.#optional(name, isSchema, "a Standard Schema, for example one of zod's");
  }

  policy(name: string): AttemptPolicy | undefined {
    return this.#optional(name, hasExecute, "a policy: an object with a function `execute`, such as cockatiel's");
  }

  retry(name: string): RetryOverride {
    const { retry, faults } = readRetry(this.#given[name], name);
    this.faults.push(...faults);
    return Object.freeze(retry);
  }

  /** Milliseconds; undefined when it was not given, or wrong. */
  duration(name: string, range: DurationRange): number | undefined {
    const value = this.#given[name];
    if (value === undefined) return undefined;
    const read = readDuration(value, range);
    if ("ms" in read) return read.ms;
    this.refuse(name, read.fault);
    return undefined;
  }

  #optional<T>(name: string, accepts: (value: unknown) => boolean, wanted: string): T | undefined {
    const value = this.#given[name];
    if (value === undefined || accepts(value)) return value as T | undefined;
    this.refuse(name, `${shownValue(value)} is not ${wanted}`);
    return undefined;
  }
}

function hasExecute(value: unknown): boolean {
  return typeof value === "object" && value !== null && typeof (value as AttemptPolicy).execute === "function";
}

/** Some libraries' schemas are functions. */
function isSchema(value: unknown): boolean {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard = (value as Partial<StandardSchemaV1>)["~standard"];
  return typeof standard === "object" && standard !== null && typeof standard.validate === "function";
}
