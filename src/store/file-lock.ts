// ONE PROCESS AT A TIME, by a file. The lock of a dead process is taken over. For processes of one machine.

import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { StoreError } from "../errors/store-errors.js";
import { systemClock } from "../platform/clock.js";
import { systemChance } from "../platform/ids.js";

/** Runs `work` while holding the lock at `path`. @throws StoreError `embedded.locked` after `patienceMs` */
export async function withFileLock<T>(path: string, patienceMs: number, work: () => Promise<T>): Promise<T> {
  const ours = `${process.pid} ${startOf(process.pid) ?? ""} ${systemChance.id()}`;
  const until = systemClock.monotonic() + patienceMs;
  while (!tryLock(path, ours)) {
    if (systemClock.monotonic() > until)
      throw new StoreError(
        "embedded.locked",
        `${path} has been locked for ${patienceMs} ms by process ${holderOf(path)}`,
      );
    await new Promise<void>((resolve) => systemClock.after(25, resolve));
  }
  try {
    return await work();
  } finally {
    if (read(path) === ours) rmSync(path, { force: true });
  }
}

function tryLock(path: string, ours: string): boolean {
  try {
    writeFileSync(path, ours, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const holder = read(path);
  // Empty: its maker is about to write it.
  if (holder !== undefined && holder !== "" && isDead(holder)) removeStale(path, holder);
  return false;
}

/** Moves the file away and looks at what was moved: it may be the lock of somebody who took the stale one over first. */
function removeStale(path: string, stale: string): void {
  const aside = `${path}.${systemChance.id()}`;
  try {
    renameSync(path, aside);
    if (read(aside) !== stale) linkSync(aside, path);
  } catch {
    // Somebody else was faster.
  } finally {
    rmSync(aside, { force: true });
  }
}

function isDead(holder: string): boolean {
  const [pid, start] = holder.split(" ");
  if (!isAlive(Number(pid))) return true;
  const present = startOf(Number(pid));
  // The number of a dead process may have been given to another one.
  return start !== "" && present !== undefined && present !== start;
}

export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** When a process started, in ticks since boot; undefined where the system doesn't tell. */
function startOf(pid: number): string | undefined {
  const stat = read(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

function holderOf(path: string): string {
  return read(path)?.split(" ")[0] ?? "unknown";
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
