// WHICH QUEUED RUNS GET A PLACE: runs of a lane (one saga, tenant and key) share so many places, and a due run is claimable once
// it has one. It keeps it to its end. Claims themselves know nothing of it.

import type { Connection } from "./connection.js";
import type { Database } from "./db.js";
import { numberOf, type Runner, type Statement, textOf } from "./sql.js";

/** What a worker can run. */
export interface LaneGroup {
  readonly saga: string;
  readonly version: number;
  readonly shapeHash: string;
  /** Absent: everybody's. */
  readonly tenant?: string;
  /** How many runs of a lane may have a place; absent: as many as their starts said. */
  readonly limit?: number;
  /** The lane that was looked at last; absent: begin with the first. */
  readonly after?: LaneName;
}

export interface LaneName {
  readonly tenant: string;
  readonly lane: string;
}

/** A lane with queued runs. */
export interface SeenLane extends LaneName {
  /** Of which of the groups. */
  readonly group: number;
  /** How many places it has. */
  readonly limit: number;
  /** It seemed to have a place. */
  readonly free: boolean;
}

const samePlaces = (schema: string, run: string, most: string): string => `(select count(*) from (
      select 1 from ${schema}.runs p
      where p.placed and p.state <> 3 and p.saga = ${run}.saga and p.tenant = ${run}.tenant and p.lane = ${run}.lane limit ${most}
    ) held)`;

/**
 * From lane to lane, an index probe each, however many runs are queued in one: a backlog of one key costs the others nothing.
 * Locks nothing, so what it says of places is a hint.
 */
const walkLanes: Statement = (schema) => {
  const next = (from: string) => `
    select r.saga, r.tenant, r.lane, coalesce(g.places, r.places, 1) as places from ${schema}.runs r
    where r.state = 5 and r.saga = g.saga and r.version = g.version and r.shape_hash = g.shape_hash
      and (r.tenant, r.lane) > ${from}
    order by r.tenant, r.lane limit 1`;
  return `
  with recursive g as materialized (
    select * from unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::integer[], $6::text[], $7::text[])
      with ordinality as g(saga, version, shape_hash, tenant, places, after_tenant, after_lane, n)
  ), walk as (
    select g.n, h.saga, h.tenant, h.lane, h.places, 1 as seen
    from g cross join lateral (${next("(g.after_tenant, g.after_lane)")}) h
    where g.tenant is null or h.tenant = g.tenant
    union all
    select g.n, h.saga, h.tenant, h.lane, h.places, w.seen + 1
    from walk w join g on g.n = w.n cross join lateral (${next("(w.tenant, w.lane)")}) h
    where w.seen < $8::integer and (g.tenant is null or h.tenant = g.tenant)
  )
  select (w.n - 1)::text as n, w.tenant::text as tenant, w.lane::text as lane, w.places::text as places,
    (${samePlaces(schema, "w", "w.places")} < w.places)::text as free
  from walk w order by w.n, w.tenant, w.lane`;
};

/** The next lanes of each group, `most` at most. */
export async function seeLanes(
  runner: Runner,
  groups: readonly LaneGroup[],
  most: number,
): Promise<readonly SeenLane[]> {
  const rows = await runner.run(walkLanes, [
    ...groupColumns(groups),
    groups.map((group) => group.after?.tenant ?? group.tenant ?? ""),
    groups.map((group) => group.after?.lane ?? ""),
    most,
  ]);
  return rows.map((row) => ({
    group: numberOf(row, "n"),
    tenant: textOf(row, "tenant"),
    lane: textOf(row, "lane"),
    limit: numberOf(row, "places"),
    free: textOf(row, "free") === "true",
  }));
}

function groupColumns(groups: readonly LaneGroup[]) {
  return [
    groups.map(({ saga }) => saga),
    groups.map(({ version }) => version),
    groups.map(({ shapeHash }) => shapeHash),
    groups.map(({ tenant }) => tenant ?? null),
    groups.map(({ limit }) => limit ?? null),
  ] as const;
}

/** Not waited for: who holds a lane's lock is giving out its places this moment. One lock a lane, whatever the version. */
const lockLanes: Statement = (schema) => `
  select o.position::text as position from unnest($1::text[], $2::text[], $3::text[]) with ordinality as o(saga, tenant, lane, position)
  where pg_try_advisory_xact_lock(
    hashtextextended('rubicon-saga lane ' || ${literal(schema)} || jsonb_build_array(o.saga, o.tenant, o.lane)::text, 0))`;

/**
 * A statement of its own after the locks: it sees what was given out before they were had. In the order of ranks, no more than
 * a lane has places left, counted over all versions of the saga. A row that is locked, by a cancel say, is passed over.
 */
const givePlaces: Statement = (schema) => `
  with o as materialized (
    select * from unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::integer[], $6::text[])
      as o(saga, version, shape_hash, tenant, places, lane)
  ), f as materialized (
    select o.*, o.places - ${samePlaces(schema, "o", "o.places")} as free from o
  ), c as materialized (
    select h.id, h.rank, f.free, row_number() over (partition by f.saga, f.tenant, f.lane order by h.rank, h.id) as place
    from f cross join lateral (
      select r.id, r.rank from ${schema}.runs r
      where r.state = 5 and r.saga = f.saga and r.version = f.version and r.shape_hash = f.shape_hash
        and r.tenant = f.tenant and r.lane = f.lane
      order by r.rank limit greatest(f.free, 0)
    ) h
  ), l as materialized (
    select r.id from ${schema}.runs r
    where r.id = any(array(select id from c where place <= free order by place, rank limit $7::integer)) and r.state = 5
    order by r.id for update of r skip locked
  ), u as (
    update ${schema}.runs r set placed = true, state = case when r.crashes >= 2 then 4 else 0 end
    where r.id = any(array(select id from l)) returning r.id
  )
  select count(*)::text as given from u`;

/** A schema comes quoted as an identifier; as a literal it need only be the same each time. */
function literal(schema: string): string {
  return `'${schema.replaceAll("'", "''").replaceAll("\\", "/")}'`;
}

export interface GivenPlaces {
  readonly given: number;
  /** Lanes whose places another worker was giving out: look again soon. */
  readonly contended: number;
}

/**
 * Gives queued runs the places that their lanes have left, `most` runs at most: these are claimable from then on. However many
 * workers do it at once, a lane never has more than its limit. CRASH: before the commit nothing is given; after it any worker
 * claims the runs.
 */
export async function admitQueued(
  database: Pick<Database, "transaction">,
  options: { readonly groups: readonly LaneGroup[]; readonly lanes: readonly SeenLane[]; readonly most: number },
): Promise<GivenPlaces> {
  const { groups, lanes, most } = options;
  return database.transaction(async (connection: Connection) => {
    const rows = await connection.run(lockLanes, [
      lanes.map(({ group }) => groups[group]!.saga),
      lanes.map(({ tenant }) => tenant),
      lanes.map(({ lane }) => lane),
    ]);
    const locked = rows.map((row) => lanes[numberOf(row, "position") - 1]!);
    const contended = lanes.length - locked.length;
    if (locked.length === 0) return { given: 0, contended };
    const [sagas, versions, shapes] = groupColumns(locked.map(({ group }) => groups[group]!));
    const [given] = await connection.run(givePlaces, [
      sagas,
      versions,
      shapes,
      locked.map(({ tenant }) => tenant),
      locked.map(({ limit }) => limit),
      locked.map(({ lane }) => lane),
      most,
    ]);
    return { given: numberOf(given!, "given"), contended };
  });
}
