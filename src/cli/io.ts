// WHAT THE COMMAND READS AND WRITES beside databases: streams, environment, signals. Tests hand in their own.

import type { WriteStream } from "node:tty";

export interface Io {
  /** Results: what a script would read. */
  readonly out: (text: string) => void;
  /** Everything else: progress, faults. */
  readonly err: (text: string) => void;
  /** Whether results may be coloured. */
  readonly colours: boolean;
  /** Columns of the terminal. */
  readonly width: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Aborts when the process was asked to end: a command that goes on until then stops gracefully. */
  readonly stopping: AbortSignal;
}

const narrowest = 60;
const usualWidth = 100;

/** The process's own. A second SIGINT or SIGTERM ends the process at once. */
export function processIo(): Io {
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => {
      stopping.abort(signal);
    });
  const out: WriteStream = process.stdout;
  endQuietlyWhenNobodyReads(out);
  return {
    out: (text) => void out.write(text),
    err: (text) => void process.stderr.write(text),
    colours: wantsColours(process.env, out.isTTY === true),
    width: Math.max(narrowest, out.columns ?? usualWidth),
    env: process.env,
    cwd: process.cwd(),
    stopping: stopping.signal,
  };
}

/** https://no-color.org: any value but the empty one turns colours off. FORCE_COLOR turns them on without a terminal. */
export function wantsColours(env: Io["env"], terminal: boolean): boolean {
  if ((env["NO_COLOR"] ?? "") !== "") return false;
  if ((env["FORCE_COLOR"] ?? "0") !== "0") return true;
  return terminal && env["TERM"] !== "dumb";
}

/** `rubicon runs | head` closes the pipe: no reason for a stack trace. */
function endQuietlyWhenNobodyReads(stream: WriteStream): void {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
}
