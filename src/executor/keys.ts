// UNDER WHICH KEYS A STEP CALLS OUT: the same over attempts, crashes and workers, and no two bodies of a database share one
// (design 1.5, 1.8). Pure.

import type { RunHeader } from "../journal/journal.js";

type Keyed = Pick<RunHeader, "runId" | "tenant">;

/** `runId/step`; of a tenant's run `tenant/runId/step/`, the tenant percent-encoded. */
export function keyOfStep(run: Keyed, step: string): string {
  return keyOf(run, step);
}

/** `runId/step/compensate`; of a tenant's run `tenant/runId/step/compensate/`. */
export function keyOfCompensation(run: Keyed, step: string): string {
  return keyOf(run, `${step}/compensate`);
}

/**
 * Two tenants may have the same run id, and the outside world has one space of keys. An encoded tenant has no "/", so it ends
 * at the first one; no step's name is empty, so a key that ends in "/" is none of a run without a tenant, whose id may be
 * anything, "acme/order-7" too.
 */
function keyOf({ tenant, runId }: Keyed, rest: string): string {
  return tenant === undefined ? `${runId}/${rest}` : `${encodeURIComponent(tenant)}/${runId}/${rest}/`;
}
