// WHAT IS WHERE in the folder of an embedded server, and whether its server runs. Starts nothing.

import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, lstatSync, mkdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "../errors/store-errors.js";
import { sha256 } from "../platform/digest.js";
import type { ServerUser } from "./embedded-binaries.js";
import { isAlive } from "./file-lock.js";

export interface EmbeddedFolder {
  readonly root: string;
  readonly data: string;
  readonly log: string;
  readonly lock: string;
  readonly watcher: string;
  /** Short, for a socket's path may have about 100 characters only; private to the server's user. */
  readonly socket: string;
}

/** @param root absolute and resolved: all names of a folder lead to one server. */
export function embeddedFolder(root: string, user: ServerUser | undefined): EmbeddedFolder {
  return {
    root,
    data: join(root, "data"),
    log: join(root, "server.log"),
    lock: join(root, "start.lock"),
    watcher: join(root, "watcher.pid"),
    socket: `/tmp/rubicon-${user?.uid ?? process.getuid?.() ?? 0}-${sha256(root).slice(0, 12)}`,
  };
}

export function urlOf(folder: EmbeddedFolder): string {
  return `postgresql://rubicon@localhost/postgres?host=${encodeURIComponent(folder.socket)}`;
}

/** Whoever can enter the socket's folder is let in without a password: nobody but the server's user and root may. */
export function prepareSocketFolder(folder: EmbeddedFolder, user: ServerUser | undefined): void {
  mkdirSync(folder.socket, { recursive: true, mode: 0o700 });
  const { uid } = lstatSync(folder.socket);
  const own = process.getuid?.();
  if (lstatSync(folder.socket).isSymbolicLink() || (uid !== own && uid !== user?.uid))
    throw new StoreError("embedded.unsafe_folder", `${folder.socket} belongs to somebody else (uid ${uid}): remove it`);
  chmodSync(folder.socket, 0o700);
  if (user !== undefined) chownSync(folder.socket, user.uid, user.gid);
}

export interface RunningServer {
  readonly pid: number;
  readonly status: "starting" | "ready" | "stopping";
}

/** By the server's own file, which it keeps for as long as it lives. Undefined when no process stands behind it. */
export function runningServer(folder: EmbeddedFolder): RunningServer | undefined {
  const lines = read(join(folder.data, "postmaster.pid"))?.split("\n");
  const pid = Number(lines?.[0]);
  if (lines === undefined || !isAlive(pid) || !isServerOf(pid, folder)) return undefined;
  const status = lines[7]?.trim();
  return { pid, status: status === "ready" || status === "stopping" ? status : "starting" };
}

/**
 * Postgres takes the files of a dead server over by itself, having looked that nothing of it is left; but not where its
 * number is another program's now. A zombie still has its own number, and is waited for.
 */
export function forgetForeignPid(folder: EmbeddedFolder): void {
  for (const file of [join(folder.data, "postmaster.pid"), join(folder.socket, ".s.PGSQL.5432.lock")]) {
    const pid = Number(read(file)?.split("\n")[0]);
    if (isAlive(pid) && !isServerOf(pid, folder) && !isZombie(pid)) rmSync(file, { force: true });
  }
}

function isZombie(pid: number): boolean {
  const stat = read(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).startsWith("Z") ?? false;
}

/** The number may have been given to another program since: after a restart of a container it usually has. */
function isServerOf(pid: number, folder: EmbeddedFolder): boolean {
  if (process.platform === "linux") {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === folder.data;
    } catch (error) {
      // Gone, or another user's: a server of this folder runs as this user, or this user is root.
      return (error as NodeJS.ErrnoException).code === "EACCES" && read(`/proc/${pid}/comm`)?.trim() === "postgres";
    }
  }
  const { stdout } = spawnSync("ps", ["-p", String(pid), "-o", "command="], { encoding: "utf8" });
  return stdout.includes("postgres") && stdout.includes(folder.socket);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
