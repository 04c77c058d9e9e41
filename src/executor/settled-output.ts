// WHAT AN OPERATOR SAYS THAT A STEP GAVE: checked like the step's own output, where the saga is known here (design 1.4).

import type { StoredValue } from "../core/entry.js";
import { OptionsInvalidError, UsageError } from "../errors/usage-errors.js";
import type { Values } from "../journal/codec.js";
import { checkOutput, contextOf } from "./context.js";
import type { KnownRun } from "./operating.js";
import { runOutputOf } from "./perform.js";
import type { Registry } from "./registry.js";
import { parseValue } from "./validate.js";

/**
 * The output as it is to be stored.
 * @throws OptionsInvalidError, UsageError `output.invalid`, SerializationError, PayloadTooLargeError
 */
export async function settledOutput(
  { header, state }: KnownRun,
  settled: { readonly step: string; readonly output: unknown },
  { registry, values }: { readonly registry: Registry; readonly values: Values },
): Promise<StoredValue> {
  const saga = registry.find(header);
  const index = "steps" in saga ? saga.steps.findIndex((candidate) => candidate.name === settled.step) : -1;
  if (!("steps" in saga) || index === -1) return values.encode(settled.output);
  const step = saga.steps[index]!;
  const parsed = step.output === undefined ? { value: settled.output } : await parseValue(step.output, settled.output);
  if (parsed.faults !== undefined)
    throw new OptionsInvalidError(
      "resolve",
      parsed.faults.map(({ at, fault }) => ({ at: at.replace("$", "output"), fault })),
    );
  checkOutput(step, parsed.value, contextOf(saga, header.input, state, { index, own: false, decode: values.decode }));
  const output = values.encode(parsed.value);
  const done = { output, attempt: 1 };
  const after = { ...state, steps: { ...state.steps, [step.name]: { ...state.steps[step.name]!, done } } };
  // The last one settles the run: its own output must be computable.
  if (index === saga.steps.length - 1) checkRunOutput(() => runOutputOf({ saga, header, state: after }, values));
  return output;
}

function checkRunOutput(compute: () => unknown): void {
  try {
    compute();
  } catch (cause) {
    throw new UsageError("output.invalid", "with this output the saga's own output can't be computed", { cause });
  }
}
