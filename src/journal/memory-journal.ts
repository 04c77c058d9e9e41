// A JOURNAL IN MEMORY: for sagas in process, and the peer that the Postgres one is compared with. It keeps text, as that
// one does, so that nothing passes through it which would not pass through a database.

import type { Entry, Row } from "../core/entry.js";
import type { Projection, RunStatus } from "../core/projection.js";
import { RunNotFoundError, UsageError } from "../errors/usage-errors.js";
import type { Clock } from "../platform/clock.js";
import type { Chance } from "../platform/ids.js";
import { readEntries, writeEntries } from "./entries-text.js";
import type {
  AppendResult,
  Begun,
  CheckSame,
  Journal,
  LoadedRun,
  Offer,
  RunHeader,
  RunLine,
  RunQuery,
  RunStart,
} from "./journal.js";
import { rowFacts } from "./pg-rows.js";

interface StoredRow {
  readonly at: number;
  readonly nonce: string;
  readonly payload: string;
  /** Of rows with the same mark only the last need be read. */
  readonly onlyLast?: string;
}

interface StoredRun {
  /** JSON of the header. */
  readonly header: string;
  /** Position in the order of creation: what a cursor points at. */
  readonly position: number;
  /** The row with number n stands at n - 1. */
  readonly rows: StoredRow[];
  /** How often an owner was lost: a failed attempt after one does not stand for those before it. */
  losses: number;
  /** JSON of what the last offer that had one says of the run. */
  projection: string;
  endedAt?: number;
}

/** Every method does its work in one go and answers later: as racy for its callers as a database, and as exact. */
export class MemoryJournal implements Journal {
  readonly #clock: Clock;
  readonly #chance: Chance;
  /** By public id, oldest first. */
  readonly #runs = new Map<string, StoredRun>();
  readonly #byKey = new Map<string, StoredRun>();

  constructor({ clock, chance }: { readonly clock: Clock; readonly chance: Chance }) {
    this.#clock = clock;
    this.#chance = chance;
  }

  now(): number {
    return this.#clock.now();
  }

  async start(
    start: RunStart,
    takenUp?: { readonly entry: Entry; readonly nonce: string },
  ): Promise<{ readonly header: RunHeader; readonly created: boolean; readonly row?: Row }> {
    const existing = this.#runs.get(start.runId);
    if (existing !== undefined) return startedBefore(existing, takenUp?.nonce);
    const run = this.#add(start, takenUp);
    const first = takenUp === undefined ? {} : { row: readRow(run, 1) };
    return { header: readHeader(run), created: true, ...first };
  }

  async startMany(starts: readonly RunStart[], check: CheckSame): Promise<readonly Begun[]> {
    const firsts = new Map<string, RunStart>();
    for (const start of starts) {
      const existing = this.#runs.get(start.runId);
      const first = firsts.get(start.runId);
      if (existing !== undefined) check(start, readHeader(existing));
      else if (first !== undefined) check(start, { ...first, key: "", createdAt: 0, startAt: 0 });
      else firsts.set(start.runId, start);
    }
    return starts.map((start) => {
      const created = firsts.get(start.runId) === start;
      return { header: readHeader(created ? this.#add(start) : this.#runs.get(start.runId)!), created };
    });
  }

  #add(start: RunStart, takenUp?: { readonly entry: Entry; readonly nonce: string }): StoredRun {
    const now = this.now();
    const header: RunHeader = { ...start, key: this.#chance.id(), createdAt: now, startAt: start.startAt ?? now };
    const run: StoredRun = {
      header: JSON.stringify(header),
      position: this.#runs.size,
      rows: [],
      losses: 0,
      projection: JSON.stringify(firstProjection(header, takenUp?.entry)),
    };
    if (takenUp !== undefined) addRow(run, { entries: [takenUp.entry], nonce: takenUp.nonce, at: now });
    this.#runs.set(start.runId, run);
    this.#byKey.set(header.key, run);
    return run;
  }

  async find(runId: string): Promise<RunHeader | undefined> {
    return (await this.load(runId))?.header;
  }

  async load(runId: string, after = 0): Promise<LoadedRun | undefined> {
    const run = this.#runs.get(runId);
    return run && { header: readHeader(run), rows: readRows(run, after) };
  }

  async allRows(header: RunHeader): Promise<readonly Row[]> {
    const run = this.#require(header);
    return run.rows.map((_, index) => readRow(run, index + 1));
  }

  /** The run of that key. */
  headerOf(key: string): RunHeader | undefined {
    const run = this.#byKey.get(key);
    return run && readHeader(run);
  }

  async rowsAfter(header: RunHeader, after: number): Promise<readonly Row[]> {
    return readRows(this.#require(header), after);
  }

  async append(offer: Offer): Promise<AppendResult> {
    const run = this.#require(offer.header);
    const { number, nonce, projection } = offer;
    const present = run.rows[number - 1];
    // 1.2: the same offer again finds itself; another's nonce is a refusal.
    if (present !== undefined) return present.nonce === nonce ? appended(run, number) : { kind: "taken" };
    if (number !== run.rows.length + 1)
      throw new RangeError(
        `run "${offer.header.runId}" has ${run.rows.length} rows; number ${number} would leave a gap`,
      );
    const at = this.now();
    addRow(run, { entries: offer.entries, nonce, at });
    if (projection !== undefined) project(run, projection, at);
    return appended(run, number);
  }

  async list(query: RunQuery): Promise<{ readonly lines: readonly RunLine[]; readonly cursor?: string }> {
    const before = query.cursor === undefined ? Number.POSITIVE_INFINITY : readCursor(query.cursor);
    const lines: RunLine[] = [];
    for (const run of [...this.#runs.values()].reverse()) {
      if (run.position >= before) continue;
      const line = readLine(run);
      if (!matches(line, query)) continue;
      lines.push(line);
      if (lines.length === query.limit) return { lines, cursor: String(run.position) };
    }
    return { lines };
  }

  #require(header: RunHeader): StoredRun {
    const run = this.#byKey.get(header.key);
    if (run === undefined) throw new RunNotFoundError(header.runId);
    return run;
  }
}

/** The same first row again is the same start, whose answer was lost. */
function startedBefore(run: StoredRun, nonce: string | undefined) {
  const header = readHeader(run);
  if (nonce === undefined || run.rows[0]?.nonce !== nonce) return { header, created: false };
  return { header, created: true, row: readRow(run, 1) };
}

function addRow(run: StoredRun, row: { entries: readonly Entry[]; nonce: string; at: number }): void {
  const payload = writeEntries(row.entries);
  const { onlyLast, loss } = rowFacts(row.entries);
  if (loss) run.losses += 1;
  const mark = onlyLast === undefined ? {} : { onlyLast: `${run.losses} ${onlyLast}` };
  run.rows.push({ at: row.at, nonce: row.nonce, payload, ...mark });
}

/** What the run's row shows when it is inserted. */
function firstProjection({ startAt }: RunHeader, takenUp: Entry | undefined): Projection {
  const unclaimed = { status: "pending", claim: "free", dueAt: startAt, crashes: 0, owed: [] } as const;
  if (takenUp?.kind !== "taken_up") return unclaimed;
  return { ...unclaimed, status: "running", claim: "owned", owner: takenUp.token };
}

function project(run: StoredRun, projection: Projection, at: number): void {
  run.projection = JSON.stringify(projection);
  if (projection.claim === "ended") run.endedAt = at;
  // An operator reopened it.
  else delete run.endedAt;
}

function appended(run: StoredRun, number: number): AppendResult {
  return { kind: "appended", row: readRow(run, number) };
}

function readRow(run: StoredRun, number: number): Row {
  const { at, nonce, payload } = run.rows[number - 1]!;
  return Object.freeze({ number, at, nonce, entries: readEntries(payload) });
}

/** Failed attempts that a later one makes superfluous are left out: whoever needs them here needs them on Postgres too. */
function readRows(run: StoredRun, after: number): readonly Row[] {
  const last = new Map(run.rows.map((row, index) => [row.onlyLast, index]));
  return run.rows.flatMap(({ onlyLast }, index) => {
    const wanted = index >= after && (onlyLast === undefined || last.get(onlyLast) === index);
    return wanted ? [readRow(run, index + 1)] : [];
  });
}

function readHeader(run: StoredRun): RunHeader {
  return frozenJson(run.header);
}

function frozenJson<T>(text: string): T {
  return JSON.parse(text, (_key, value: unknown) => Object.freeze(value)) as T;
}

function readLine(run: StoredRun): RunLine {
  const { runId, saga, version, shape, attributes, createdAt } = readHeader(run);
  const { status, owed, cancelRequestedAt, cancelRefusedAt } = frozenJson<Projection>(run.projection);
  return {
    runId,
    saga,
    version,
    shape,
    status,
    owed,
    createdAt,
    ...(attributes === undefined ? {} : { attributes }),
    ...(run.endedAt === undefined ? {} : { endedAt: run.endedAt }),
    ...(cancelRequestedAt === undefined ? {} : { cancelRequestedAt }),
    ...(cancelRefusedAt === undefined ? {} : { cancelRefusedAt }),
  };
}

function matches(line: RunLine, query: RunQuery): boolean {
  const status: readonly RunStatus[] = query.status ?? [line.status];
  return (
    status.includes(line.status) &&
    (query.saga === undefined || query.saga === line.saga) &&
    Object.entries(query.attributes ?? {}).every(([key, value]) => hasAttribute(line, key, value))
  );
}

/** Compared as JSON: -0 is 0, as in the database. */
function hasAttribute({ attributes = {} }: RunLine, key: string, value: string | number | boolean): boolean {
  return Object.hasOwn(attributes, key) && JSON.stringify(attributes[key]) === JSON.stringify(value);
}

function readCursor(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new UsageError("cursor.invalid", "this is no cursor that a page of this list gave");
}
