// WHAT A START CHECKS before anything is written: the id, the input against its schema, its size and form
// (design 1.9). What comes out is ready to be stored.

import type { SagaDefinition } from "../definition/saga.js";
import { recordError } from "../errors/error-record.js";
import { InputInvalidError, RunConflictError } from "../errors/usage-errors.js";
import { digestOf } from "../journal/canonical.js";
import type { Attributes, RunHeader, RunStart } from "../journal/journal.js";
import { isPlainObject } from "./context.js";
import type { PerformTools } from "./perform.js";
import { checkId, idFault } from "./run-id.js";
import { parseValue } from "./validate.js";

/** What a start was told, parsed: `id` is still to be checked. */
export interface StartRequest {
  readonly id?: unknown;
  readonly startAt?: Date | undefined;
  readonly priority?: number | undefined;
  readonly attributes?: Attributes | undefined;
}

/** @throws InputInvalidError, SerializationError, PayloadTooLargeError, UsageError `run.id_invalid` */
export async function prepareStart(
  saga: SagaDefinition,
  input: unknown,
  options: StartRequest,
  tools: Pick<PerformTools, "encode" | "decode"> & { readonly freshId: () => string },
): Promise<RunStart> {
  const runId = options.id === undefined ? tools.freshId() : checkId(options.id);
  const parsed = await parseInput(saga, input);
  const stored = tools.encode(parsed);
  const lane = laneOf(saga, () => tools.decode(stored));
  return {
    runId,
    saga: saga.name,
    version: saga.version,
    shape: saga.shape,
    input: stored,
    inputDigest: digestOf(tools.decode(stored)),
    priority: options.priority ?? 0,
    ...(options.attributes === undefined ? {} : { attributes: options.attributes }),
    ...(lane === undefined ? {} : { lane, places: saga.concurrency!.limit }),
    ...(options.startAt === undefined ? {} : { startAt: options.startAt.getTime() }),
  };
}

async function parseInput(saga: SagaDefinition, input: unknown): Promise<unknown> {
  const parsed = saga.input === undefined ? { value: input } : await parseValue(saga.input, input);
  if (parsed.faults !== undefined) throw new InputInvalidError(saga.name, parsed.faults);
  if (parsed.value === undefined || isPlainObject(parsed.value)) return parsed.value;
  const fault = "the input is the beginning of the context, so it has to be a plain object";
  throw new InputInvalidError(saga.name, [{ at: "$", fault }]);
}

/** Of sagas that limit how many of their runs go at once, all together. Keys are longer than nothing, and rarely this. */
const onlyLane = "*";

/** What the run shares places with (1.9). The key is told once, and stored: another word of a later deploy is for later runs. */
export function laneOf({ name, concurrency }: SagaDefinition, input: () => unknown): string | undefined {
  if (concurrency?.key === undefined) return concurrency && onlyLane;
  let key: unknown;
  try {
    key = concurrency.key(input());
  } catch (error) {
    throw new InputInvalidError(name, [{ at: "$", fault: `concurrency.key threw: ${recordError(error).message}` }]);
  }
  const fault = idFault(key);
  if (fault === undefined) return key as string;
  throw new InputInvalidError(name, [
    { at: "$", fault: `concurrency.key has to give 1 to 200 characters without NUL; ${fault}` },
  ]);
}

/**
 * The same id with another saga or input is a conflict; with the same ones it is the same run (1.9). A child has to be its
 * parent's: the end of any other run would wake nobody.
 */
export function checkSameRun(start: RunStart, existing: RunHeader): void {
  if (existing.saga !== start.saga) throw new RunConflictError(start.runId, existing, "saga");
  if (existing.inputDigest !== start.inputDigest) throw new RunConflictError(start.runId, existing, "input");
  if (start.parent !== undefined && existing.parent !== start.parent)
    throw new RunConflictError(start.runId, existing, "parent");
}
