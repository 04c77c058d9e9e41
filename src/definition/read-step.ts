// A STEP'S OPTIONS, READ into what the executor needs, with every fault that they have. Throws nothing: `defineSaga`
// reports the faults of all steps at once.

import { markStep } from "./made-by.js";
import { stepNameFault } from "./names.js";
import { OptionReader } from "./option-reader.js";
import type { StepDefinition } from "./saga.js";

const defaultTimeoutMs = 60_000;
const defaultGraceMs = 5_000;

const undoing = ["compensate", "nothingToUndo", "compensationRetry"] as const;
const known = [
  ...["name", "run", "output", "retry", "timeout", "grace", "classifyError", "reconcile", "policy", "transaction"],
  ...undoing,
];

/** The step that `options` describe. It is fit for use only where no faults were found. */
export function readStep(options: unknown, pivot: boolean): StepDefinition {
  const read = new OptionReader(options, pivot ? "pivot()" : "step()", known);
  const compensate = read.function<StepDefinition["compensate"]>("compensate");
  const reconcile = read.function<StepDefinition["reconcile"]>("reconcile");
  const classifyError = read.function<StepDefinition["classifyError"]>("classifyError");
  const output = read.schema("output");
  const policy = read.policy("policy");
  const step: StepDefinition = {
    name: read.name("name", read.value("name"), stepNameFault),
    pivot,
    run: readRun(read),
    nothingToUndo: read.flag("nothingToUndo"),
    retry: read.retry("retry"),
    compensationRetry: read.retry("compensationRetry"),
    timeoutMs: read.duration("timeout", { infinite: true, positive: true }) ?? defaultTimeoutMs,
    graceMs: read.duration("grace", {}) ?? defaultGraceMs,
    transaction: read.flag("transaction"),
    ...(compensate === undefined ? {} : { compensate }),
    ...(reconcile === undefined ? {} : { reconcile }),
    ...(classifyError === undefined ? {} : { classifyError }),
    ...(output === undefined ? {} : { output }),
    ...(policy === undefined ? {} : { policy }),
  };
  refuseContradictions(step, read);
  return markStep(step, read.faults);
}

function readRun(read: OptionReader): StepDefinition["run"] {
  const run = read.function<StepDefinition["run"]>("run");
  if (run !== undefined) return run;
  if (read.value("run") === undefined) read.refuse("run", "is missing: the function that does the step");
  return () => undefined;
}

function refuseContradictions(step: StepDefinition, read: OptionReader): void {
  if (step.pivot)
    for (const name of undoing)
      if (read.value(name) !== undefined)
        read.refuse(name, "is not for pivots: once a pivot is passed nothing is undone");
  if (!step.pivot && step.nothingToUndo && step.compensate !== undefined)
    read.refuse("nothingToUndo", "contradicts compensate; keep one of the two");
  if (step.transaction && step.reconcile !== undefined)
    read.refuse("reconcile", "has no use in a transactional step, which is never in doubt; leave it out");
}
