// HOW WAITING READS in a run's timeline, and how lengths of time and errors are told there. Pure.

import type { ErrorRecord } from "../errors/error-record.js";
import { type Entry, farFuture } from "./entry.js";

type WaitEntry = Extract<
  Entry,
  { readonly kind: "condition_decided" | "items_listed" | `${"timer" | "signal" | "child"}_${string}` }
>;

export function tellWait(
  entry: WaitEntry,
  at: number,
): { readonly tone: "wait" | "done" | "retry" | "failed"; readonly text: string } {
  switch (entry.kind) {
    case "condition_decided":
      return { tone: "done", text: entry.holds ? `${entry.step} is to run` : `${entry.step} skipped: not needed` };
    case "timer_started":
      return { tone: "wait", text: `${entry.step} sleeps for ${span(entry.until - at)}` };
    case "timer_fired":
      return { tone: "done", text: `${entry.step} woke up` };
    case "signal_received":
      return { tone: "wait", text: `signal ${entry.signal} received` };
    case "signal_awaited":
      return {
        tone: "wait",
        text: `${entry.step} waits for a signal${entry.until === farFuture ? "" : `, for ${span(entry.until - at)}`}`,
      };
    case "signal_consumed":
      return { tone: "done", text: `${entry.step} got the signal of row ${entry.received}` };
    case "signal_rejected":
      return {
        tone: "retry",
        text: `${entry.step} can't use the signal of row ${entry.received}${because(entry.error)}`,
      };
    case "signal_timed_out":
      return { tone: "done", text: `${entry.step}: no signal came in time` };
    case "items_listed":
      return {
        tone: "wait",
        text: `${entry.step} is to be done for ${entry.count} item${entry.count === 1 ? "" : "s"}`,
      };
    case "child_started":
      return { tone: "wait", text: `${entry.step} starts run ${entry.runId}` };
    case "child_finished":
      return {
        tone: entry.status === "completed" ? "done" : "failed",
        text: `${entry.step}: its run ended ${entry.status}`,
      };
  }
}

export function parkedText(until: number, at: number): string {
  return until === farFuture ? "parked until something happens" : `parked for ${span(until - at)}`;
}

/** `: what went wrong`, on one line. */
export function because(error: ErrorRecord | undefined): string {
  return error === undefined ? "" : `: ${oneLine(`${error.name}: ${error.message}`)}`;
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** A length of time as people say it: `250ms`, `1.5s`, `12m`, `3.5h`, `2d`. */
export function span(ms: number): string {
  if (!Number.isFinite(ms)) return "ever";
  const [unitMs, unit] = units.find(([size]) => ms >= size) ?? units.at(-1)!;
  const digits = unit === "ms" ? 0 : 1;
  return `${Number((Math.max(0, ms) / unitMs).toFixed(digits))}${unit}`;
}

const units = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "m"],
  [1_000, "s"],
  [1, "ms"],
] as const;
