-- promise: what an executor needs to know about the work it has begun.
create or replace function workflow.assignment(p_work workflow.work, p_job_id uuid) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'run_kind', p_work.run_kind, 'run_id', p_work.run_id, 'workflow_run_id', p_work.workflow_run_id, 'key', p_work.key, 'state', p_work.state_code,
    'started_by', p_work.started_by, 'pic_id', p_work.pic_id, 'attempt', p_work.retry_count + 1, 'cycle_no', p_work.cycle_no, 'deadline', p_work.deadline,
    'trace_id', p_work.trace_id, 'idempotency_key', p_work.run_id || '/' || p_work.cycle_no,
    'input', (select o.document::jsonb from workflow.step_run_snapshot o
               where o.run_id = p_work.run_id and o.snapshot_kind = 'input' order by o.taken_at desc, o.snapshot_id desc limit 1),
    'output_contract', (select d.output_contract from workflow.def_of(p_work.run_kind, p_work.def_id) d),
    'waits', (select coalesce(jsonb_agg(jsonb_build_object('wait_id', w.wait_id, 'facet', w.facet, 'subject_kind', w.subject_kind, 'subject_ref', w.subject_ref,
                                                           'resolved', w.resolved_at is not null, 'proof', w.proof::jsonb) order by w.issued_at, w.wait_id), '[]')
                from workflow.wait w where w.run_id = p_work.run_id and w.cycle_no = p_work.cycle_no and w.attempt = p_work.retry_count))
$$;
