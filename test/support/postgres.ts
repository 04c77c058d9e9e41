// A POSTGRES OF THE SUITE'S OWN: one server for all files, a database per file. Fast and forgetful: nothing is synced.

import { spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { type Binaries, embeddedBinaries, runProgram, serverUser } from "../../src/store/embedded-binaries.js";

/** `embedded`: the newest, from npm. `15`: the oldest that is supported, where it is installed. */
export type ServerVersion = "embedded" | "15";

export interface SuiteServer {
  /** Of the maintenance database, as a superuser. */
  readonly url: string;
  /** Its data folder: for `pg_hba.conf`, say. */
  readonly data: string;
  /** Stops it, keeping its data. `fast` ends sessions in good order, `immediate` is a crash. Resolves when it is gone. */
  down(mode: "fast" | "immediate"): Promise<void>;
  /** Starts it again, at the same address. Resolves when it takes connections. */
  up(): Promise<void>;
  /** SIGSTOP, or SIGCONT, to the server and all its backends. */
  freeze(): void;
  thaw(): void;
  readonly stop: () => Promise<void>;
}

const urlVariable = "RUBICON_TEST_DATABASE";
/** `RUBICON_TEST_POSTGRES=15` runs the suite on that version. */
const wantedVersion: ServerVersion = process.env.RUBICON_TEST_POSTGRES === "15" ? "15" : "embedded";
const installed = "/usr/lib/postgresql/15/bin";

/** Whether this machine can run the suite on that version. */
export function hasVersion(version: ServerVersion): boolean {
  return version === "embedded" || existsSync(join(installed, "postgres"));
}

export interface ServerOptions {
  /** Default: what `RUBICON_TEST_POSTGRES` says, or `embedded`. */
  readonly version?: ServerVersion;
  /** Settings beside the suite's own, for example `{ fsync: "on" }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Starts a server with data of its own. @throws when it does not come up within 30 s */
export async function startServer(options: ServerOptions = {}): Promise<SuiteServer> {
  const { version = wantedVersion } = options;
  const user = serverUser();
  const binaries: Binaries =
    version === "15"
      ? { bin: installed, env: { PATH: process.env.PATH, LC_ALL: "C", LANG: "C", TZ: "UTC" } }
      : embeddedBinaries(user);
  const root = mkdtempSync("/tmp/rubicon-suite-");
  const data = join(root, "data");
  mkdirSync(data, { mode: 0o700 });
  if (user !== undefined) for (const folder of [root, data]) chownSync(folder, user.uid, user.gid);
  const initdb = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync", "-D", data];
  runProgram(join(binaries.bin, "initdb"), initdb, { cwd: root, env: binaries.env, user });
  const settings = {
    listen_addresses: "",
    unix_socket_directories: root,
    max_connections: "300",
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
    shared_buffers: "128MB",
    max_prepared_transactions: "10",
    autovacuum_naptime: "10s",
    log_min_messages: "fatal",
    ...options.settings,
  };
  const log = openSync(join(root, "server.log"), "w");
  // Goes with whoever started it, however that ends: its standard input is then closed.
  const supervised = '"$@" & server=$!; read -r _; kill -QUIT $server; wait $server';
  const program = [
    join(binaries.bin, "postgres"),
    "-D",
    data,
    ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ];
  const spawned = () => {
    const shell = spawn("/bin/sh", ["-c", supervised, "sh", ...program], {
      cwd: data,
      env: binaries.env,
      stdio: ["pipe", log, log],
      detached: true,
      ...user,
    });
    shell.unref();
    (shell.stdin as unknown as { unref?: () => void }).unref?.();
    return { shell, exited: new Promise<void>((resolve) => shell.once("exit", () => resolve())) };
  };
  let server = spawned();
  const url = `postgresql://postgres@localhost/postgres?host=${encodeURIComponent(root)}`;
  const isUp = () => ready(url, () => readFileSync(join(root, "server.log"), "utf8"));
  const ended = async () => {
    server.shell.ref();
    server.shell.stdin!.end();
    await server.exited;
  };
  const postmaster = () => Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]);
  const signalAll = (signal: NodeJS.Signals) => {
    const found = spawnSync("ps", ["-o", "pid=", "--ppid", String(postmaster())], { encoding: "utf8" });
    for (const pid of [postmaster(), ...found.stdout.split("\n").filter(Boolean).map(Number)]) signalTo(pid, signal);
  };
  await isUp();
  return {
    url,
    data,
    down: async (mode) => {
      signalTo(postmaster(), mode === "fast" ? "SIGINT" : "SIGQUIT");
      // The process itself stays in the table until its parent looks.
      while (existsSync(join(data, "postmaster.pid"))) await new Promise((resolve) => setTimeout(resolve, 5));
      await ended();
    },
    up: async () => {
      server = spawned();
      await isUp();
    },
    freeze: () => signalAll("SIGSTOP"),
    thaw: () => signalAll("SIGCONT"),
    stop: async () => {
      await ended();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone meanwhile.
  }
}

async function ready(url: string, log: () => string): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const client = new pg.Client(url);
    client.on("error", () => {});
    try {
      await client.connect();
      return await client.end();
    } catch (error) {
      if (attempt > 600) throw new Error(`the suite's server did not come up: ${log()}`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/**
 * The suite's server: started by the suite's global setup and shared by its files, or, where a file runs alone without one,
 * started here and stopped with the process.
 */
export async function startSuiteServer(options: ServerOptions = {}): Promise<SuiteServer> {
  const server = await startServer(options);
  process.env[urlVariable] = server.url;
  return server;
}

let own: Promise<SuiteServer> | undefined;

/** The maintenance database's URL. */
async function suiteUrl(): Promise<string> {
  const given = process.env[urlVariable];
  if (given !== undefined) return given;
  own ??= startServer();
  return (await own).url;
}

export interface FreshDatabase {
  readonly url: string;
  readonly name: string;
  /** A connection of its own, for looking in, holding locks, killing backends. Ended by `drop`. */
  connect(): Promise<pg.Client>;
  /** One statement on a connection of its own. */
  query<Row extends Record<string, any> = Record<string, any>>(text: string, values?: unknown[]): Promise<Row[]>;
  drop(): Promise<void>;
}

let made = 0;

/** An empty database on the suite's server. */
export async function freshDatabase(serverUrl?: string): Promise<FreshDatabase> {
  const maintenance = serverUrl ?? (await suiteUrl());
  made += 1;
  const name = `test_${process.pid}_${made}_${Date.now() % 1_000_000}`;
  await once(maintenance, `create database "${name}"`);
  const at = new URL(maintenance);
  at.pathname = `/${name}`;
  const url = at.href;
  const clients: pg.Client[] = [];
  return {
    url,
    name,
    connect: async () => {
      const client = new pg.Client(url);
      client.on("error", () => {});
      await client.connect();
      clients.push(client);
      return client;
    },
    query: (text, values) => once(url, text, values),
    drop: async () => {
      await Promise.all(clients.map((client) => client.end().catch(() => {})));
      await once(maintenance, `drop database if exists "${name}" with (force)`);
    },
  };
}

async function once(url: string, text: string, values?: unknown[]): Promise<any[]> {
  const client = new pg.Client(url);
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}
