// THE DEMO'S WORKER PROCESSES: started, waited for, killed. Real ones: what happens to them can't be faked.

import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { CommandFailure } from "../failure.js";

/** What a worker process of the demo is told. */
export interface ActorOptions {
  readonly database: string;
  readonly schema: string;
  /** URL of the fake outside world. */
  readonly outside: string;
}

/** A worker process. */
export interface Actor {
  readonly pid: number;
  /** `kill -9`; resolves when the process is gone. */
  kill(): Promise<void>;
}

/** Nothing in the demo takes this long; what does will not happen any more. */
const patienceMs = 40_000;

export class Troupe {
  readonly #options: ActorOptions;
  readonly #stopping: AbortSignal;
  readonly #children = new Set<ChildProcess>();

  constructor(options: ActorOptions, stopping: AbortSignal) {
    this.#options = options;
    this.#stopping = stopping;
  }

  /** Starts a worker process; resolves when it is ready to take up runs. */
  async engage(): Promise<Actor> {
    // The compiled file, or under a loader its source.
    const program = fileURLToPath(
      new URL(import.meta.url.endsWith(".ts") ? "./actor.ts" : "./actor.js", import.meta.url),
    );
    const child = spawn(process.execPath, [...process.execArgv, program], {
      env: { ...process.env, RUBICON_DEMO_ACTOR: JSON.stringify(this.#options) },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#children.add(child);
    const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    const complaints: Buffer[] = [];
    child.stderr!.on("data", (part: Buffer) => complaints.push(part));
    const ready = new Promise<void>((resolve, reject) => {
      child.once("message", () => resolve());
      void gone.then(() =>
        reject(new CommandFailure("demo.failed", `a worker process ended too soon: ${Buffer.concat(complaints)}`)),
      );
    });
    await this.within(ready, "a worker process is ready");
    return {
      pid: child.pid!,
      kill: async () => {
        child.kill("SIGKILL");
        await gone;
        this.#children.delete(child);
      },
    };
  }

  /** What `work` gives, unless it takes too long or somebody presses Ctrl-C. @throws CommandFailure */
  async within<T>(work: Promise<T>, what: string): Promise<T> {
    let settle = () => {};
    const refused = new Promise<never>((_, reject) => {
      const stop = () =>
        reject(new CommandFailure("demo.stopped", "the demo was stopped before its end; run it again at any time"));
      const timer = setTimeout(() => {
        reject(
          new CommandFailure(
            "demo.failed",
            `waited ${patienceMs / 1_000}s in vain until ${what}. Does another demo run on the same database?`,
          ),
        );
      }, patienceMs);
      this.#stopping.addEventListener("abort", stop);
      settle = () => {
        clearTimeout(timer);
        this.#stopping.removeEventListener("abort", stop);
      };
      if (this.#stopping.aborted) stop();
    });
    try {
      return await Promise.race([work, refused]);
    } finally {
      settle();
    }
  }

  /** Ends them all. */
  dismiss(): void {
    for (const child of this.#children) child.kill("SIGKILL");
  }
}
