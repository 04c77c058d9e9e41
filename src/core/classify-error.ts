// WHAT AN ERROR SAYS OF THE ATTEMPT IT ENDED: try again, and not before when? Did it happen? (design 1.6). Pure and total:
// whatever was thrown gets an answer.

import { read } from "../errors/safe-text.js";
import { isSagaError } from "../errors/saga-error.js";
import { isRetryableError, isTerminalError } from "../errors/step-errors.js";
import { maxRetryAfterMs } from "./backoff.js";
import { evidenceOf, giveUp, giveUpForSure, neverCalled, tryAgain, type Verdict } from "./error-evidence.js";
import { type RetryAfter, retryAfterOf } from "./retry-after.js";

/** What a classifier answers. `retryAt` is an instant that only a caller with a clock can turn into a delay. */
export interface ErrorClassification extends Verdict, RetryAfter {}

/**
 * The default classifier. The outermost error is asked first, then its causes, 8 deep; the first that says anything known
 * decides. Only `TerminalError` and `RetryableError` ignore their causes, and only as the outermost error. What nobody
 * knows is retryable and in doubt.
 *
 * @example
 * classifyError: (error) => (error instanceof SoldOut ? { retryable: false, happened: "no" } : classifyError(error))
 */
export function classifyError(error: unknown): ErrorClassification {
  if (isTerminalError(error)) return giveUpForSure;
  const verdict = isRetryableError(error) ? tryAgain : verdictOf(error);
  return verdict.retryable ? { ...verdict, ...askedDelay(error) } : verdict;
}

function verdictOf(error: unknown): Verdict {
  const own = libraryVerdict(error);
  if (own !== undefined) return own;
  for (const link of causeChain(error)) {
    const verdict = evidenceOf(link);
    if (verdict !== undefined) return verdict;
  }
  return isBug(error) || isValidation(error) ? giveUp : tryAgain;
}

/** A delay counts wherever in the chain it was asked for: the wrapper of a 429 has no headers of its own. */
function askedDelay(error: unknown): RetryAfter {
  if (isRetryableError(error)) return retryAfterOf({ retryAfter: read(error, "retryAfter") });
  return (
    causeChain(error)
      .map(retryAfterOf)
      .find((delay) => Object.keys(delay).length > 0) ?? {}
  );
}

const deepestCause = 8;

/** The error and its causes, outermost first. Bounded, for a cycle of causes has no end. */
function causeChain(error: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (let link = error; chain.length <= deepestCause && typeof link === "object" && link !== null; ) {
    chain.push(link);
    link = read(link, "cause");
  }
  return chain;
}

/** The step had run when its value turned out to be one that can't be stored, or that it had broken a rule. */
const afterTheFact = new Set([
  ...[
    "value.unserializable",
    "value.too_large",
    "output.invalid",
    "input.invalid",
    "element.invalid",
    "signal.invalid",
  ],
  "transaction.ended_by_step",
]);

function libraryVerdict(error: unknown): Verdict | undefined {
  if (!isSagaError(error)) return undefined;
  const code = String(read(error, "code"));
  if (code === "step.never_called") return neverCalled;
  if (afterTheFact.has(code)) return giveUp;
  // The end of another run that the body waited for: its cause speaks for one step of that run, not for this body.
  return code === "step.aborted" || code === "step.timeout" || code.startsWith("run.") ? tryAgain : undefined;
}

const bugNames = new Set(["TypeError", "ReferenceError", "RangeError", "SyntaxError"]);

/** A fault of the code, which trying again does not mend. `fetch` reports a lost connection as a TypeError, too. */
function isBug(error: unknown): boolean {
  return (isBuiltInBug(error) || bugNames.has(read(error, "name") as string)) && !isLostFetch(error);
}

function isBuiltInBug(error: unknown): boolean {
  try {
    return [TypeError, ReferenceError, RangeError, SyntaxError].some((kind) => error instanceof kind);
  } catch {
    return false;
  }
}

function isLostFetch(error: unknown): boolean {
  const message = read(error, "message");
  return message === "fetch failed" || message === "terminated";
}

/** What zod and other Standard Schema libraries throw, a list of issues, each with a message; and yup, joi, mongoose. */
function isValidation(error: unknown): boolean {
  if (read(error, "name") === "ValidationError") return true;
  const issues = read(error, "issues");
  try {
    return Array.isArray(issues) && issues.length > 0 && issues.every((issue) => typeof issue.message === "string");
  } catch {
    return false;
  }
}

/** A classification that can be acted on, and what was wrong with it, for the log. */
export interface SafeClassification {
  readonly classification: Verdict & { readonly counted: boolean; readonly retryAfterMs?: number };
  readonly classifierError?: unknown;
}

/**
 * Asks `custom`, or the default classifier where there is none. One that throws or answers nonsense leaves the error
 * retryable and in doubt; a delay that is no number from 0 is left out, so that the default one holds. In each case
 * `classifierError` says so. `now`, in milliseconds since the epoch, turns an instant into a delay.
 */
export function safeClassify(
  custom: ((error: unknown) => unknown) | undefined,
  error: unknown,
  now: number,
): SafeClassification {
  try {
    const answer = (custom ?? classifyError)(error);
    hushed(answer);
    const delayFault = custom === undefined ? retryAfterFault(error) : undefined;
    return { ...checked(answer, now), ...(delayFault === undefined ? {} : { classifierError: delayFault }) };
  } catch (classifierError) {
    return { classification: { ...tryAgain, counted: true }, classifierError };
  }
}

/** An asynchronous classifier's rejection would take the process down. */
function hushed(answer: unknown): void {
  if (answer instanceof Promise) answer.catch(() => {});
}

function retryAfterFault(error: unknown): Error | undefined {
  if (!isRetryableError(error) || read(error, "retryAfter") === undefined) return undefined;
  if (Object.keys(askedDelay(error)).length > 0) return undefined;
  return new TypeError("the retryAfter of a RetryableError is a number of milliseconds from 0, or a valid Date");
}

function checked(answer: unknown, now: number): SafeClassification {
  const { retryable, happened, counted = true, retryAfterMs, retryAt } = answer as Record<string, unknown>;
  if (typeof retryable !== "boolean" || (happened !== "no" && happened !== "maybe") || typeof counted !== "boolean")
    throw new TypeError('a classifier answers { retryable: boolean, happened: "no" | "maybe" }, synchronously');
  const verdict = { retryable, happened, counted } as const;
  const delays = [retryAfterMs, typeof retryAt === "number" ? Math.max(0, retryAt - now) : retryAt];
  const asked = delays.filter((delay) => delay !== undefined);
  if (!asked.every(isDelay)) {
    const classifierError = new TypeError("the delay that a classifier asks for is a number of milliseconds from 0");
    return { classification: verdict, classifierError };
  }
  if (asked.length === 0) return { classification: verdict };
  return { classification: { ...verdict, retryAfterMs: Math.min(Math.max(...asked), maxRetryAfterMs) } };
}

function isDelay(delay: unknown): delay is number {
  return typeof delay === "number" && delay >= 0;
}
