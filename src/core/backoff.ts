// HOW LONG TO WAIT before the next try (design 1.6). Pure: the random number is handed in.

import type { RetryPolicy } from "./policies.js";

/** A peer that asks for more than this gets this. */
export const maxRetryAfterMs = 24 * 60 * 60 * 1_000;

/**
 * Milliseconds to wait after the `failures`-th failure (from 1): exponential, capped, jittered between half and whole.
 * `retryAfterMs`, what the other side asked for, is never undercut. `random` is in [0, 1).
 */
export function backoffMs(policy: RetryPolicy, failures: number, random: number, retryAfterMs = 0): number {
  const grown = policy.firstDelayMs * policy.factor ** Math.max(0, failures - 1);
  // An overflow to Infinity, or 0 * Infinity, means "as long as allowed".
  const whole = Number.isFinite(grown) ? Math.min(grown, policy.maxDelayMs) : policy.maxDelayMs;
  const jittered = whole / 2 + (whole / 2) * random;
  return Math.ceil(Math.max(jittered, Math.min(retryAfterMs, maxRetryAfterMs)));
}
