// A REAL PGBOUNCER in transaction mode, two server connections behind it, where it is installed.

import { type ChildProcess, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { serverUser } from "../../src/store/embedded-binaries.js";
import type { FreshDatabase } from "./postgres.js";
import { until } from "./until.js";

/** Undefined where it is not installed. */
export const pgbouncer = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"].find(existsSync);

export interface Bouncer {
  readonly url: string;
  stop(): void;
}

export async function bouncerFor(fresh: FreshDatabase): Promise<Bouncer> {
  const folder = mkdtempSync("/tmp/rubicon-bouncer-");
  const at = new URL(fresh.url);
  const config = join(folder, "pgbouncer.ini");
  writeFileSync(
    config,
    `[databases]
* = host=${at.searchParams.get("host")} user=postgres
[pgbouncer]
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
auth_type = any
unix_socket_dir = ${folder}
listen_port = 6432
listen_addr =
`,
  );
  const user = serverUser();
  if (user !== undefined) for (const path of [folder, config]) chownSync(path, user.uid, user.gid);
  const child: ChildProcess = spawn(pgbouncer!, ["-q", config], { stdio: "ignore", ...user });
  await until("PgBouncer listens", () => existsSync(join(folder, ".s.PGSQL.6432")));
  at.searchParams.set("host", folder);
  at.searchParams.set("port", "6432");
  return {
    url: at.href,
    stop: () => {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
