// WHERE TO BEGIN LOOKING for ready runs. Claimed rows leave dead index entries behind, and while an old snapshot is held
// anywhere each claim would read all of them: so the next one starts near where the last one ended (design 3.1). Pure.

import type { ClaimGroup } from "./claims.js";

/** How far below the last claimed rank to begin, in microseconds: for runs that were committed late, or skipped as locked. */
const marginMicros = 10_000_000n;

/** Between two looks from the very beginning, in milliseconds: for whatever came in below the bound. */
const fullLookMs = 3_000;

/** One a worker. The bound moves with what was claimed, never with the clock: a clock misses rows. */
export class ClaimBounds {
  readonly #bounds = new Map<string, bigint>();
  #fullLookAt = Number.NEGATIVE_INFINITY;

  /** The groups with their bounds; without any, every so often. `now`: monotonic milliseconds. */
  applyTo(groups: readonly ClaimGroup[], now: number): readonly ClaimGroup[] {
    if (now - this.#fullLookAt >= fullLookMs) {
      this.#fullLookAt = now;
      return groups;
    }
    return groups.map((group) => {
      const bound = this.#bounds.get(keyOf(group));
      return bound === undefined ? group : { ...group, fromRank: String(bound - marginMicros) };
    });
  }

  /** The next look begins at the beginning: something came in below the bound. */
  lookFully(): void {
    this.#fullLookAt = Number.NEGATIVE_INFINITY;
  }

  /** A run of this rank was claimed. */
  claimed(group: ClaimGroup, rank: string): void {
    const key = keyOf(group);
    const before = this.#bounds.get(key);
    if (before === undefined || BigInt(rank) > before) this.#bounds.set(key, BigInt(rank));
  }
}

function keyOf({ saga, version, shapeHash, tenant }: ClaimGroup): string {
  return JSON.stringify([saga, version, shapeHash, tenant]);
}
