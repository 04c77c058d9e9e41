// A PROCESS OF THE BENCHMARK'S, asked by IPC: one answer to each ask, in order. Ends with its parent.

import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** `built`: by plain node, from `dist`. `source`: by tsx, whose memory is then the process's too. */
export type ProgramKind = "built" | "source";

export interface ChildOptions {
  readonly program: ProgramKind;
  /** Of node. */
  readonly flags?: readonly string[];
  /** What the program reads from its environment. */
  readonly settings: object;
}

export class Child implements AsyncDisposable {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Resolves once the program says that it is ready. @throws when it ends before */
  static async start(name: string, { program, flags = [], settings }: ChildOptions): Promise<Child> {
    const path = program === "built" ? `${root}dist/bench/waiting/${name}.js` : `${root}bench/waiting/${name}.ts`;
    const loader = program === "built" ? [] : ["--import", import.meta.resolve("tsx")];
    const child = fork(path, {
      execArgv: [...flags, ...loader],
      env: { ...process.env, RUBICON_BENCH: JSON.stringify(settings) },
    });
    const started = new Child(child);
    await started.#answer();
    return started;
  }

  async ask<Answer>(question: unknown): Promise<Answer> {
    const answer = this.#answer();
    this.#child.send(question as object);
    return (await answer) as Answer;
  }

  async close(): Promise<void> {
    const gone = new Promise((resolve) => this.#child.once("exit", resolve));
    await this.ask("close");
    await gone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill("SIGKILL");
  }

  #answer(): Promise<unknown> {
    const child = this.#child;
    return new Promise((resolve, reject) => {
      const ended = (code: number | null, signal: NodeJS.Signals | null) =>
        reject(new Error(`${child.spawnargs.at(-1)} ended without an answer: ${signal ?? `exit code ${code}`}`));
      child.once("exit", ended);
      child.once("message", (answer) => {
        child.off("exit", ended);
        resolve(answer);
      });
    });
  }
}
