-- promise: everything that a client needs to show a run again: the run, its roll-up, its steps and tasks with what they wait for, and the
--          position of the newest event, from which it can follow. One look, so that all of it is of one moment.
-- callers: chancery_app, auditor_ro
-- refuses with: RW001
create or replace function workflow.fn_workflow_run_snapshot(p_workflow_run_id uuid) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_snapshot jsonb;
begin
  select jsonb_build_object(
      'run', to_jsonb(r) - '{row_digest,head_hash,inputs}'::text[] || jsonb_build_object('inputs', r.inputs::jsonb, 'version', v.version),
      'steps', (select coalesce(jsonb_agg(to_jsonb(s) - '{correlation_id,started_by,trace_id,workflow_run_id}'::text[] order by s.step_no), '[]')
                  from workflow.v_step_run s where s.workflow_run_id = r.workflow_run_id),
      'tasks', (select coalesce(jsonb_agg(to_jsonb(t) - '{correlation_id,started_by,trace_id,workflow_run_id}'::text[] order by t.step_run_id, t.task_no), '[]')
                  from workflow.v_task_run t where t.workflow_run_id = r.workflow_run_id),
      'waits', (select coalesce(jsonb_agg(jsonb_build_object('wait_id', w.wait_id, 'run_kind', w.run_kind, 'run_id', w.run_id, 'facet', w.facet, 'subject_kind', w.subject_kind,
                                                             'subject_ref', w.subject_ref, 'until', w.until) order by w.issued_at, w.wait_id), '[]')
                  from workflow.wait w where w.workflow_run_id = r.workflow_run_id and w.opened and w.resolved_at is null),
      'ways', (select coalesce(jsonb_agg(jsonb_build_array(o.relation_no, o.taken) order by o.relation_no), '[]')
                 from workflow.relation_outcome o where o.workflow_run_id = r.workflow_run_id),
      'last_event_position', (select c.last_position from event.sequencer_cursor c limit 1))
    into v_snapshot
    from workflow.workflow_run r join workflow.workflow_version v using (workflow_def_id) where r.workflow_run_id = p_workflow_run_id;
  if v_snapshot is null then
    perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', 'workflow_run', 'id', p_workflow_run_id)));
  end if;
  return v_snapshot;
end
$$;
