-- promise: the requests for approval about the run stay as they are until the transaction ends.
-- locks: each request (its turn), in the order of their ids
create or replace function orchestrator.lock_approval(p_run_kind text, p_run_id uuid) returns void
language plpgsql
as $$
declare
  v_id uuid;
begin
  if p_run_kind = 'orchestrator_run' then
    for v_id in
      select q.approval_id from approval.approval_request q join orchestrator.run r on r.run_id = p_run_id
       where q.subject_kind = 'orchestrator_run' and q.subject_ref = r.run_name order by q.approval_id
    loop
      perform internal.take_turn('approval:' || v_id);
    end loop;
  end if;
end
$$;
