-- promise: the eight categories of problems, named as the classes of their findings, in the order in which they are shown when nothing else decides.
create or replace function governance.categories() returns text[]
language sql immutable
as $$ select '{dlq,silent_worker,overdue_step,schema_violation,event_lag,integrity,failed_cut,orphan_workflow}'::text[] $$;
