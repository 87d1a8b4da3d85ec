-- promise: the id of the next snapshot of this kind: one for each move of the run.
create or replace function workflow.snapshot_id(p_work workflow.work, p_kind text) returns uuid
language sql stable
as $$ select internal.derived_uuid(p_work.run_id, p_kind || ',' || (p_work.seq + 1)) $$;
