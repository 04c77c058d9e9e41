// HOW AN ACTION IS PERFORMED: calls the step's own function with its context and tools, and turns what came of it into an
// outcome that `record` understands. Knows nothing of numbers and ownership.

import type { AskWhether, Attempted, RunBody } from "../core/action.js";
import { safeClassify } from "../core/classify-error.js";
import type { StoredValue } from "../core/entry.js";
import type { Outcome, Threw } from "../core/record.js";
import { nextForward } from "../core/units.js";
import type { Classification, Logger, RunTools, StepDefinition, Transaction } from "../definition/saga.js";
import { recordError } from "../errors/error-record.js";
import type { AbortReason } from "../errors/step-errors.js";
import { UsageError } from "../errors/usage-errors.js";
import type { Clock } from "../platform/clock.js";
import { withFields } from "../platform/log.js";
import { type AttemptEnd, type RunningAttempt, startAttempt } from "./attempt.js";
import { afterGiving, type Body, bodyOf, contextFor, type Subject } from "./bodies.js";
import { compute } from "./compute.js";
import { checkOutput, contextOf, isPlainObject, mergedOutputs } from "./context.js";
import { keyOfCompensation, keyOfStep } from "./keys.js";
import { parseValue } from "./validate.js";

/** What performing needs beside the run itself. */
export interface PerformTools {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly encode: (value: unknown) => StoredValue;
  readonly decode: (stored: StoredValue) => unknown;
  /** The executor's own classifier, if one was given; a step's goes before it. */
  readonly classifyError?: (error: unknown) => Classification;
  /** Progress that the body noted. */
  readonly note: (value: unknown) => void;
}

export interface Performance {
  /** Never rejects. */
  readonly outcome: Promise<PerformedOutcome>;
  readonly abort: (reason: AbortReason) => void;
}

export interface PerformedOutcome {
  readonly outcome: Outcome;
  /** The run's own output, when this was its last step. */
  readonly runOutput?: StoredValue;
  /** Set for a body that outlived its grace: settles when it does. */
  readonly abandoned?: Promise<void>;
  /** What was thrown, as it was thrown, for the log. */
  readonly error?: { readonly thrown: unknown };
}

export function perform(subject: Subject, action: Attempted, tools: PerformTools, tx?: Transaction): Performance {
  const body = bodyOf(subject.saga, action.step)!;
  const { step } = body;
  const running = startAttempt({
    step: step.name,
    timeoutMs: step.timeoutMs,
    graceMs: step.graceMs,
    ...(step.policy === undefined || action.kind !== "run" ? {} : { policy: step.policy }),
    clock: tools.clock,
    body: (signal) => callBody(subject, body, action, tools, { signal, tx }),
    onMisuse: (error) => tools.logger.error({ err: error, step: step.name }, "a step's policy may call its body once"),
  });
  return { outcome: outcomeOf(running, step, tools), abort: (reason) => running.abort(reason) };
}

/** What a body came to, before it is known whether its attempt still counts. */
type BodyResult = { readonly outcome: Outcome; readonly runOutput?: StoredValue };

async function callBody(
  subject: Subject,
  body: Body,
  action: Attempted,
  tools: PerformTools,
  attempt: { readonly signal: AbortSignal; readonly tx: Transaction | undefined },
): Promise<BodyResult> {
  if (action.kind === "compute") return { outcome: await compute(subject, body, action, tools) };
  if (action.kind === "reconcile") return ask(subject, body, action, tools, attempt.signal);
  const runTools = toolsFor(subject, action, tools, attempt);
  if (action.direction === "compensate") return undo(subject, body, action, tools, runTools);
  const context = contextFor(subject, body, tools.decode, false);
  return completed(subject, body, await body.step.run(context, runTools), tools);
}

/** Parses, checks and stores what a forward body, or `reconcile`, says that the step gave. */
async function completed(subject: Subject, body: Body, value: unknown, tools: PerformTools): Promise<BodyResult> {
  const { saga, header, state } = subject;
  const { step, item } = body;
  const output = step.output === undefined ? value : await parseOutput(step, value);
  if (saga.function === undefined)
    checkOutput(step, output, item === undefined ? contextFor(subject, body, tools.decode, false) : {});
  const stored = tools.encode(output);
  // What a run gives in the end is its function's to say.
  if (saga.function !== undefined) return { outcome: { kind: "returned", output: stored } };
  const after = afterGiving(subject, body, stored);
  if (state.rollback !== undefined || nextForward(saga.shape, after) !== undefined)
    return { outcome: { kind: "returned", output: stored } };
  return {
    outcome: { kind: "returned", output: stored },
    runOutput: runOutputOf({ saga, header, state: after }, tools),
  };
}

async function parseOutput(step: StepDefinition, value: unknown): Promise<unknown> {
  const parsed = await parseValue(step.output!, value);
  if (parsed.faults === undefined) return parsed.value;
  const faults = parsed.faults.map((fault) => `${fault.at}: ${fault.fault}`).join("; ");
  throw new UsageError("output.invalid", `the output of step "${step.name}" does not fit its schema: ${faults}`);
}

/** The run's own output once all its steps are done. Calls the saga's `output`, which may throw. */
export function runOutputOf(subject: Subject, tools: Pick<PerformTools, "encode" | "decode">): StoredValue {
  const { saga, header, state } = subject;
  if (saga.output === undefined) return tools.encode(mergedOutputs(saga, state, tools.decode));
  const context = contextOf(saga, header.input, state, { index: saga.steps.length, own: false, decode: tools.decode });
  return tools.encode(saga.output(context));
}

async function undo(
  subject: Subject,
  body: Body,
  action: RunBody,
  tools: PerformTools,
  runTools: RunTools,
): Promise<BodyResult> {
  const { header, state } = subject;
  const done = state.steps[action.step]!.done;
  const known =
    done?.output === undefined
      ? { outcome: "in_doubt", output: undefined }
      : { outcome: "done", output: tools.decode(done.output) };
  const context = contextFor(subject, body, tools.decode, done !== undefined);
  await body.step.compensate!(context, {
    ...runTools,
    ...known,
    key: keyOfCompensation(header, action.step),
    forwardKey: keyOfStep(header, action.step),
    cause: state.rollback,
  });
  return { outcome: { kind: "returned", output: tools.encode(undefined) } };
}

async function ask(
  subject: Subject,
  body: Body,
  action: AskWhether,
  tools: PerformTools,
  signal: AbortSignal,
): Promise<BodyResult> {
  const { step } = body;
  const attempt = subject.state.steps[step.name]!.asks + 1;
  const runTools = toolsFor(subject, { ...action, attempt }, tools, { signal, tx: undefined });
  const answer: unknown = await step.reconcile!(contextFor(subject, body, tools.decode, false), runTools);
  if (answer === undefined) return { outcome: { kind: "answered", answer: "cannot_tell" } };
  if (isPlainObject(answer) && answer.happened === true) return completed(subject, body, answer.output, tools);
  if (isPlainObject(answer) && answer.happened === false)
    return { outcome: { kind: "answered", answer: "not_happened" } };
  throw new UsageError(
    "reconcile.invalid",
    `reconcile of step "${step.name}" must answer { happened: true, output }, { happened: false } or undefined`,
  );
}

function toolsFor(
  subject: Subject,
  action: { readonly step: string; readonly attempt: number },
  tools: PerformTools,
  attempt: { readonly signal: AbortSignal; readonly tx: Transaction | undefined },
): RunTools {
  const { runId } = subject.header;
  return {
    key: keyOfStep(subject.header, action.step),
    signal: attempt.signal,
    attempt: action.attempt,
    runId,
    log: withFields(tools.logger, { runId, step: action.step, attempt: action.attempt }),
    note: tools.note,
    ...(attempt.tx === undefined ? {} : { tx: attempt.tx }),
  };
}

async function outcomeOf(
  running: RunningAttempt,
  step: StepDefinition,
  tools: PerformTools,
): Promise<PerformedOutcome> {
  const end = await running.end;
  if (end.kind === "returned") return end.value as BodyResult;
  const outcome = threwOutcome(end, step, tools);
  return { outcome, error: { thrown: end.error }, ...(end.settled ? {} : { abandoned: running.body }) };
}

/** What an error says of the attempt that it ended, by the step's classifier, the executor's, or the default one (1.6). */
export function threwOutcome(
  end: Pick<AttemptEnd & { kind: "threw" }, "error" | "aborted">,
  step: StepDefinition,
  tools: Omit<PerformTools, "note">,
): Threw {
  const { classification, classifierError } = safeClassify(
    step.classifyError ?? tools.classifyError,
    end.error,
    tools.clock.now(),
  );
  if (classifierError !== undefined)
    tools.logger.error(
      { step: step.name, err: classifierError },
      "the error classifier's answer can't be used: without one an error is retryable and in doubt, a delay the default",
    );
  return {
    kind: "threw",
    error: recordError(end.error),
    retryable: classification.retryable,
    happened: classification.happened,
    counted: classification.counted ?? true,
    ...(classification.retryAfterMs === undefined ? {} : { retryAfterMs: classification.retryAfterMs }),
    ...(end.aborted === undefined ? {} : { aborted: end.aborted }),
  };
}
