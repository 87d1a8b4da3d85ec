-- promise: everything that a client needs to show a run again, as the reader may see it, in parts of one moment: the run, its steps and
--          tasks with the versions of units that they work on, what they wait for, the ways that were decided, and the position of the newest event, from which it can follow. Parts,
--          so that a long run is sent while it is read.
-- callers: chancery_app
-- refuses with: RW001
create or replace function workflow.fn_run_parts(p_workflow_run_id uuid, p_reader text) returns table (part text, body text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_hidden text[];
begin
  if not exists (select from workflow.workflow_run r where r.workflow_run_id = p_workflow_run_id) then
    perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', 'workflow_run', 'id', p_workflow_run_id)));
  end if;
  v_hidden := workflow.hidden_of_run(p_workflow_run_id, p_reader);
  return query
  select 'run', json_build_object(
           'run_id', internal.prefixed('wfr', r.workflow_run_id), 'workflow', r.workflow, 'version', v.version, 'state', r.state_code, 'seq', r.seq,
           'inputs', r.inputs::json, 'started_by', r.started_by, 'trace_id', r.trace_id, 'created_at', r.created_at, 'last_transition_at', r.last_transition_at,
           'colour', r.rollup_state_code, 'red', r.red_count, 'yellow', r.yellow_count, 'green', r.green_count, 'skipped', r.skipped_count,
           'optional', r.optional_excluded_count, 'mandatory', r.mandatory_count, 'completed', r.completed_count, 'frozen_at', r.frozen_at,
           'hidden_steps', cardinality(v_hidden))::text
    from workflow.workflow_run r join workflow.workflow_version v using (workflow_def_id) where r.workflow_run_id = p_workflow_run_id;
  return query
  select 'step', json_build_object(
           'step_id', internal.prefixed('stp', s.step_run_id), 'no', s.step_no, 'key', s.step_key, 'title', json_build_object('en', d.name_en, 'vi', d.name_vi),
           'state', s.state_code, 'floor', s.floor_state_code, 'class', s.semantic_class, 'facet', s.facet, 'seq', s.seq, 'mandatory', s.mandatory, 'skipped', s.skipped,
           'pic', s.pic_id, 'executor', s.executor_class_ref,
           'pinned_version_id', case when s.pinned_iu_version_id is not null then internal.prefixed('unv', s.pinned_iu_version_id) end, 'started_at', s.started_at, 'deadline', s.deadline, 'past_deadline', s.past_deadline,
           'completed_at', s.completed_at, 'completed_after_deadline', s.completed_after_deadline, 'block_reason', s.block_reason,
           'blocked_severity', s.blocked_severity, 'failure_class', s.failure_class, 'retrying', s.retrying, 'cycle', s.cycle_no, 'critical', s.on_critical_path,
           'milestone', d.milestone, 'lane', d.lane, 'category', d.category, 'last_transition_at', s.last_transition_at)::text
    from workflow.v_step_run s join workflow.workflow_step_def d using (step_def_id)
   where s.workflow_run_id = p_workflow_run_id and s.step_key <> all (v_hidden) order by s.step_no;
  return query
  select 'task', json_build_object(
           'task_id', internal.prefixed('tsk', t.task_run_id), 'step_id', internal.prefixed('stp', t.step_run_id), 'no', t.task_no, 'key', t.task_key,
           'title', json_build_object('en', d.name_en, 'vi', d.name_vi), 'state', t.state_code, 'floor', t.floor_state_code, 'class', t.semantic_class,
           'facet', t.facet, 'seq', t.seq, 'skipped', t.skipped, 'pic', t.pic_id, 'executor', t.executor_class_ref,
           'pinned_version_id', case when t.pinned_iu_version_id is not null then internal.prefixed('unv', t.pinned_iu_version_id) end, 'deadline', t.deadline,
           'past_deadline', t.past_deadline, 'completed_at', t.completed_at, 'last_transition_at', t.last_transition_at)::text
    from workflow.v_task_run t join workflow.workflow_task_def d using (task_def_id) join workflow.step_run s using (step_run_id)
   where t.workflow_run_id = p_workflow_run_id and s.step_key <> all (v_hidden) order by s.step_no, t.task_no;
  return query
  select 'wait', json_build_object(
           'wait_id', internal.prefixed('wai', w.wait_id), 'of', internal.prefixed(case w.run_kind when 'task' then 'tsk' else 'stp' end, w.run_id), 'facet', w.facet,
           'subject_kind', w.subject_kind, 'subject_ref', w.subject_ref, 'until', w.until)::text
    from workflow.wait w
    left join workflow.task_run t on t.task_run_id = w.run_id
    join workflow.step_run s on s.step_run_id = coalesce(t.step_run_id, w.run_id)
   where w.workflow_run_id = p_workflow_run_id and w.opened and w.resolved_at is null and s.step_key <> all (v_hidden) order by w.issued_at, w.wait_id;
  return query
  select 'way', json_build_object('from', f.step_key, 'to', g.step_key, 'taken', o.taken)::text
    from workflow.relation_outcome o
    join workflow.workflow_run r using (workflow_run_id)
    join workflow.workflow_step_relations w on w.workflow_def_id = r.workflow_def_id and w.relation_no = o.relation_no
    join workflow.workflow_step_def f on f.workflow_def_id = r.workflow_def_id and f.step_no = w.from_no
    join workflow.workflow_step_def g on g.workflow_def_id = r.workflow_def_id and g.step_no = w.to_no
   where o.workflow_run_id = p_workflow_run_id and f.step_key <> all (v_hidden) and g.step_key <> all (v_hidden) order by o.relation_no;
  return query select 'end', (select coalesce(max(c.last_position), 0) from event.sequencer_cursor c)::text;
end
$$;
