// HOW A RUN IS TAKEN UP: the row that a claim, a wake-up or a recovery writes (design 1.3). Every taking up is a fact.

import type { Shape } from "../definition/shape.js";
import type { Entry } from "./entry.js";
import { foldEntries } from "./fold.js";
import { crashesInARow } from "./projection.js";
import type { RunState } from "./state.js";

/** From this many crashes in a row on, a run is suspected of taking its workers down (1.6). */
export const suspectAfterCrashes = 2;

const firstDelayMs = 1_000;
const maxDelayMs = 60_000;

export interface TakingUp {
  readonly worker: string;
  readonly token: string;
}

/** Taking up a run that nobody drives. */
export function takeUp({ worker, token }: TakingUp): readonly Entry[] {
  return [{ kind: "taken_up", worker, token, crash: false }];
}

/**
 * Taking a run from an owner that was declared dead. A suspect is not driven on at once: the crash is recorded, and the run
 * is parked for a growing time, so that its neighbours get on and are not convicted with it. `random` is in [0, 1).
 */
export function takeOver(
  shape: Shape,
  state: RunState,
  taker: TakingUp & { readonly crash: boolean },
  context: { readonly now: number; readonly random: number },
): readonly Entry[] {
  const { worker, token, crash } = taker;
  const from = state.owner?.token;
  const taken: Entry = {
    kind: "taken_up",
    worker,
    token,
    crash: crash && from !== undefined,
    ...(from === undefined ? {} : { from }),
  };
  const crashes = crashesInARow(shape, foldEntries(shape, state, [taken], context.now));
  if (crashes < suspectAfterCrashes) return [taken];
  const delay = Math.min(firstDelayMs * 2 ** (crashes - suspectAfterCrashes), maxDelayMs);
  return [taken, { kind: "parked", until: Math.ceil(context.now + (delay / 2) * (1 + context.random)) }];
}
