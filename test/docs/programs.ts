// RUNNING A PROGRAM of the repository as a reader would: a process of its own, from the root, on a database of its own.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface Program {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** Resolves when that text has been printed; rejects when the program ended without. */
  printed(text: string): Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

/** Starts a TypeScript program. `cwd`: default the root. Colours off, the environment otherwise this process's with `env` over it. */
export function startProgram(
  file: string,
  args: readonly string[] = [],
  { env = {}, cwd = root }: { readonly env?: Record<string, string | undefined>; readonly cwd?: string } = {},
): Program {
  const child = spawn(process.execPath, ["--import", import.meta.resolve("tsx"), file, ...args], {
    cwd,
    env: { ...process.env, NO_COLOR: "1", TSX_TSCONFIG_PATH: `${root}tsconfig.json`, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // A test that fails leaves nothing running.
  const end = () => child.kill("SIGKILL");
  process.once("exit", end);
  child.once("close", () => process.off("exit", end));
  let out = "";
  let err = "";
  const looks = new Set<() => void>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    for (const look of looks) look();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  const ended = new Promise<Ended>((resolve) =>
    child.once("close", (code, signal) => resolve({ code, signal, out, err })),
  );
  return {
    pid: child.pid!,
    ended,
    printed: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!out.includes(text)) return;
          looks.delete(look);
          resolve();
        };
        looks.add(look);
        look();
        void ended.then(() => reject(new Error(`it ended without printing "${text}":\n${out}\n${err}`)));
      }),
    kill: (signal) => void child.kill(signal),
  };
}

export async function runProgram(...args: Parameters<typeof startProgram>): Promise<Ended> {
  return startProgram(...args).ended;
}
