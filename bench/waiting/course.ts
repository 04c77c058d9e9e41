// THE COURSE OF THE BENCHMARK: a server and a worker of its own, runs that come to wait, a while of nothing, signals to some,
// a stop of one. Measures; what it has to come to is `limits`' to say.

import { durableExecutor } from "rubicon-saga";
import { type FreshDatabase, freshDatabase, startServer } from "../../test/support/postgres.js";
import { until } from "../../test/support/until.js";
import { Child, type ProgramKind } from "./child.js";
import type { Sent } from "./client-child.js";
import { type Counted, countedLooks, explainLooks, type Look, resetCounts } from "./looks.js";
import { sagas, sleeper, waiter } from "./sagas.js";
import type { Memory } from "./worker-child.js";

export interface CourseOptions {
  readonly runs: number;
  /** To as many runs. */
  readonly signals: number;
  readonly slots: number;
  readonly idleMs: number;
  /** The worker's old space at most, in megabytes; 0: Node's own limit, a part of the machine's memory. */
  readonly heap: number;
  readonly program: ProgramKind;
  readonly say: (line: string) => void;
}

/** At one moment, all runs that are to wait waiting. */
export interface Snapshot {
  readonly memory: Memory;
  readonly looks: readonly Look[];
  /** Of the table of runs, and its index of ready ones: what a look may have to pass over. */
  readonly table: { readonly deadRows: number; readonly vacuums: number; readonly readyPages: number };
}

export interface Measured {
  readonly postgres: string;
  readonly startMs: number;
  /** From the first start until all wait. */
  readonly driveMs: number;
  /** Before there was any run, and at the end of the idle time: what is left once all garbage is gone. */
  readonly kept: { readonly empty: Memory; readonly waiting: Memory };
  readonly waiting: Snapshot;
  readonly idle: Snapshot & { readonly counted: { readonly promote: Counted; readonly claim: Counted } };
  /** Once the tables were vacuumed and analysed: other plans may seem better then, and the dead are gone. */
  readonly vacuumed: Snapshot;
  readonly signals: {
    readonly verdicts: Readonly<Record<string, number>>;
    readonly sendMs: number;
    /** From the first one sent until all their runs have ended. */
    readonly ms: number;
    readonly memory: Memory;
  };
  readonly cancel: { readonly verdict: string; readonly status: string; readonly ms: number };
  /** How many runs have each status at the end. */
  readonly statuses: Readonly<Record<string, number>>;
  /** How many runs consumed exactly one signal. */
  readonly consumed: number;
}

/** As a server comes out of the box, where the suite's own is forgetful; and it counts statements. */
const serverSettings = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  autovacuum_naptime: "1min",
  shared_preload_libraries: "pg_stat_statements",
  "pg_stat_statements.track": "top",
};

const patienceMs = 30 * 60_000;

export async function runCourse(options: CourseOptions): Promise<Measured> {
  const server = await startServer({ settings: serverSettings });
  try {
    const database = await freshDatabase(server.url);
    const client = await durableExecutor({ sagas, database: database.url, worker: false, migrate: true });
    const limited = options.heap === 0 ? [] : [`--max-old-space-size=${options.heap}`];
    await using worker = await Child.start("worker-child", {
      program: options.program,
      flags: ["--expose-gc", ...limited],
      settings: { database: database.url, slots: options.slots },
    });
    const course = new Course(options, { database, client, worker });
    const measured = await course.measure();
    await worker.close();
    await client.close();
    return measured;
  } finally {
    await server.stop();
  }
}

interface Parts {
  readonly database: FreshDatabase;
  readonly client: Awaited<ReturnType<typeof durableExecutor>>;
  readonly worker: Child;
}

class Course {
  readonly #options: CourseOptions;
  readonly #parts: Parts;

  constructor(options: CourseOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
  }

  async measure(): Promise<Measured> {
    const { runs, idleMs, say } = this.#options;
    const { database } = this.#parts;
    const empty = await this.#memory("memory kept");
    const { startMs, driveMs, sleepers, waiters } = await this.#drive();
    say(`${runs} runs wait, ${seconds(driveMs)} after the first start`);
    const waiting = await this.#snapshot();
    await resetCounts(database);
    say(`nothing happens for ${seconds(idleMs)}`);
    await new Promise((resolve) => setTimeout(resolve, idleMs));
    const counted = await countedLooks(database);
    const idle = { ...(await this.#snapshot()), counted };
    const kept = { empty, waiting: await this.#memory("memory kept") };
    await database.query("vacuum analyze rubicon.runs, rubicon.journal");
    const vacuumed = await this.#snapshot();
    const signals = await this.#signal(waiters);
    say(`${this.#options.signals} signals were consumed ${seconds(signals.ms)} after the first was sent`);
    const cancel = await this.#cancel(sleepers[0]!);
    const [version] = await database.query("select current_setting('server_version') as version");
    const statuses = await this.#statuses();
    const consumed = await this.#consumed();
    const postgres: string = version!.version;
    const ends = { signals, cancel, statuses, consumed };
    return { postgres, startMs, driveMs, kept, waiting, idle, vacuumed, ...ends };
  }

  #memory(what: "memory" | "memory kept" = "memory"): Promise<Memory> {
    return this.#parts.worker.ask(what);
  }

  async #snapshot(): Promise<Snapshot> {
    const { database } = this.#parts;
    const memory = await this.#memory();
    const looks = await explainLooks(database.url);
    const [table] = await database.query<Snapshot["table"]>(
      `select n_dead_tup::integer as "deadRows", autovacuum_count::integer as vacuums,
         (pg_relation_size('rubicon.runs_ready') / current_setting('block_size')::integer)::integer as "readyPages"
       from pg_stat_user_tables where relid = 'rubicon.runs'::regclass`,
    );
    return { memory, looks, table: table! };
  }

  async #drive() {
    const { runs, say } = this.#options;
    const { client } = this.#parts;
    const begunAt = Date.now();
    const inputs = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));
    const half = Math.floor(runs / 2);
    const sleepers = await client.startMany(sleeper, inputs(runs - half));
    const waiters = await client.startMany(waiter, inputs(half));
    const startMs = Date.now() - begunAt;
    say(`${runs} runs were started in ${seconds(startMs)}`);
    const idsOf = (handles: readonly { readonly id: string }[]) => handles.map(({ id }) => id);
    let told = Date.now();
    await until(
      "all runs wait",
      async () => {
        const { waiting = 0 } = await this.#statuses();
        if (Date.now() - told > 10_000) {
          say(`${waiting} of ${runs} wait`);
          told = Date.now();
        }
        if (waiting < runs) await new Promise((resolve) => setTimeout(resolve, 500));
        return waiting === runs;
      },
      patienceMs,
    );
    return { startMs, driveMs: Date.now() - begunAt, sleepers: idsOf(sleepers), waiters: idsOf(waiters) };
  }

  async #signal(waiters: readonly string[]): Promise<Measured["signals"]> {
    const { database } = this.#parts;
    await using sender = await Child.start("client-child", {
      program: "source",
      settings: { database: database.url },
    });
    const runIds = waiters.slice(0, this.#options.signals);
    const sending = sender.ask<Sent>({ runIds });
    sending.catch(() => {});
    const ended = "select count(*)::integer as ended from rubicon.runs where state = 3";
    const look = async () => (await database.query<{ ended: number }>(ended))[0]!.ended === runIds.length;
    await until("the runs that got signals have ended", look, patienceMs);
    const endedAt = Date.now();
    const { begunAt, sentAt, verdicts } = await sending;
    await sender.close();
    return { verdicts, sendMs: sentAt - begunAt, ms: endedAt - begunAt, memory: await this.#memory() };
  }

  async #cancel(runId: string): Promise<Measured["cancel"]> {
    const { client } = this.#parts;
    const askedAt = performance.now();
    const { verdict } = await client.requestCancel(runId, { by: "bench" });
    const run = await client.find(runId);
    const { status } = await run!.outcome({ timeout: "5m" });
    return { verdict, status, ms: performance.now() - askedAt };
  }

  async #statuses(): Promise<Readonly<Record<string, number>>> {
    const rows = await this.#parts.database.query(
      "select status, count(*)::integer as runs from rubicon.runs group by status",
    );
    return Object.fromEntries(rows.map(({ status, runs }) => [status, runs]));
  }

  async #consumed(): Promise<number> {
    const [row] = await this.#parts.database.query(
      `select count(*)::integer as runs from (
         select run from rubicon.journal where payload like '%"signal_consumed"%' group by run having count(*) = 1
       ) one`,
    );
    return row!.runs;
  }
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
