// A CALL READ into what the executor needs of it: the same element that a saga's list would have in its place.

import { child } from "../definition/child.js";
import { faultsOfStep, isSaga } from "../definition/made-by.js";
import { shownValue } from "../definition/option-faults.js";
import { readStep } from "../definition/read-step.js";
import type { FunctionCall, StepDefinition } from "../definition/saga.js";
import type { StepKind } from "../definition/shape.js";
import { sleep } from "../definition/sleep.js";
import { waitForSignal } from "../definition/wait-for-signal.js";
import { UsageError } from "../errors/usage-errors.js";

type Body = (...given: any[]) => unknown;
type Options = Readonly<Record<string, unknown>>;

/** A call's functions take no context: what they need is in their scope. */
export function readStepCall(name: string, run: unknown, given: unknown, pivot: boolean): StepDefinition {
  const isOptions = given === undefined || (typeof given === "object" && given !== null);
  const { transaction, when, ...options } = (isOptions ? { ...given } : { options: given }) as Options;
  const without = <F>(body: F): F | Body =>
    typeof body === "function" ? (_context: unknown, tools: unknown) => body(tools) : body;
  const step = readStep(
    {
      ...options,
      name,
      run: without(run),
      ...("compensate" in options ? { compensate: without(options.compensate) } : {}),
      ...("reconcile" in options ? { reconcile: without(options.reconcile) } : {}),
    },
    pivot,
  );
  const refused = [
    ...(transaction === undefined ? [] : ["`transaction` is for the steps of a list"]),
    ...(when === undefined ? [] : ["`when` is for the steps of a list; use `if`"]),
  ];
  if (refused.length > 0) throw refusal(name, refused);
  return checked(name, step);
}

export function readSleepCall(name: string, duration: unknown): StepDefinition {
  if (typeof duration === "function") throw refusal(name, ["a duration is given, not computed"]);
  return checked(name, sleep({ name, for: duration as number }));
}

export function readWaitCall(name: string, options: unknown): StepDefinition {
  return checked(name, waitForSignal({ ...(options as object | undefined), name }));
}

export function readChildCall(name: string, saga: unknown, input: unknown): StepDefinition {
  return checked(name, child({ name, saga: saga as never, input: () => input as never }));
}

export function readStartCall(name: string, saga: unknown): StepDefinition {
  if (!isSaga(saga)) throw refusal(name, [`${shownValue(saga)} was not made by defineSaga() or defineFunction()`]);
  return checked(name, readStep({ name, run: () => undefined, nothingToUndo: true }, false));
}

function checked(name: string, step: StepDefinition): StepDefinition {
  const faults = faultsOfStep(step)!;
  if (faults.length === 0) return step;
  throw refusal(
    name,
    faults.map(({ at, fault }) => `\`${at}\` ${fault}`),
  );
}

/** @throws UsageError `function.call_refused` where the table of 1.1 does not allow the call there */
export function placed(step: StepDefinition, kind: StepKind): FunctionCall {
  const { name, compensate, nothingToUndo, child: saga } = step;
  if (kind === "compensatable" && compensate === undefined && !nothingToUndo)
    throw refusal(name, ["it can be rolled back, so it needs `compensate`, or `nothingToUndo: true`"]);
  if (kind === "retriable" && compensate !== undefined)
    throw refusal(name, ["it comes after the pivot, where nothing is undone, so it can't have `compensate`"]);
  const turns = kind === "compensatable" ? saga?.steps.find(({ pivot }) => pivot) : undefined;
  if (turns !== undefined)
    throw refusal(name, [
      `it runs the saga "${saga!.name}", whose pivot "${turns.name}" can't be undone; call it after d.pivot`,
    ]);
  const undone = kind === "compensatable" && (saga !== undefined || compensate !== undefined);
  return {
    step,
    shape: {
      name,
      kind,
      undone,
      transactional: false,
      ...(step.element === undefined ? {} : { element: step.element }),
      ...(step.wait === undefined ? {} : { signal: step.wait.signal }),
    },
  };
}

export function refusal(name: unknown, faults: readonly string[]): UsageError {
  const call = typeof name === "string" ? `"${name}"` : shownValue(name);
  return new UsageError("function.call_refused", `the call ${call} is refused: ${faults.join("; ")}`);
}
