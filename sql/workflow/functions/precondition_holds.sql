-- promise: whether the precondition of a step or task holds in its run as it is now; null where that cannot be answered.
create or replace function workflow.precondition_holds(p_work workflow.work) returns boolean
language sql stable
as $$
  select workflow.holds(d.precondition, workflow.context(p_work.workflow_run_id, d.reads_outputs, null)) from workflow.def_of(p_work.run_kind, p_work.def_id) d
$$;
