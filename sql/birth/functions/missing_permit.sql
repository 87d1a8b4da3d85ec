-- promise: why nothing admits this code, in one word, with the permit that does not.
-- callers: birth.admit_without_permit
create or replace function birth.missing_permit(p_collection text, p_code text) returns jsonb
language plpgsql stable
as $$
declare
  v_permit record;
  v_why text;
begin
  if internal.is_blank(p_code) then
    return internal.problem('RB003', jsonb_build_object('collection', p_collection, 'entity_code', p_code, 'why', 'no_code'));
  end if;
  select p.permit_id, p.status, p.expires_at into v_permit from birth.birth_admission_permit p
   where p.collection_name = p_collection and p.entity_code = p_code and p.live;
  if not found then
    select p.permit_id, p.status, p.expires_at into v_permit from birth.birth_admission_permit p
     where p.collection_name = p_collection and p.entity_code = p_code and not p.live order by p.requested_at desc limit 1;
  end if;
  v_why := case
    when exists (select from birth.birth_registry b where b.collection_name = p_collection and b.entity_code = p_code) then 'born_before'
    when v_permit.permit_id is null then 'no_permit'
    when v_permit.status = 'RESERVED' and v_permit.expires_at <= internal.now() then 'expired'
    else lower(v_permit.status)
  end;
  return internal.problem('RB001', jsonb_strip_nulls(jsonb_build_object(
    'collection', p_collection, 'entity_code', p_code, 'why', v_why, 'permit_id', v_permit.permit_id, 'login', session_user)));
end
$$;
