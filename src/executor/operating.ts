// THE OPERATOR'S VERBS on a journal: stop, retry, settle. Reads, decides in the core, appends at the next number; a lost
// number is read and decided about again (design 1.2, 1.4, 1.7). Needs no saga definition.

import type { Entry, StoredValue } from "../core/entry.js";
import { foldEntries, foldRows } from "../core/fold.js";
import { projectionOf } from "../core/projection.js";
import { initialState, type RunState } from "../core/state.js";
import {
  cancelVerdict,
  decideCancel,
  decideResolve,
  decideRetry,
  type Operator,
  type Resolution,
} from "../core/verbs.js";
import { RunNotFoundError, UsageError } from "../errors/usage-errors.js";
import type { Journal, LoadedRun, RunHeader } from "../journal/journal.js";
import type { CancelAnswer } from "./executor.js";
import { idFault } from "./run-id.js";

/** What the verbs need: the journal, fresh nonces, and whom to tell that a run was written to. */
export interface Operating {
  readonly journal: Journal;
  readonly nonce: () => string;
  /** After each append: the owner has to hear of it, or a worker that the run is due, or who waits that it ended. */
  readonly written: (header: RunHeader, state: RunState) => void;
}

/** A loaded run with its folded state. */
export interface KnownRun {
  readonly header: RunHeader;
  readonly state: RunState;
}

/** The run of that id; undefined for one that no run can have. */
export async function loadRun(journal: Journal, runId: string): Promise<LoadedRun | undefined> {
  return idFault(runId) === undefined ? journal.load(runId) : undefined;
}

export function foldRun({ header, rows }: LoadedRun): KnownRun {
  return { header, state: foldRows(header.shape, initialState(header.shape, header.startAt), rows) };
}

export async function requestCancel(operating: Operating, runId: string, operator: Operator): Promise<CancelAnswer> {
  const loaded = await loadRun(operating.journal, runId);
  if (loaded === undefined) return { verdict: "not_found" };
  let run = foldRun(loaded);
  for (;;) {
    const decision = decideCancel(run.header.shape, run.state, operator);
    const written = await offer(operating, run, decision.entries);
    if (written.appended) return answer(run.header, written.state, decision);
    run = { ...run, state: written.state };
  }
}

function answer(header: RunHeader, state: RunState, decision: ReturnType<typeof decideCancel>): CancelAnswer {
  const { requestedAt, refusedAt, ...verdict } = {
    requestedAt: undefined,
    refusedAt: undefined,
    ...cancelVerdict(header.shape, state, decision),
  };
  return {
    ...verdict,
    ...(requestedAt === undefined ? {} : { requestedAt: new Date(requestedAt) }),
    ...(refusedAt === undefined ? {} : { refusedAt: new Date(refusedAt) }),
  };
}

/** @throws RunNotFoundError, UsageError `retry.not_applicable` */
export function retry(operating: Operating, runId: string, by: string): Promise<void> {
  return operate(operating, runId, "retry", (run) =>
    decideRetry(run.header.shape, run.state, by, operating.journal.now()),
  );
}

/** @throws RunNotFoundError, UsageError `resolve.not_applicable` */
export function resolve(
  operating: Operating,
  runId: string,
  resolution: Omit<Resolution, "output">,
  output: (run: KnownRun) => Promise<StoredValue | undefined>,
): Promise<void> {
  return operate(operating, runId, "resolve", async (run) => {
    const settled = await output(run);
    return decideResolve(
      run.header.shape,
      run.state,
      settled === undefined ? resolution : { ...resolution, output: settled },
    );
  });
}

type Decided = ReturnType<typeof decideRetry>;

async function operate(
  operating: Operating,
  runId: string,
  verb: "retry" | "resolve",
  decideFor: (run: KnownRun) => Decided | Promise<Decided>,
): Promise<void> {
  const loaded = await loadRun(operating.journal, runId);
  if (loaded === undefined) throw new RunNotFoundError(runId);
  let run = foldRun(loaded);
  for (;;) {
    const decision = await decideFor(run);
    if ("refused" in decision)
      throw new UsageError(`${verb}.not_applicable`, `can't ${verb} run "${runId}": ${decision.refused}`);
    const written = await offer(operating, run, decision.entries);
    if (written.appended) return;
    run = { ...run, state: written.state };
  }
}

/** Writes what is right of a run, however often its number is lost; gives the run as it then is. */
export async function write(
  operating: Operating,
  known: KnownRun,
  decideFor: (run: KnownRun) => readonly Entry[],
): Promise<KnownRun> {
  let run = known;
  for (;;) {
    const written = await offer(operating, run, decideFor(run));
    run = { ...run, state: written.state };
    if (written.appended) return run;
  }
}

async function offer(
  operating: Operating,
  { header, state }: KnownRun,
  entries: readonly Entry[],
): Promise<{ readonly appended: boolean; readonly state: RunState }> {
  if (entries.length === 0) return { appended: true, state };
  const { journal } = operating;
  const nonce = operating.nonce();
  const projection = projectionOf(header.shape, foldEntries(header.shape, state, entries, journal.now()));
  const result = await journal.append({ header, number: state.last + 1, nonce, writer: nonce, entries, projection });
  if (result.kind === "taken")
    return { appended: false, state: foldRows(header.shape, state, await journal.rowsAfter(header, state.last)) };
  const after = foldRows(header.shape, state, [result.row]);
  operating.written(header, after);
  return { appended: true, state: after };
}
