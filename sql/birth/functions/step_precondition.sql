-- promise: the fact that is missing before this step of an admission may be logged; null when it is there. Each step's precondition was
--          written by the step before it.
-- callers: iu.fn_dot_iu_command_log
create or replace function birth.step_precondition(p_request_hash bytea, p_attempt integer, p_phase text) returns text
language plpgsql stable
as $$
declare
  v_before constant jsonb := '{"VALIDATED": "REQUESTED", "RESERVED": "VALIDATED", "CONSUMED": "RESERVED", "FINALIZED": "CONSUMED", "HANDOFF_ENQ": "FINALIZED",
    "DONE": "HANDOFF_ENQ", "FAILED": "REQUESTED", "EXPIRED": "RESERVED", "REVOKED": "RESERVED"}';
  v_status text;
begin
  if p_phase is null or p_phase <> 'REQUESTED' and not v_before ? p_phase then
    return 'a phase that is known';
  elsif v_before ? p_phase and not exists (
      select from iu.dot_iu_command_run r where r.request_hash = p_request_hash and r.attempt = p_attempt and r.phase = v_before ->> p_phase) then
    return v_before ->> p_phase;
  end if;
  select p.status into v_status from birth.birth_admission_permit p where p.request_hash = p_request_hash and p.live;
  if not found then
    select p.status into v_status from birth.birth_admission_permit p where p.request_hash = p_request_hash and not p.live order by p.requested_at desc limit 1;
  end if;
  return case
    when p_phase = 'RESERVED' and v_status is null then 'a permit'
    when p_phase in ('CONSUMED', 'FINALIZED') and v_status is distinct from 'FINALIZED' then 'a birth'
    when p_phase in ('EXPIRED', 'REVOKED') and v_status is distinct from p_phase then 'a permit that is ' || p_phase
    when p_phase = 'FAILED' and v_status in ('CONSUMED', 'FINALIZED') then 'a permit that is over'
    when p_phase = 'HANDOFF_ENQ' and not exists (
           select from birth.birth_admission_permit p join governance.governance_candidate_state c on c.birth_id = p.finalized_birth_id
            where p.request_hash = p_request_hash and p.live) then 'the handoff'
  end;
end
$$;
