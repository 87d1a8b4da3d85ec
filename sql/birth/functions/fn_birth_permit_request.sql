-- promise: each object asked for has a permit: a new one, or the one that the same request got before. All of them or none. The answer
--          says of each where it stands, so that who asks again goes on from there.
-- callers: chancery_app (executor_worker, pic_human, system)
-- arrow: ∅ → RESERVED, for each
-- locks: see birth.reserve
-- refuses with: RB002, RB003, RB009, RB010, RB011 the family asks for an approval, RB012 malformed, RA…, RI001–RI008, RI051, RS018
create or replace function birth.fn_birth_permit_request(
  p_collection text, p_asks jsonb, p_principal text, p_actor_class text, p_dot text default 'dot_birth_admit', p_approval_id uuid default null,
  p_batch_id uuid default null, p_key_id uuid default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_asks birth.permit_ask[];
  v_made integer;
begin
  perform fsm.require_fresh_reads();
  v_asks := birth.parse_asks(p_collection, p_asks);
  -- Without an approval nothing is used up here, so a family that asks for one says so before anybody's signature is looked at.
  if p_approval_id is null then
    perform birth.require_approval(p_collection, v_asks, null, p_principal);
  end if;
  perform birth.require_requester(p_collection, p_principal, p_actor_class, p_key_id, v_asks);
  if p_approval_id is not null then
    perform birth.require_approval(p_collection, v_asks, p_approval_id, p_principal);
  end if;
  v_made := birth.reserve(p_collection, v_asks, p_principal, p_actor_class, p_dot, p_approval_id, p_batch_id, p_key_id);
  return jsonb_build_object('reserved', v_made, 'permits', birth.permits_report(p_collection, array(select a.entity_code from unnest(v_asks) a)));
end
$$;
