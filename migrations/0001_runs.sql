-- Runs, their journals, and the workers that drive them.
-- :"schema" stands for the schema's name, quoted: `psql -v schema=rubicon -f` understands it too.
-- oldest code: 1

create table :"schema".migrations (
  number integer primary key,
  name text not null,
  checksum text not null,
  -- Code that knows no migration from this number on may not run on the schema.
  oldest_code integer not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- What a run's shape is made of; the readable difference is told from it.
create table :"schema".shapes (
  hash text primary key,
  shape text not null,
  created_at timestamptz not null default clock_timestamp()
);

-- One row per run: its start, and a projection of its journal. What is read to claim, list and show.
create table :"schema".runs (
  id bigint generated always as identity primary key,
  tenant text not null default '',
  run_id text not null,
  saga text not null,
  version integer not null,
  shape_hash text not null,
  input text not null,
  input_format text not null,
  input_digest text not null,
  attributes jsonb,
  -- A head start in seconds.
  priority integer not null default 0,
  start_at timestamptz not null,
  created_at timestamptz not null,
  status text not null,
  -- 0 ready, 1 scheduled, 2 owned, 3 ended, 4 ready but suspected of crashing its workers
  state smallint not null,
  due_at timestamptz not null,
  -- due_at less the head start: the order of claims.
  rank timestamptz not null,
  -- The token of the present taking up, and the worker that holds it.
  owner text,
  owner_worker bigint,
  -- How often others wrote to the run since it was taken up.
  poke integer not null default 0,
  crashes smallint not null default 0,
  cancel_requested_at timestamptz,
  cancel_refused_at timestamptz,
  output text,
  output_format text,
  error text,
  -- A JSON array of the steps still to be undone.
  owed text,
  -- Whether somebody waits for the end.
  awaited boolean not null default false,
  ended_at timestamptz,
  unique (tenant, run_id)
) with (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_cost_delay = 1
);

-- One index per predicate: of two with the same one the planner may pick the wrong one.
create index runs_ready on :"schema".runs (saga, version, shape_hash, rank) where state = 0;
create index runs_suspect on :"schema".runs (saga, version, shape_hash, rank) where state = 4;
create index runs_scheduled on :"schema".runs (due_at) where state = 1;
create index runs_owned on :"schema".runs (owner_worker) where state = 2;
create index runs_attention on :"schema".runs (tenant, id)
  where status in ('compensation_failed', 'forward_incomplete', 'in_doubt');
create index runs_attributes on :"schema".runs using gin (attributes jsonb_path_ops) where attributes is not null;
create index runs_ended on :"schema".runs (ended_at) where state = 3;

-- One row per append; nothing but inserts. No foreign key: it would write the run's row at every append.
create table :"schema".journal (
  run bigint not null,
  number integer not null,
  kind text not null,
  step text,
  format text not null,
  payload text not null,
  writer text not null,
  nonce text not null,
  at timestamptz not null,
  -- Of a run's rows with the same text here only the last need be read, as long as no owner was lost in between.
  only_last text,
  -- An owner is gone without having said how its attempt ended.
  loss boolean not null default false,
  primary key (run, number)
) with (
  autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.05
);

-- One row per process. A beat updates it in place: no index but the key, and room on the page.
create table :"schema".workers (
  id bigint generated always as identity primary key,
  host text not null,
  pid integer not null,
  -- A JSON array of what it can run: saga, version and shape.
  registered text not null,
  started_at timestamptz not null,
  beat_at timestamptz not null,
  lease_until timestamptz not null,
  -- Its lock was free at this look, and it has not beaten since.
  suspected_at timestamptz,
  dead_at timestamptz
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 200
);

-- Who holds its lock. Unlogged: a crash restart empties it, for then every lock is free and proves nothing.
create unlogged table :"schema".worker_locks (
  worker bigint primary key,
  server timestamptz not null
);
