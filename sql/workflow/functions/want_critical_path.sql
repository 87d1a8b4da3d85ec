-- promise: the critical path of the run will be computed anew, soon and once.
create or replace function workflow.want_critical_path(p_workflow_run_id uuid) returns void
language plpgsql
as $$
begin
  update workflow.workflow_run r set critical_due = true where r.workflow_run_id = p_workflow_run_id and not r.critical_due;
  if found then
    insert into workflow.agenda (workflow_run_id, cause, not_before)
    select p_workflow_run_id, 'critical', internal.now() + (c.value #>> '{}')::int * interval '1 ms'
      from config.dot_config c where c.key = 'workflow.critical_path.every_ms';
  end if;
end
$$;
