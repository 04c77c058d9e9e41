// `rubicon stop`, `signal`, `retry`, `resolve`: what an operator does to a run. The answers of the first two are verdicts (1.7, 2.2).

import type { CancelAnswer, ResolveOptions, SignalAnswer } from "../../index.js";
import { type ExitCode, exitCodes, WrongUsage } from "../failure.js";
import { type Invocation, print, withClient } from "../invocation.js";
import type { Colour } from "../render/paint.js";
import { oneLine } from "../render/text.js";
import { instantText } from "../render/time-text.js";
import { unknownRun } from "./unknown-run.js";

export interface StopOptions {
  readonly by: string;
  readonly reason?: string;
}

export async function stop(invocation: Invocation, id: string, { by, reason }: StopOptions): Promise<ExitCode> {
  const answer = await withClient(invocation, (client) =>
    client.requestCancel(id, reason === undefined ? { by } : { by, reason }),
  );
  if (answer.verdict === "not_found") throw unknownRun(id);
  print(invocation, { id, ...answer }, (paint) => paint(verdictText(id, answer), verdictColour(answer)));
  return stopped(answer) ? exitCodes.done : exitCodes.refused;
}

/** Whether the run is stopped, is on its way there, or is being undone anyway. */
function stopped({ verdict, status }: CancelAnswer): boolean {
  return verdict === "cancelled" || verdict === "cancelling" || verdict === "rolling_back" || status === "cancelled";
}

function verdictColour(answer: CancelAnswer): Colour {
  return stopped(answer) ? "yellow" : "red";
}

const causes = { failure: "a step failed", cancel: "somebody asked to stop", deadline: "it took too long" } as const;

function verdictText(id: string, { verdict, pivot, refusedAt, cause, status }: CancelAnswer): string {
  const run = oneLine(id);
  switch (verdict) {
    case "cancelled":
      return `cancelled: ${run} ended here and now; there was nothing to undo.`;
    case "cancelling":
      return `cancelling: what ${run} did is being undone; it ends cancelled, or compensation_failed.`;
    case "refused":
      return `refused: ${run} entered its pivot ${oneLine(pivot!)} and goes forward (cancel_refused_at ${instantText(refusedAt!)}).`;
    case "rolling_back":
      return `rolling_back: ${run} is being undone already, because ${causes[cause!]}; your ask is recorded.`;
    case "finished":
      return `finished: ${run} has ended ${status}.`;
    case "not_found":
      return `not_found: there is no run ${run}.`;
  }
}

export interface SignalFlags {
  /** JSON. */
  readonly payload?: string;
  readonly dedupeKey?: string;
}

/** Whether the payload fits is checked by the worker that reads it: the command knows no sagas. */
export async function signal(
  invocation: Invocation,
  id: string,
  name: string,
  { payload, dedupeKey }: SignalFlags,
): Promise<ExitCode> {
  const sent = payload === undefined ? undefined : parsedJson("--payload", payload, '{"by":"ana"}');
  const answer = await withClient(invocation, (client) =>
    client.signal(id, name, sent, dedupeKey === undefined ? {} : { dedupeKey }),
  );
  if (answer.verdict === "not_found") throw unknownRun(id);
  const colour = taken(answer) ? "green" : "red";
  print(invocation, { id, signal: name, ...answer }, (paint) => paint(signalText(id, name, answer), colour));
  return taken(answer) ? exitCodes.done : exitCodes.refused;
}

/** Whether the run has it, from this call or an earlier one. */
function taken({ verdict }: SignalAnswer): boolean {
  return verdict === "received" || verdict === "duplicate";
}

function signalText(id: string, name: string, { verdict, cause, status }: SignalAnswer): string {
  const run = oneLine(id);
  switch (verdict) {
    case "received":
      return `received: ${oneLine(name)} is in ${run}'s journal, and waits there until the run waits for it.`;
    case "duplicate":
      return `duplicate: ${run} had ${oneLine(name)} with this key already; nothing has changed.`;
    case "rolling_back":
      return `rolling_back: ${run} is being undone, because ${causes[cause!]}; the signal was not sent.`;
    case "finished":
      return `finished: ${run} has ended ${status}; the signal was not sent.`;
    case "not_found":
      return `not_found: there is no run ${run}.`;
  }
}

export async function retry(invocation: Invocation, id: string, { by }: { readonly by: string }): Promise<ExitCode> {
  await withClient(invocation, (client) => client.retry(id, { by }));
  print(invocation, { id, retried: true }, () => `${oneLine(id)} is tried again, as soon as a worker takes it up.`);
  return exitCodes.done;
}

export interface ResolveFlags {
  readonly step: string;
  readonly as: ResolveOptions["as"];
  /** JSON. */
  readonly output?: string;
  readonly by: string;
  readonly note?: string;
}

export async function resolve(invocation: Invocation, id: string, flags: ResolveFlags): Promise<ExitCode> {
  const { step, as, by, note } = flags;
  if (flags.output !== undefined && as !== "done")
    throw new WrongUsage("--output goes with --as done: only a step that happened gave something");
  const output =
    flags.output === undefined ? {} : { output: parsedJson("--output", flags.output, '{"chargeId":"ch_1"}') };
  await withClient(invocation, (client) =>
    client.resolve(id, { step, as, by, ...output, ...(note === undefined ? {} : { note }) }),
  );
  print(invocation, { id, step, as, resolved: true }, () => `${oneLine(step)} of ${oneLine(id)} is settled as ${as}.`);
  return exitCodes.done;
}

function parsedJson(flag: string, text: string, example: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new WrongUsage(`${flag} is not JSON (${(error as Error).message}); give for example '${example}'`);
  }
}
