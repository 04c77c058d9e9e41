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
  /**
   * From its first call on SIGINT and SIGTERM don't end the process but abort this signal; a second one ends it. For
   * commands that have something to finish; the others may simply be killed.
   */
  readonly stopping: () => AbortSignal;
}

const narrowest = 60;
const usualWidth = 100;

/** The process's own. */
export function processIo(): Io {
  const out: WriteStream = process.stdout;
  endQuietlyWhenNobodyReads(out);
  return {
    out: (text) => void out.write(text),
    err: (text) => void process.stderr.write(text),
    colours: wantsColours(process.env, out.isTTY === true),
    width: Math.max(narrowest, out.columns ?? usualWidth),
    env: process.env,
    cwd: process.cwd(),
    stopping: heedSignals,
  };
}

let heeded: AbortController | undefined;

function heedSignals(): AbortSignal {
  if (heeded !== undefined) return heeded.signal;
  const stopping = new AbortController();
  heeded = stopping;
  const heed = (signal: NodeJS.Signals) => {
    stopping.abort(signal);
    for (const each of ["SIGINT", "SIGTERM"] as const) process.off(each, heed);
  };
  for (const each of ["SIGINT", "SIGTERM"] as const) process.on(each, heed);
  return stopping.signal;
}

/** https://no-color.org: any value but the empty one turns colours off. FORCE_COLOR turns them on without a terminal. */
export function wantsColours(env: Io["env"], terminal: boolean): boolean {
  if ((env.NO_COLOR ?? "") !== "") return false;
  if ((env.FORCE_COLOR ?? "0") !== "0") return true;
  return terminal && env.TERM !== "dumb";
}

/** `rubicon runs | head` closes the pipe: no reason for a stack trace. */
function endQuietlyWhenNobodyReads(stream: WriteStream): void {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
}
