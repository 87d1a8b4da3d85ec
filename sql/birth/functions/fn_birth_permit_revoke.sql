-- promise: a permit that was not used is taken back, by somebody else than who asked for it. The same again gives the first answer.
-- callers: chancery_app (reviewer, sovereign)
-- arrow: RESERVED → REVOKED
-- locks: see fsm.move
-- refuses with: RB019 unknown, RB016 it is one's own, RS… it was used or is over, RI001–RI008
create or replace function birth.fn_birth_permit_revoke(
  p_permit_id uuid, p_reason text, p_actor_class text, p_principal text, p_idempotency_key text, p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_permit birth.birth_admission_permit;
  v_report jsonb;
begin
  perform fsm.require_fresh_reads();
  select p.* into v_permit from birth.birth_admission_permit p where p.permit_id = p_permit_id;
  if not found then
    perform internal.refuse(internal.problem('RB019', jsonb_build_object('permit_id', p_permit_id, 'principal', p_principal)));
  elsif v_permit.started_by = p_principal then
    perform internal.refuse(internal.problem('RB016', jsonb_build_object('permit_id', p_permit_id, 'principal', p_principal)));
  end if;
  v_report := fsm.move(
    p_permit_id, 'birth_permit', null, 'REVOKED', p_actor_class, 'rpc', 'permit_revoke',
    jsonb_build_object('reason', p_reason, 'audit_ref', 'birth_permit:' || p_permit_id, 'event', jsonb_build_object('reason', p_reason)),
    p_principal, p_idempotency_key, p_reason, null, p_key_id, p_signature);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return birth.permits_report(v_permit.collection_name, array[v_permit.entity_code]) -> 0 || jsonb_build_object('replayed', v_report -> 'replayed');
end
$$;
