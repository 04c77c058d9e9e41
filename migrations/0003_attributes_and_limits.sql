-- Workers of some tenants only.
-- oldest code: 1

-- Of a tenant's ready runs: no other tenant's backlog is read to find one. Costs runs of no tenant nothing.
create index runs_ready_of_tenant on :"schema".runs (saga, version, shape_hash, tenant, rank)
  where state = 0 and tenant <> '';
