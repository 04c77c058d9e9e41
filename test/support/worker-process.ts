// REAL WORKER PROCESSES that tests can kill, freeze and stop. The child's program is `worker-child.ts`.

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { DurableOptions } from "rubicon-saga";

export interface WorkerProcessOptions {
  readonly database: string;
  readonly schema?: string;
  /** Module, relative to test/, that exports `sagas(outsideUrl)`. */
  readonly sagas: string;
  readonly outside: string;
  readonly worker?: DurableOptions["worker"];
  readonly retry?: DurableOptions["retry"];
  readonly listen?: false;
  /** How long `close` lets attempts finish. */
  readonly graceMs?: number;
  /** Lines of code run in the child before anything else, for example a patched clock. */
  readonly prelude?: string;
}

export class WorkerProcess implements AsyncDisposable {
  readonly lines: string[] = [];
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly #child: ChildProcess;
  /** Rejects when the process ends before it is ready. */
  readonly ready: Promise<void>;

  constructor(options: WorkerProcessOptions) {
    this.#child = spawn(process.execPath, ["--import", "tsx", new URL("worker-child.ts", import.meta.url).pathname], {
      env: { ...process.env, RUBICON_TEST: JSON.stringify(options) },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.exited = new Promise((resolve) => this.#child.once("exit", (code, signal) => resolve({ code, signal })));
    let readied = () => {};
    this.ready = new Promise((resolve, reject) => {
      readied = resolve;
      void this.exited.then(() => reject(new Error(`the worker ended before it was ready:\n${this.lines.join("\n")}`)));
    });
    this.ready.catch(() => {});
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      createInterface({ input: stream }).on("line", (line) => {
        this.lines.push(line);
        if (line === "ready") readied();
      });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Sends a signal; for SIGKILL resolves when the process is gone. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    this.#child.kill(signal);
    if (signal === "SIGKILL") await this.exited;
  }

  /** Asks for a graceful end and waits for it. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.alive) return;
    this.#child.kill("SIGCONT");
    await this.kill();
  }
}
