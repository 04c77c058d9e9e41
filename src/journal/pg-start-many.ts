// MANY STARTS, ALL OR NONE: in batches inside one transaction, which is undone by the first id that is another run's
// (design 1.9).

import type { NewRun, RunRow } from "../store/runs.js";
import type { Runner } from "../store/sql.js";
import { startRuns } from "../store/start-many.js";
import type { Begun, CheckSame, RunHeader, RunStart } from "./journal.js";

const mostRuns = 1_000;
/** Characters of inputs in one statement. */
const mostText = 16_000_000;

export interface ManyStarts {
  readonly starts: readonly RunStart[];
  /** A row for each. */
  readonly runs: readonly NewRun[];
  readonly check: CheckSame;
  readonly now: number | null;
  readonly headerOf: (run: RunRow, start: RunStart) => RunHeader;
}

/** To be called inside a transaction. @throws what `check` throws: the transaction has to be undone then */
export async function startAll(runner: Runner, many: ManyStarts): Promise<readonly Begun[]> {
  const { starts, runs, check, headerOf } = many;
  const created = new Map<string, RunRow>();
  const existing = new Map<string, RunRow>();
  let left = [...runs].sort((a, b) => (a.runId < b.runId ? -1 : a.runId > b.runId ? 1 : 0));
  while (left.length > 0) {
    for (const batch of batchesOf(left)) {
      const started = await startRuns(runner, batch, many.now);
      for (const [runId, run] of started.created) created.set(runId, run);
      for (const [runId, run] of started.existing) existing.set(runId, run);
    }
    left = left.filter(({ runId }) => !created.has(runId) && !existing.has(runId));
  }
  const told = new Set<string>();
  return starts.map((start) => {
    const run = created.get(start.runId) ?? existing.get(start.runId)!;
    const header = headerOf(run, start);
    const first = created.has(start.runId) && !told.has(start.runId);
    told.add(start.runId);
    if (!first) check(start, header);
    return { header, created: first };
  });
}

function batchesOf(runs: readonly NewRun[]): NewRun[][] {
  const batches: NewRun[][] = [];
  let text = Number.POSITIVE_INFINITY;
  for (const run of runs) {
    text += run.input.text.length;
    if (text > mostText || batches.at(-1)!.length === mostRuns) {
      batches.push([]);
      text = run.input.text.length;
    }
    batches.at(-1)!.push(run);
  }
  return batches;
}
