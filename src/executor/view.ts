// WHAT CAN BE TOLD OF A RUN from its start and its journal: `get` and `history` (design 2.2). Values that can't be read
// are shown as such and spoil nothing.

import { type Entry, farFuture, type Row, type StoredValue } from "../core/entry.js";
import { endOf, presentError } from "../core/outcome.js";
import { statusOf } from "../core/projection.js";
import type { Unit } from "../core/state.js";
import { isWaiting, nextForward, nextOwed, owedSteps, stageOf } from "../core/units.js";
import { reviveError } from "../errors/error-record.js";
import type { LoadedRun, RunHeader } from "../journal/journal.js";
import type { HistoryEntry, RunView } from "./executor.js";
import { foldRun, type KnownRun } from "./operating.js";

export interface Viewing {
  /** Never throws: what can't be read comes back as an {@link Undecodable}. */
  readonly decode: (stored: StoredValue) => unknown;
  readonly now: number;
  /** Why no live worker can take the run up; empty when one can, or when it has ended. */
  readonly blocked: readonly string[];
  readonly note?: unknown;
}

export function viewOf(loaded: LoadedRun, viewing: Viewing): RunView {
  const run = foldRun(loaded);
  const { header, state } = run;
  const { shape } = header;
  const end = endOf(shape, state);
  const error = presentError(shape, state) ?? end?.compensationErrors[0]?.error;
  const status = statusOf(state);
  const blocked = end === undefined && viewing.blocked.length > 0;
  const cause = state.rollback ?? end?.cause;
  return {
    id: header.runId,
    saga: header.saga,
    version: header.version,
    status: blocked ? "blocked" : status,
    ...(blocked ? { blocked: viewing.blocked } : {}),
    input: viewing.decode(header.input),
    ...(header.attributes === undefined ? {} : { attributes: header.attributes }),
    ...(end?.output === undefined ? {} : { output: viewing.decode(end.output) }),
    ...(error === undefined ? {} : { error: reviveError(error) }),
    ...present(run),
    ...waiting(run, viewing.now),
    ...(viewing.note === undefined ? {} : { note: viewing.note }),
    ...(cause === undefined ? {} : { cause }),
    owed: state.rollback === undefined ? [] : owedSteps(shape, state),
    ...(state.cancelRequestedAt === undefined ? {} : { cancelRequestedAt: new Date(state.cancelRequestedAt) }),
    ...(state.cancelRefusedAt === undefined ? {} : { cancelRefusedAt: new Date(state.cancelRefusedAt) }),
    ...(state.owner === undefined ? {} : { worker: state.owner.worker }),
    createdAt: new Date(header.createdAt),
    startAt: new Date(header.startAt),
    ...(state.finished === undefined ? {} : { endedAt: new Date(state.finished.at) }),
  };
}

/** A run of whose journal a row can't be read: what was started, and why nobody drives it. */
export function unreadableView(header: RunHeader, why: string, decode: Viewing["decode"]): RunView {
  return {
    id: header.runId,
    saga: header.saga,
    version: header.version,
    status: "blocked",
    blocked: [why],
    input: decode(header.input),
    ...(header.attributes === undefined ? {} : { attributes: header.attributes }),
    attempts: 0,
    owed: [],
    createdAt: new Date(header.createdAt),
    startAt: new Date(header.startAt),
  };
}

/** The step that is next or under way; of a run that has ended, the one whose failure brought it about. */
function present(run: KnownRun): Pick<RunView, "step" | "direction" | "attempts" | "lastError"> {
  const { state } = run;
  const undoing = state.finished === undefined && state.rollback !== undefined;
  const step = state.finished === undefined ? nextStep(run) : state.failure?.step;
  if (step === undefined) return { attempts: 0 };
  const { attempts, lastError } = undoing ? state.steps[step]!.undo : state.steps[step]!.forward;
  return {
    step,
    direction: undoing ? "compensate" : "forward",
    attempts,
    ...(lastError === undefined ? {} : { lastError: reviveError(lastError) }),
  };
}

function nextStep({ header, state }: KnownRun): string | undefined {
  const next = state.rollback === undefined ? nextForward(header.shape, state) : nextOwed(header.shape, state);
  return next?.name;
}

function waiting(run: KnownRun, now: number): Pick<RunView, "nextAttemptAt" | "waiting"> {
  const { state } = run;
  if (state.finished !== undefined) return {};
  if (state.owner !== undefined) {
    const retryAt = retryAtOf(state);
    return retryAt > now ? { nextAttemptAt: new Date(retryAt), waiting: "for its next attempt" } : {};
  }
  const nextAttemptAt = new Date(state.dueAt);
  if (!state.begun && state.dueAt > now) return { nextAttemptAt, waiting: "for its start" };
  if (!state.begun)
    return { nextAttemptAt, waiting: run.header.lane === undefined ? "for a worker" : "for its turn, or for a worker" };
  if (state.dueAt <= now) return { nextAttemptAt, waiting: "for a worker" };
  const at = state.dueAt >= farFuture ? {} : { nextAttemptAt };
  return { ...at, waiting: whatFor(run) };
}

/** What a parked run waits for, of all that it waits for at once. */
function whatFor(run: KnownRun): string {
  const { header, state } = run;
  const stage = state.rollback === undefined ? stageOf(header.shape, state) : [];
  const waits = stage.filter((unit) => isWaiting(unit, state)).map((unit) => waitText(unit, state));
  if (waits.length > 0) return waits.join(", and ");
  const step = nextStep(run);
  return step === undefined ? "for a worker" : `to try step "${step}" again`;
}

function waitText({ name, element, signal }: Unit, { steps }: KnownRun["state"]): string {
  const { waitUntil, child } = steps[name]!;
  switch (element) {
    case "sleep":
      return `until sleep "${name}" is over`;
    case "signal": {
      const limit =
        waitUntil === undefined || waitUntil >= farFuture ? "" : ` until ${new Date(waitUntil).toISOString()}`;
      return `for signal "${signal}"${limit}`;
    }
    default:
      return `for its child "${child?.runId}"`;
  }
}

/** When the first body that is next for the owner may be called; long ago while it is under way. */
function retryAtOf({ underWay, steps }: KnownRun["state"]): number {
  if (underWay.length === 0) return 0;
  const retryAts = underWay.map(({ step, direction }) =>
    direction === "forward" ? steps[step]!.forward.retryAt : steps[step]!.undo.retryAt,
  );
  return Math.min(...retryAts);
}

export function historyOf(rows: readonly Row[], decode: Viewing["decode"]): HistoryEntry[] {
  return rows.flatMap((row) =>
    row.entries.map((entry) => {
      const output = storedOutput(entry);
      return {
        number: row.number,
        at: new Date(row.at),
        entry,
        ...(output === undefined ? {} : { output: decode(output) }),
      };
    }),
  );
}

function storedOutput(entry: Entry): StoredValue | undefined {
  return "output" in entry ? entry.output : undefined;
}
