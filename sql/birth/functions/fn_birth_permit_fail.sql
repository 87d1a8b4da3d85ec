-- promise: a permit whose insert was refused is failed, with the reason: recorded here, in a transaction of its own, since that of the
--          insert is gone. One that moved meanwhile stays as it is.
-- callers: chancery_app, for who asked for the permit
-- arrow: RESERVED → FAILED, by the system on the requester's word
-- locks: see fsm.move
-- refuses with: RB019 unknown, or another's, RB012 no reason, RI001–RI004
create or replace function birth.fn_birth_permit_fail(p_permit_id uuid, p_reason text, p_principal text, p_actor_class text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_permit birth.birth_admission_permit;
  v_edge fsm.transition_def;
  v_report jsonb;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, p_actor_class);
  select p.* into v_permit from birth.birth_admission_permit p where p.permit_id = p_permit_id for update;
  if not found or v_permit.started_by <> p_principal then
    perform internal.refuse(internal.problem('RB019', jsonb_build_object('permit_id', p_permit_id, 'principal', p_principal)));
  elsif internal.is_blank(p_reason) then
    perform internal.refuse(internal.problem('RB012', jsonb_build_object('collection', v_permit.collection_name, 'field', 'reason', 'expected', 'why it failed')));
  end if;
  if v_permit.status = 'RESERVED' then
    v_edge := birth.edge(v_permit.state_machine_id, 'RESERVED', 'FAILED', 'system');
    v_report := fsm.move(
      p_permit_id, 'birth_permit', 'RESERVED', 'FAILED', 'system', v_edge.trigger_kind, v_edge.trigger_ref,
      jsonb_build_object('failure_reason', left(p_reason, 500), 'event', jsonb_build_object('failure_reason', left(p_reason, 500)), 'told_by', p_principal),
      'chancery', 'fail', null, null, null, null);
    if v_report -> 'ok' = 'false' then
      perform internal.refuse(v_report -> 'problems');
    end if;
  end if;
  return birth.permits_report(v_permit.collection_name, array[v_permit.entity_code]) -> 0;
end
$$;
