// WHAT EXECUTORS CAN BE TOLD, parsed once at the door: every fault at once, an unknown option with the nearest name.

import { z } from "zod";
import type { Saga } from "../definition/define-saga.js";
import { type DurationRange, readDuration } from "../definition/duration.js";
import { isSaga } from "../definition/made-by.js";
import { type RetryOptions, readRetry } from "../definition/retry-options.js";
import type { Classification, Logger, RetryOverride } from "../definition/saga.js";
import { nearestName } from "../errors/nearest.js";
import { type Fault, OptionsInvalidError } from "../errors/usage-errors.js";
import type { Codec } from "../journal/codec.js";
import { type Clock, systemClock } from "../platform/clock.js";
import { type Chance, systemChance } from "../platform/ids.js";
import { safeLogger, silentLogger } from "../platform/log.js";
import type { PolicyOptions } from "./policies-of.js";

/** How often and when to try again, for all steps. What is absent keeps its default (1.6). */
export type RetryDefaults = RetryOptions;

/** Options of every executor. */
export interface ExecutorOptions {
  /** The sagas that it can start and drive. */
  readonly sagas: readonly Saga[];
  /** Anything with pino's `debug`, `info`, `warn` and `error`. Default: silent. */
  readonly logger?: Logger;
  /** Replaces `classifyError` for all steps that have none of their own. */
  readonly classifyError?: (error: unknown) => Classification;
  /** For all forward steps; a step's own `retry` goes before it. */
  readonly retry?: RetryDefaults;
  /** For all compensations; a step's own `compensationRetry` goes before it. */
  readonly compensationRetry?: RetryDefaults;
  /** Around the stored text of each value: encryption, compression. Default: none. */
  readonly codec?: Codec;
  /** Bytes of UTF-8 that one value may have. Default 1,048,576. */
  readonly maxValueBytes?: number;
  /** Time and chance, for tests. Default: the process's own. */
  readonly platform?: { readonly clock?: Clock; readonly chance?: Chance };
}

export interface InProcessOptions extends ExecutorOptions {
  /** Crashes in a row that end a step whose attempts are unlimited. Default 5. */
  readonly maxCrashes?: number;
}

/** A duration option, in milliseconds once parsed. */
export function durationOption(range: DurationRange = {}) {
  return z.unknown().transform((value, context): number => {
    const read = readDuration(value, range);
    if (!("fault" in read)) return read.ms;
    context.addIssue({ code: "custom", message: read.fault });
    return z.NEVER;
  });
}

/** Read as a step's own is: the same faults in the same words. */
const retryOption = z.unknown().transform((value, context): RetryOverride => {
  const { retry, faults } = readRetry(value, "retry");
  for (const { at, fault } of faults)
    context.addIssue({ code: "custom", message: fault, path: at.split(".").slice(1) });
  return faults.length === 0 ? retry : z.NEVER;
});

const hasMethods = (value: unknown, names: readonly string[]): boolean =>
  typeof value === "object" &&
  value !== null &&
  names.every((name) => typeof (value as Record<string, unknown>)[name] === "function");

/** What all executors take; others extend it. */
export const executorOptions = {
  sagas: z.array(z.custom<Saga>((value) => isSaga(value), "must be made by defineSaga")),
  logger: z
    .custom<Logger>(
      (value) => hasMethods(value, ["debug", "info", "warn", "error"]),
      "must have debug, info, warn and error",
    )
    .default(silentLogger)
    .transform(safeLogger),
  classifyError: z
    .custom<(error: unknown) => Classification>((value) => typeof value === "function", "must be a function")
    .optional(),
  retry: retryOption.default({}),
  compensationRetry: retryOption.default({}),
  codec: z
    .custom<Codec>(
      (value) => hasMethods(value, ["encode", "decode"]) && typeof (value as Codec).format === "string",
      "must have a format, encode and decode",
    )
    .optional(),
  maxValueBytes: z.int().min(1).max(100_000_000).default(1_048_576),
  platform: z
    .strictObject({
      clock: z.custom<Clock>((value) => hasMethods(value, ["now", "monotonic", "after"])).optional(),
      chance: z.custom<Chance>((value) => hasMethods(value, ["random", "id", "runId"])).optional(),
    })
    .default({})
    .transform(({ clock = systemClock, chance = systemChance }) => ({ clock, chance })),
};

/** Crashes in a row, as an option. */
export const maxCrashesOption = z.int().min(1).default(5);

const inProcessOptions = z.strictObject({ ...executorOptions, maxCrashes: maxCrashesOption });

/** What `inProcessExecutor` was told. @throws OptionsInvalidError */
export function parseInProcessOptions(options: InProcessOptions) {
  return parseOptions("inProcessExecutor", inProcessOptions, options);
}

/** Which part of parsed options decides about retrying. */
export function policyOptions(options: {
  retry: RetryOverride;
  compensationRetry: RetryOverride;
  maxCrashes: number;
}): PolicyOptions {
  const { retry, compensationRetry, maxCrashes } = options;
  return { retry, compensationRetry, maxCrashes };
}

/** Parses options and reports all that is wrong with them. `what` names the call. @throws OptionsInvalidError */
export function parseOptions<S extends z.ZodObject>(what: string, schema: S, options: unknown): z.output<S> {
  const parsed = schema.safeParse(options ?? {});
  if (parsed.success) return parsed.data;
  throw new OptionsInvalidError(
    what,
    parsed.error.issues.flatMap((issue) => faultsOf(issue, schema)),
  );
}

function faultsOf(issue: z.core.$ZodIssue, schema: z.ZodObject): Fault[] {
  const at = issue.path.map(String).join(".");
  if (issue.code !== "unrecognized_keys") return [{ at: at === "" ? "options" : at, fault: issue.message }];
  const known = knownKeys(schema, issue.path);
  return issue.keys.map((key) => {
    const near = nearestName(key, known);
    const hint = near === undefined ? `known are ${known.join(", ")}` : `did you mean "${near}"?`;
    return { at: at === "" ? key : `${at}.${key}`, fault: `is not an option; ${hint}` };
  });
}

/** The names that an object at `path` may have. */
function knownKeys(schema: z.ZodObject, path: readonly PropertyKey[]): string[] {
  const present = path.reduce<z.ZodObject>((outer, key) => objectIn(outer.shape[String(key)])!, schema);
  return Object.keys(present.shape);
}

/** The object schema inside defaults, optionals, transformations and unions. */
function objectIn(schema: unknown): z.ZodObject | undefined {
  if (schema instanceof z.ZodObject) return schema;
  if (schema instanceof z.ZodPipe) return objectIn(schema.def.in);
  if (schema instanceof z.ZodUnion) return schema.def.options.map(objectIn).find((option) => option !== undefined);
  const wraps = schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional;
  return wraps ? objectIn(schema.def.innerType) : undefined;
}
