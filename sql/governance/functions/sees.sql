-- promise: whether the reader may know of a problem about this: a step or task that is for others' eyes is none of theirs, however it fares.
create or replace function governance.sees(p_reader text, p_run_kind text, p_run_id uuid) returns boolean
language sql stable
as $$ select case when p_run_kind in ('step', 'task') then workflow.fn_work_seen(p_run_kind, p_run_id, p_reader) else true end $$;
