// `rubicon runs`: which runs there are, newest first.

import type { Attributes, ListOptions, RunStatus, RunSummary } from "../../index.js";
import { type ExitCode, exitCodes } from "../failure.js";
import { type Invocation, print, withClient } from "../invocation.js";
import { statusColours } from "../render/colours.js";
import { aligned, gap, oneLine } from "../render/text.js";
import { instantText, spanText } from "../render/time-text.js";

export interface RunsOptions {
  readonly status?: readonly string[];
  readonly saga?: string;
  readonly attribute?: Attributes;
  readonly limit?: number;
  readonly cursor?: string;
}

/** What `--status` takes. */
export const statuses: readonly (RunStatus | "blocked")[] = [
  "pending",
  "running",
  "waiting",
  "compensating",
  "blocked",
  "completed",
  "failed",
  "cancelled",
  "timed_out",
  "compensation_failed",
  "forward_incomplete",
  "in_doubt",
];

export async function runs(invocation: Invocation, options: RunsOptions): Promise<ExitCode> {
  const page = await withClient(invocation, (client) => client.list(listOptions(options)));
  print(invocation, page, (paint) => {
    if (page.runs.length === 0) return "No runs.";
    const [heading, ...lines] = aligned([headings, ...page.runs.map(cells)]);
    const body = lines.map((line, index) => {
      const colour = statusColours[page.runs[index]!.status];
      return line
        .map((cell, column) => (headings[column] === "STATUS" ? paint(cell, colour) : cell))
        .join(gap)
        .trimEnd();
    });
    const more = page.cursor === undefined ? [] : [paint(`More: --cursor ${page.cursor}`, "dim")];
    return [paint(heading!.join(gap).trimEnd(), "dim"), ...body, ...more].join("\n");
  });
  return exitCodes.done;
}

const headings = ["RUN", "SAGA", "STATUS", "MADE", "TOOK", ""] as const;

/** `list` takes several statuses that are stored, or `blocked`, which is derived. */
function listOptions({ status, attribute, ...rest }: RunsOptions): ListOptions {
  const filters = attribute === undefined ? rest : { ...rest, attributes: attribute };
  if (status === undefined || status.length === 0) return filters;
  return { ...filters, status: status as readonly RunStatus[] };
}

function cells(run: RunSummary): string[] {
  const took = run.endedAt === undefined ? "" : spanText(run.endedAt.getTime() - run.createdAt.getTime());
  const { id, saga, version, status } = run;
  return [oneLine(id), oneLine(`${saga} v${version}`), status, instantText(run.createdAt), took, notes(run)];
}

function notes({ owed, cancelRefusedAt, cancelRequestedAt, status }: RunSummary): string {
  return [
    ...(owed.length === 0 ? [] : [`owed: ${oneLine(owed.join(", "))}`]),
    ...(cancelRefusedAt === undefined ? [] : ["a stop was refused"]),
    ...(cancelRequestedAt === undefined || status === "cancelled" ? [] : ["asked to stop"]),
  ].join("; ");
}
