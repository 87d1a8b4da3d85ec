-- promise: the eight categories of problems, in the order in which they are shown when nothing else decides.
create or replace function governance.categories() returns text[]
language sql immutable
as $$ select '{dlq,silent_workers,overdue,schema_violations,event_lag,integrity_warnings,failed_cuts,orphan_workflows}'::text[] $$;
