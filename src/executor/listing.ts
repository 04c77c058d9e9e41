// A PAGE OF RUNS (design 2.2). `blocked` is derived, so it is told and filtered here; other statuses are filtered where the
// rows are.

import type { RunStatus } from "../core/projection.js";
import type { Attributes, Journal, RunLine } from "../journal/journal.js";
import type { RunPage, RunSummary } from "./executor.js";
import type { Availability } from "./hooks.js";

export interface Listing {
  readonly status?: (RunStatus | "blocked") | readonly (RunStatus | "blocked")[] | undefined;
  readonly saga?: string | undefined;
  readonly attributes?: Attributes | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

const liveStatuses: readonly RunStatus[] = ["pending", "running", "waiting", "compensating"];
/** Lines that are looked at in one go while few of them are wanted. */
const mostLooked = 1_000;

export async function listRuns(journal: Journal, blockedOf: Availability, listing: Listing): Promise<RunPage> {
  const { saga, attributes, limit } = listing;
  const wanted = listing.status === undefined ? undefined : [listing.status].flat();
  const runs: RunSummary[] = [];
  let { cursor } = listing;
  let looked = limit;
  for (;;) {
    const page = await journal.list({
      limit: looked,
      ...(wanted === undefined ? {} : { status: storedStatuses(wanted) }),
      ...(saga === undefined ? {} : { saga }),
      ...(attributes === undefined ? {} : { attributes }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    const found = page.lines
      .map((line) => summaryOf(line, blockedOf))
      .filter((run) => wanted?.includes(run.status) ?? true);
    if (found.length > limit - runs.length) {
      // A cursor points at a page's end, so the page has to end where this one is full.
      looked = limit - runs.length;
      continue;
    }
    runs.push(...found);
    cursor = page.cursor;
    if (cursor === undefined || runs.length === limit) return cursor === undefined ? { runs } : { runs, cursor };
    looked = found.length === 0 ? Math.min(looked * 4, mostLooked) : limit - runs.length;
  }
}

/** Which statuses the rows of the wanted ones may have. */
function storedStatuses(wanted: readonly (RunStatus | "blocked")[]): RunStatus[] {
  const stored = wanted.flatMap((status) => (status === "blocked" ? liveStatuses : [status]));
  return [...new Set(stored)];
}

function summaryOf(line: RunLine, blockedOf: Availability): RunSummary {
  const blocked = line.endedAt === undefined && blockedOf(line).length > 0;
  return {
    id: line.runId,
    saga: line.saga,
    version: line.version,
    status: blocked ? "blocked" : line.status,
    owed: line.owed,
    ...(line.attributes === undefined ? {} : { attributes: line.attributes }),
    createdAt: new Date(line.createdAt),
    ...(line.endedAt === undefined ? {} : { endedAt: new Date(line.endedAt) }),
    ...(line.cancelRequestedAt === undefined ? {} : { cancelRequestedAt: new Date(line.cancelRequestedAt) }),
    ...(line.cancelRefusedAt === undefined ? {} : { cancelRefusedAt: new Date(line.cancelRefusedAt) }),
  };
}
