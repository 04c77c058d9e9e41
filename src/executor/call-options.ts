// WHAT A CALL CAN BE TOLD: the options of the verbs, parsed at the door as an executor's own are: every fault at once, an
// unknown one with the nearest name.

import { z } from "zod";
import { OptionsInvalidError } from "../errors/usage-errors.js";
import { attributesOption } from "./attributes.js";
import type {
  CloseOptions,
  ListOptions,
  ResolveOptions,
  SendOptions,
  StartManyOptions,
  StartOptions,
} from "./executor.js";
import type { WaitOptions } from "./handle.js";
import { durationOption, parseOptions } from "./options.js";

const daySeconds = 86_400;
const mostListed = 1_000;
const longestText = 10_000;

const statuses = [
  ...["pending", "running", "waiting", "compensating", "blocked"],
  ...["completed", "failed", "cancelled", "timed_out", "compensation_failed", "forward_incomplete", "in_doubt"],
] as const satisfies readonly string[];

const start = {
  /** Its own error says what is wrong with it (`run.id_invalid`). */
  id: z.unknown().optional(),
  startAt: z.date("must be a valid Date").optional(),
  priority: z
    .number()
    .min(-daySeconds)
    .max(daySeconds, `must be a number of seconds between -${daySeconds} and ${daySeconds}`)
    .optional(),
  attributes: attributesOption,
  tx: z.custom<StartOptions["tx"]>(hasQuery, "must have query(text, values)").optional(),
};

const startMany = {
  ...start,
  id: z.custom<(input: unknown, index: number) => unknown>(isFunction, "must be a function of an input").optional(),
  attributes: z.union([z.custom<(input: unknown, index: number) => unknown>(isFunction), attributesOption]).optional(),
};

const wait = {
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, "must be an AbortSignal").optional(),
  timeout: durationOption({ infinite: true }).optional(),
};

const by = z.custom<string>(isName, "must say who asks: 1 to 500 characters");
const text = z.string().max(longestText).optional();
const status = z.enum(statuses);

const schemas = {
  start: z.strictObject(start),
  startMany: z.strictObject(startMany),
  execute: z.strictObject({ ...start, ...wait }),
  wait: z.strictObject(wait),
  requestCancel: z.strictObject({ by, reason: text }),
  retry: z.strictObject({ by }),
  signal: z.strictObject({ dedupeKey: z.custom<string>(isName, "must be a string of 1 to 500 characters").optional() }),
  resolve: z.strictObject({
    step: z.string(),
    as: z.enum(["done", "not_done", "undone"]),
    output: z.unknown().optional(),
    by,
    note: text,
  }),
  list: z.strictObject({
    status: z.union([status, z.array(status)], `must be one or a list of ${statuses.join(", ")}`).optional(),
    saga: z.string().optional(),
    attributes: attributesOption,
    limit: z.int().min(1).max(mostListed).default(50),
    cursor: z.string().optional(),
  }),
  close: z.strictObject({ grace: durationOption().default(10_000) }),
};

/** @throws OptionsInvalidError */
export function parseStart(call: "start" | "execute", options: StartOptions & WaitOptions) {
  return parseOptions(call, schemas[call], options);
}

/** @throws OptionsInvalidError */
export function parseStartMany(options: StartManyOptions<never>) {
  return parseOptions("startMany", schemas.startMany, options);
}

/** `timeout` in milliseconds. @throws OptionsInvalidError */
export function parseWait(options: WaitOptions) {
  const { signal, timeout } = parseOptions("waiting", schemas.wait, options);
  return {
    ...(signal === undefined ? {} : { signal }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
  };
}

/** Who asks, and why. @throws OptionsInvalidError */
export function parseOperator(verb: "requestCancel" | "retry", operator: unknown): { by: string; reason?: string } {
  const { by, reason } = parseOptions<z.ZodObject<any>>(verb, schemas[verb], operator) as {
    by: string;
    reason?: string;
  };
  return reason === undefined ? { by } : { by, reason };
}

/** @throws OptionsInvalidError */
export function parseSignal(name: unknown, options: SendOptions): { readonly dedupeKey?: string } {
  if (!isName(name))
    throw new OptionsInvalidError("signal", [{ at: "signal", fault: "must be its name: 1 to 500 characters" }]);
  const { dedupeKey } = parseOptions("signal", schemas.signal, options);
  return dedupeKey === undefined ? {} : { dedupeKey };
}

/** @throws OptionsInvalidError */
export function parseResolve(options: ResolveOptions) {
  return parseOptions("resolve", schemas.resolve, options);
}

/** @throws OptionsInvalidError */
export function parseList(options: ListOptions) {
  return parseOptions("list", schemas.list, options);
}

/** Milliseconds. @throws OptionsInvalidError */
export function parseGrace(options: CloseOptions): number {
  return parseOptions("close", schemas.close, options).grace;
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value.length > 0 && value.length <= 500;
}

function hasQuery(value: unknown): boolean {
  return typeof value === "object" && value !== null && typeof (value as { query?: unknown }).query === "function";
}
