-- promise: a waiting step or task whose waits are all over goes on, by the system, with the proofs as evidence; work of an executor gets
--          its next job. Says whether it went on.
-- locks: the run of the workflow
create or replace function workflow.resume_if_resolved(p_run_kind text, p_run_id uuid) returns boolean
language plpgsql
as $$
declare
  v_work workflow.work := workflow.take(p_run_kind, p_run_id);
begin
  if v_work.state_code <> 'waiting' or exists (select from workflow.wait w where w.run_id = p_run_id and w.opened and w.resolved_at is null) then
    return false;
  end if;
  perform workflow.act(
    v_work, 'in_progress', 'system', 'event', 'facet_resolved',
    jsonb_build_object('waits', (select coalesce(jsonb_agg(w.wait_id order by w.wait_id), '[]') from workflow.wait w
                                  where w.run_id = p_run_id and w.opened and w.cycle_no = v_work.cycle_no and w.attempt = v_work.retry_count)),
    'chancery', 'chancery:resume:' || v_work.seq);
  perform workflow.make_job(p_run_kind, p_run_id);
  return true;
end
$$;
