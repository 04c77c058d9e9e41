// HOW RUNS COME INTO SLOTS: due ones are promoted, ready ones claimed, what the table says is ours but nobody drives is
// adopted (design 3.2, 3.3). A claim takes no more than there are free slots.

import type { Row } from "../core/entry.js";
import { foldRows, initialState, type RunState } from "../core/state.js";
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
import { type ClaimedRun, type ClaimGroup, claimRuns, nextDueAt, promoteDue } from "../store/claims.js";
import type { Database } from "../store/db.js";
import { oneTry } from "../store/sql.js";
import type { Lease } from "./lease.js";
import type { Slots } from "./slots.js";

export interface ClaimingOptions {
  readonly database: Database;
  readonly journal: PgJournal;
  readonly sagas: readonly SagaDefinition[];
  readonly policies: PolicyOptions;
  readonly pollMs: number;
  readonly lease: Lease;
  readonly slots: Slots;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly logger: Logger;
}

const mostPromoted = 500;

export class Claiming {
  readonly #options: ClaimingOptions;
  readonly #bounds = new ClaimBounds();
  readonly #groups: readonly ClaimGroup[];
  readonly #sagas: ReadonlyMap<string, SagaDefinition>;

  constructor(options: ClaimingOptions) {
    this.#options = options;
    this.#groups = options.sagas.map(({ name, version, shape }) => ({
      saga: name,
      version,
      shapeHash: shapeHash(shape),
    }));
    this.#sagas = new Map(options.sagas.map((saga, index) => [groupKey(this.#groups[index]!), saga]));
  }

  get groups(): readonly ClaimGroup[] {
    return this.#groups;
  }

  sagaOf(group: ClaimGroup): SagaDefinition | undefined {
    return this.#sagas.get(groupKey(group));
  }

  /** One look for work. Resolves to when to look again, in milliseconds. */
  async turn(): Promise<number> {
    const { database, slots, lease, pollMs } = this.#options;
    if (!lease.firm) return Math.min(pollMs, 100);
    if (this.#groups.length === 0) return pollMs;
    const promoted = await promoteDue(oneTry(database), mostPromoted, database.nowOverride());
    const suspect = slots.hasSuspect || slots.free === 0 ? [] : await this.#claim(1, true);
    const claimed = slots.free === 0 ? [] : await this.#claim(slots.free, false);
    if (promoted === mostPromoted || (claimed.length > 0 && slots.free > 0)) return 0;
    return suspect.length > 0 ? 0 : this.#untilNextDue();
  }

  async #untilNextDue(): Promise<number> {
    const { database, pollMs } = this.#options;
    const dueAt = await nextDueAt(oneTry(database));
    return dueAt === undefined ? pollMs : Math.max(1, Math.min(pollMs, dueAt - database.now()));
  }

  async #claim(count: number, suspects: boolean): Promise<readonly ClaimedRun[]> {
    const { database, lease, chance, clock } = this.#options;
    const worker = lease.id;
    const offers = Array.from({ length: count }, () => {
      const token = chance.id();
      return { token, nonce: chance.id(), payload: writeEntries(takeUp({ worker, token })) };
    });
    const groups = suspects ? this.#groups : this.#bounds.applyTo(this.#groups, clock.monotonic());
    const claimed = await claimRuns(database, {
      worker,
      groups,
      offers,
      format: entriesFormat,
      suspects,
      now: database.nowOverride(),
    });
    await Promise.all(claimed.map((run) => this.#begin(run, suspects)));
    return claimed;
  }

  async #begin(claimed: ClaimedRun, suspect: boolean): Promise<void> {
    const { run, number, at, nonce, payload, token, rank } = claimed;
    const group = { saga: run.saga, version: run.version, shapeHash: run.shapeHash };
    this.#bounds.claimed(group, rank);
    const saga = this.sagaOf(group)!;
    const header = headerOf(run, saga.shape);
    await this.drive(saga, header, { token, suspect }, async () => {
      const row = readRow({ number, at, nonce, payload, format: entriesFormat }, run.runId);
      // A run's journal is read when it is taken up again, never on its first pass (3.5).
      return number === 1 ? [row] : this.#options.journal.rowsAfter(header, 0);
    });
  }

  /** Puts a run that is ours into a slot. A journal that can't be read is this run's trouble alone: it is left. */
  async drive(
    saga: SagaDefinition,
    header: RunHeader,
    taking: { readonly token: string; readonly suspect: boolean },
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
    slots.take(
      { saga, header, state, token: taking.token, policies: policiesOf(saga, policies, header.startAt) },
      { suspect: taking.suspect },
    );
  }
}

function groupKey({ saga, version, shapeHash: hash }: ClaimGroup): string {
  return JSON.stringify([saga, version, hash]);
}
