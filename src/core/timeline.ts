// WHAT A JOURNAL TELLS A READER: one line an entry, in words (design 4.1). Pure: no colours, no columns, no clock; those are
// for whoever shows it. Values stay values.

import type { Entry } from "./entry.js";
import { because, oneLine, parkedText, span, tellWait } from "./timeline-waits.js";

/** What a line is about: what a reader looks for, and what a terminal may colour. */
export type TimelineTone =
  | "owner"
  | "lost"
  | "done"
  | "retry"
  | "doubt"
  | "failed"
  | "pivot"
  | "turn"
  | "undone"
  | "wait"
  | "operator"
  | "refused"
  | "completed"
  | "ended";

export interface TimelineLine {
  /** The number of the journal's row; lines of one row share it. */
  readonly number: number;
  readonly at: Date;
  /** Milliseconds since the start that `timelineOf` was given. */
  readonly sinceStartMs: number;
  readonly tone: TimelineTone;
  /** A sentence, on one line. */
  readonly text: string;
  /** The step that it is about. */
  readonly step?: string;
  /** What the step gave, where the entry carries it. */
  readonly output?: unknown;
}

/** An entry of a history, as `executor.history` gives it. */
export interface TimelineEntry {
  readonly number: number;
  readonly at: Date;
  readonly entry: Entry;
  readonly output?: unknown;
}

/**
 * A history as lines to read, in its order; one entry gives one line. `startedAt` is what times are told relative to: the
 * instant at which the run was made.
 */
export function timelineOf(history: readonly TimelineEntry[], startedAt: Date): TimelineLine[] {
  const workers = new Map<string, string>();
  return history.map(({ number, at, entry, output }, index) => {
    if (entry.kind === "taken_up") workers.set(entry.token, entry.worker);
    const next = history[index + 1];
    const turned = next?.number === number && next.entry.kind === "rollback_started";
    const told = tell(entry, { at: at.getTime(), first: index === 0, turned, workers });
    const sinceStartMs = at.getTime() - startedAt.getTime();
    const step = "step" in entry && entry.step !== undefined ? { step: entry.step } : {};
    return { number, at, sinceStartMs, ...told, ...step, ...(output === undefined ? {} : { output }) };
  });
}

interface Telling {
  readonly at: number;
  readonly first: boolean;
  /** Whether the saga turns back in the same row: then nothing of this is tried again. */
  readonly turned: boolean;
  /** Who held which token. */
  readonly workers: ReadonlyMap<string, string>;
}

function tell(entry: Entry, telling: Telling): Pick<TimelineLine, "tone" | "text"> {
  switch (entry.kind) {
    case "taken_up":
      return takenUp(entry, telling);
    case "handed_over":
      return { tone: "wait", text: `worker ${entry.worker} stopped and gave the run back` };
    case "parked":
      return { tone: "wait", text: parkedText(entry.until, telling.at) };
    case "condition_decided":
    case "timer_started":
    case "timer_fired":
    case "signal_received":
    case "signal_awaited":
    case "signal_consumed":
    case "signal_rejected":
    case "signal_timed_out":
    case "items_listed":
    case "child_started":
    case "child_finished":
      return tellWait(entry, telling.at);
    case "declared":
      return { tone: "wait", text: `the function asks for ${entry.units.map(({ name }) => name).join(", ")}` };
    case "function_failed":
      return { tone: "failed", text: `the function threw${because(entry.error)}` };
    case "recalled":
      return { tone: "operator", text: `${entry.by} took back what was done` };
    case "step_completed":
      return { tone: "done", text: `${entry.step}${entry.attempt > 1 ? ` (attempt ${entry.attempt})` : ""}` };
    case "attempt_failed":
      return attemptFailed(entry, telling);
    case "reconciled":
      return entry.answer === "not_happened"
        ? { tone: "doubt", text: `asked whether ${entry.step} happened: it did not` }
        : {
            tone: "doubt",
            text: `asked whether ${entry.step} happened (ask ${entry.asks}): nobody can tell yet${because(entry.error)}`,
          };
    case "step_failed":
      return {
        tone: "failed",
        text: `${entry.step} failed for good after ${attempts(entry.attempts)}, ${
          entry.doubt === "definite" ? "and did not happen" : "and may have happened"
        }${because(entry.error)}`,
      };
    case "pivot_entered":
      return { tone: "pivot", text: `pivot ${entry.step}: a stop is refused from here on` };
    case "rollback_started":
      return { tone: "turn", text: `turns back: ${causes[entry.cause]}` };
    case "step_compensated":
      return { tone: "undone", text: `${entry.step} undone${entry.attempt > 1 ? ` (attempt ${entry.attempt})` : ""}` };
    case "compensation_failed":
      return {
        tone: "failed",
        text: `${entry.step} could not be undone after ${attempts(entry.attempts)}: still owed${because(entry.error)}`,
      };
    case "cancel_requested":
      return { tone: "operator", text: `${entry.by} asked to stop${inBrackets(entry.reason)}` };
    case "cancel_refused":
      return {
        tone: "refused",
        text: `${entry.by} asked to stop${inBrackets(entry.reason)}: refused, the pivot ${entry.pivot} was entered`,
      };
    case "resolved":
      return { tone: "operator", text: `${entry.by} settled ${entry.step} as ${entry.as}${inBrackets(entry.note)}` };
    case "retried":
      return { tone: "operator", text: `${entry.by} asked to try again` };
    case "finished":
      return { tone: entry.status === "completed" ? "completed" : "ended", text: entry.status };
  }
}

const causes = { failure: "a step failed", cancel: "somebody asked to stop", deadline: "it took too long" } as const;

function takenUp(
  entry: Entry & { kind: "taken_up" },
  { first, workers }: Telling,
): Pick<TimelineLine, "tone" | "text"> {
  if (entry.from === undefined)
    return { tone: "owner", text: `taken up ${first ? "" : "again "}by worker ${entry.worker}` };
  const before = workers.get(entry.from) ?? "unknown";
  const why = entry.crash ? "died" : "lost the run";
  return { tone: "lost", text: `worker ${before} ${why}; taken over by worker ${entry.worker}` };
}

function attemptFailed(
  entry: Entry & { kind: "attempt_failed" },
  { at, turned }: Telling,
): Pick<TimelineLine, "tone" | "text"> {
  const what = entry.direction === "forward" ? entry.step : `undoing ${entry.step}`;
  const doubt = entry.doubt ? ", may have happened" : "";
  const failed = `${what} failed (attempt ${entry.attempt}${doubt})`;
  if (turned) return { tone: "retry", text: `${failed}${because(entry.error)}` };
  const next = entry.final ? "its outcome is asked for" : `again in ${span(entry.retryAt - at)}`;
  return { tone: "retry", text: `${failed}, ${next}${because(entry.error)}` };
}

function attempts(count: number): string {
  return `${count} ${count === 1 ? "attempt" : "attempts"}`;
}

/** ` (why a person did it)`; nothing when no reason was given. */
function inBrackets(reason: string | undefined): string {
  return reason === undefined || reason === "" ? "" : ` (${oneLine(reason)})`;
}
