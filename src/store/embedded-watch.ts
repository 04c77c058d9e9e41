// STOPPING AN EMBEDDED SERVER that nobody uses any more. A small process of its own, for the server outlives its users; it
// ends with the server.

import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { systemClock } from "../platform/clock.js";
import { openDatabase } from "./db.js";
import { serverUser } from "./embedded-binaries.js";
import { type EmbeddedFolder, embeddedFolder, runningServer, urlOf } from "./embedded-folder.js";
import { isAlive } from "./file-lock.js";
import type { Statement } from "./sql.js";

/** Starts a watcher unless one is alive. Without one the server merely stays up. */
export function ensureWatcher(folder: EmbeddedFolder, idleMs: number): void {
  if (idleMs === Number.POSITIVE_INFINITY || watcherAlive(folder)) return;
  const file = program();
  if (file === undefined) return;
  const child = spawn(process.execPath, [...loader(file), file, folder.root, String(idleMs)], {
    cwd: "/",
    detached: true,
    stdio: "ignore",
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  child.on("error", () => {});
  child.unref();
}

function watcherAlive(folder: EmbeddedFolder): boolean {
  try {
    return isAlive(Number(readFileSync(folder.watcher, "utf8")));
  } catch {
    return false;
  }
}

/** A file of its own, so that nothing else is run with it: in a bundle it is not there, and the server stays up. */
function program(): string | undefined {
  const here = fileURLToPath(import.meta.url);
  const file = join(dirname(here), `embedded-watcher${extname(here)}`);
  return existsSync(file) ? file : undefined;
}

/** From sources, as in tests, Node needs a loader to run this file. */
function loader(file: string): string[] {
  if (!file.endsWith(".ts")) return [];
  return ["--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href];
}

const othersConnected: Statement = () => `
  select count(*)::text as others from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`;

/** Looks every so often; stops the server once nobody was connected for `idleMs`. Ends when there is no server. */
export async function watch(root: string, idleMs: number): Promise<void> {
  const folder = embeddedFolder(root, serverUser());
  writeFileSync(folder.watcher, String(process.pid));
  const database = openDatabase({ database: urlOf(folder), maxConnections: 4, patienceMs: 1_000 });
  let usedAt = systemClock.monotonic();
  for (let server = runningServer(folder); server !== undefined; server = runningServer(folder)) {
    const [row] = await database.once(othersConnected, []).catch(() => []);
    if (row?.others !== "0") usedAt = systemClock.monotonic();
    // A user that comes in this very moment loses its connection, and brings the server up again when it reconnects.
    else if (systemClock.monotonic() - usedAt >= idleMs) process.kill(server.pid, "SIGINT");
    await new Promise<void>((resolve) => systemClock.after(Math.min(Math.max(idleMs / 5, 50), 15_000), resolve));
  }
  await database.close();
  rmSync(folder.watcher, { force: true });
}
