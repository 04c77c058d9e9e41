// APPENDING TO JOURNALS: one row, or one each of several runs. Each takes a number, or finds it taken and writes nothing
// (design 1.2, 3.2). What the run's row shows of an append is written in the same statement.

import type { StoredText } from "./runs.js";
import {
  clockOr,
  instant,
  millis,
  numberOf,
  optionalText,
  type Runner,
  type SqlRow,
  type SqlValue,
  type Statement,
  storableMillis,
  textOf,
} from "./sql.js";

/** One append, offered at one number. */
export interface NewRow {
  /** The run's internal id. */
  readonly run: string;
  readonly number: number;
  /** For people and indexes; decisions are taken from the payload alone. */
  readonly kind: string;
  readonly step?: string;
  /** Names what can read `payload`. */
  readonly format: string;
  readonly payload: string;
  readonly writer: string;
  /** Tells this offer from another's of the same number; the same one when it is offered again. */
  readonly nonce: string;
  /** Of rows with the same text here, and no `loss` between them, only the last need be read. */
  readonly onlyLast?: string;
  readonly loss?: boolean;
  readonly change?: RunChange;
}

/** What the run's row shows from this append on. */
export interface RunChange {
  readonly status: string;
  readonly claim: "owned" | "free" | "ended";
  /** Milliseconds since the epoch. */
  readonly dueAt: number;
  readonly owner?: string;
  /** Of a new owner; the present one's is kept. */
  readonly ownerWorker?: string;
  readonly crashes: number;
  /** Stamped with the time of this row, unless there is a stamp already. */
  readonly cancelRequested: boolean;
  readonly cancelRefused: boolean;
  readonly owed: readonly string[];
  readonly output?: StoredText;
  /** JSON text. */
  readonly error?: string;
  /** Of a run that ends with it: the run whose child it is. */
  readonly parent?: string;
}

/** An append that is in. */
export interface AppendedRow {
  readonly nonce: string;
  /** Milliseconds since the epoch, database time. */
  readonly at: number;
  /** The run ended with it, and somebody waits for that. */
  readonly awaited: boolean;
  /** The worker that drives the run, when somebody else wrote this. */
  readonly poked?: string;
  /** Nobody drives the run, and it may be taken up at once: it says so itself, or a child of it had just ended. */
  readonly claimable?: true;
  /** The run that was waiting for this one's end, and the worker that drives it, if one does. */
  readonly woken?: { readonly run: string; readonly worker?: string };
}

const rowColumns = "run, number, kind, step, format, payload, writer, nonce, only_last, loss, at";

/**
 * `change` is the alias that has the change's columns and `at`; the run's row is `r`. `childEnds`: whether a child of the run
 * ends in this very statement. Whoever parks a run one of whose children ended meanwhile finds it due at once. A run keeps its place in
 * its lane until it has ended; one that was reopened queues anew.
 */
const setFromChange = (change: string, childEnds: string): string => {
  const woken = `(${change}.claim = 'free' and ${change}.crashes < 2 and (r.child_ended or ${childEnds}))`;
  const dueAt = `case when ${woken} then ${change}.at else ${instant(`${change}.due_at`)} end`;
  return `
    status = ${change}.status,
    state = case ${change}.claim when 'ended' then 3 when 'owned' then 2
      else case when ${dueAt} > ${change}.at then 1
        when r.lane is not null and not (r.placed and r.state <> 3) then 5 when ${change}.crashes >= 2 then 4 else 0 end end,
    placed = r.placed and r.state <> 3,
    due_at = ${dueAt},
    rank = ${dueAt} - r.priority * interval '1 second',
    child_ended = ${childEnds}
      or (r.child_ended and (${change}.owner is null or ${change}.owner is not distinct from r.owner)),
    owner_worker = case when ${change}.owner is null then null
      when ${change}.owner = r.owner then r.owner_worker else ${change}.owner_worker end,
    poke = case when ${change}.owner is null or r.owner is distinct from ${change}.owner then 0
      when ${change}.writer <> r.owner or ${childEnds} then r.poke + 1 else r.poke end,
    owner = ${change}.owner,
    crashes = ${change}.crashes,
    cancel_requested_at = coalesce(r.cancel_requested_at, case when ${change}.cancel_requested then ${change}.at end),
    cancel_refused_at = coalesce(r.cancel_refused_at, case when ${change}.cancel_refused then ${change}.at end),
    output = ${change}.output, output_format = ${change}.output_format, error = ${change}.error, owed = ${change}.owed,
    ended_at = case when ${change}.claim = 'ended' then ${change}.at end`;
};

/**
 * What a child's end does to the row of its parent `r`: a parked one is due now, whoever drives it is told, and whoever is
 * about to park it will see. `at` is the child's. A suspect keeps its delay, and looks when that is over.
 */
const setByChild = (at: string): string => `
    child_ended = true,
    due_at = case when r.state = 1 and r.crashes < 2 then ${at} else r.due_at end,
    rank = case when r.state = 1 and r.crashes < 2 then ${at} - r.priority * interval '1 second' else r.rank end,
    state = case when r.state = 1 and r.crashes < 2 then 0 else r.state end,
    poke = case when r.state = 2 then r.poke + 1 else r.poke end`;

/** What a changed run's row tells: whether its end is awaited, whether it may be taken up, whose it is when another wrote. */
const toldByRun = `(r.awaited and r.state = 3)::text as awaited, (r.state not in (1, 2, 3))::text as claimable,
    case when r.owner is not null and r.poke > 0 then r.owner_worker::text end as poked`;

/**
 * One row at one number, or nothing. A racing writer with an uncommitted row at that number is waited for, up to
 * `lock_timeout`; once it commits, no row comes back. Touches nothing but the journal.
 */
const appendPlain: Statement = (schema) => `
  insert into ${schema}.journal (${rowColumns})
  select $1::bigint, $2::integer, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text, $10::boolean,
    ${clockOr("$11")}
  from (select set_config('lock_timeout', $12::text, true)) t
  on conflict do nothing
  returning nonce::text as nonce, ${millis("at")} as at`;

/**
 * The same for an append that changes the run's row. The row is locked before the insert: the order that all statements
 * keep, so that none deadlocks. The update follows only an insert that won, so the row never shows a loser's state.
 */
const appendWithChange: Statement = (schema) => `
  with t as materialized (select set_config('lock_timeout', $12::text, true)),
  l as materialized (
    select r.id from t, ${schema}.runs r where r.id = any(array[$1::bigint, $25::bigint]) order by r.id for update of r
  ), i as (
    insert into ${schema}.journal (${rowColumns})
    select l.id, $2::integer, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text, $10::boolean,
      ${clockOr("$11")} from l where l.id = $1::bigint
    on conflict do nothing
    returning run, nonce, at
  ), o as (
    select i.run, i.at, $7::text as writer, $13::text as status, $14::text as claim, $15::double precision as due_at,
      $16::text as owner, $17::bigint as owner_worker, $18::smallint as crashes, $19::boolean as cancel_requested,
      $20::boolean as cancel_refused, $21::text as output, $22::text as output_format, $23::text as error,
      $24::text as owed
    from i
  ), u as (
    update ${schema}.runs r set ${setFromChange("o", "false")} from o where r.id = o.run
    returning r.id, ${toldByRun}
  ), p as (
    update ${schema}.runs r set ${setByChild("o.at")} from o where r.id = $25::bigint
    returning r.id, case when r.state = 2 then r.owner_worker end as worker
  )
  select i.nonce::text as nonce, ${millis("i.at")} as at, u.awaited, u.claimable, u.poked, p.id::text as woken, p.worker::text as woken_worker
  from i join u on u.id = i.run left join p on true`;

/**
 * Appends of several runs, each taken or refused whole. All run rows are locked first, in id order, then the inserts go
 * sorted: two batches, or a batch and anything else, can't wait for each other in a circle. What comes back is matched by
 * nonce, for two offers of one number may be in one batch. One number a run, or its row would show the older one. The parents
 * of runs that end are locked with them; one that is itself in the batch has both changes in one update.
 */
const appendBatch: Statement = (schema) => `
  with t as materialized (select set_config('lock_timeout', $12::text, true)),
  o as materialized (
    select * from unnest($1::bigint[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
      $8::text[], $9::text[], $10::boolean[], $13::text[], $14::text[], $15::double precision[], $16::text[],
      $17::bigint[], $18::smallint[], $19::boolean[], $20::boolean[], $21::text[], $22::text[], $23::text[], $24::text[],
      $25::bigint[])
      as o(run, number, kind, step, format, payload, writer, nonce, only_last, loss, status, claim, due_at, owner,
        owner_worker, crashes, cancel_requested, cancel_refused, output, output_format, error, owed, parent)
  ), l as materialized (
    select r.id from t, ${schema}.runs r
    where r.id = any(array(select run from o where status is not null union select parent from o where parent is not null))
    order by r.id for update of r
  ), i as (
    insert into ${schema}.journal (${rowColumns})
    select o.run, o.number, o.kind, o.step, o.format, o.payload, o.writer, o.nonce, o.only_last, o.loss,
      ${clockOr("$11")}
    from t, (select count(*) from l) locked, o
    where o.status is null or o.run in (select id from l)
    order by o.run, o.number
    on conflict do nothing
    returning run, nonce, at
  ), c as (
    select i.at, o.* from i join o on o.run = i.run and o.nonce = i.nonce where o.status is not null
  ), e as materialized (
    select c.parent, max(c.at) as at from c where c.parent is not null group by c.parent
  ), u as (
    update ${schema}.runs r set ${setFromChange("c", "r.id in (select parent from e)")} from c where r.id = c.run
    returning r.id, ${toldByRun}
  ), p as (
    update ${schema}.runs r set ${setByChild("e.at")} from e where r.id = e.parent and r.id not in (select run from c)
    returning r.id, case when r.state = 2 then r.owner_worker end as worker
  )
  select i.nonce::text as nonce, ${millis("i.at")} as at, u.awaited, u.claimable, u.poked, p.id::text as woken, p.worker::text as woken_worker
  from i left join u on u.id = i.run left join c on c.run = i.run left join p on p.id = c.parent`;

function rowValues(row: NewRow): (string | number | boolean | null)[] {
  return [
    row.run,
    row.number,
    row.kind,
    row.step ?? null,
    row.format,
    row.payload,
    row.writer,
    row.nonce,
    row.onlyLast ?? null,
    row.loss ?? false,
  ];
}

function changeValues(change: RunChange | undefined): (string | number | boolean | null)[] {
  if (change === undefined) return Array(13).fill(null);
  return [
    change.status,
    change.claim,
    storableMillis(change.dueAt),
    change.owner ?? null,
    change.ownerWorker ?? null,
    Math.min(change.crashes, 32_767),
    change.cancelRequested,
    change.cancelRefused,
    change.output?.text ?? null,
    change.output?.format ?? null,
    change.error ?? null,
    change.owed.length === 0 ? null : JSON.stringify(change.owed),
    change.parent ?? null,
  ];
}

/** How an append behaves: `lockTimeoutMs` 0 waits without limit; `now` as in {@link clockOr}. */
export interface AppendOptions {
  readonly lockTimeoutMs: number;
  readonly now: number | null;
}

/** Undefined when the number is taken, be it by an earlier try of this very offer: see `readNonces`. */
export async function appendRow(
  runner: Runner,
  row: NewRow,
  { lockTimeoutMs, now }: AppendOptions,
): Promise<AppendedRow | undefined> {
  const values = [...rowValues(row), now, `${lockTimeoutMs}ms`];
  const [appended] =
    row.change === undefined
      ? await runner.run(appendPlain, values)
      : await runner.run(appendWithChange, [...values, ...changeValues(row.change)]);
  return appended && readAppended(appended);
}

/** The rows that got their numbers, by nonce; the others are taken, or were already in. All or nothing when it throws. */
export async function appendRows(
  runner: Runner,
  rows: readonly NewRow[],
  { lockTimeoutMs, now }: AppendOptions,
): Promise<ReadonlyMap<string, AppendedRow>> {
  const table = rows.map((row) => [...rowValues(row), ...changeValues(row.change)]);
  const columns = table[0]!.map((_, column) => table.map((cells) => cells[column]!));
  const values: SqlValue[] = [...columns.slice(0, 10), now, `${lockTimeoutMs}ms`, ...columns.slice(10)];
  const appended = await runner.run(appendBatch, values);
  return new Map(appended.map((row) => [textOf(row, "nonce"), readAppended(row)]));
}

export function readAppended(row: SqlRow): AppendedRow {
  const poked = optionalText(row, "poked");
  const woken = optionalText(row, "woken");
  const worker = optionalText(row, "woken_worker");
  return {
    nonce: textOf(row, "nonce"),
    at: numberOf(row, "at"),
    awaited: row.awaited === "true",
    ...(row.claimable === "true" ? { claimable: true } : {}),
    ...(poked === undefined ? {} : { poked }),
    ...(woken === undefined ? {} : { woken: { run: woken, ...(worker === undefined ? {} : { worker }) } }),
  };
}
