-- Workers of some tenants only; runs that share a number of places.
-- oldest code: 1

-- Of a tenant's ready runs: no other tenant's backlog is read to find one. Costs runs of no tenant nothing.
create index runs_ready_of_tenant on :"schema".runs (saga, version, shape_hash, tenant, rank)
  where state = 0 and tenant <> '';

-- Runs of one saga and tenant with the same lane share a number of places; null: the run needs none. `state` gets a fifth value:
-- 5 due, and queued for a place in its lane. A run that has one keeps it until it has ended (3). `places`: how many its start
-- said that there are, for workers whose own definition says nothing.
alter table :"schema".runs
  add column lane text, add column places integer, add column placed boolean not null default false;

create index runs_queued on :"schema".runs (saga, version, shape_hash, tenant, lane, rank) where state = 5;
create index runs_placed on :"schema".runs (saga, tenant, lane) where placed and state <> 3;
