// WHAT AN OPERATOR SAYS THAT A STEP GAVE: checked like the step's own output, where the saga is known here (design 1.4).

import type { StoredValue } from "../core/entry.js";
import { nextForward } from "../core/units.js";
import { OptionsInvalidError, UsageError } from "../errors/usage-errors.js";
import type { Values } from "../journal/codec.js";
import { afterGiving, bodyOf, contextFor } from "./bodies.js";
import { checkOutput } from "./context.js";
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
  const body = "steps" in saga ? bodyOf(saga, settled.step) : undefined;
  if (!("steps" in saga) || body === undefined) return values.encode(settled.output);
  const { step } = body;
  const subject = { saga, header, state };
  const schema = step.wait === undefined ? step.output : step.wait.payload;
  const parsed = schema === undefined ? { value: settled.output } : await parseValue(schema, settled.output);
  if (parsed.faults !== undefined)
    throw new OptionsInvalidError(
      "resolve",
      parsed.faults.map(({ at, fault }) => ({ at: at.replace("$", "output"), fault })),
    );
  if (step.element === undefined)
    checkOutput(step, parsed.value, body.item === undefined ? contextFor(subject, body, values.decode, false) : {});
  const output = values.encode(parsed.value);
  const after = afterGiving(subject, body, output);
  // The last one settles the run: its own output must be computable.
  if (nextForward(saga.shape, after) === undefined)
    checkRunOutput(() => runOutputOf({ saga, header, state: after }, values));
  return output;
}

function checkRunOutput(compute: () => unknown): void {
  try {
    compute();
  } catch (cause) {
    throw new UsageError("output.invalid", "with this output the saga's own output can't be computed", { cause });
  }
}
