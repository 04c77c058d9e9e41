// WHAT THE TESTS OF LEASES START FROM: a database, an outside server, workers in other processes and in this one, clients.

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { type DurableExecutor, type DurableOptions, durableExecutor, type RunHandle } from "rubicon-saga";
import { sagas, type Told } from "../crash/told-sagas.js";
import { briskWorker } from "./crash-bench.js";
import { type OutsideCall, OutsideServer } from "./outside-server.js";
import { type FreshDatabase, freshDatabase } from "./postgres.js";
import { WorkerProcess, type WorkerProcessOptions } from "./worker-process.js";

export type ToldSagas = ReturnType<typeof sagas>;

export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

export class ToldBench implements AsyncDisposable {
  readonly database: FreshDatabase;
  readonly outside: OutsideServer;
  readonly sagas: ToldSagas;
  readonly client: DurableExecutor;
  /** What the executors of this process logged. */
  readonly lines: LogLine[] = [];
  readonly #closing: (() => Promise<unknown>)[] = [];

  private constructor(database: FreshDatabase, outside: OutsideServer, known: ToldSagas, client: DurableExecutor) {
    this.database = database;
    this.outside = outside;
    this.sagas = known;
    this.client = client;
  }

  static async open(): Promise<ToldBench> {
    const database = await freshDatabase();
    const outside = await OutsideServer.start();
    const known = sagas(outside.url);
    const client = await durableExecutor({ sagas: known, database: database.url, worker: false, migrate: true });
    return new ToldBench(database, outside, known, client);
  }

  saga(name: ToldSagas[number]["name"]): ToldSagas[number] {
    return this.sagas.find((saga) => saga.name === name)!;
  }

  start(name: ToldSagas[number]["name"], input?: object): Promise<RunHandle<unknown>> {
    return this.client.start(this.saga(name), input as never);
  }

  /** Each forward call of the step is told this, the first `times` of them. */
  tell(step: string, told: Told, times = Number.POSITIVE_INFINITY): void {
    const before = this.outside.behave;
    let left = times;
    this.outside.behave = (call, earlier) => {
      if (call.step !== step || call.direction !== "forward" || left === 0) return before(call, earlier);
      left -= 1;
      return { status: 200, body: told };
    };
  }

  /** What the body showed of what it saw. */
  seen(step: string, direction: OutsideCall["direction"] = "forward"): unknown[] {
    return this.outside.of(step, direction).map((call) => (call as OutsideCall & { seen?: unknown }).seen);
  }

  async worker(options: Partial<WorkerProcessOptions> = {}): Promise<WorkerProcess> {
    const worker = new WorkerProcess({
      database: this.database.url,
      sagas: "crash/told-sagas.ts",
      outside: this.outside.url,
      worker: briskWorker,
      ...options,
    });
    this.#closing.push(() => worker[Symbol.asyncDispose]());
    await worker.ready;
    return worker;
  }

  /** A worker in this process. */
  async here(options: Partial<DurableOptions> = {}): Promise<DurableExecutor> {
    const log = (level: LogLine["level"]) => (fields: object, message?: string) =>
      void this.lines.push({ level, message: message ?? "", fields: fields as Record<string, unknown> });
    const executor = await durableExecutor({
      sagas: this.sagas,
      database: this.database.url,
      logger: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
      worker: briskWorker,
      ...options,
    });
    this.#closing.push(() => executor.close({ grace: 0 }));
    return executor;
  }

  /** A process that starts and cancels when told to. */
  async remote(): Promise<RemoteClient> {
    const remote = new RemoteClient(this.database.url, this.outside.url);
    this.#closing.push(() => remote.end());
    await remote.ready;
    return remote;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.outside.behave = () => {};
    await Promise.all(this.#closing.map((close) => close()));
    await this.client.close();
    await this.outside[Symbol.asyncDispose]();
    await this.database.drop();
  }
}

type Command =
  | { readonly kind: "start"; readonly saga: string; readonly id: string; readonly times: number }
  | { readonly kind: "cancel"; readonly id: string; readonly by: string };

export class RemoteClient {
  readonly ready: Promise<void>;
  readonly #child: ChildProcess;
  readonly #answers: ((line: string) => void)[] = [];

  constructor(database: string, outside: string) {
    this.#child = spawn(process.execPath, ["--import", "tsx", new URL("client-child.ts", import.meta.url).pathname], {
      env: { ...process.env, RUBICON_TEST: JSON.stringify({ database, outside }) },
      stdio: ["pipe", "pipe", "inherit"],
    });
    createInterface({ input: this.#child.stdout! }).on("line", (line) => this.#answers.shift()?.(line));
    this.ready = this.#next().then(() => {});
  }

  async ask(command: Command): Promise<any> {
    const answer = this.#next();
    this.#child.stdin!.write(`${JSON.stringify(command)}\n`);
    return JSON.parse(await answer);
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const gone = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.stdin!.end();
    await gone;
  }

  #next(): Promise<string> {
    return new Promise((resolve) => this.#answers.push(resolve));
  }
}
