-- promise: what waits for the loop in one run is done, up to a limit, in one transaction: ways are decided, steps become ready or are
--          skipped, sub-workflows start and are followed, and the run completes when it is complete. Another replica that is at the
--          same run makes this one step aside (busy).
-- callers: chancery_app (mow_orchestrator), the loop
-- arrow: steps not_started → ready (T1), skipped (T0s), B0–B7; the run in_progress → completed (W2)
-- locks: the run (skipped when somebody has it); then its steps; then runs of sub-workflows
-- refuses with: RI001–RI004, RS…, RE006 an executor class is gone
create or replace function workflow.fn_mow_turn(p_workflow_run_id uuid, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_most constant integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'workflow.turn.max_steps');
  v_run workflow.workflow_run;
  v_item record;
  v_moved integer := 0;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, 'mow_orchestrator');
  select r.* into v_run from workflow.workflow_run r where r.workflow_run_id = p_workflow_run_id for no key update skip locked;
  if not found then
    return '{"busy": true, "moved": 0}';
  end if;
  if v_run.state_code = 'cancelled' then
    delete from workflow.agenda a where a.workflow_run_id = p_workflow_run_id;
    return '{"busy": false, "moved": 0}';
  elsif v_run.state_code = 'paused' then
    -- Nothing new begins; the run's resume wakes these again.
    update workflow.agenda a set not_before = 'infinity' where a.workflow_run_id = p_workflow_run_id;
    return '{"busy": false, "moved": 0}';
  end if;
  loop
    -- One at a time, the oldest first: what is done may add to the list.
    delete from workflow.agenda a
     where a.agenda_no = (select b.agenda_no from workflow.agenda b where b.workflow_run_id = p_workflow_run_id and b.not_before <= internal.now()
                           order by b.agenda_no limit 1)
    returning a.cause, a.run_id into v_item;
    exit when not found;
    v_moved := v_moved + case v_item.cause
      when 'started' then workflow.open_roots(v_run, v_most)
      when 'decided' then workflow.decide_ways(v_run, v_item.run_id)
      when 'unanswered' then workflow.decide_ways(v_run, v_item.run_id, true)
      when 'bridge' then workflow.follow_sub_run(v_item.run_id)
      when 'approval' then workflow.resolve_approvals(v_item.run_id)
      when 'job_died' then workflow.fail_dead(v_item.run_id)
      when 'critical' then workflow.refresh_critical_path(v_run) end;
    exit when v_moved >= v_most;
  end loop;
  perform workflow.complete_run(p_workflow_run_id);
  return jsonb_build_object('busy', false, 'moved', v_moved,
                            'more', exists (select from workflow.agenda a where a.workflow_run_id = p_workflow_run_id and a.not_before <= internal.now()));
end
$$;
