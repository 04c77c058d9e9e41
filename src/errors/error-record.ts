// HOW A THROWN VALUE IS KEPT: a bounded, JSON-safe record that can be stored, shown and turned back into an Error.
// Never throws, whatever was thrown (design 1.6).

import { Budget, isPrototypeKey, jsonSafe } from "./json-safe.js";
import { printed, read } from "./safe-text.js";
import { isSagaError } from "./saga-error.js";
import { isRetryableError, isTerminalError } from "./step-errors.js";

/**
 * A stored error. Everything in it is JSON-safe and the whole is at most 64 KiB of JSON; all texts are cut at whole code
 * points and hold no NUL.
 */
export interface ErrorRecord {
  /** The class's name; `NonError` when what was thrown is no Error. */
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string | number;
  /**
   * Own enumerable properties beside the above (`status`, `data` …), made JSON-safe. Of a `NonError`: `value`, unless that
   * is undefined.
   */
  readonly props?: Readonly<Record<string, unknown>>;
  /** At most 8 deep. One that is its own cause, however indirectly, ends in a record whose message is `[circular]`. */
  readonly cause?: ErrorRecord;
  /** Of an `AggregateError`: the first 10. */
  readonly errors?: readonly ErrorRecord[];
  /** Which of the library's own errors it is, for those: a revived one is told apart as the original was. */
  readonly brand?: Brand;
}

type Brand = "error" | "terminal" | "retryable";

const mostBytes = 64 * 1024;
/** What punctuation, and texts cut to nothing, may take beyond the budget. */
const slackBytes = 1024;
const deepestCause = 8;
const mostErrors = 10;
const longest = { name: 256, code: 256, message: 16_384, stack: 8_192, propsBytes: 16_384 } as const;

/** Keeps what was thrown, of any kind. Never throws. */
export function recordError(thrown: unknown): ErrorRecord {
  try {
    return recorded(thrown, new Budget(mostBytes - slackBytes), []);
  } catch {
    return { name: "NonError", message: "[unreadable error]" };
  }
}

function recorded(thrown: unknown, budget: Budget, within: readonly unknown[]): ErrorRecord {
  if (!isErrorLike(thrown)) return recordedValue(thrown, budget);
  const inside = [...within, thrown];
  const code = read(thrown, "code");
  const stack = read(thrown, "stack");
  const brand = brandOf(thrown);
  const name = budget.take(errorName(thrown), longest.name);
  const message = budget.take(printed(read(thrown, "message") ?? ""), longest.message);
  const kept: { -readonly [K in keyof ErrorRecord]: ErrorRecord[K] } = { name, message };
  if (typeof stack === "string" && budget.spend(16)) kept.stack = budget.take(stack, longest.stack);
  if (typeof code === "string" && budget.spend(16)) kept.code = budget.take(code, longest.code);
  if (Number.isFinite(code) && budget.spend(32)) kept.code = code as number;
  if (brand !== undefined && budget.spend(32)) kept.brand = brand;
  const errors = nestedErrors(thrown);
  const props = ownProps(thrown, errors !== undefined, budget);
  if (props !== undefined) kept.props = props;
  const cause = read(thrown, "cause");
  const keptCause = cause === undefined ? undefined : recordedWithin(cause, budget, inside);
  if (keptCause !== undefined) kept.cause = keptCause;
  if (errors !== undefined) kept.errors = recordedAll(errors, budget, inside);
  return kept;
}

/** A cause or a nested error; undefined where depth or budget end. */
function recordedWithin(thrown: unknown, budget: Budget, within: readonly unknown[]): ErrorRecord | undefined {
  if (within.length > deepestCause || !budget.spend(128)) return undefined;
  if (within.includes(thrown)) return { name: budget.take(errorName(thrown), longest.name), message: "[circular]" };
  return recorded(thrown, budget, within);
}

function recordedAll(errors: readonly unknown[], budget: Budget, within: readonly unknown[]): readonly ErrorRecord[] {
  const kept = errors.slice(0, mostErrors).flatMap((error) => recordedWithin(error, budget, within) ?? []);
  const left = errors.length - kept.length;
  return left === 0 ? kept : [...kept, { name: "NotKept", message: `${left} more` }];
}

/** What is no Error: its text, and the value as far as JSON can hold it. */
function recordedValue(thrown: unknown, budget: Budget): ErrorRecord {
  const said = read(thrown, "message");
  const text = printed(thrown);
  const message = text === "[object Object]" && typeof said === "string" ? said : text;
  const kept = { name: "NonError", message: budget.take(message, longest.message) };
  const value = budget.spend(32) ? budget.within(longest.propsBytes, (share) => jsonSafe(thrown, share)) : undefined;
  return value === undefined ? kept : { ...kept, props: { value } };
}

const ownFields = new Set(["name", "message", "stack", "cause"]);

function ownProps(error: object, hasErrors: boolean, budget: Budget): Readonly<Record<string, unknown>> | undefined {
  if (!budget.spend(16)) return undefined;
  return budget.within(longest.propsBytes, (share) => {
    const chosen: Record<string, unknown> = {};
    for (const key of ownKeys(error)) {
      const value = read(error, key);
      const kept = key === "code" && (typeof value === "string" || Number.isFinite(value));
      if (!ownFields.has(key) && !kept && !isPrototypeKey(key) && !(key === "errors" && hasErrors)) chosen[key] = value;
    }
    const props = jsonSafe(chosen, share) as Record<string, unknown> | undefined;
    return props === undefined || Object.keys(props).length === 0 ? undefined : props;
  });
}

function ownKeys(error: object): readonly string[] {
  try {
    return Object.keys(error);
  } catch {
    return [];
  }
}

function nestedErrors(error: object): readonly unknown[] | undefined {
  const errors = read(error, "errors");
  try {
    return Array.isArray(errors) && errors.some(isErrorLike) ? errors : undefined;
  } catch {
    return undefined;
  }
}

/** Also an Error of another realm. */
function isErrorLike(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  try {
    return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
  } catch {
    return false;
  }
}

const builtInNames = new Set(
  [Error, AggregateError, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map(
    (builtIn) => builtIn.name,
  ),
);

/** A subclass that never set `name` inherits "Error": then the class's own name says more. */
function errorName(error: unknown): string {
  const name = read(error, "name");
  const className = read(read(error, "constructor"), "name");
  if (typeof name !== "string" || name === "")
    return typeof className === "string" && className !== "" ? className : "Error";
  const inherited = builtInNames.has(name) && !hasOwn(error, "name");
  return inherited && typeof className === "string" && className !== "" ? className : name;
}

function hasOwn(value: unknown, key: string): boolean {
  try {
    return Object.hasOwn(value as object, key);
  } catch {
    return false;
  }
}

function brandOf(error: unknown): Brand | undefined {
  if (isTerminalError(error)) return "terminal";
  if (isRetryableError(error)) return "retryable";
  return isSagaError(error) ? "error" : undefined;
}

const brandSymbols: ReadonlyMap<unknown, readonly symbol[]> = new Map([
  ["error", [Symbol.for("rubicon-saga.error")]],
  ["terminal", [Symbol.for("rubicon-saga.error"), Symbol.for("rubicon-saga.terminal")]],
  ["retryable", [Symbol.for("rubicon-saga.error"), Symbol.for("rubicon-saga.retryable")]],
]);

/**
 * A real Error that reads as the recorded one did: name, message, stack, code, properties, cause. `isSagaError` and the
 * classification know it again; `instanceof` its class does not: look at `name` or `code`.
 *
 * @example reviveError(record).name === "HttpError"
 */
export function reviveError(record: ErrorRecord): Error {
  const error = new Error(record.message);
  hidden(error, "name", record.name);
  hidden(error, "stack", record.stack ?? `${record.name}: ${record.message}`);
  if (record.code !== undefined) shown(error, "code", record.code);
  for (const [key, value] of Object.entries(record.props ?? {}))
    if (!isPrototypeKey(key) && !ownFields.has(key)) shown(error, key, structuredClone(value));
  if (record.cause !== undefined) hidden(error, "cause", reviveError(record.cause));
  if (record.errors !== undefined) hidden(error, "errors", record.errors.map(reviveError));
  for (const symbol of brandSymbols.get(record.brand) ?? []) Object.defineProperty(error, symbol, { value: true });
  return error;
}

function hidden(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, enumerable: false, writable: true, configurable: true });
}

function shown(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, enumerable: true, writable: true, configurable: true });
}
