// A STORM: workers killed and restarted at random, the database restarted, Stops at random, and at the end every run has
// ended, every journal keeps the rules, the world agrees with what the runs say, and the money adds up to the cent.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { durableExecutor, type HistoryEntry, type RunHandle, type SagaExecutor } from "rubicon-saga";
import { createAccounts, readBalances } from "../../sagas/money-transfer/index.js";
import type { Row } from "../../src/core/entry.js";
import { checkJournal } from "../../src/core/rules.js";
import { ensureEmbedded, stopEmbedded } from "../../src/store/embedded.js";
import { OutsideServer } from "../support/outside-server.js";
import { until } from "../support/until.js";
import { WorkerProcess } from "../support/worker-process.js";
import { sagas as chaosSagas } from "./sagas.js";

export interface ChaosOptions {
  readonly seconds: number;
  readonly runs: number;
  readonly restarts: number;
  readonly say?: (line: string) => void;
}

export interface ChaosReport {
  readonly runs: number;
  readonly kills: number;
  readonly restarts: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly verdicts: Readonly<Record<string, number>>;
  readonly takeovers: number;
  /** What should not be; empty when all is well. */
  readonly faults: readonly string[];
}

const accounts = ["a", "b", "c", "d"];
const perAccount = 1_000_000n;

export async function chaos({ seconds, runs, restarts, say = () => {} }: ChaosOptions): Promise<ChaosReport> {
  const directory = mkdtempSync(join(tmpdir(), "rubicon-chaos-"));
  const database = `embedded:${directory}`;
  await using outside = await OutsideServer.start();
  outside.behave = misbehave;
  const sagas = chaosSagas(outside.url);
  const client = await durableExecutor({ sagas, database, worker: false });
  const sql = async <T>(work: (pool: pg.Pool) => Promise<T>): Promise<T> => {
    const pool = new pg.Pool({ connectionString: await ensureEmbedded(directory), max: 1 });
    pool.on("error", () => {});
    return work(pool).finally(() => pool.end());
  };
  await sql((pool) => createAccounts(pool, Object.fromEntries(accounts.map((id) => [id, perAccount]))));

  const endsAt = Date.now() + seconds * 1_000;
  const storm = new Storm({ directory, database, outside: outside.url, endsAt, restarts, seconds, say });
  const blowing = storm.blow();
  const verdicts: Record<string, number> = {};
  const handles: RunHandle<unknown>[] = [];
  const asks: Promise<void>[] = [];
  const gap = (seconds * 900) / runs;
  for (let index = 0; index < runs; index += 1) {
    const handle = await startOne(client, sagas, index);
    handles.push(handle);
    if (Math.random() < 0.25) asks.push(ask(client, handle.id, verdicts));
    await pause(gap * Math.random() * 2);
  }
  await Promise.all(asks);
  await blowing;
  say("the storm is over; waiting for the last runs");
  const faults: string[] = [];
  const statuses: Record<string, number> = {};
  let takeovers = 0;
  for (const handle of handles) {
    const status = await endOf(handle, faults);
    statuses[status] = (statuses[status] ?? 0) + 1;
    const history = await client.history(handle.id);
    takeovers += history.filter(({ entry }) => entry.kind === "taken_up" && entry.from !== undefined).length;
    const { saga } = (await client.get(handle.id))!;
    const { shape } = sagas.find((each) => each.name === saga)!;
    for (const violation of checkJournal(shape, rowsOf(history)))
      faults.push(`${handle.id}: ${violation.rule}: ${violation.what}`);
    faults.push(...worldFaults(outside, handle.id, status, shape.steps));
  }
  const balances = await sql(readBalances);
  const sum = Object.values(balances).reduce((total, cents) => total + cents, 0n);
  if (sum !== perAccount * BigInt(accounts.length)) faults.push(`the accounts add up to ${sum}`);
  await client.close();
  await storm.end();
  await stopEmbedded(directory);
  rmSync(directory, { recursive: true, force: true });
  return { runs, kills: storm.kills, restarts: storm.restarted, statuses, verdicts, takeovers, faults };
}

/** Now and then the world is slow, refuses, fails after the effect, or breaks the line. */
async function misbehave({
  step,
  direction,
}: {
  step: string;
  direction: string;
}): Promise<undefined | { status: number }> {
  const dice = Math.random();
  if (dice < 0.3) await pause(Math.random() * 300);
  if (direction === "compensate") return dice > 0.9 ? { status: 503 } : undefined;
  if (dice > 0.93) return { status: 503 };
  if (dice > 0.9 && step !== "S3") return { status: 422 };
  return undefined;
}

function startOne(
  client: SagaExecutor,
  sagas: ReturnType<typeof chaosSagas>,
  index: number,
): Promise<RunHandle<unknown>> {
  const named = (name: string) => sagas.find((saga) => saga.name === name) as any;
  if (index % 2 === 0) return client.start(named(["two", "four", "with-pivot", "asked"][(index / 2) % 4]!), undefined);
  const from = accounts[index % accounts.length]!;
  // One in ten goes to an account that is not there, so that its debit is undone.
  const to = index % 10 === 1 ? "nowhere" : accounts[(index + 1) % accounts.length]!;
  return client.start(named("money-transfer"), { from, to, cents: BigInt((index % 97) + 1) });
}

async function ask(client: SagaExecutor, runId: string, verdicts: Record<string, number>): Promise<void> {
  await pause(Math.random() * 400);
  const { verdict } = await client.requestCancel(runId, { by: "storm" });
  verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
}

async function endOf(handle: RunHandle<unknown>, faults: string[]): Promise<string> {
  try {
    return (await handle.outcome({ timeout: "3m" })).status;
  } catch (error) {
    faults.push(`${handle.id} has not ended: ${error}`);
    return "not ended";
  }
}

function rowsOf(history: readonly HistoryEntry[]): Row[] {
  const rows = new Map<number, { number: number; at: number; nonce: string; entries: HistoryEntry["entry"][] }>();
  for (const { number, at, entry } of history) {
    const row = rows.get(number) ?? { number, at: at.getTime(), nonce: String(number), entries: [] };
    row.entries.push(entry);
    rows.set(number, row);
  }
  return [...rows.values()];
}

/** What the outside server saw against what the run says of itself. */
function worldFaults(
  outside: OutsideServer,
  runId: string,
  status: string,
  steps: readonly { name: string; undone: boolean; transactional: boolean }[],
): string[] {
  const has = (key: string) => outside.effects.has(key);
  return steps
    .filter((step) => !step.transactional)
    .flatMap((step) => {
      const done = has(`${runId}/${step.name}`);
      const undone = has(`${runId}/${step.name}/compensate`);
      if (status === "completed") {
        if (!done) return [`${runId} completed without ${step.name}`];
        return undone ? [`${runId} completed, and ${step.name} was undone`] : [];
      }
      if (!["failed", "cancelled", "timed_out"].includes(status)) return [];
      if (!step.undone) return done ? [`${runId} ended ${status} over a live ${step.name}`] : [];
      return done && !undone ? [`${runId} ended ${status}, and ${step.name} stands`] : [];
    });
}

interface StormOptions {
  readonly directory: string;
  readonly database: string;
  readonly outside: string;
  readonly endsAt: number;
  readonly seconds: number;
  readonly restarts: number;
  readonly say: (line: string) => void;
}

class Storm {
  kills = 0;
  restarted = 0;
  readonly #options: StormOptions;
  readonly #workers: (WorkerProcess | undefined)[] = [undefined, undefined, undefined];

  constructor(options: StormOptions) {
    this.#options = options;
  }

  async blow(): Promise<void> {
    await Promise.all(this.#workers.map((_, index) => this.#restart(index)));
    await Promise.all([this.#killWorkers(), this.#restartDatabase()]);
  }

  async end(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker?.[Symbol.asyncDispose]()));
  }

  async #killWorkers(): Promise<void> {
    while (Date.now() < this.#options.endsAt) {
      await pause(1_500 + Math.random() * 3_000);
      const index = Math.floor(Math.random() * this.#workers.length);
      if (Math.random() < 0.15) await this.#freeze(index);
      await this.#workers[index]!.kill();
      this.kills += 1;
      await this.#restart(index);
    }
  }

  /** Longer than its lease: its runs are taken; then it wakes, and is killed a moment later. */
  async #freeze(index: number): Promise<void> {
    await this.#workers[index]!.kill("SIGSTOP");
    await pause(4_000);
    await this.#workers[index]!.kill("SIGCONT");
    await pause(300);
  }

  async #restart(index: number): Promise<void> {
    const { database, outside } = this.#options;
    const worker = new WorkerProcess({
      database,
      sagas: "chaos/sagas.ts",
      outside,
      worker: { slots: 20, lease: 3_000, beat: 300, poll: 100 },
    });
    this.#workers[index] = worker;
    // A database that is just being restarted may keep it from starting; then it is tried again.
    await worker.ready.catch(() => this.#restart(index));
  }

  async #restartDatabase(): Promise<void> {
    const { directory, restarts, seconds, endsAt, say } = this.#options;
    for (let restart = 1; restart <= restarts; restart += 1) {
      await pause((seconds * 1_000) / (restarts + 1));
      if (Date.now() > endsAt) return;
      if (restart % 2 === 1) await stopEmbedded(directory);
      else crash(directory);
      this.restarted += 1;
      say(`the database was ${restart % 2 === 1 ? "stopped" : "killed"}`);
      await pause(1_000);
      await until("the database is up again", () => ensureEmbedded(directory).catch(() => undefined), 60_000);
    }
  }
}

/** As if the machine had lost its power: every process of the server at once. */
function crash(directory: string): void {
  const pid = readFileSync(join(directory, "data", "postmaster.pid"), "utf8").split("\n")[0]!;
  const children = execFileSync("ps", ["-o", "pid=", "--ppid", pid], { encoding: "utf8" }).split(/\s+/).filter(Boolean);
  for (const each of [pid, ...children]) {
    try {
      process.kill(Number(each), "SIGKILL");
    } catch {
      // Gone already.
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
