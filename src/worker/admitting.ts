// HOW QUEUED RUNS GET PLACES: goes from lane to lane, some at a time, round and round, and lets in what fits (design 1.9). How
// many runs a lane may have is the worker's own definition's word, which a deploy may change; where that says nothing, what the
// runs' starts said: an old worker beside new ones, or one of a saga that is limited no more, lets in no more than these.

import type { SagaDefinition } from "../definition/saga.js";
import type { ClaimGroup } from "../store/claims.js";
import type { Database } from "../store/db.js";
import { admitQueued, type LaneGroup, type LaneName, seeLanes } from "../store/lanes.js";
import { oneTry } from "../store/sql.js";

/** Lanes of a group that are looked at in one go. */
const mostSeen = 200;

export interface Admission {
  /** Runs that can be claimed now. */
  readonly admitted: number;
  /** Another worker was at some of the lanes. */
  readonly contended: boolean;
  /** There are lanes that this round has not come to. */
  readonly more: boolean;
}

export class Admitting {
  readonly #database: Database;
  readonly #groups: readonly LaneGroup[];
  /** By group: the lane that the round has come to. */
  readonly #reached: (LaneName | undefined)[];

  constructor(database: Database, groups: readonly (ClaimGroup & { readonly definition: SagaDefinition })[]) {
    this.#database = database;
    this.#groups = groups.map(({ definition, saga, version, shapeHash, tenant }) => ({
      saga,
      version,
      shapeHash,
      ...(tenant === undefined ? {} : { tenant }),
      ...(definition.concurrency === undefined ? {} : { limit: definition.concurrency.limit }),
    }));
    this.#reached = this.#groups.map(() => undefined);
  }

  /** One look at the next lanes of each saga. Lets in `most` runs at most. */
  async turn(most: number): Promise<Admission> {
    const groups = this.#groups.map((group, index) => {
      const after = this.#reached[index];
      return after === undefined ? group : { ...group, after };
    });
    const seen = await seeLanes(oneTry(this.#database), groups, mostSeen);
    let more = false;
    for (const index of groups.keys()) {
      const own = seen.filter(({ group }) => group === index);
      const last = own.length === mostSeen ? own.at(-1) : undefined;
      more ||= last !== undefined;
      this.#reached[index] = last && { tenant: last.tenant, lane: last.lane };
    }
    const lanes = seen.filter(({ free }) => free);
    if (lanes.length === 0) return { admitted: 0, contended: false, more };
    const { given, contended } = await admitQueued(this.#database, { groups, lanes, most });
    return { admitted: given, contended: contended > 0, more };
  }
}
