// WHAT A START CHECKS before anything is written: the id, the options, the input against its schema, its size and form
// (design 1.9). What comes out is ready to be stored.

import type { SagaDefinition } from "../definition/saga.js";
import { type Fault, InputInvalidError, OptionsInvalidError, RunConflictError, UsageError } from "../errors/usage-errors.js";
import { digestOf } from "../journal/canonical.js";
import type { RunHeader, RunStart } from "../journal/journal.js";
import { isPlainObject } from "./context.js";
import type { StartOptions } from "./executor.js";
import type { PerformTools } from "./perform.js";
import { parseValue } from "./validate.js";

const longestId = 200;
const daySeconds = 86_400;

/** @throws InputInvalidError, SerializationError, PayloadTooLargeError, OptionsInvalidError, UsageError `run.id_invalid` */
export async function prepareStart(
  saga: SagaDefinition,
  input: unknown,
  options: StartOptions,
  tools: Pick<PerformTools, "encode" | "decode"> & { readonly freshId: () => string },
): Promise<RunStart> {
  const runId = options.id === undefined ? tools.freshId() : checkId(options.id);
  checkOptions(options);
  const parsed = await parseInput(saga, input);
  const stored = tools.encode(parsed);
  return {
    runId,
    saga: saga.name,
    version: saga.version,
    shape: saga.shape,
    input: stored,
    inputDigest: digestOf(tools.decode(stored)),
    priority: options.priority ?? 0,
    ...(options.startAt === undefined ? {} : { startAt: options.startAt.getTime() }),
  };
}

/** An id that can be stored, shown and sent as part of a key. @throws UsageError `run.id_invalid` */
export function checkId(id: unknown): string {
  const fault =
    typeof id !== "string"
      ? "it is not a string"
      : id.length === 0
        ? "it is empty"
        : id.length > longestId
          ? `it has ${id.length} characters`
          : id.includes("\0")
            ? "it contains a NUL character"
            : /\p{Surrogate}/u.test(id)
              ? "it contains half of a surrogate pair"
              : undefined;
  if (fault === undefined) return id as string;
  throw new UsageError("run.id_invalid", `a run's id is a string of 1 to ${longestId} characters without NUL; ${fault}`);
}

function checkOptions(options: StartOptions): void {
  const faults: Fault[] = [];
  const { startAt, priority } = options;
  if (startAt !== undefined && !(startAt instanceof Date && Number.isFinite(startAt.getTime())))
    faults.push({ at: "startAt", fault: "must be a valid Date" });
  if (priority !== undefined && !(Number.isFinite(priority) && Math.abs(priority) <= daySeconds))
    faults.push({ at: "priority", fault: `must be a number of seconds between -${daySeconds} and ${daySeconds}` });
  if (faults.length > 0) throw new OptionsInvalidError("start", faults);
}

async function parseInput(saga: SagaDefinition, input: unknown): Promise<unknown> {
  const value = saga.input === undefined ? input : await parsedTwice(saga, input);
  if (value !== undefined && !isPlainObject(value))
    throw new InputInvalidError(saga.name, [{ at: "$", fault: "the input is the beginning of the context, so it has to be a plain object" }]);
  return value;
}

/** 1.9: schemas parse once, and must accept their own output: what is stored is checked again whenever it is read. */
async function parsedTwice(saga: SagaDefinition, input: unknown): Promise<unknown> {
  const parsed = await parseValue(saga.input!, input);
  if (parsed.faults !== undefined) throw new InputInvalidError(saga.name, parsed.faults);
  const again = await parseValue(saga.input!, parsed.value);
  if (again.faults === undefined) return parsed.value;
  throw new InputInvalidError(
    saga.name,
    again.faults.map(({ at, fault }) => ({ at, fault: `the schema does not accept its own output: ${fault}` })),
  );
}

/** The same id with another saga or input is a conflict; with the same ones it is the same run (1.9). */
export function checkSameRun(start: RunStart, existing: RunHeader): void {
  if (existing.saga !== start.saga) throw new RunConflictError(start.runId, existing, "saga");
  if (existing.inputDigest !== start.inputDigest) throw new RunConflictError(start.runId, existing, "input");
}
