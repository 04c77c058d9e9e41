// WORKERS IN THE TEST'S OWN PROCESS on a database that gets into trouble: what their bodies do, what they log, and whatever
// would have taken the process down.

import {
  type DurableExecutor,
  type DurableOptions,
  defineSaga,
  durableExecutor,
  pivot,
  type RunTools,
  step,
  type Transaction,
  type WorkerOptions,
} from "rubicon-saga";
import { Outside } from "./outside.js";
import { type FreshDatabase, freshDatabase } from "./postgres.js";

/** Short enough for tests, long enough for a loaded machine. */
export const quickWorker = { slots: 20, lease: 6_000, beat: 300, poll: 100 } as const satisfies WorkerOptions;

const quickRetry = { firstDelay: 20, maxDelay: 100 } as const;

export interface LogLine {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

/** Called by each forward body once the call is noted; what it gives is dropped. */
type Behaviour = (tools: RunTools & { readonly tx?: Transaction }) => unknown;

export class TroubleBench implements AsyncDisposable {
  readonly database: FreshDatabase;
  readonly outside = new Outside();
  readonly lines: LogLine[] = [];
  /** By the step's name. */
  readonly on: Record<string, Behaviour> = {};
  /** Errors that nobody caught. */
  readonly uncaught: unknown[] = [];
  readonly sagas = this.#sagas();
  readonly #executors: DurableExecutor[] = [];
  readonly #note = (error: unknown) => this.uncaught.push(error);

  private constructor(database: FreshDatabase) {
    this.database = database;
    process.on("uncaughtException", this.#note);
    process.on("unhandledRejection", this.#note);
  }

  /** On a database of its own, on the suite's server or on another one. */
  static async open(serverUrl?: string): Promise<TroubleBench> {
    return new TroubleBench(await freshDatabase(serverUrl));
  }

  readonly logger = {
    debug: () => {},
    info: this.#log("info"),
    warn: this.#log("warn"),
    error: this.#log("error"),
  };

  /** A worker, unless told otherwise; closed at the end. */
  async executor(options: Partial<DurableOptions> = {}): Promise<DurableExecutor> {
    const executor = await durableExecutor({
      sagas: this.sagas,
      database: this.database.url,
      migrate: true,
      logger: this.logger,
      worker: quickWorker,
      ...options,
    });
    this.#executors.push(executor);
    return executor;
  }

  saga(name: "three" | "pivoted" | "ledger" | "once"): (typeof this.sagas)[number] {
    return this.sagas.find((saga) => saga.name === name)!;
  }

  said(text: string, level?: LogLine["level"]): number {
    return this.lines.filter((line) => line.message.includes(text) && (level === undefined || line.level === level))
      .length;
  }

  /** Ends all sessions of the database but the asker's. */
  async endSessions(where = "true"): Promise<number> {
    const ended = await this.database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and (${where})`,
    );
    return ended.length;
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.#executors.splice(0).map((executor) => executor.close({ grace: 0 })));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closeAll();
    await this.database.drop();
    process.off("uncaughtException", this.#note);
    process.off("unhandledRejection", this.#note);
  }

  #log(level: LogLine["level"]) {
    return (fields: object, message = "") =>
      void this.lines.push({ level, message, fields: fields as Record<string, unknown> });
  }

  #sagas() {
    const body = async <Name extends string>(name: Name, tools: RunTools) => {
      this.outside.did(name, tools);
      await this.on[name]?.(tools);
      return { [`from${name}`]: tools.attempt } as Record<`from${Name}`, number>;
    };
    const undoable = <Name extends string>(
      name: Name,
      { timeout = 60_000, ...retry }: { maxAttempts?: number; timeout?: number } = {},
    ) =>
      step({
        name,
        run: async (_context: object, tools) => body(name, tools),
        compensate: async (_context, undo) => this.outside.undid(name, undo),
        retry: { ...quickRetry, ...retry },
        timeout,
        grace: 100,
      });
    const forward = <Name extends string>(name: Name) =>
      step({ name, run: async (_context: object, tools) => body(name, tools), retry: quickRetry, grace: 100 });
    const decisive = pivot({
      name: "P",
      run: async (_context: object, tools) => body("P", tools),
      retry: quickRetry,
      grace: 100,
    });
    const ledger = step({
      name: "S1",
      transaction: true,
      run: async (_context: object, tools) => {
        this.outside.did("S1", tools);
        await tools.tx.query("insert into public.ledger (run) values ($1)", [tools.runId]);
        await this.on.S1?.(tools);
        return { booked: true };
      },
      compensate: async (_context, undo) => this.outside.undid("S1", undo),
      retry: { ...quickRetry, maxAttempts: 2 },
    });
    return [
      defineSaga({ name: "three", version: 1, steps: [undoable("S1"), undoable("S2"), undoable("S3")] }),
      defineSaga({ name: "pivoted", version: 1, steps: [undoable("S1"), decisive, forward("S3")] }),
      defineSaga({ name: "ledger", version: 1, steps: [ledger, undoable("S2")] }),
      defineSaga({ name: "once", version: 1, steps: [undoable("S1", { maxAttempts: 1, timeout: 3_000 })] }),
    ] as const;
  }
}
