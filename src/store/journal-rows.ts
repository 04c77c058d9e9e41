// READING JOURNALS: the rows of a run, or of many, and what stands at a number.

import { type AppendedRow, readAppended } from "./entries.js";
import { millis, numberOf, type Runner, type SqlRow, type Statement, textOf } from "./sql.js";

/** A row as it was stored. */
export interface StoredRow {
  readonly number: number;
  readonly format: string;
  readonly payload: string;
  readonly nonce: string;
  readonly at: number;
}

const noncesAt: Statement = (schema) => `
  select j.run::text as run, j.number::text as number, j.nonce::text as nonce, ${millis("j.at")} as at, (r.awaited and r.state = 3)::text as awaited,
    (r.state in (0, 4))::text as claimable
  from unnest($1::bigint[], $2::integer[]) o(run, number)
  join ${schema}.journal j on j.run = o.run and j.number = o.number
  left join ${schema}.runs r on r.id = j.run`;

/**
 * What stands at these numbers, by `run/number`. An offer that got no row back may have been in since an earlier try whose answer was lost:
 * it is refused only when another's nonce stands there. Absence proves nothing: the earlier try may yet commit.
 */
export async function readNonces(
  runner: Runner,
  rows: readonly { readonly run: string; readonly number: number }[],
): Promise<ReadonlyMap<string, AppendedRow>> {
  const found = await runner.run(noncesAt, [rows.map((row) => row.run), rows.map((row) => row.number)]);
  return new Map(found.map((row) => [`${row.run}/${row.number}`, readAppended(row)]));
}

/**
 * Rows after a number, oldest first. Failed attempts that a later one makes superfluous are left out, unless an owner was
 * lost in between: from then on the earlier one tells since when an attempt had been under way.
 */
const readRows: Statement = (schema) => `
  with n as materialized (
    select run, number, only_last, count(*) filter (where loss) over (partition by run order by number) as losses
    from ${schema}.journal where run = any($1::bigint[]) and number > $2::integer
  ), superseding as materialized (
    select run, max(number) as number from n where only_last is not null group by run, only_last, losses
  )
  select j.run::text as run, j.number::text as number, j.format::text as format, j.payload::text as payload,
    j.nonce::text as nonce, ${millis("j.at")} as at
  from ${schema}.journal j
  where j.run = any($1::bigint[]) and j.number > $2::integer
    and (j.only_last is null or (j.run, j.number) in (select run, number from superseding))
  order by j.run, j.number`;

/** Every row of a run, oldest first: for a reader of its history. */
const readAllRows: Statement = (schema) => `
  select j.number::text as number, j.format::text as format, j.payload::text as payload, j.nonce::text as nonce,
    ${millis("j.at")} as at
  from ${schema}.journal j where j.run = $1::bigint order by j.number`;

export async function allRows(runner: Runner, run: string): Promise<readonly StoredRow[]> {
  return (await runner.run(readAllRows, [run])).map(readStored);
}

export async function rowsAfter(runner: Runner, run: string, after: number): Promise<readonly StoredRow[]> {
  return (await runner.run(readRows, [[run], after])).map(readStored);
}

/** The journals of several runs, by their keys; a run without rows has no entry. */
export async function rowsOfRuns(
  runner: Runner,
  runs: readonly string[],
): Promise<ReadonlyMap<string, readonly StoredRow[]>> {
  const journals = new Map<string, StoredRow[]>();
  for (const row of await runner.run(readRows, [runs, 0])) {
    const run = textOf(row, "run");
    const rows = journals.get(run) ?? [];
    journals.set(run, rows);
    rows.push(readStored(row));
  }
  return journals;
}

function readStored(row: SqlRow): StoredRow {
  return {
    number: numberOf(row, "number"),
    format: textOf(row, "format"),
    payload: textOf(row, "payload"),
    nonce: textOf(row, "nonce"),
    at: numberOf(row, "at"),
  };
}
