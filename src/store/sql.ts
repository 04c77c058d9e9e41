// HOW STATEMENTS ARE WRITTEN: schema-qualified text, explicit casts both ways, milliseconds in and out. Knows no table.

/** What a statement takes. Everything else is turned into one of these before it gets here. */
export type SqlValue = string | number | boolean | null | readonly (string | number | boolean | null)[];

/** Every column is cast to text in SQL and read as such: `pg`'s type parsers are global to the user's process. */
export type SqlRow = Readonly<Record<string, string | null>>;

/**
 * The text of a statement for a schema, given as a quoted identifier. Fully qualified, so that `search_path` never matters,
 * and without `*`, so that a column added by a later migration doesn't break a prepared plan.
 */
export type Statement = (schema: string) => string;

/** Runs statements. What both a pool and a transaction offer. */
export interface Runner {
  run(statement: Statement, values: readonly SqlValue[]): Promise<readonly SqlRow[]>;
}

/** Anything with `query(text, values)`: a `pg` client, or a line around another library's transaction. */
export interface Borrowed {
  query(text: string, values: any[]): Promise<{ rows: any[] }>;
}

/** Runs our statements on a connection of the caller's, inside the caller's transaction. Errors are the caller's to see. */
export function borrowedRunner(borrowed: Borrowed, schemaName: string): Runner {
  const schema = quoteIdentifier(schemaName);
  return { run: async (statement, values) => (await borrowed.query(statement(schema), [...values])).rows };
}

/** Each statement tried once: for what a loop comes back to anyway. */
export function oneTry(database: {
  once(statement: Statement, values: readonly SqlValue[]): Promise<readonly SqlRow[]>;
}): Runner {
  return { run: (statement, values) => database.once(statement, values) };
}

/** Any identifier, quotes included, as SQL text. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A parameter of milliseconds since the epoch, as `timestamptz`; null stays null. */
export function instant(parameter: string): string {
  return `to_timestamp(${parameter}::double precision / 1000)`;
}

/** A parameter that overrides the database's clock in tests; null means the clock. */
export function clockOr(parameter: string): string {
  return `coalesce(${instant(parameter)}, clock_timestamp())`;
}

/** A `timestamptz` as milliseconds since the epoch, text. */
export function millis(column: string): string {
  return `floor(extract(epoch from ${column}) * 1000)::bigint::text`;
}

/** A `timestamptz` as microseconds since the epoch, text: exact, for ranks that come back as bounds. */
export function micros(column: string): string {
  return `(extract(epoch from ${column}) * 1000000)::bigint::text`;
}

/** The latest instant that both sides can hold; later ones (`Infinity` too) are stored as this one. */
const latest = 8.64e15;

/** An instant that the database can hold. */
export function storableMillis(at: number): number {
  return Number.isNaN(at) ? 0 : Math.min(Math.max(Math.trunc(at), 0), latest);
}

export function textOf(row: SqlRow, column: string): string {
  const value = row[column];
  if (value === null || value === undefined) throw new TypeError(`column ${column} is null`);
  return value;
}

export function numberOf(row: SqlRow, column: string): number {
  return Number(textOf(row, column));
}

export function optionalNumber(row: SqlRow, column: string): number | undefined {
  const value = row[column];
  return value === null || value === undefined ? undefined : Number(value);
}

export function optionalText(row: SqlRow, column: string): string | undefined {
  return row[column] ?? undefined;
}
