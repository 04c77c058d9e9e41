// HOW A DURABLE FUNCTION IS DEFINED: a saga whose steps are what its code asks for (design 2.3).

import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { CheckedInput, InputFor, Saga } from "../definition/define-saga.js";
import { readVersion } from "../definition/define-saga.js";
import type { Duration } from "../definition/duration.js";
import { readRequired } from "../definition/element.js";
import { markSaga } from "../definition/made-by.js";
import { nameFault } from "../definition/names.js";
import { OptionReader } from "../definition/option-reader.js";
import type { FunctionHost, FunctionReplay } from "../definition/saga.js";
import { SagaInvalidError } from "../errors/usage-errors.js";
import { callsOf } from "./calls.js";
import type { Durable } from "./durable.js";
import { RunningFunction } from "./running-function.js";

/** What {@link defineFunction} takes. */
export interface FunctionOptions<Schema extends StandardSchemaV1 | undefined, Output> {
  /** By the rules of a saga's name. */
  readonly name: string;
  /** A whole number from 1. Code may change under one version as far as its runs' records still fit: see the guide. */
  readonly version: number;
  /** Parses the input, once, when a run is started; has to make a plain object of it. Without one it takes no input. */
  readonly input?: Schema & CheckedInput<Schema>;
  /**
   * The function. It is run again from the top whenever its run is gone on with; what its calls of `d` gave is not done
   * again, all else is. What it gives is the run's output: any value that can be stored.
   */
  readonly run: (
    input: Schema extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Schema> : Record<string, never>,
    d: Durable,
  ) => Output;
  /** From `startAt` on; passed before the pivot, everything is undone and the run ends `timed_out`. Default: no limit. */
  readonly maxDuration?: Duration | undefined;
}

/**
 * Defines a durable function: a saga written as code. It is registered in `sagas`, and started and operated as any saga.
 *
 * @throws SagaInvalidError (`saga.invalid`) with all faults at once
 *
 * @example
 * const onboarding = defineFunction({
 *   name: "onboarding", version: 1, input: z.object({ email: z.email() }),
 *   run: async (input, d) => {
 *     const account = await d.step("create-account", ({ key }) => accounts.create(input.email, key), {
 *       compensate: (undo) => (undo.outcome === "done" ? accounts.close(undo.output.id) : accounts.closeMadeWith(undo.forwardKey)),
 *     });
 *     await d.sleep("cooling-off", "24h");
 *     await d.pivot("bill", ({ key }) => billing.open(account.id, key));
 *     return account;
 *   },
 * });
 */
export function defineFunction<Output, Schema extends StandardSchemaV1 | undefined = undefined>(
  options: FunctionOptions<Schema, Output>,
): Saga<InputFor<Schema>, Awaited<Output>> {
  const read = new OptionReader(options, "defineFunction()", ["name", "version", "input", "run", "maxDuration"]);
  const name = read.name("name", read.value("name"), nameFault);
  const version = readVersion(read);
  const input = read.schema("input");
  const run = readRequired(read, "run", "the function");
  const maxDurationMs = read.duration("maxDuration", { positive: true });
  if (read.faults.length > 0) throw new SagaInvalidError(name || "(no valid name)", read.faults);
  return markSaga({
    name,
    version,
    steps: Object.freeze([]),
    shape: Object.freeze({ steps: Object.freeze([]), function: true as const }),
    function: begins(run),
    ...(input === undefined ? {} : { input }),
    ...(maxDurationMs === undefined ? {} : { maxDurationMs }),
  });
}

function begins(run: (input: any, d: any) => unknown): (input: unknown, host: FunctionHost) => FunctionReplay {
  return (input, host) => {
    const running = new RunningFunction(host);
    running.begin(() => run(input, callsOf(running)));
    return running;
  };
}
