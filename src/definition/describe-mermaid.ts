// THE DIAGRAM OF A SAGA: a Mermaid flowchart whose thick line leads to the pivot. Members of a `parallel` stand side by side,
// between a fork and a join.

import type { DescribedStep } from "./describe-step.js";

/** What is drawn between two lines of a flowchart: one element, or the members of a `parallel`. Numbers are from 1. */
interface Stage {
  readonly first: number;
  readonly steps: readonly DescribedStep[];
}

/** `instead`: what stands between beginning and end where there are no steps to draw. */
export function mermaidOf(heading: string, steps: readonly DescribedStep[], instead = ""): string {
  if (steps.length === 0)
    return [
      "flowchart TD",
      `  start(["${escaped(heading)}"])`,
      `  function["${escaped(instead)}"]`,
      "  start --> function",
      `  function --> completed(["completed"])`,
    ].join("\n");
  const stages = stagesOf(steps);
  const entries = [...stages.map(entryOf), `completed(["completed"])`];
  const links = stages.flatMap((stage, index) => {
    const before = index === 0 ? "start" : exitOf(stages[index - 1]!);
    const arrow = stage.steps[0]!.kind === "pivot" ? `== "the point of no return" ==>` : "-->";
    return [`  ${before} ${arrow} ${entries[index]}`, ...branchesOf(stage)];
  });
  return [
    "flowchart TD",
    `  start(["${escaped(heading)}"])`,
    ...stages.flatMap(nodesOf),
    ...links,
    `  ${exitOf(stages.at(-1)!)} --> ${entries.at(-1)}`,
    "  classDef pivot stroke-width:4px",
  ].join("\n");
}

function stagesOf(steps: readonly DescribedStep[]): Stage[] {
  const stages: { first: number; steps: DescribedStep[] }[] = [];
  for (const [index, step] of steps.entries()) {
    const last = stages.at(-1);
    if (last !== undefined && step.parallel !== undefined && last.steps[0]!.parallel === step.parallel)
      last.steps.push(step);
    else stages.push({ first: index + 1, steps: [step] });
  }
  return stages;
}

function isFork({ steps }: Stage): boolean {
  return steps[0]!.parallel !== undefined;
}

function entryOf(stage: Stage): string {
  return `${isFork(stage) ? "fork" : "step"}${stage.first}`;
}

function exitOf(stage: Stage): string {
  return `${isFork(stage) ? "join" : "step"}${stage.first}`;
}

function branchesOf(stage: Stage): string[] {
  if (!isFork(stage)) return [];
  return stage.steps.map((_, index) => `  ${entryOf(stage)} --> step${stage.first + index} --> ${exitOf(stage)}`);
}

function nodesOf(stage: Stage): string[] {
  const nodes = stage.steps.map((step, index) => `  step${stage.first + index}${nodeOf(step)}`);
  if (!isFork(stage)) return nodes;
  return [`  ${entryOf(stage)}(("in parallel"))`, ...nodes, `  ${exitOf(stage)}(("all done"))`];
}

function nodeOf({ name, kind, element, notes }: DescribedStep): string {
  const label = `"${[name, kind, ...(notes === "" ? [] : [notes])].map(escaped).join("<br/>")}"`;
  if (kind === "pivot") return `{{${label}}}:::pivot`;
  if (element === "sleep" || element === "signal") return `(${label})`;
  return element === "child" ? `[[${label}]]` : `[${label}]`;
}

/**
 * Mermaid reads `#…;` as an entity. Whatever could end a quoted label, become HTML, or be taken for Markdown (a leading
 * list mark too) is written as one.
 */
function escaped(text: string): string {
  return text.replace(/[^\p{L}\p{N} ,:()._-]|^[_-]|(?<=^\d+)\./gu, (character) => `#${character.codePointAt(0)};`);
}
