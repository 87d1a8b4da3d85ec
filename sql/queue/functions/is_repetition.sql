-- promise: whether this very result of this very lease was taken before.
create or replace function queue.is_repetition(p_job_id uuid, p_lease_no integer, p_outcome text, p_owner text) returns boolean
language sql stable
as $$
  select case when p_outcome = 'succeeded'
    then exists (select from queue.job_finished f where f.job_id = p_job_id and f.lease_no = p_lease_no and f.lease_owner = p_owner)
    else exists (select from queue.job_queue q, jsonb_array_elements(q.failures) e
                  where q.job_id = p_job_id and q.lease_no = p_lease_no and q.lease_owner is null
                    and e ->> 'worker' = p_owner and e ->> 'classification' = p_outcome and (e ->> 'attempt')::int = q.attempts)
  end
$$;
