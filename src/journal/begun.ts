// WHAT BECAME OF EACH OF MANY STARTS, once it is known which runs were made and which were there. Pure.

import type { Begun, CheckSame, RunHeader, RunStart } from "./journal.js";

/** In the order of the starts; of two with one id the second found the first's run. @throws what `check` throws */
export function begunOf(
  starts: readonly RunStart[],
  rows: { readonly wasMade: (runId: string) => boolean; readonly headerOf: (start: RunStart) => RunHeader },
  check: CheckSame,
): readonly Begun[] {
  const told = new Set<string>();
  return starts.map((start) => {
    const header = rows.headerOf(start);
    const created = rows.wasMade(start.runId) && !told.has(start.runId);
    told.add(start.runId);
    if (!created) check(start, header);
    return { header, created };
  });
}
