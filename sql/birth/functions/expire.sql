-- promise: a reserved permit whose time ran out is expired, through the engine. False when it moved meanwhile.
-- refuses with: RS…, RI004 when this login may not act for the system
-- callers: birth.reserve, birth.fn_permit_watchdog
-- arrow: RESERVED → EXPIRED
-- locks: see fsm.move
create or replace function birth.expire(p_permit_id uuid, p_principal text) returns boolean
language plpgsql
as $$
declare
  v_edge fsm.transition_def;
  v_report jsonb;
begin
  select t.* into v_edge from fsm.transition_def t join birth.birth_admission_permit p using (state_machine_id)
   where p.permit_id = p_permit_id and t.from_state = 'RESERVED' and t.to_state = 'EXPIRED' and t.actor_class = 'system';
  v_report := fsm.move(p_permit_id, 'birth_permit', 'RESERVED', 'EXPIRED', 'system', v_edge.trigger_kind, v_edge.trigger_ref, '{}', p_principal, 'expire',
                       null, null, null, null);
  if v_report -> 'ok' = 'false' and exists (select from birth.birth_admission_permit p where p.permit_id = p_permit_id and p.status = 'RESERVED') then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return v_report -> 'ok' = 'true';
end
$$;
