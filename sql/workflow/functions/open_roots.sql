-- promise: the steps that nothing leads to are ready, or wait for their precondition; at most so many, the rest comes with the next turn.
create or replace function workflow.open_roots(p_run workflow.workflow_run, p_most integer) returns integer
language plpgsql
as $$
declare
  v_step_run_id uuid;
  v_moved integer := 0;
begin
  for v_step_run_id in
    select s.step_run_id from workflow.step_run s
     where s.workflow_run_id = p_run.workflow_run_id and s.state_code = 'not_started' and s.and_open = 0 and s.or_open = 0 and s.plain_open = 0
       and not s.skipped and not s.awaits_precondition and not (s.or_taken or s.plain_taken or s.and_missed)
     order by s.step_no limit p_most + 1
  loop
    if v_moved = p_most then
      insert into workflow.agenda (workflow_run_id, cause) values (p_run.workflow_run_id, 'started');
      exit;
    end if;
    perform workflow.consider(v_step_run_id);
    v_moved := v_moved + 1;
  end loop;
  perform workflow.want_critical_path(p_run.workflow_run_id);
  return v_moved;
end
$$;
