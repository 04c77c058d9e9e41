// HOW RUNS COME INTO SLOTS: due ones are promoted, ready ones claimed (design 3.2, 3.3). A claim takes no more than there are
// free slots.

import type { Row } from "../core/entry.js";
import { foldRows } from "../core/fold.js";
import { initialState, type RunState } from "../core/state.js";
import { takeUp } from "../core/take-up.js";
import type { Logger, SagaDefinition } from "../definition/saga.js";
import { type PolicyOptions, policiesOf } from "../executor/policies-of.js";
import { writeEntries } from "../journal/entries-text.js";
import type { RunHeader } from "../journal/journal.js";
import { headerOf, type PgJournal, readRow, shapeHash } from "../journal/pg-journal.js";
import { entriesFormat } from "../journal/pg-rows.js";
import type { Clock } from "../platform/clock.js";
import type { Chance } from "../platform/ids.js";
import { ClaimBounds } from "../store/claim-bounds.js";
import { type ClaimedRun, type ClaimGroup, claimRuns, promoteDue } from "../store/claims.js";
import type { Database } from "../store/db.js";
import { oneTry } from "../store/sql.js";
import { Admitting } from "./admitting.js";
import { inTime } from "./in-time.js";
import type { Lease } from "./lease.js";
import type { Places, Slots } from "./slots.js";

export interface ClaimingOptions {
  readonly database: Database;
  readonly journal: PgJournal;
  readonly sagas: readonly SagaDefinition[];
  readonly policies: PolicyOptions;
  readonly pollMs: number;
  /** Whose runs are taken up; undefined: everybody's. */
  readonly tenants: readonly string[] | undefined;
  readonly lease: Lease;
  readonly slots: Slots;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly logger: Logger;
}

const mostPromoted = 500;
/** In one statement: each offer is sent, whether or not there is a run for it. */
const mostClaimed = 50;
/** Between two looks at the least, whatever is due when: a due row that is locked must not keep the loop busy. */
const leastWaitMs = 20;

export class Claiming {
  /** Another run would be claimed if a slot came free. */
  wantsSlot = false;
  readonly #options: ClaimingOptions;
  readonly #bounds = new ClaimBounds();
  readonly #groups: readonly ClaimGroup[];
  readonly #admitting: Admitting;
  readonly #sagas: ReadonlyMap<string, SagaDefinition>;

  constructor(options: ClaimingOptions) {
    this.#options = options;
    const runnable = options.sagas.map((saga) => {
      const { name, version, shape } = saga;
      return { saga, group: { saga: name, version, shapeHash: shapeHash(shape) } };
    });
    this.#groups = runnable.flatMap(({ group }) => options.tenants?.map((tenant) => ({ ...group, tenant })) ?? [group]);
    this.#sagas = new Map(runnable.map(({ saga, group }) => [groupKey(group), saga]));
    this.#admitting = new Admitting(
      options.database,
      this.#groups.map((group) => ({ ...group, definition: this.sagaOf(group)! })),
    );
  }

  /** Whether this worker takes up that tenant's runs. */
  serves(tenant: string): boolean {
    return this.#options.tenants?.includes(tenant) ?? true;
  }

  sagaOf(group: ClaimGroup): SagaDefinition | undefined {
    return this.#sagas.get(groupKey(group));
  }

  /** One look for work. Resolves to when to look again, in milliseconds; undefined: at the next poll. */
  async turn(): Promise<number | undefined> {
    const { database, slots, lease, clock } = this.#options;
    // Whoever leaves a slot wakes the loop.
    this.wantsSlot = slots.free === 0;
    if (!lease.firm || this.wantsSlot || this.#groups.length === 0) return undefined;
    const look = promoteDue(oneTry(database), mostPromoted, database.nowOverride());
    const { promoted, suspects, queued, nextDueAt } = await inTime(look, { clock });
    // As long as no run anywhere waits for a place, a look costs what it did.
    const admission = queued ? await inTime(this.#admitting.turn(slots.free), { clock }) : undefined;
    // They have waited, so their ranks are below what was claimed meanwhile.
    if (admission !== undefined && admission.admitted > 0) this.#bounds.lookFully();
    if (suspects && !slots.hasSuspect) await this.#claim(1, true);
    const { asked, claimed } = await this.#claim(mostClaimed, false);
    this.wantsSlot = slots.free === 0 || (suspects && slots.hasSuspect);
    if (slots.free > 0 && (promoted === mostPromoted || (claimed > 0 && claimed === asked))) return 0;
    if (slots.free > 0 && admission?.more) return 0;
    if (slots.free > 0 && admission?.contended) return leastWaitMs;
    return nextDueAt === undefined ? undefined : this.#until(nextDueAt);
  }

  /** A little later than that, each worker by another amount: they all know when the next run is due. */
  #until(dueAt: number): number {
    const { database, pollMs, chance } = this.#options;
    return Math.max(leastWaitMs, Math.min(pollMs, dueAt - database.now() + 10 * chance.random()));
  }

  async #claim(most: number, suspects: boolean): Promise<{ readonly asked: number; readonly claimed: number }> {
    const places = this.#options.slots.reserve(most);
    try {
      if (places.count === 0) return { asked: 0, claimed: 0 };
      const runs = await this.#claimInto(places, suspects);
      return { asked: places.count, claimed: runs.length };
    } finally {
      places.release();
    }
  }

  async #claimInto(places: Places, suspects: boolean): Promise<readonly ClaimedRun[]> {
    const { database, lease, chance, clock } = this.#options;
    const worker = lease.id;
    const offers = Array.from({ length: places.count }, () => {
      const token = chance.id();
      places.expect(token);
      return { token, nonce: chance.id(), payload: writeEntries(takeUp({ worker, token })) };
    });
    const groups = suspects ? this.#groups : this.#bounds.applyTo(this.#groups, clock.monotonic());
    const now = database.nowOverride();
    // CRASH: as with an answer that is lost, the runs are ours, and the next beats name them.
    const claim = claimRuns(database, { worker, groups, offers, format: entriesFormat, suspects, now });
    const claimed = await inTime(claim, { clock });
    await Promise.all(claimed.map((run) => this.#begin(run)));
    return claimed;
  }

  async #begin(claimed: ClaimedRun): Promise<void> {
    const { run, number, at, nonce, payload, token, rank } = claimed;
    const group = { saga: run.saga, version: run.version, shapeHash: run.shapeHash };
    this.#bounds.claimed(this.#options.tenants === undefined ? group : { ...group, tenant: run.tenant }, rank);
    const saga = this.sagaOf(group)!;
    const header = headerOf(run, saga.shape);
    await this.drive(saga, header, token, async () => {
      const row = readRow({ number, at, nonce, payload, format: entriesFormat }, run.runId);
      // A run's journal is read when it is taken up again, never on its first pass (3.5).
      return number === 1 ? [row] : this.#options.journal.rowsAfter(header, 0);
    });
  }

  /** Puts a run that is ours into a slot. A journal that can't be read is this run's trouble alone: it is left. */
  async drive(
    saga: SagaDefinition,
    header: RunHeader,
    token: string,
    rows: () => Promise<readonly Row[]>,
  ): Promise<void> {
    const { slots, policies, logger } = this.#options;
    let state: RunState;
    try {
      state = foldRows(header.shape, initialState(header.shape, header.startAt), await rows());
    } catch (error) {
      logger.error({ err: error, runId: header.runId }, "a run's journal can't be read; the run is left as it is");
      return;
    }
    // Reading may have taken a while, in which the run went to another.
    if (state.owner?.token !== token) return;
    slots.take({ saga, header, state, token, policies: policiesOf(saga, policies, header.startAt) });
  }
}

function groupKey({ saga, version, shapeHash: hash }: ClaimGroup): string {
  return JSON.stringify([saga, version, hash]);
}
