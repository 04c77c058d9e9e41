// WHETHER A RUN'S VALUES CAN BE READ by the code of today: decoded, and accepted by the schemas that it has now (design
// 1.4, 1.9). A run whose values can't be is blocked: no step of it is begun, no attempt is used up.

import type { StoredValue } from "../core/entry.js";
import type { RunState } from "../core/state.js";
import type { SagaDefinition } from "../definition/saga.js";
import type { RunHeader } from "../journal/journal.js";
import { checkValue } from "./validate.js";

type Schema = SagaDefinition["input"];

/** What can't be read, a line each; empty when all can. */
export async function whyUnreadable(
  saga: SagaDefinition,
  { header, state }: { readonly header: RunHeader; readonly state: RunState },
  decode: (stored: StoredValue) => unknown,
): Promise<readonly string[]> {
  const check = async (what: string, stored: StoredValue | undefined, schema: Schema): Promise<readonly string[]> =>
    stored === undefined ? [] : (await faultsOf(stored, schema, decode)).map((fault) => `${what} ${fault}`);
  const outputs = saga.steps.flatMap((element) => {
    const { done, items } = state.steps[element.name]!;
    const schema = element.wait === undefined ? element.output : element.wait.payload;
    const own = check(`the output of step "${element.name}"`, done?.output, schema);
    if (items === undefined) return [own];
    const listed = check(`the items of step "${element.name}"`, items.stored, undefined);
    const each = items.units.map(({ name }) =>
      check(`the output of step "${name}"`, state.steps[name]!.done?.output, element.each!.step.output),
    );
    return [own, listed, ...each];
  });
  return (await Promise.all([check("the input", header.input, saga.input), ...outputs])).flat();
}

async function faultsOf(
  stored: StoredValue,
  schema: Schema,
  decode: (stored: StoredValue) => unknown,
): Promise<readonly string[]> {
  let value: unknown;
  try {
    value = decode(stored);
  } catch (error) {
    return [`can't be read: ${(error as Error).message}`];
  }
  const faults = schema === undefined ? [] : await checkValue(schema, value);
  return faults.map(({ at, fault }) => `no longer fits its schema: ${at}: ${fault}`);
}

const [shortestMs, longestMs] = [60_000, 3_600_000];

/** How long to leave a blocked run alone before it is looked at again: the longer, the longer it has been waiting. */
export function lookAgainAfterMs(waitingMs: number): number {
  return Math.min(Math.max(waitingMs / 8, shortestMs), longestMs);
}
