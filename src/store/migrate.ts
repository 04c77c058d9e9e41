// WHETHER A SCHEMA IS THERE, WHOLE AND OF THE RIGHT AGE, and bringing it there (design 3.1).

import { StoreError } from "../errors/store-errors.js";
import type { Connection } from "./connection.js";
import type { Database } from "./db.js";
import { expectedObjects, type Migration, migrationSql, readMigrations } from "./migrations.js";
import { numberOf, quoteIdentifier, type Runner, type SqlRow, type Statement, textOf } from "./sql.js";
import { sqlStateOf } from "./sql-error.js";

/** The SQL that `migrate` would run on an empty database, for those who apply it by other means. */
export function migrationsAsSql(schemaName: string, migrations: readonly Migration[] = readMigrations()): string {
  const schema = quoteIdentifier(schemaName);
  const parts = migrations.flatMap((migration) => [migrationSql(migration, schemaName), recordSql(schema, migration)]);
  return [`create schema if not exists ${schema};`, ...parts].join("\n\n");
}

function recordSql(schema: string, { number, name, checksum, oldestCode }: Migration): string {
  return `insert into ${schema}.migrations (number, name, checksum, oldest_code)
values (${number}, '${name.replaceAll("'", "''")}', '${checksum}', ${oldestCode});`;
}

/** Not per statement: it must be held before anything is looked at, and be gone with the transaction, also behind a pooler. */
const takeLock =
  "select pg_advisory_xact_lock(hashtextextended('rubicon-saga migrate ' || $1::text, 0))::text as locked";

const findSchema: Statement = () => "select oid::text as found from pg_namespace where nspname = $1::text";

const findTable: Statement = () => "select to_regclass($1::text)::text as found";

const readApplied: Statement = (schema) =>
  `select number::text as number, checksum::text as checksum, oldest_code::text as oldest_code from ${schema}.migrations order by number`;

/**
 * Applies what is missing, each migration once, whoever else does the same at this moment; returns the names of those that
 * this call applied. All in one transaction: a failure leaves the schema as it was.
 *
 * @throws StoreError `store.forbidden` naming the missing right, `schema.too_new`, `schema.changed`
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[] = readMigrations(),
): Promise<readonly string[]> {
  return database.retry(async () => {
    try {
      return await database.transaction((connection) => applyMissing(database, connection, migrations));
    } catch (error) {
      throw sqlStateOf(error) === "42501" ? await lackingRight(database, error) : error;
    }
  });
}

async function applyMissing(
  database: Database,
  connection: Connection,
  migrations: readonly Migration[],
): Promise<readonly string[]> {
  const schema = quoteIdentifier(database.schemaName);
  // The user's timeouts are for their own statements; a lock that is waited for here is another replica's migration.
  await connection.raw("set local statement_timeout = 0; set local lock_timeout = 0");
  await connection.raw(takeLock, [database.schemaName]);
  const [found] = await connection.run(findSchema, [database.schemaName]);
  // CREATE SCHEMA IF NOT EXISTS wants the right to create even where there is nothing to do.
  if (found === undefined) await connection.raw(`create schema ${schema}`);
  const applied = await appliedMigrations(connection, database.schemaName);
  const missing = checkApplied(database.schemaName, applied, migrations);
  for (const migration of missing) {
    await connection.raw(migrationSql(migration, database.schemaName));
    await connection.raw(recordSql(schema, migration));
  }
  return missing.map((migration) => migration.name);
}

interface Applied {
  readonly number: number;
  readonly checksum: string;
  readonly oldestCode: number;
}

async function appliedMigrations(runner: Runner, schemaName: string): Promise<readonly Applied[]> {
  const [table] = await runner.run(findTable, [`${quoteIdentifier(schemaName)}.migrations`]);
  if (table?.found === null) return [];
  const rows = await runner.run(readApplied, []);
  return rows.map((row) => ({
    number: numberOf(row, "number"),
    checksum: textOf(row, "checksum"),
    oldestCode: numberOf(row, "oldest_code"),
  }));
}

/** The migrations still to be applied. Only code that is too old is refused, so a rolling deploy and a roll-back work. */
function checkApplied(
  schemaName: string,
  applied: readonly Applied[],
  migrations: readonly Migration[],
): readonly Migration[] {
  const code = migrations.at(-1)?.number ?? 0;
  const tooNew = applied.find((each) => each.oldestCode > code);
  if (tooNew !== undefined)
    throw new StoreError(
      "schema.too_new",
      `schema "${schemaName}" has migration ${tooNew.number}, on which only code that knows migration ${tooNew.oldestCode} ` +
        `may run; this code knows ${code}. Deploy a newer version of rubicon-saga.`,
    );
  for (const migration of migrations) {
    const done = applied.find((each) => each.number === migration.number);
    if (done !== undefined && done.checksum !== migration.checksum)
      throw new StoreError(
        "schema.changed",
        `${migration.name} was applied to schema "${schemaName}" with another content. Migrations never change once ` +
          "landed: install the package again, or restore the file.",
      );
  }
  return migrations.filter((migration) => !applied.some((each) => each.number === migration.number));
}

async function lackingRight(database: Database, cause: unknown): Promise<StoreError> {
  const role = await database
    .once(() => "select current_user::text as role, current_database()::text as database", [])
    .then(([row]) => row)
    .catch(() => undefined);
  const said = cause instanceof Error ? cause.message : String(cause);
  return new StoreError(
    "store.forbidden",
    `role "${role?.role}" may not migrate schema "${database.schemaName}" of database "${role?.database}" (${said}). ` +
      `Grant CREATE on the database or the schema, or let somebody who may apply the output of \`rubicon migrate --print\`.`,
    { cause },
  );
}

const readOnly: Statement = () => "select current_setting('transaction_read_only')::text as read_only";

/** False for a standby, and where `default_transaction_read_only` is on. */
export async function takesWrites(runner: Runner): Promise<boolean> {
  const [row] = await runner.run(readOnly, []);
  return row?.read_only !== "on";
}

/**
 * Looks whether the code can work with the schema as it is, and names all that is missing.
 *
 * @throws StoreError `schema.missing`, `schema.outdated`, `schema.incomplete`, `schema.too_new`, `schema.changed`,
 * `store.forbidden`
 */
export async function verifySchema(
  database: Database,
  migrations: readonly Migration[] = readMigrations(),
): Promise<void> {
  const { schemaName } = database;
  const advice = "Run `rubicon migrate`, or pass `migrate: true`.";
  const present = await database.run(presentObjects, [schemaName]);
  const usable = await database.run(usableSchema, [schemaName]);
  if (usable.length === 0) throw new StoreError("schema.missing", `there is no schema "${schemaName}". ${advice}`);
  if (usable[0]?.usable !== "true") throw forbidden(schemaName, ["USAGE on the schema"]);
  if (!present.some((row) => row.kind === "table" && row.name === "migrations")) {
    if (!present.some((row) => row.kind === "table" && row.name === "runs"))
      throw new StoreError("schema.missing", `schema "${schemaName}" has no tables of ours. ${advice}`);
  } else {
    const unreadable = present.find((row) => row.name === "migrations" && row.rights !== "true");
    if (unreadable !== undefined) throw forbidden(schemaName, ['SELECT on table "migrations"']);
    const missing = checkApplied(schemaName, await appliedMigrations(database, schemaName), migrations);
    if (missing.length > 0)
      throw new StoreError(
        "schema.outdated",
        `schema "${schemaName}" lacks ${missing.map((each) => each.name).join(", ")}. ${advice}`,
      );
  }
  const absent = absentObjects(present);
  if (absent.length > 0)
    throw new StoreError(
      "schema.incomplete",
      `schema "${schemaName}" is incomplete: ${absent.join(", ")}. Restore what was dropped, or migrate another schema.`,
    );
  const lacking = present
    .filter((row) => row.kind === "table" && row.name! in expectedObjects.tables && row.rights !== "true")
    .map((row) => `SELECT, INSERT and UPDATE on table "${row.name}"`);
  if (lacking.length > 0) throw forbidden(schemaName, lacking);
}

function absentObjects(present: readonly SqlRow[]): string[] {
  const names = new Set(present.map((row) => `${row.kind} ${row.name}`));
  const tables = Object.entries(expectedObjects.tables).flatMap(([table, columns]) => {
    if (!names.has(`table ${table}`)) return [`table ${table}`];
    return columns
      .filter((column) => !names.has(`column ${table}.${column}`))
      .map((column) => `column ${table}.${column}`);
  });
  const indexes = expectedObjects.indexes
    .filter((index) => !names.has(`index ${index}`))
    .map((index) => `index ${index}`);
  return [...tables, ...indexes];
}

const usableSchema: Statement = () => `
  select has_schema_privilege(oid, 'usage')::text as usable from pg_namespace where nspname = $1::text`;

/** From the catalog, which needs no right on the objects themselves. Invalid indexes count as absent. */
const presentObjects: Statement = () => `
  with s as (select oid from pg_namespace where nspname = $1::text)
  select 'table' as kind, c.relname::text as name,
    (case c.relname when 'migrations' then has_table_privilege(c.oid, 'select')
      else has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
        and (c.relname in ('shapes', 'journal') or has_table_privilege(c.oid, 'update')) end)::text as rights
  from pg_class c where c.relnamespace in (select oid from s) and c.relkind in ('r', 'p')
  union all
  select 'column', c.relname::text || '.' || a.attname::text, 'true'
  from pg_class c join pg_attribute a on a.attrelid = c.oid
  where c.relnamespace in (select oid from s) and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
  union all
  select 'index', c.relname::text, 'true'
  from pg_class c join pg_index x on x.indexrelid = c.oid
  where c.relnamespace in (select oid from s) and x.indisvalid`;

function forbidden(schemaName: string, rights: readonly string[]): StoreError {
  return new StoreError(
    "store.forbidden",
    `the role lacks ${rights.join(", ")} in schema "${schemaName}". Grant them, or use the role that migrated it.`,
  );
}
