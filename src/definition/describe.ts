// A SAGA AS PEOPLE READ IT: in a terminal and as a Mermaid diagram, with the line drawn behind which nothing is undone.

import { mermaidOf } from "./describe-mermaid.js";
import { type DescribedStep, describeStep } from "./describe-step.js";
import { durationText } from "./duration.js";
import type { SagaDefinition } from "./saga.js";

export interface SagaDescription {
  /** A Mermaid flowchart. */
  readonly mermaid: string;
  /** Lines for a terminal, without colours and without a newline at the end. */
  readonly text: string;
}

/** Describes a saga: each element with what it is, its kind, how it is undone, and what happens to it in doubt. */
export function describeSaga(saga: SagaDefinition): SagaDescription {
  const steps = saga.shape.steps.map((shape, index) => describeStep(shape, saga.steps[index]!));
  const heading = headingOf(saga);
  if (saga.function !== undefined) return describeFunction(heading);
  return { mermaid: mermaidOf(heading, steps), text: textOf(heading, steps) };
}

/** What a function will ask for is known to nobody before it does. */
function describeFunction(heading: string): SagaDescription {
  const what = "a function: its steps are what its code asks for";
  return { mermaid: mermaidOf(heading, [], what), text: [heading, "", `  ${what}`].join("\n") };
}

function headingOf(saga: SagaDefinition): string {
  const { name, version, maxDurationMs } = saga;
  const goal = saga.steps.some((step) => step.pivot) ? "to the pivot" : "to its end";
  return `${name}, version ${version}${maxDurationMs === undefined ? "" : `, at most ${durationText(maxDurationMs)} ${goal}`}`;
}

function textOf(heading: string, steps: readonly DescribedStep[]): string {
  const names = steps.map((step, index) => `${bracketOf(index, steps)}${step.name}`);
  const nameWidth = Math.max(...names.map((name) => name.length));
  const numberWidth = String(steps.length).length;
  const lines = steps.flatMap(({ kind, notes }, index) => {
    const number = String(index + 1).padStart(numberWidth);
    const name = names[index]!.padEnd(nameWidth);
    const line = `  ${number}. ${name}  ${kind.padEnd("compensatable".length)}  ${notes}`.trimEnd();
    return kind === "pivot" ? ["  ════ the point of no return: a stop is refused from here on ════", line] : [line];
  });
  const open = steps.every((step) => step.kind !== "pivot");
  return [
    heading,
    "",
    ...lines,
    ...(open ? ["  (no pivot: can be stopped until its last step is recorded)"] : []),
  ].join("\n");
}

/** Holds the members of a `parallel` together, side by side. */
function bracketOf(index: number, steps: readonly DescribedStep[]): string {
  const { parallel } = steps[index]!;
  if (parallel === undefined) return "";
  const isFirst = steps[index - 1]?.parallel !== parallel;
  const isLast = steps[index + 1]?.parallel !== parallel;
  return isFirst && isLast ? "[ " : isFirst ? "┌ " : isLast ? "└ " : "│ ";
}
