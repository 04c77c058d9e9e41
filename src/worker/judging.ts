// WHETHER A SILENT WORKER IS DEAD, as far as this one can tell (design 3.3, 1.6). Pure.

import type { Silent } from "../store/recovery.js";

/** What the one who looks knows of itself. */
export interface Witness {
  /** For how long it has had its own lock and beats without a break. */
  readonly steadyMs: number;
  /** It had no break since its process began. */
  readonly unbroken: boolean;
  readonly leaseMs: number;
}

export interface Verdict {
  /** Its runs may be taken. */
  readonly dead: boolean;
  /** What it was at counts as a crash: the witness could beat throughout, so it was not the database that was away. */
  readonly crash: boolean;
}

/**
 * How long others get to come back after this worker could: connecting anew backs off up to 2 s, and what was under way
 * when the network came back has to run out first. Never more than half a lease.
 */
const comeBackMs = 5_000;

/**
 * A free lock convicts, unless this worker lost its own a moment ago: what cut off one may have cut off all. A lease that ran
 * out convicts once the witness could beat for as long as the others need to come back: an outage longer than a lease ends
 * all of them, and somebody is the first to return.
 */
export function judge({ why, silentMs }: Omit<Silent, "id">, witness: Witness): Verdict {
  const { steadyMs, unbroken, leaseMs } = witness;
  const others = steadyMs >= Math.min(comeBackMs, leaseMs / 2);
  const crash = unbroken || steadyMs >= silentMs;
  switch (why) {
    case "suspected":
      return { dead: false, crash };
    case "lock":
      return { dead: unbroken || others, crash };
    case "lease":
      return { dead: others, crash };
    case "declared":
      return { dead: true, crash };
  }
}
