// A SAGA AS PEOPLE READ IT: in a terminal and as a Mermaid diagram, with the line drawn behind which nothing is undone.

import { durationText } from "./duration.js";
import type { SagaDefinition, StepDefinition } from "./saga.js";
import type { StepShape } from "./shape.js";

export interface SagaDescription {
  /** A Mermaid flowchart. */
  readonly mermaid: string;
  /** Lines for a terminal, without colours and without a newline at the end. */
  readonly text: string;
}

/** Describes a saga: each step with its kind, how it is undone, and what happens to it in doubt. */
export function describeSaga(saga: SagaDefinition): SagaDescription {
  const steps = saga.shape.steps.map((shape, index) => described(shape, saga.steps[index]!));
  return { mermaid: mermaidOf(saga, steps), text: textOf(saga, steps) };
}

interface DescribedStep {
  readonly name: string;
  readonly kind: StepShape["kind"];
  readonly notes: string;
}

function described(shape: StepShape, step: StepDefinition): DescribedStep {
  const undoing = shape.undone ? "undone by its compensation" : "nothing to undo";
  const notes = [
    ...(shape.kind === "compensatable" ? [undoing] : []),
    ...(shape.transactional ? ["transactional: never in doubt"] : []),
    ...(step.reconcile === undefined ? [] : ["in doubt: asks reconcile"]),
    ...(step.into === undefined ? [] : [`gives "${step.into}"`]),
  ];
  return { name: shape.name, kind: shape.kind, notes: notes.join(", ") };
}

function headingOf(saga: SagaDefinition): string {
  const { name, version, maxDurationMs } = saga;
  const goal = saga.steps.some((step) => step.pivot) ? "to the pivot" : "to its end";
  return `${name}, version ${version}${maxDurationMs === undefined ? "" : `, at most ${durationText(maxDurationMs)} ${goal}`}`;
}

function textOf(saga: SagaDefinition, steps: readonly DescribedStep[]): string {
  const nameWidth = Math.max(...steps.map((step) => step.name.length));
  const numberWidth = String(steps.length).length;
  const lines = steps.flatMap(({ name, kind, notes }, index) => {
    const number = String(index + 1).padStart(numberWidth);
    const line = `  ${number}. ${name.padEnd(nameWidth)}  ${kind.padEnd("compensatable".length)}  ${notes}`.trimEnd();
    return kind === "pivot" ? ["  ════ the point of no return: a stop is refused from here on ════", line] : [line];
  });
  const open = steps.every((step) => step.kind !== "pivot");
  return [
    headingOf(saga),
    "",
    ...lines,
    ...(open ? ["  (no pivot: can be stopped until its last step is recorded)"] : []),
  ].join("\n");
}

function mermaidOf(saga: SagaDefinition, steps: readonly DescribedStep[]): string {
  const nodes = steps.map(({ name, kind, notes }, index) => {
    const label = `"${[name, kind, ...(notes === "" ? [] : [notes])].map(escaped).join("<br/>")}"`;
    return `  step${index + 1}${kind === "pivot" ? `{{${label}}}:::pivot` : `[${label}]`}`;
  });
  const links = steps.map(({ kind }, index) => {
    const from = index === 0 ? "start" : `step${index}`;
    return `  ${from} ${kind === "pivot" ? `== "the point of no return" ==>` : "-->"} step${index + 1}`;
  });
  return [
    "flowchart TD",
    `  start(["${escaped(headingOf(saga))}"])`,
    ...nodes,
    ...links,
    `  step${steps.length} --> completed(["completed"])`,
    "  classDef pivot stroke-width:4px",
  ].join("\n");
}

/**
 * Mermaid reads `#…;` as an entity. Whatever could end a quoted label, become HTML, or be taken for Markdown (a leading
 * list mark too) is written as one.
 */
function escaped(text: string): string {
  return text.replace(/[^\p{L}\p{N} ,:()._-]|^[_-]|(?<=^\d+)\./gu, (character) => `#${character.codePointAt(0)};`);
}
