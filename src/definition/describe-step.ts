// ONE ELEMENT OF A LIST IN WORDS: what it does where it is no plain step, when it runs, and how it is undone.

import { durationText } from "./duration.js";
import type { EachItem, SagaDefinition, SignalWait, StepDefinition } from "./saga.js";
import type { StepShape } from "./shape.js";

export interface DescribedStep {
  readonly name: string;
  readonly kind: StepShape["kind"];
  readonly element: StepShape["element"];
  /** Members of one `parallel` share it, and stand side by side. */
  readonly parallel: number | undefined;
  /** May be empty. */
  readonly notes: string;
}

export function describeStep(shape: StepShape, step: StepDefinition): DescribedStep {
  const { name, kind, element, parallel } = shape;
  const body = step.each?.step ?? step;
  const notes = [
    ...doing(step),
    ...(shape.conditional ? ["only when its condition holds"] : []),
    ...(kind === "compensatable" ? undoing(shape) : []),
    ...(shape.transactional ? ["transactional: never in doubt"] : []),
    ...(body.reconcile === undefined ? [] : ["in doubt: asks reconcile"]),
    ...(step.into === undefined ? [] : [`gives "${step.into}"`]),
    ...(parallel === undefined ? [] : ["in parallel"]),
  ];
  return { name, kind, element, parallel, notes: notes.join(", ") };
}

function doing({ element, sleepMs, wait, each, child }: StepDefinition): string[] {
  if (element === "sleep")
    return [`sleeps ${sleepMs === undefined ? "as long as it computes" : durationText(sleepMs)}`];
  if (wait !== undefined) return [waiting(wait)];
  if (each !== undefined) return [forEachItem(each)];
  return child === undefined ? [] : [running(child)];
}

function waiting({ signal, withinMs, onTimeout }: SignalWait): string {
  if (withinMs === undefined) return `waits for the signal "${signal}"`;
  return `waits for the signal "${signal}" for at most ${durationText(withinMs)}, then ${onTimeout === "fail" ? "fails" : "goes on"}`;
}

function forEachItem({ concurrency }: EachItem): string {
  return `for each item, ${concurrency === 1 ? "one after the other" : `up to ${concurrency} at once`}`;
}

function running({ name, version }: SagaDefinition): string {
  return `runs the saga ${name}, version ${version}`;
}

/** Of what does nothing there is nothing to say. */
function undoing({ element, undone }: StepShape): string[] {
  if (element === "sleep" || element === "signal") return [];
  if (!undone) return ["nothing to undo"];
  if (element === "child") return ["undone by its own compensations"];
  return [element === "each" ? "each undone by its compensation" : "undone by its compensation"];
}
