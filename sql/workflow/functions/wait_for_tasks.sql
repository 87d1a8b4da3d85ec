-- promise: a worker's step whose tasks are not all done waits for them, by the database's own move: its work begins when they are done. One that
--          is late cannot wait and stays as it is; the last task gives it its next job. Says whether the work has to stand back.
-- callers: workflow.fn_work_begin, with the run locked and the job under the caller's lease
create or replace function workflow.wait_for_tasks(p_work workflow.work, p_idempotency_key text) returns boolean
language plpgsql
as $$
begin
  if p_work.run_kind <> 'step' or workflow.tasks_are_done(p_work.run_id) then
    return false;
  end if;
  if p_work.state_code = 'in_progress' then
    -- As the dead job of a worker is reported by the loop: no key of a worker's is here to sign with.
    perform workflow.call(p_work, 'step_wait', '{"facets": ["waiting_dependency"], "waits": [{"facet": "waiting_dependency", "tasks": true}]}', null,
                          'chancery', 'executor_worker', p_idempotency_key);
  end if;
  return true;
end
$$;
