// WHAT A CRASH TEST NEEDS: a database, an outside server, worker processes and a client, all gone at its end.

import { durableExecutor, type Saga, type SagaExecutor, type WorkerOptions } from "rubicon-saga";
import { sagas } from "../crash/sagas.js";
import { OutsideServer } from "./outside-server.js";
import { type FreshDatabase, freshDatabase } from "./postgres.js";
import { WorkerProcess, type WorkerProcessOptions } from "./worker-process.js";

export type CrashSagas = ReturnType<typeof sagas>;

/** Short enough for tests, long enough for a loaded machine. */
export const briskWorker = { slots: 20, lease: 3_000, beat: 300, poll: 100 } as const satisfies WorkerOptions;

/** A module of sagas: where the workers find it, relative to test/, and what it exports. */
export interface SagaModule<Known extends readonly Saga[]> {
  readonly file: string;
  readonly sagas: (outside: string) => Known;
}

export class CrashBench<Known extends readonly Saga[] = CrashSagas> implements AsyncDisposable {
  readonly database: FreshDatabase;
  readonly outside: OutsideServer;
  readonly client: SagaExecutor;
  readonly sagas: Known;
  readonly #file: string;
  readonly #workers: WorkerProcess[] = [];

  private constructor(parts: Pick<CrashBench<Known>, "database" | "outside" | "client" | "sagas">, file: string) {
    this.database = parts.database;
    this.outside = parts.outside;
    this.client = parts.client;
    this.sagas = parts.sagas;
    this.#file = file;
  }

  static open(): Promise<CrashBench> {
    return CrashBench.with({ file: "crash/sagas.ts", sagas });
  }

  static async with<Known extends readonly Saga[]>(module: SagaModule<Known>): Promise<CrashBench<Known>> {
    const database = await freshDatabase();
    const outside = await OutsideServer.start();
    const known = module.sagas(outside.url);
    const client = await durableExecutor({ sagas: known, database: database.url, worker: false, migrate: true });
    return new CrashBench({ database, outside, client, sagas: known }, module.file);
  }

  saga(name: Known[number]["name"]): Known[number] {
    return this.sagas.find((saga) => saga.name === name)!;
  }

  async worker(options: Partial<WorkerProcessOptions> = {}): Promise<WorkerProcess> {
    const worker = new WorkerProcess({
      database: this.database.url,
      sagas: this.#file,
      outside: this.outside.url,
      worker: briskWorker,
      ...options,
    });
    // Before it is ready: whatever becomes of it, it is gone at the end.
    this.#workers.push(worker);
    await worker.ready;
    return worker;
  }

  /** Starts several at once. */
  workers(count: number, options: Partial<WorkerProcessOptions> = {}): Promise<WorkerProcess[]> {
    return Promise.all(Array.from({ length: count }, () => this.worker(options)));
  }

  /** The worker that has this process id. */
  byPid(pid: number): WorkerProcess {
    return this.#workers.find((worker) => worker.pid === pid)!;
  }

  async killAll(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker[Symbol.asyncDispose]()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.killAll();
    await this.client.close();
    await this.outside[Symbol.asyncDispose]();
    await this.database.drop();
  }
}
