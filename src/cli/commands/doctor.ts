// `rubicon doctor`: is all well? Looks at the connection, the schema, the workers, the runs that wait for somebody, and
// whether the newest journals keep the rules. Changes nothing.

import type { SagaExecutor } from "../../index.js";
import type { Database } from "../../store/db.js";
import { readOverdue, readServerFacts, readWholeJournals, readWorkers } from "../../store/examine.js";
import { verifySchema } from "../../store/migrate.js";
import { type ExitCode, exitCodes } from "../failure.js";
import { type Finding, journalFinding, overdueFinding, serverFindings, workerFindings } from "../findings.js";
import { type Invocation, print, requireTarget } from "../invocation.js";
import type { Colour, Paint } from "../render/paint.js";
import { oneLine, printable } from "../render/text.js";
import { spanText } from "../render/time-text.js";
import { targetText } from "../target.js";

export interface DoctorOptions {
  /** How many of the newest journals to check. */
  readonly journals: number;
}

/** A run that has been due for longer than this should have been taken up. */
const overdueAfterMs = 60_000;
const mostCounted = 10_000;
const mostWorkers = 100;
const mostRunsNamed = 20;
const hourMs = 3_600_000;

export async function doctor(invocation: Invocation, options: DoctorOptions): Promise<ExitCode> {
  const target = requireTarget(invocation);
  const findings: Finding[] = [];
  const database = await invocation.doors.openStore(target);
  try {
    findings.push(...(await examineStore(database, options)));
  } catch (error) {
    findings.push(failed(error));
  } finally {
    await database.close();
  }
  if (findings.every((finding) => finding.level !== "bad")) {
    const client = await invocation.doors.openClient(target);
    try {
      findings.push(...(await examineRuns(client)));
    } finally {
      await client.close();
    }
  }
  const well = findings.every((finding) => finding.level !== "bad");
  print(invocation, { well, findings }, (paint) => {
    const lines = findings.flatMap((finding) => findingText(finding, paint));
    return [`Examined ${targetText(target)}.`, "", ...lines, "", well ? "All is well." : "Not all is well."].join("\n");
  });
  return well ? exitCodes.done : exitCodes.failed;
}

/** In the order in which one failure makes the next look pointless. */
async function examineStore(database: Database, options: DoctorOptions): Promise<Finding[]> {
  const findings: Finding[] = [];
  try {
    const server = await readServerFacts(database, database.schemaName);
    findings.push(...serverFindings(server));
    await verifySchema(database);
    findings.push({
      topic: "schema",
      level: "good",
      text: `complete, and role ${server.role} has the rights to work with it`,
    });
    findings.push(...workerFindings(await readWorkers(database, mostWorkers), server.now));
    const overdue = await readOverdue(database, { afterMs: overdueAfterMs, limit: mostCounted, now: null });
    findings.push(overdueFinding(overdue, { ...server, afterMs: overdueAfterMs, limit: mostCounted }));
    findings.push(journalFinding(await readWholeJournals(database, options.journals)));
  } catch (error) {
    findings.push(failed(error));
  }
  return findings;
}

/** Blocked runs and those that need a person, by the public verbs. */
async function examineRuns(client: SagaExecutor): Promise<Finding[]> {
  const blocked = await client.list({ status: "blocked", limit: mostRunsNamed });
  const attention = await client.list({
    status: ["in_doubt", "forward_incomplete", "compensation_failed"],
    limit: mostRunsNamed,
  });
  const reasons = await Promise.all(
    blocked.runs.map(async ({ id, saga, version }) => {
      const why = (await client.get(id))?.blocked ?? [];
      return `${id} (${saga} v${version}): ${why.join("; ")}`;
    }),
  );
  const now = Date.now();
  return [
    reasons.length === 0
      ? { topic: "blocked", level: "good", text: "no run waits for a worker that knows it" }
      : {
          topic: "blocked",
          level: "bad",
          text: `${counted(reasons.length)} no live worker can take up`,
          details: reasons,
        },
    attention.runs.length === 0
      ? { topic: "owed", level: "good", text: "no run waits for a person" }
      : {
          topic: "owed",
          level: "bad",
          text: `${counted(attention.runs.length)} wait for a person: \`rubicon show ID\` says what to do`,
          details: attention.runs.map(({ id, status, owed, endedAt }) => {
            const sinceMs = endedAt === undefined ? 0 : now - endedAt.getTime();
            return `${id}: ${status}${owed.length === 0 ? "" : `, owed: ${owed.join(", ")}`}, for ${spanText(sinceMs)}${sinceMs > hourMs ? " (over an hour)" : ""}`;
          }),
        },
  ];
}

function counted(count: number): string {
  return `${count}${count === mostRunsNamed ? " or more" : ""} ${count === 1 ? "run" : "runs"}`;
}

function failed(error: unknown): Finding {
  const code = typeof error === "object" && error !== null && "code" in error ? String(error.code) : "error";
  return { topic: code, level: "bad", text: error instanceof Error ? error.message : String(error) };
}

const levels: Readonly<Record<Finding["level"], { readonly mark: string; readonly colour: Colour }>> = {
  good: { mark: "✓", colour: "green" },
  note: { mark: "·", colour: "yellow" },
  bad: { mark: "✗", colour: "red" },
};

function findingText({ topic, level, text, details = [] }: Finding, paint: Paint): string[] {
  const { mark, colour } = levels[level];
  return [
    `${paint(mark, colour)} ${paint(topic, "bold")}: ${printable(text)}`,
    ...details.map((detail) => `    ${oneLine(detail)}`),
  ];
}
