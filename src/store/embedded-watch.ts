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
  if (child.pid !== undefined) writeFileSync(folder.watcher, String(child.pid));
}

function watcherAlive(folder: EmbeddedFolder): boolean {
  const pid = watcherOf(folder);
  return pid !== undefined && isAlive(pid);
}

function watcherOf(folder: EmbeddedFolder): number | undefined {
  try {
    return Number(readFileSync(folder.watcher, "utf8"));
  } catch {
    return undefined;
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

const mostBetweenLooksMs = 15_000;
/** Between two looks at whether there still is a server: costs no connection. */
const stepMs = 2_000;

/**
 * Looks every so often; stops the server once nobody was connected for `idleMs`. Ends when there is no server, or when
 * another watcher is the one that the folder names: of those that racing processes started, the last one stays.
 */
export async function watch(root: string, idleMs: number): Promise<void> {
  const folder = embeddedFolder(root, serverUser());
  const database = openDatabase({ database: urlOf(folder), maxConnections: 4, patienceMs: 1_000 });
  const everyMs = Math.min(Math.max(idleMs / 5, 50), mostBetweenLooksMs);
  let usedAt = systemClock.monotonic();
  let lookAt = usedAt;
  for (let server = runningServer(folder); server !== undefined; server = runningServer(folder)) {
    if (watcherOf(folder) !== process.pid) return database.close();
    if (systemClock.monotonic() >= lookAt) {
      lookAt = systemClock.monotonic() + everyMs;
      const [row] = await database.once(othersConnected, []).catch(() => []);
      if (row?.others !== "0") usedAt = systemClock.monotonic();
      // A user that comes in this very moment loses its connection, and brings the server up again when it reconnects.
      else if (systemClock.monotonic() - usedAt >= idleMs) process.kill(server.pid, "SIGINT");
    }
    await new Promise<void>((resolve) => systemClock.after(Math.min(everyMs, stepMs), resolve));
  }
  await database.close();
  if (watcherOf(folder) === process.pid) rmSync(folder.watcher, { force: true });
}
