-- A child's end wakes its parent.
-- oldest code: 4

-- The run whose child this is. No foreign key: it would lock the parent's row at the child's start.
alter table :"schema".runs add column parent bigint;
-- One of its children ended since the run was last taken up: it is not to be parked before its owner has looked.
alter table :"schema".runs add column child_ended boolean not null default false;
