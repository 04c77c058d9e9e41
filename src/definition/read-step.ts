// A STEP'S OPTIONS, READ into what the executor needs, with every fault that they have. Throws nothing: `defineSaga`
// reports the faults of all steps at once.

import { elementDefaults, readRequired } from "./element.js";
import { markStep } from "./made-by.js";
import { stepNameFault } from "./names.js";
import { OptionReader } from "./option-reader.js";
import type { StepDefinition } from "./saga.js";

const undoing = ["compensate", "nothingToUndo", "compensationRetry"] as const;
const known = [
  ...["name", "run", "output", "retry", "timeout", "grace", "classifyError", "reconcile", "policy", "transaction"],
  ...["when", ...undoing],
];

/** The step that `options` describe. It is fit for use only where no faults were found. */
export function readStep(options: unknown, pivot: boolean): StepDefinition {
  const read = new OptionReader(options, pivot ? "pivot()" : "step()", known);
  const compensate = read.function<StepDefinition["compensate"]>("compensate");
  const reconcile = read.function<StepDefinition["reconcile"]>("reconcile");
  const classifyError = read.function<StepDefinition["classifyError"]>("classifyError");
  const output = read.schema("output");
  const policy = read.policy("policy");
  const when = read.function<StepDefinition["when"]>("when");
  const step: StepDefinition = {
    ...elementDefaults,
    name: read.name("name", read.value("name"), stepNameFault),
    pivot,
    run: readRequired(read, "run", "the function that does the step"),
    nothingToUndo: read.flag("nothingToUndo"),
    retry: read.retry("retry"),
    compensationRetry: read.retry("compensationRetry"),
    timeoutMs: read.duration("timeout", { infinite: true, positive: true }) ?? elementDefaults.timeoutMs,
    graceMs: read.duration("grace", {}) ?? elementDefaults.graceMs,
    transaction: read.flag("transaction"),
    ...(compensate === undefined ? {} : { compensate }),
    ...(reconcile === undefined ? {} : { reconcile }),
    ...(classifyError === undefined ? {} : { classifyError }),
    ...(output === undefined ? {} : { output }),
    ...(policy === undefined ? {} : { policy }),
    ...(when === undefined ? {} : { when }),
  };
  refuseContradictions(step, read);
  return markStep(step, read.faults);
}

function refuseContradictions(step: StepDefinition, read: OptionReader): void {
  if (step.pivot)
    for (const name of undoing)
      if (read.value(name) !== undefined)
        read.refuse(name, "is not for pivots: once a pivot is passed nothing is undone");
  if (step.pivot && read.value("when") !== undefined)
    read.refuse("when", "is not for pivots: a saga that has one always passes it, or rolls back");
  if (!step.pivot && step.nothingToUndo && step.compensate !== undefined)
    read.refuse("nothingToUndo", "contradicts compensate; keep one of the two");
  if (step.transaction && step.reconcile !== undefined)
    read.refuse("reconcile", "has no use in a transactional step, which is never in doubt; leave it out");
}
