// WHAT `startMany` CHECKS before anything is written: all inputs, ids and attributes, every fault at once, each with the place
// of its input in the list (design 1.9, 2.2).

import type { SagaDefinition } from "../definition/saga.js";
import { recordError } from "../errors/error-record.js";
import { isSagaError } from "../errors/saga-error.js";
import { type Fault, InputInvalidError, OptionsInvalidError } from "../errors/usage-errors.js";
import type { Attributes, RunStart } from "../journal/journal.js";
import { attributesOption } from "./attributes.js";
import type { PerformTools } from "./perform.js";
import { prepareStart, type StartRequest } from "./starting.js";

const mostInputs = 100_000;
/** Schemas may be asynchronous: so many are asked at once. */
const atOnce = 1_000;

/** What a start of many was told, parsed. */
export interface ManyRequest extends Omit<StartRequest, "id" | "attributes"> {
  readonly id?: ((input: unknown, index: number) => unknown) | undefined;
  readonly attributes?: Attributes | ((input: unknown, index: number) => unknown) | undefined;
}

type StartTools = Pick<PerformTools, "encode" | "decode"> & { readonly freshId: () => string };

/** @throws OptionsInvalidError for what is no list, InputInvalidError for what is wrong with any of it */
export async function prepareStarts(
  saga: SagaDefinition,
  inputs: unknown,
  options: ManyRequest,
  tools: StartTools,
): Promise<readonly RunStart[]> {
  if (!Array.isArray(inputs)) throw new OptionsInvalidError("startMany", [{ at: "inputs", fault: "must be an array" }]);
  if (inputs.length > mostInputs)
    throw new OptionsInvalidError("startMany", [
      { at: "inputs", fault: `has ${inputs.length} elements; at most ${mostInputs} are taken, in one transaction` },
    ]);
  // Rows are written in the order of their ids: so that is the order of the inputs, where the ids are ours to give.
  const ids = options.id === undefined ? inputs.map(tools.freshId).sort() : [];
  const prepared: Prepared[] = [];
  for (let from = 0; from < inputs.length; from += atOnce) {
    const some = inputs.slice(from, from + atOnce);
    prepared.push(
      ...(await Promise.all(
        some.map((input, at) => prepareOne(saga, input, { options, tools, ids, index: from + at })),
      )),
    );
  }
  const faults = prepared.flatMap((each) => ("faults" in each ? each.faults : []));
  if (faults.length > 0) throw new InputInvalidError(saga.name, faults);
  return prepared.map((each) => (each as { start: RunStart }).start);
}

type Prepared = { readonly start: RunStart } | { readonly faults: readonly Fault[] };

async function prepareOne(
  saga: SagaDefinition,
  input: unknown,
  many: { options: ManyRequest; tools: StartTools; ids: readonly string[]; index: number },
): Promise<Prepared> {
  const { options, index } = many;
  const faults: Fault[] = [];
  const asked = <T>(what: string, ask: () => T): T | undefined => {
    try {
      return ask();
    } catch (error) {
      faults.push({ at: `${what}[${index}]`, fault: `threw: ${recordError(error).message}` });
      return undefined;
    }
  };
  const id = asked("id", () => (options.id === undefined ? many.ids[index] : options.id(input, index)));
  const attributes = asked("attributes", () => attributesOf(options, input, index));
  faults.push(...(attributes?.faults ?? []));
  const { startAt, priority } = options;
  const request = { id: id ?? null, startAt, priority, attributes: attributes?.value };
  try {
    const start = await prepareStart(saga, input, request, many.tools);
    return faults.length === 0 ? { start } : { faults };
  } catch (error) {
    const own = faults.some(({ at }) => at === `id[${index}]`) && isSagaError(error, "run.id_invalid");
    return { faults: own ? faults : [...faults, ...faultsOf(error, index)] };
  }
}

function attributesOf(
  { attributes }: ManyRequest,
  input: unknown,
  index: number,
): { readonly value?: Attributes | undefined; readonly faults?: readonly Fault[] } {
  if (typeof attributes !== "function") return { value: attributes };
  const parsed = attributesOption.safeParse(attributes(input, index));
  if (parsed.success) return { value: parsed.data };
  return {
    faults: parsed.error.issues.map(({ path, message }) => ({
      at: [`attributes[${index}]`, ...path.map(String)].join("."),
      fault: message,
    })),
  };
}

function faultsOf(error: unknown, index: number): readonly Fault[] {
  if (!isSagaError(error)) throw error;
  if (error.code === "run.id_invalid") return [{ at: `id[${index}]`, fault: error.message }];
  if (!(error instanceof InputInvalidError)) return [{ at: `inputs[${index}]`, fault: error.message }];
  return error.faults.map(({ at, fault }) => ({ at: at.replace(/^\$/, `inputs[${index}]`), fault }));
}
