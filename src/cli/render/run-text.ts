// ONE RUN, to be read in a terminal: what it is, its timeline with the pivot's line drawn, and what can be done about it.

import { type TimelineLine, type TimelineTone, timelineOf } from "../../core/timeline.js";
import type { HistoryEntry, RunView } from "../../index.js";
import { statusColours } from "./colours.js";
import type { Colour, Paint } from "./paint.js";
import { cut, oneLine, padStart } from "./text.js";
import { instantText, spanText } from "./time-text.js";
import { valueText } from "./value-text.js";

export interface RunTextOptions {
  readonly paint: Paint;
  /** Columns. */
  readonly width: number;
}

const marks: Readonly<Record<TimelineTone, { readonly mark: string; readonly colours: readonly Colour[] }>> = {
  owner: { mark: "▸", colours: ["dim"] },
  lost: { mark: "✗", colours: ["red", "bold"] },
  done: { mark: "✓", colours: ["green"] },
  retry: { mark: "↻", colours: ["yellow"] },
  doubt: { mark: "?", colours: ["yellow"] },
  failed: { mark: "✗", colours: ["red"] },
  pivot: { mark: "═", colours: ["magenta", "bold"] },
  turn: { mark: "◂", colours: ["yellow", "bold"] },
  undone: { mark: "↶", colours: ["yellow"] },
  wait: { mark: "…", colours: ["dim"] },
  operator: { mark: "◆", colours: ["cyan"] },
  refused: { mark: "◆", colours: ["red", "bold"] },
  completed: { mark: "■", colours: ["green", "bold"] },
  ended: { mark: "■", colours: ["bold"] },
};

const timeWidth = 9;

export function runText(run: RunView, history: readonly HistoryEntry[], options: RunTextOptions): string {
  return [...heading(run, options), "", ...runTimeline(history, run.createdAt, options), ...footer(run, options)].join(
    "\n",
  );
}

/** One line an entry: the time since the start, a mark, what happened, and what the step gave. */
export function runTimeline(history: readonly HistoryEntry[], startedAt: Date, options: RunTextOptions): string[] {
  return timelineOf(history, startedAt).map((line) => lineText(line, options));
}

function lineText(line: TimelineLine, { paint, width }: RunTextOptions): string {
  const { mark, colours } = marks[line.tone];
  const time = padStart(spanText(line.sinceStartMs), timeWidth);
  const room = width - timeWidth - 4;
  if (line.tone === "pivot") {
    const text = ` ${oneLine(line.text)} `;
    const rule = `${mark.repeat(4)}${text}${mark.repeat(Math.max(4, Math.min(72, room) - text.length - 4))}`;
    return `${paint(time, "dim")}  ${paint(rule, ...colours)}`;
  }
  const text = cut(oneLine(line.text), Math.max(room, 160));
  const given = line.output === undefined ? "" : valueText(line.output, room - text.length - 2);
  return `${paint(time, "dim")}  ${paint(`${mark} ${text}`, ...colours)}${given === "" || given === "{}" ? "" : `  ${paint(given, "dim")}`}`;
}

function heading(run: RunView, { paint, width }: RunTextOptions): string[] {
  const { id, saga, version, status, createdAt, startAt, endedAt } = run;
  const took = endedAt === undefined ? "" : `, ended after ${spanText(endedAt.getTime() - createdAt.getTime())}`;
  const delayed = startAt.getTime() > createdAt.getTime() ? `, to start ${instantText(startAt)}` : "";
  return [
    `${paint(oneLine(id), "bold")}  ${oneLine(saga)} v${version}  ${paint(status, statusColours[status], "bold")}`,
    paint(`made ${instantText(createdAt)}${delayed}${took}`, "dim"),
    `${paint("input ", "dim")} ${valueText(run.input, width - 8)}`,
    ...(run.attributes === undefined ? [] : [`${paint("found by", "dim")} ${valueText(run.attributes, width - 10)}`]),
    ...(run.output === undefined ? [] : [`${paint("output", "dim")} ${valueText(run.output, width - 8)}`]),
  ];
}

function footer(run: RunView, { paint, width }: RunTextOptions): string[] {
  const facts: [string, string][] = [
    ...(run.blocked ?? []).map((why): [string, string] => ["blocked", why]),
    ...present(run),
    ...(run.waiting === undefined ? [] : [["waits", waitingText(run)] as [string, string]]),
    ...(run.note === undefined ? [] : [["note", valueText(run.note, width - 12)] as [string, string]]),
    ...(run.error === undefined ? [] : [["error", errorText(run.error)] as [string, string]]),
    ...(run.owed.length === 0 ? [] : [["owed", run.owed.join(", ")] as [string, string]]),
    ...(run.cancelRequestedAt === undefined
      ? []
      : [["stop asked for", instantText(run.cancelRequestedAt)] as [string, string]]),
    ...(run.cancelRefusedAt === undefined
      ? []
      : [["stop refused", instantText(run.cancelRefusedAt)] as [string, string]]),
    ...remedies(run).map((remedy): [string, string] => ["what to do", remedy]),
  ];
  if (facts.length === 0) return [];
  const label = Math.max(...facts.map(([name]) => name.length));
  return ["", ...facts.map(([name, text]) => `${paint(name.padEnd(label), "dim")}  ${oneLine(text)}`)];
}

function present(run: RunView): [string, string][] {
  if (run.endedAt !== undefined || run.step === undefined) return [];
  const undoing = run.direction === "compensate" ? "undoing " : "";
  const by = run.worker === undefined ? "" : `, driven by worker ${run.worker}`;
  return [["next", `${undoing}${run.step}, ${run.attempts} used up${by}`]];
}

function waitingText({ waiting, nextAttemptAt }: RunView): string {
  return `${waiting}${nextAttemptAt === undefined ? "" : `, ${instantText(nextAttemptAt)}`}`;
}

function errorText(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** What an operator can do about a run that needs one (1.4). */
function remedies({ id, status, step, owed }: RunView): string[] {
  const run = quoted(id);
  switch (status) {
    case "in_doubt":
      return [
        `find out whether ${step} happened, then: rubicon resolve ${run} --step ${quoted(step ?? "STEP")} --as done|not_done --by YOU`,
        `or ask and try again: rubicon retry ${run} --by YOU`,
      ];
    case "forward_incomplete":
      return [
        `mend the cause, then: rubicon retry ${run} --by YOU`,
        `or do it by hand, then: rubicon resolve ${run} --step ${quoted(step ?? "STEP")} --as done --by YOU`,
      ];
    case "compensation_failed":
      return [
        `mend the cause, then: rubicon retry ${run} --by YOU`,
        ...owed.map(
          (name) => `or undo ${name} by hand, then: rubicon resolve ${run} --step ${quoted(name)} --as undone --by YOU`,
        ),
      ];
    case "blocked":
      return ["run a worker that has this saga, version and shape"];
    default:
      return [];
  }
}

/** As a shell reads it as one word. */
function quoted(word: string): string {
  return /^[\w.:@%+=,/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
