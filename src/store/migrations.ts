// WHICH MIGRATIONS THERE ARE, and which objects a schema must have once all are applied. Reads files, no database.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { sha256 } from "../platform/digest.js";
import { quoteIdentifier } from "./sql.js";

export interface Migration {
  readonly number: number;
  readonly name: string;
  /** With `:"schema"` where the schema's quoted name goes. */
  readonly text: string;
  readonly checksum: string;
  /** Code whose newest migration is below this may not run on the schema. */
  readonly oldestCode: number;
}

/** The `migrations` folder of the package, from `src` as well as from `dist/src`. */
function migrationsFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "migrations", "0001_runs.sql"))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error("the package's `migrations` folder is missing: install it again");
    folder = parent;
  }
  return join(folder, "migrations");
}

/** All migrations, in order. */
export function readMigrations(folder = migrationsFolder()): readonly Migration[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}_.+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const text = readFileSync(join(folder, file), "utf8");
      const oldestCode = Number(/^-- oldest code: (\d+)$/m.exec(text)?.[1]);
      if (Number.isNaN(oldestCode)) throw new Error(`${file} does not say the oldest code that may run on it`);
      return { number: Number(file.slice(0, 4)), name: file, text, checksum: sha256(text), oldestCode };
    });
}

/** The SQL of a migration for a schema. */
export function migrationSql(migration: Migration, schemaName: string): string {
  const quoted = quoteIdentifier(schemaName);
  return migration.text.replaceAll(':"schema"', () => quoted);
}

/** Tables with their columns, and indexes, as the newest migration leaves them. A test compares it with the catalog. */
export const expectedObjects = {
  tables: {
    migrations: ["number", "name", "checksum", "oldest_code", "applied_at"],
    shapes: ["hash", "shape", "created_at"],
    runs: [
      "id",
      "tenant",
      "run_id",
      "saga",
      "version",
      "shape_hash",
      "input",
      "input_format",
      "input_digest",
      "attributes",
      "priority",
      "start_at",
      "created_at",
      "status",
      "state",
      "due_at",
      "rank",
      "owner",
      "owner_worker",
      "poke",
      "crashes",
      "cancel_requested_at",
      "cancel_refused_at",
      "output",
      "output_format",
      "error",
      "owed",
      "awaited",
      "ended_at",
      "parent",
      "child_ended",
      "lane",
      "places",
      "placed",
    ],
    journal: ["run", "number", "kind", "step", "format", "payload", "writer", "nonce", "at", "only_last", "loss"],
    workers: ["id", "host", "pid", "registered", "started_at", "beat_at", "lease_until", "suspected_at", "dead_at"],
    worker_locks: ["worker", "server"],
    schedules: [
      "tenant",
      "id",
      "saga",
      "version",
      "shape_hash",
      "input",
      "input_format",
      "input_digest",
      "lane",
      "places",
      "cron",
      "time_zone",
      "every_ms",
      "missed",
      "overlap",
      "paused",
      "next_due_at",
      "last_due_at",
      "last_run_id",
      "skipped_due_at",
      "skipped_why",
      "live",
      "revision",
      "created_at",
      "changed_at",
    ],
  },
  indexes: [
    "migrations_pkey",
    "shapes_pkey",
    "runs_pkey",
    "runs_tenant_run_id_key",
    "runs_ready",
    "runs_ready_of_tenant",
    "runs_suspect",
    "runs_queued",
    "runs_placed",
    "runs_scheduled",
    "runs_owned",
    "runs_attention",
    "runs_attributes",
    "runs_ended",
    "journal_pkey",
    "workers_pkey",
    "worker_locks_pkey",
    "schedules_pkey",
    "schedules_due",
  ],
} as const satisfies { tables: Record<string, readonly string[]>; indexes: readonly string[] };
