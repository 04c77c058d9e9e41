// HOW A SAGA IS DEFINED: a plain list of typed steps, checked by the compiler where it can look and at run time
// everywhere, and frozen.

import type { StandardSchemaV1 } from "@standard-schema/spec";
import { SagaInvalidError } from "../errors/usage-errors.js";
import type { CheckedSteps } from "./check-steps.js";
import { readConcurrency } from "./concurrency.js";
import type { EmptyContext, FinalContext, InputContext, Merged, NotPlain } from "./context-types.js";
import type { Duration } from "./duration.js";
import { flatList, placedSteps } from "./flat-list.js";
import { faultsOfList } from "./list-faults.js";
import { markSaga } from "./made-by.js";
import { nameFault } from "./names.js";
import { shownValue } from "./option-faults.js";
import { OptionReader } from "./option-reader.js";
import type { SagaDefinition, StepDefinition } from "./saga.js";
import { type DeclaredSchedule, readSchedules } from "./schedules.js";
import { shapeOf } from "./shape-of.js";
import type { Absent, IsAbsent } from "./step-options.js";

/** Keeps what a saga takes and gives in its type. Never set. */
declare const typed: unique symbol;

/** A saga: frozen data. `Input` is what callers pass, `Output` what a completed run gives; `Saga` alone is any saga. */
export interface Saga<Input = never, Output = unknown> extends SagaDefinition {
  readonly [typed]?: (input: Input) => Output;
}

/** What a caller passes to start the saga: what its input schema accepts. */
export type InputOf<S extends Saga> = S extends Saga<infer Input, any> ? Input : never;

/** What a completed run of the saga gives. */
export type OutputOf<S extends Saga> = S extends Saga<any, infer Output> ? Output : never;

/** What {@link defineSaga} takes. */
export interface SagaOptions<Steps extends readonly unknown[], Schema extends StandardSchemaV1 | undefined, Output> {
  /** 1 to 200 characters, without `/` and control characters. Runs find their saga by name, version and shape. */
  readonly name: string;
  /** A whole number from 1. Another one for another meaning; a changed list is another shape anyway (1.9). */
  readonly version: number;
  /** Parses the input, once, when a run is started; has to make a plain object of it. Without one a saga takes no input. */
  readonly input?: Schema & CheckedInput<Schema>;
  /**
   * At least one: made by `step`, `pivot` or `named`, or by `sleep`, `waitForSignal`, `parallel`, `forEach` or `child`. A faulty element does not compile, and its error names the step and
   * the fault. A list typed as `Step[]` can't be looked into: it is checked at run time only, and its context is `any`.
   */
  readonly steps: CheckedSteps<Steps, InputContext<Schema>>;
  /** From `startAt` on; passed before the pivot, everything is undone and the run ends `timed_out`. Default: no limit. */
  readonly maxDuration?: Duration | undefined;
  /**
   * At most `limit` runs (1 to 1,000,000) at once over all workers: of this saga and tenant, or of those for which `key`, asked
   * once when a run is started, gives the same 1 to 200 characters. A run has its place from its first taking up to its end,
   * also while it waits or rolls back; the others are `pending`. Not part of the shape. Default: no limit.
   */
  readonly concurrency?:
    | { readonly limit: number; readonly key?: ((input: InputContext<Schema>) => string) | undefined }
    | undefined;
  /** The saga's own output, a pure function of the whole context. Default: the outputs of all steps, merged. */
  readonly output?: ((context: Merged<FinalContext<Steps, InputContext<Schema>>>) => Output) | undefined;
  /** Put when a worker that has the saga starts; one that did not change keeps its next firing. Checked there. */
  readonly schedules?: readonly DeclaredSchedule<InputFor<Schema>>[] | undefined;
}

/** The fault of an input's schema that does not make a plain object, as a type. */
export type CheckedInput<Schema> = [NotPlain<InputContext<Schema>>] extends [never]
  ? unknown
  : `the input is ${NotPlain<InputContext<Schema>>}; it has to be a plain object, the context that a saga begins with`;

/** What a caller passes, where that is the input's schema. */
export type InputFor<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Schema>
  : Record<string, never> | undefined;

type OutputFor<Steps extends readonly unknown[], Output> =
  IsAbsent<Output> extends true ? Merged<FinalContext<Steps, EmptyContext>> : Output;

/** The largest version that the database keeps. */
const maxVersion = 2_147_483_647;

/**
 * Defines a saga. What breaks the table of 1.1, or the flow of data from step to step, does not compile; what the compiler
 * could not see is refused here.
 *
 * @throws SagaInvalidError (`saga.invalid`) with all faults at once, each with its step's name
 */
export function defineSaga<
  const Steps extends readonly unknown[],
  Schema extends StandardSchemaV1 | undefined = undefined,
  Output = Absent,
>(options: SagaOptions<Steps, Schema, Output>): Saga<InputFor<Schema>, OutputFor<Steps, Output>> {
  const read = new OptionReader(options, "defineSaga()", [
    "name",
    "version",
    "input",
    "steps",
    "maxDuration",
    "concurrency",
    "output",
    "schedules",
  ]);
  const name = read.name("name", read.value("name"), nameFault);
  const version = readVersion(read);
  const input = read.schema("input");
  const output = read.function<SagaDefinition["output"]>("output");
  const maxDurationMs = read.duration("maxDuration", { positive: true });
  const concurrency = readConcurrency(read);
  const steps = readSteps(read);
  const schedules = readSchedules(read);
  if (read.faults.length > 0) throw new SagaInvalidError(name || "(no valid name)", read.faults);
  return markSaga({
    name,
    version,
    steps,
    shape: shapeOf(steps),
    ...(input === undefined ? {} : { input }),
    ...(output === undefined ? {} : { output }),
    ...(maxDurationMs === undefined ? {} : { maxDurationMs }),
    ...(schedules === undefined ? {} : { schedules }),
    ...(concurrency === undefined ? {} : { concurrency }),
  });
}

/** The version of a saga or function; 0, and a fault, where it is none. */
export function readVersion(read: OptionReader): number {
  const version = read.value("version");
  if (typeof version === "number" && Number.isInteger(version) && version >= 1 && version <= maxVersion) return version;
  read.refuse("version", `${shownValue(version)} is not a whole number from 1 to ${maxVersion}`);
  return 0;
}

function readSteps(read: OptionReader): readonly StepDefinition[] {
  const steps = read.value("steps");
  if (!Array.isArray(steps)) {
    read.refuse("steps", `${shownValue(steps)} is not a list of steps`);
    return [];
  }
  const faults = faultsOfList(steps);
  read.faults.push(...faults);
  return faults.length > 0 ? [] : Object.freeze(placedSteps(flatList(steps)));
}
