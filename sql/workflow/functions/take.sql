-- promise: the step or task as it is, and nothing of its run moves until the transaction ends. What its next event says is not said yet.
-- locks: the run of the workflow
-- refuses with: RW001, RS025
create or replace function workflow.take(p_run_kind text, p_run_id uuid) returns workflow.work
language plpgsql
as $$
declare
  v_work workflow.work;
begin
  perform fsm.require_fresh_reads();
  perform workflow.lock_run(p_run_kind, p_run_id);
  v_work := workflow.peek(p_run_kind, p_run_id);
  if v_work.run_id is null then
    perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', p_run_kind, 'id', p_run_id)));
  end if;
  return v_work;
end
$$;
