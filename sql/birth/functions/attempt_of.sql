-- promise: the number of the attempt that a step belongs to: a request is made anew once its last permit is over without a birth.
-- callers: iu.fn_dot_iu_command_log
create or replace function birth.attempt_of(p_request_hash bytea, p_phase text) returns integer
language sql stable
as $$
  select case
    -- A new attempt begins with a request behind an end.
    when p_phase = 'REQUESTED' and exists (
           select from iu.dot_iu_command_run r
            where r.request_hash = p_request_hash and r.phase in ('FAILED', 'EXPIRED', 'REVOKED')
              and r.attempt = (select max(r2.attempt) from iu.dot_iu_command_run r2 where r2.request_hash = p_request_hash))
      then (select max(r.attempt) + 1 from iu.dot_iu_command_run r where r.request_hash = p_request_hash)
    else coalesce((select max(r.attempt) from iu.dot_iu_command_run r where r.request_hash = p_request_hash), 1)
  end
$$;
