// A REAL POSTGRES WITH NOTHING INSTALLED: data in a folder, a private socket, no port (design 3.4). Shared by all processes
// that name the folder, and outlives the one that started it.

import { spawn } from "node:child_process";
import {
  accessSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { StoreError } from "../errors/store-errors.js";
import { systemClock } from "../platform/clock.js";
import {
  type Binaries,
  embeddedBinaries,
  reachable,
  runProgram,
  type ServerUser,
  serverUser,
} from "./embedded-binaries.js";
import {
  type EmbeddedFolder,
  embeddedFolder,
  forgetForeignPid,
  prepareSocketFolder,
  runningServer,
  urlOf,
} from "./embedded-folder.js";
import { ensureWatcher } from "./embedded-watch.js";
import { withFileLock } from "./file-lock.js";

export interface EmbeddedOptions {
  /** How long nobody has to be connected before the server stops, in milliseconds. Default 10 minutes. */
  readonly idleMs?: number;
}

const scheme = "embedded:";
const patienceMs = 60_000;
const restartPatienceMs = 15_000;

/** The folder of `embedded:DIR`, absolute; undefined when `database` is something else. */
export function embeddedDirectory(database: string): string | undefined {
  return database.startsWith(scheme) ? resolve(database.slice(scheme.length) || ".rubicon") : undefined;
}

/**
 * Brings up the server of a folder, or joins the one that runs; gives the connection string. Safe to call again whenever a
 * connection fails: a server that was stopped, or killed, is started once more on the same data.
 *
 * @throws StoreError `embedded.no_binaries`, `embedded.no_user`, `embedded.failed`, `embedded.unsafe_folder`, `embedded.locked`
 */
export async function ensureEmbedded(directory: string, options: EmbeddedOptions = {}): Promise<string> {
  refusePlatform();
  makeFolder(directory);
  const user = serverUser();
  const folder = embeddedFolder(realpathSync(directory), user);
  if (runningServer(folder)?.status !== "ready")
    await withFileLock(folder.lock, patienceMs, async () => {
      // CRASH: a folder half initialised is under another name, and is made again; a server half started is joined or replaced.
      if (!existsSync(join(folder.data, "PG_VERSION"))) initialise(folder, user);
      await start(folder, user);
    });
  ensureWatcher(folder, options.idleMs ?? 10 * 60_000);
  return urlOf(folder);
}

/** Stops the server of a folder, whoever is connected; false when none was running. The data stays. */
export async function stopEmbedded(directory: string): Promise<boolean> {
  if (!existsSync(directory)) return false;
  const folder = embeddedFolder(realpathSync(directory), serverUser());
  return withFileLock(folder.lock, patienceMs, async () => {
    const server = runningServer(folder);
    if (server === undefined) return false;
    // "Fast": sessions are ended, what was committed is kept.
    process.kill(server.pid, "SIGINT");
    await until(() => runningServer(folder) === undefined, `the server of ${folder.root} did not stop`);
    return true;
  });
}

function refusePlatform(): void {
  if (process.platform !== "win32") return;
  throw new StoreError(
    "embedded.no_binaries",
    "the embedded Postgres needs Unix sockets. Set DATABASE_URL, or `database`, to a Postgres of yours.",
  );
}

function makeFolder(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true });
    accessSync(directory, constants.W_OK);
  } catch (cause) {
    throw new StoreError(
      "embedded.unsafe_folder",
      `the embedded Postgres can't keep its data in ${directory}: ${(cause as Error).message}. Choose a folder that this user may write.`,
      { cause },
    );
  }
}

/** Under a name of its own, renamed when whole. */
function initialise(folder: EmbeddedFolder, user: ServerUser | undefined): void {
  const making = mkdtempSync(join(folder.root, "making-"));
  try {
    if (user !== undefined) chownSync(making, user.uid, user.gid);
    const binaries = embeddedBinaries(user);
    const args = ["-U", "rubicon", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-instructions", "-D"];
    runProgram(join(binaries.bin, "initdb"), [...args, dataPath(making, user)], {
      cwd: making,
      env: binaries.env,
      user,
    });
    rmSync(folder.data, { recursive: true, force: true });
    renameSync(making, folder.data);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

/**
 * How the server names its data. Where an unprivileged server may not pass the folders above (a root's home), it gets there
 * by the working directory that it was started in, and never by a path.
 */
function dataPath(data: string, user: ServerUser | undefined): string {
  if (user === undefined || reachable(join(data, "PG_VERSION"), user)) return data;
  if (process.platform === "linux") return "/proc/self/cwd";
  throw new StoreError(
    "embedded.unreachable",
    `as root, the embedded Postgres runs as another user, which can't enter ${dirname(data)}. Choose a folder that others may enter.`,
  );
}

async function start(folder: EmbeddedFolder, user: ServerUser | undefined): Promise<void> {
  const running = runningServer(folder);
  // Another process may have started it without us, or it is on its way up or down.
  if (running !== undefined)
    await until(() => ["ready", undefined].includes(runningServer(folder)?.status), stuck(folder));
  if (runningServer(folder) !== undefined) return;
  refuseForeignData(folder, user);
  prepareSocketFolder(folder, user);
  const limit = systemClock.monotonic() + restartPatienceMs;
  // CRASH: where the server alone was killed, its orphans go on for a moment, and Postgres refuses to start beside them.
  while (!(await spawnedWell(folder, user))) {
    if (systemClock.monotonic() > limit)
      throw new StoreError("embedded.failed", `the server of ${folder.root} did not start: see ${folder.log}`);
    await new Promise<void>((resolve) => systemClock.after(200, resolve));
  }
}

/** One try: true once it is ready, false when it ended instead. */
async function spawnedWell(folder: EmbeddedFolder, user: ServerUser | undefined): Promise<boolean> {
  forgetForeignPid(folder);
  const server = spawnServer(folder, embeddedBinaries(user), user);
  let exited = false;
  server.once("error", () => {
    exited = true;
  });
  server.once("exit", () => {
    exited = true;
  });
  await until(() => exited || runningServer(folder)?.status === "ready", stuck(folder));
  return !exited;
}

function refuseForeignData(folder: EmbeddedFolder, user: ServerUser | undefined): void {
  const owner = statSync(folder.data).uid;
  const ours = user?.uid ?? process.getuid?.();
  if (owner === ours) return;
  throw new StoreError(
    "embedded.unsafe_folder",
    `${folder.data} belongs to uid ${owner}, and the server would run as uid ${ours}. Use the user that made it, or another folder.`,
  );
}

function spawnServer(folder: EmbeddedFolder, { bin, env }: Binaries, user: ServerUser | undefined) {
  const settings = {
    listen_addresses: "",
    unix_socket_directories: folder.socket,
    unix_socket_permissions: "0700",
    max_connections: "200",
    log_min_messages: "warning",
    timezone: "UTC",
    log_timezone: "UTC",
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const log = openSync(folder.log, "w");
  try {
    // Detached: a signal to the starter's group, Ctrl-C above all, is not for the server.
    const server = spawn(join(bin, "postgres"), ["-D", dataPath(folder.data, user), ...args], {
      cwd: folder.data,
      env,
      detached: true,
      stdio: ["ignore", log, log],
      ...user,
    });
    server.unref();
    return server;
  } finally {
    closeSync(log);
  }
}

function stuck(folder: EmbeddedFolder): string {
  return `the server of ${folder.root} is neither up nor down: see ${folder.log}`;
}

async function until(done: () => boolean, fault: string): Promise<void> {
  const limit = systemClock.monotonic() + patienceMs;
  while (!done()) {
    if (systemClock.monotonic() > limit) throw new StoreError("embedded.failed", fault);
    await new Promise<void>((resolve) => systemClock.after(10, resolve));
  }
}
