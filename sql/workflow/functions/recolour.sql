-- promise: facts of a step or task changed without a move: they are stored and its run has the colour that follows from them.
-- callers: doors that hold the run
create or replace function workflow.recolour(p_work workflow.work) returns void
language plpgsql
as $$
declare
  v_was constant text := p_work.rollup_class;
begin
  p_work.rollup_class := workflow.rollup_class(p_work, p_work.state_code);
  perform workflow.put(p_work);
  if p_work.run_kind = 'step' then
    perform workflow.rollup_apply(p_work.workflow_run_id, v_was, p_work.rollup_class, 0, 0, 0, 0);
  end if;
end
$$;
