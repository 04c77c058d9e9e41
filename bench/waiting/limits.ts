// WHAT THE BENCHMARK HAS TO COME TO: each limit, what was measured, whether it holds. Pure.

import type { CourseOptions, Measured, Snapshot } from "./course.js";
import type { Look } from "./looks.js";

export interface Line {
  readonly what: string;
  readonly measured: number;
  readonly unit: "MB" | "ms" | "buffers" | "runs" | "timers" | "looks" | "times" | "pages";
  /** At most this; for runs exactly this. Absent: told, and not judged. */
  readonly limit?: number;
  readonly holds?: boolean;
}

const mostMegabytes = 150;
const mostBuffers = 200;
const mostLookMs = 10;
const mostSignalsMs = 10_000;

export function judge(measured: Measured, { runs, signals, idleMs }: Omit<CourseOptions, "say">): readonly Line[] {
  const { kept, waiting, idle, vacuumed, cancel, statuses, consumed } = measured;
  const idled = `after ${idleMs / 1_000} s of nothing`;
  return [
    told("the runs are started", measured.startMs, "ms"),
    told("they all wait, since the first start", measured.driveMs, "ms"),
    told("before: worker's resident", kept.empty.rssMb, "MB"),
    told("before: worker's heap, garbage collected", kept.empty.heapMb, "MB"),
    ...snapshotLines("all wait", waiting),
    ...snapshotLines(idled, idle),
    ...snapshotLines("vacuumed", vacuumed),
    told(`${idled}: worker's heap, garbage collected`, kept.waiting.heapMb, "MB"),
    atMost("worker's resident at its highest", measured.signals.memory.peakRssMb, "MB", mostMegabytes),
    told(`worker's own looks in ${idleMs / 1_000} s of nothing`, idle.counted.claim.calls, "looks"),
    atMost("worker's own promote, each", idle.counted.promote.buffers, "buffers", mostBuffers),
    atMost("worker's own promote, each", idle.counted.promote.ms, "ms", mostLookMs),
    atMost("worker's own claim, each", idle.counted.claim.buffers, "buffers", mostBuffers),
    atMost("worker's own claim, each", idle.counted.claim.ms, "ms", mostLookMs),
    told(`${signals} signals are sent`, measured.signals.sendMs, "ms"),
    atMost(`${signals} signals are consumed and their runs ended`, measured.signals.ms, "ms", mostSignalsMs),
    exactly("runs that consumed one signal", consumed, signals),
    exactly("runs that completed", statuses.completed ?? 0, signals),
    told("a sleeping run is cancelled", cancel.ms, "ms"),
    exactly("runs that were cancelled", statuses.cancelled ?? 0, 1),
    exactly("runs that still wait", statuses.waiting ?? 0, runs - signals - 1),
  ];
}

function snapshotLines(when: string, { memory, looks, table }: Snapshot): readonly Line[] {
  return [
    atMost(`${when}: worker's resident`, memory.rssMb, "MB", mostMegabytes),
    told(`${when}: worker's heap`, memory.heapMb, "MB"),
    told(`${when}: worker's timers`, memory.timers, "timers"),
    told(`${when}: autovacuums of the runs so far`, table.vacuums, "times"),
    told(`${when}: index of ready runs`, table.readyPages, "pages"),
    ...looks.flatMap((look) => lookLines(when, look)),
  ];
}

/** A look that takes many runs costs by the run; the limit is that of finding them. */
function lookLines(when: string, { taken, promote, claim }: Look): readonly Line[] {
  const what = `${when}: look that takes ${taken}`;
  return (["promote", "claim"] as const).flatMap((part) => {
    const { buffers, ms } = { promote, claim }[part];
    const line = taken > 1 ? told : atMost;
    return [
      line(`${what}, ${part}`, buffers, "buffers", mostBuffers),
      atMost(`${what}, ${part}`, ms, "ms", mostLookMs),
    ];
  });
}

function told(what: string, measured: number, unit: Line["unit"]): Line {
  return { what, measured, unit };
}

function atMost(what: string, measured: number, unit: Line["unit"], limit: number): Line {
  return { what, measured, unit, limit, holds: measured <= limit };
}

function exactly(what: string, measured: number, limit: number): Line {
  return { what, measured, unit: "runs", limit, holds: measured === limit };
}

/** For people. */
export function tableOf(lines: readonly Line[]): string {
  const cells = lines.map(({ what, measured, unit, limit, holds }) => [
    what,
    `${rounded(measured)} ${unit}`,
    limit === undefined ? "" : `${unit === "runs" ? "" : "under "}${limit}`,
    holds === undefined ? "" : holds ? "holds" : "BROKEN",
  ]);
  const all = [["", "measured", "limit", ""], ...cells];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]!.length)));
  const lineOf = (row: readonly string[]) =>
    row.map((cell, column) => (column === 1 ? cell.padStart(widths[1]!) : cell.padEnd(widths[column]!))).join("  ");
  return `${all.map((row) => lineOf(row).trimEnd()).join("\n")}\n`;
}

function rounded(value: number): string {
  return value >= 1_000 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(1);
}
