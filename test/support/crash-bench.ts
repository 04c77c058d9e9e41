// WHAT A CRASH TEST NEEDS: a database, an outside server, worker processes and a client, all gone at its end.

import { durableExecutor, type SagaExecutor, type WorkerOptions } from "rubicon-saga";
import { sagas } from "../crash/sagas.js";
import { OutsideServer } from "./outside-server.js";
import { type FreshDatabase, freshDatabase } from "./postgres.js";
import { WorkerProcess, type WorkerProcessOptions } from "./worker-process.js";

export type CrashSagas = ReturnType<typeof sagas>;

/** Short enough for tests, long enough for a loaded machine. */
export const briskWorker = { slots: 20, lease: 3_000, beat: 300, poll: 100 } as const satisfies WorkerOptions;

export class CrashBench implements AsyncDisposable {
  readonly database: FreshDatabase;
  readonly outside: OutsideServer;
  readonly client: SagaExecutor;
  readonly sagas: CrashSagas;
  readonly #workers: WorkerProcess[] = [];

  private constructor(database: FreshDatabase, outside: OutsideServer, client: SagaExecutor, known: CrashSagas) {
    this.database = database;
    this.outside = outside;
    this.client = client;
    this.sagas = known;
  }

  static async open(): Promise<CrashBench> {
    const database = await freshDatabase();
    const outside = await OutsideServer.start();
    const known = sagas(outside.url);
    const client = await durableExecutor({ sagas: known, database: database.url, worker: false, migrate: true });
    return new CrashBench(database, outside, client, known);
  }

  saga(name: "one" | "two" | "four" | "with-pivot" | "poison" | "slow" | "function"): CrashSagas[number] {
    return this.sagas.find((saga) => saga.name === name)!;
  }

  async worker(options: Partial<WorkerProcessOptions> = {}): Promise<WorkerProcess> {
    const worker = new WorkerProcess({
      database: this.database.url,
      sagas: "crash/sagas.ts",
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
