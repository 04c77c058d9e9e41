// WHAT THE DOCTOR MAKES OF WHAT IT READ. Pure: facts in, findings out.

import { checkJournal } from "../core/rules.js";
import type { OverdueFacts, ServerFacts, WholeJournal, WorkerFacts } from "../store/examine.js";
import { spanText } from "./render/time-text.js";

/** `bad` makes the examination fail; a `note` is worth knowing. */
export interface Finding {
  readonly topic: string;
  readonly level: "good" | "note" | "bad";
  readonly text: string;
  readonly details?: readonly string[];
}

const oldestServer = 15;

export function serverFindings({ version, role, database, readOnly, mayMigrate }: ServerFacts): Finding[] {
  const where = `PostgreSQL ${version}, database ${database}, as ${role}`;
  return [
    Number.parseInt(version, 10) < oldestServer
      ? {
          topic: "connection",
          level: "bad",
          text: `${where}: PostgreSQL ${oldestServer} is the oldest that is supported`,
        }
      : { topic: "connection", level: "good", text: where },
    ...(readOnly
      ? [{ topic: "connection", level: "bad", text: "this server is read-only: name the primary" } as const]
      : []),
    ...(mayMigrate
      ? []
      : [{ topic: "rights", level: "note", text: `${role} may not migrate; that takes another role` } as const]),
  ];
}

const recentMs = 3_600_000;

/** `now`: the database's, in milliseconds since the epoch. */
export function workerFindings(workers: readonly WorkerFacts[], now: number): Finding[] {
  const alive = workers.filter((worker) => worker.deadAt === undefined && worker.leaseUntil > now);
  const gone = workers.filter((worker) => !alive.includes(worker));
  const stranded = gone.filter((worker) => worker.runs > 0);
  const details = alive.map(
    (worker) => `${nameOf(worker)}, beat ${spanText(now - worker.beatAt)} ago, ${runsOf(worker)}: ${sagasOf(worker)}`,
  );
  const recent = gone.filter((worker) => worker.runs === 0 && (worker.deadAt ?? worker.leaseUntil) > now - recentMs);
  return [
    alive.length === 0
      ? { topic: "workers", level: "note", text: "none is alive: runs wait until one is" }
      : { topic: "workers", level: "good", text: `${alive.length} alive`, details },
    ...(recent.length === 0
      ? []
      : [{ topic: "workers", level: "note", text: `${recent.length} ended or died within the hour` } as const]),
    ...(stranded.length === 0
      ? []
      : [
          {
            topic: "workers",
            // Another worker takes them over; without one they wait.
            level: alive.length === 0 ? "bad" : "note",
            text: `${stranded.length} dead with runs still to be taken over`,
            details: stranded.map(
              (worker) => `${nameOf(worker)}, last beat ${spanText(now - worker.beatAt)} ago, ${runsOf(worker)}`,
            ),
          } as const,
        ]),
  ];
}

export function overdueFinding(
  { count, oldest }: OverdueFacts,
  { now, afterMs, limit }: { readonly now: number; readonly afterMs: number; readonly limit: number },
): Finding {
  const after = spanText(afterMs);
  if (oldest === undefined) return { topic: "overdue", level: "good", text: `no run has been due for over ${after}` };
  return {
    topic: "overdue",
    level: "bad",
    text: `${count}${count === limit ? " or more" : ""} due for over ${after} and taken up by nobody`,
    details: [`the oldest, ${oldest.runId}, for ${spanText(now - oldest.dueAt)}`],
  };
}

const mostNamed = 20;

export function journalFinding(journals: readonly WholeJournal[]): Finding {
  const broken = journals.flatMap(faultsOf);
  if (broken.length === 0)
    return { topic: "journals", level: "good", text: `the newest ${journals.length} keep all the rules` };
  return {
    topic: "journals",
    level: "bad",
    text: `${broken.length} breaches of the rules in the newest ${journals.length}; please report them`,
    details: broken.slice(0, mostNamed),
  };
}

/** The format of a row that holds a JSON array of entries. */
const entriesFormat = "entries";

function faultsOf({ runId, shape, rows }: WholeJournal): string[] {
  if (shape === undefined) return [`${runId}: its shape is gone`];
  const foreign = rows.find((row) => row.format !== entriesFormat);
  if (foreign !== undefined)
    return [`${runId}: row ${foreign.number} is written as "${foreign.format}", which this code can't read`];
  try {
    const read = rows.map(({ number, at, nonce, payload }) => ({ number, at, nonce, entries: JSON.parse(payload) }));
    return checkJournal(JSON.parse(shape), read).map(
      ({ rule, number, what }) => `${runId}: row ${number}: ${what} (${rule})`,
    );
  } catch (error) {
    return [`${runId}: can't be read: ${(error as Error).message}`];
  }
}

function nameOf({ id, host, pid }: WorkerFacts): string {
  return `worker ${id} (${host}, process ${pid})`;
}

function runsOf({ runs }: WorkerFacts): string {
  return `${runs} ${runs === 1 ? "run" : "runs"}`;
}

/** What it registered, for people: sagas and versions, whatever else is in there. */
function sagasOf({ registered }: WorkerFacts): string {
  try {
    const sagas: readonly { readonly saga: string; readonly version: number }[] = JSON.parse(registered);
    return sagas.map(({ saga, version }) => `${saga} v${version}`).join(", ");
  } catch {
    return registered;
  }
}
