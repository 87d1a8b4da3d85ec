-- promise: a step does not wait for its own tasks any more; they are done.
-- callers: workflow.open_waits, workflow.go_on_after_tasks, with the run locked
create or replace function workflow.end_wait_for_tasks(p_step_run_id uuid) returns void
language sql
as $$
  select workflow.resolve_wait(w.wait_id, '{"tasks": "done"}', 'chancery')
    from workflow.wait w where w.run_id = p_step_run_id and w.subject_kind = 'tasks' and w.resolved_at is null
$$;
