// HOW A SIGNAL IS SENT: checked as far as the sender can, then written to the run's journal, or refused with a verdict (design
// 2.2). Needs no saga definition; where there is one, its schema is asked before anything is written.

import { awaitedSignals, decideSignal, type SignalVerdict } from "../core/signalling.js";
import type { SagaDefinition } from "../definition/saga.js";
import { nearestName } from "../errors/nearest.js";
import { type Fault, SignalInvalidError, UsageError } from "../errors/usage-errors.js";
import type { Values } from "../journal/codec.js";
import type { RunHeader } from "../journal/journal.js";
import { foldRun, loadRun, type Operating, write } from "./operating.js";
import type { Registry } from "./registry.js";
import { parseValue } from "./validate.js";

export interface SentSignal {
  readonly runId: string;
  readonly signal: string;
  readonly payload: unknown;
  readonly dedupeKey?: string;
}

export interface SignalParts {
  readonly operating: Operating;
  readonly registry: Registry;
  readonly values: Pick<Values, "encode">;
}

/**
 * The verdict; undefined when there is no such run.
 * @throws SignalInvalidError, UsageError `signal.unknown`, SerializationError, PayloadTooLargeError: nothing was written
 */
export async function sendSignal(parts: SignalParts, sent: SentSignal): Promise<SignalVerdict | undefined> {
  const { operating, registry, values } = parts;
  const { runId, signal, dedupeKey } = sent;
  const payload = values.encode(sent.payload);
  const loaded = await loadRun(operating.journal, runId);
  if (loaded === undefined) return undefined;
  checkName(loaded.header, signal);
  const saga = registry.find(loaded.header);
  if ("steps" in saga) await checkPayload(saga, signal, sent.payload);
  const entry = { signal, payload, ...(dedupeKey === undefined ? {} : { dedupeKey }) };
  let answer: SignalVerdict | undefined;
  await write(operating, foldRun(loaded), ({ header, state }) => {
    const decision = decideSignal(header.shape, state, entry);
    answer = decision.answer;
    return decision.entries;
  });
  return answer;
}

/** A signal that nothing in the run's saga waits for would be lost without a word. */
function checkName({ runId, saga, shape }: RunHeader, signal: string): void {
  const known = awaitedSignals(shape);
  // A durable function's waits are not known before they begin.
  if (shape.steps.length === 0 || known.includes(signal)) return;
  const nearest = nearestName(signal, known);
  const hint = nearest === undefined ? "" : ` Did you mean "${nearest}"?`;
  const waits = known.length === 0 ? "for none" : `for ${known.map((name) => `"${name}"`).join(", ")}`;
  throw new UsageError(
    "signal.unknown",
    `run "${runId}" of saga "${saga}" never waits for signal "${signal}": it waits ${waits}.${hint}`,
  );
}

/** One of the waits for it has to take it. */
async function checkPayload(saga: SagaDefinition, signal: string, payload: unknown): Promise<void> {
  const waits = saga.steps.flatMap(({ wait }) => (wait?.signal === signal ? [wait] : []));
  let faults: readonly Fault[] | undefined;
  for (const { payload: schema } of waits) {
    if (schema === undefined) return;
    const parsed = await parseValue(schema, payload);
    if (parsed.faults === undefined) return;
    faults ??= parsed.faults;
  }
  if (faults !== undefined) throw new SignalInvalidError(signal, faults);
}
