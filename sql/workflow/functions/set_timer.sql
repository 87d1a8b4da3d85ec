-- promise: the timer of this kind and run rings at this time and at no other.
create or replace function workflow.set_timer(p_timer_kind text, p_due_at timestamptz, p_run_kind text, p_run_id uuid, p_workflow_run_id uuid) returns void
language sql
as $$
  insert into workflow.timer (timer_id, due_at, timer_kind, run_kind, run_id, workflow_run_id)
  values (internal.uuid_v7(), p_due_at, p_timer_kind, p_run_kind, p_run_id, p_workflow_run_id)
  on conflict (run_id, timer_kind) do update set due_at = excluded.due_at, tries = 0 where timer.due_at <> excluded.due_at
$$;
