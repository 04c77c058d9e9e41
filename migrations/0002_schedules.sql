-- Schedules: which saga is started when, by which input.
-- :"schema" stands for the schema's name, quoted: `psql -v schema=rubicon -f` understands it too.
-- oldest code: 1

-- One row per schedule. It holds all that a start needs, so that any worker can fire it, whatever sagas that has.
create table :"schema".schedules (
  tenant text not null default '',
  id text not null,
  saga text not null,
  version integer not null,
  shape_hash text not null,
  input text not null,
  input_format text not null,
  input_digest text not null,
  -- Which of the saga's runs those of its firings share places with, and how many there are; null: they need none.
  lane text,
  places integer,
  -- Either a cron expression in a time zone, or an interval.
  cron text,
  time_zone text,
  every_ms bigint,
  missed text not null,
  overlap text not null,
  paused boolean not null default false,
  -- Null: it never fires again.
  next_due_at timestamptz,
  last_due_at timestamptz,
  last_run_id text,
  -- The newest firing that was let go, and why.
  skipped_due_at timestamptz,
  skipped_why text,
  -- A JSON array of the runs of its firings that may be live.
  live text not null default '[]',
  -- Every write takes the next one: of two writers who read the same, one finds it taken.
  revision bigint not null default 1,
  created_at timestamptz not null,
  changed_at timestamptz not null,
  primary key (tenant, id),
  check ((cron is null) = (time_zone is null) and (cron is null) <> (every_ms is null))
) with (
  fillfactor = 70
);

create index schedules_due on :"schema".schedules (next_due_at) where not paused;
