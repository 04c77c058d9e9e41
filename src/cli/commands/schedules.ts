// `rubicon schedules`: which schedules there are, and what an operator does to one.

import { isSagaError, type Schedules, type ScheduleView } from "../../index.js";
import { CommandFailure, type ExitCode, exitCodes } from "../failure.js";
import { type Invocation, print, withClient } from "../invocation.js";
import { aligned, gap, oneLine } from "../render/text.js";
import { instantText } from "../render/time-text.js";

const headings = ["SCHEDULE", "STARTS", "WHEN", "NEXT", "LAST", ""] as const;

export async function listSchedules(invocation: Invocation): Promise<ExitCode> {
  const schedules = await withClient(invocation, (client) => client.schedules.list());
  print(invocation, { schedules }, (paint) => {
    if (schedules.length === 0) return "No schedules.";
    const [heading, ...lines] = aligned([headings, ...schedules.map(cells)]);
    const body = lines.map((line) => line.join(gap).trimEnd());
    return [paint(heading!.join(gap).trimEnd(), "dim"), ...body].join("\n");
  });
  return exitCodes.done;
}

function cells({ id, saga, version, lastFiring, ...rest }: ScheduleView): string[] {
  const last = lastFiring === undefined ? "" : instantText(lastFiring.scheduledFor);
  return [oneLine(id), oneLine(`${saga} v${version}`), whenText(rest), nextText(rest), last, notes(rest)];
}

function whenText({ cron, timeZone, every }: Pick<ScheduleView, "cron" | "timeZone" | "every">): string {
  return oneLine(every === undefined ? `${cron} ${timeZone}` : `every ${every}`);
}

function nextText({ paused, nextFiring }: Pick<ScheduleView, "paused" | "nextFiring">): string {
  if (nextFiring !== undefined) return instantText(nextFiring);
  return paused ? "paused" : "never";
}

function notes({ lastSkipped }: Pick<ScheduleView, "lastSkipped">): string {
  if (lastSkipped === undefined) return "";
  const why = lastSkipped.why === "missed" ? "missed" : "a run was live";
  return `let go: ${instantText(lastSkipped.scheduledFor)}, ${why}`;
}

export async function pauseSchedule(invocation: Invocation, id: string): Promise<ExitCode> {
  const schedule = await change(invocation, id, (schedules) => schedules.pause(id));
  print(invocation, schedule, () => `${oneLine(id)} is paused: it does not fire until it is resumed.`);
  return exitCodes.done;
}

export async function resumeSchedule(invocation: Invocation, id: string): Promise<ExitCode> {
  const schedule = await change(invocation, id, (schedules) => schedules.resume(id));
  print(invocation, schedule, () => `${oneLine(id)} goes on; next firing: ${nextText(schedule)}.`);
  return exitCodes.done;
}

export async function triggerSchedule(invocation: Invocation, id: string): Promise<ExitCode> {
  const run = await change(invocation, id, (schedules) => schedules.trigger(id));
  print(invocation, { id, runId: run.id }, () => `Fired ${oneLine(id)}: run ${oneLine(run.id)}`);
  return exitCodes.done;
}

export async function removeSchedule(invocation: Invocation, id: string): Promise<ExitCode> {
  const removed = await withClient(invocation, (client) => client.schedules.remove(id));
  if (!removed) throw unknownSchedule(id);
  print(invocation, { id, removed }, () => `${oneLine(id)} is removed; runs that it started go on.`);
  return exitCodes.done;
}

async function change<T>(invocation: Invocation, id: string, verb: (schedules: Schedules) => Promise<T>): Promise<T> {
  try {
    return await withClient(invocation, (client) => verb(client.schedules));
  } catch (error) {
    throw isSagaError(error, "schedule.not_found") ? unknownSchedule(id) : error;
  }
}

/** The same as the library says, with what may be wrong about the asking. */
function unknownSchedule(id: string): CommandFailure {
  return new CommandFailure(
    "schedule.not_found",
    `there is no schedule "${id}" in this database, schema and tenant. \`rubicon schedules\` lists what there is.`,
  );
}
