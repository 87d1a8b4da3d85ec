-- promise: what stands in the way of these requests: a live permit for another intent, a birth that is not this request's, or an id that
--          something else has; null when nothing does.
-- callers: birth.reserve, birth.fn_pre_birth_check
create or replace function birth.standing_problems(p_family birth.family, p_asks birth.permit_ask[]) returns jsonb
language plpgsql stable
as $$
declare
  v_other record;
begin
  select a.entity_code, p.permit_id, p.status into v_other
    from unnest(p_asks) a
    -- A limit in each: the planner would rather read the whole table once than ask for some codes.
    join lateral (
      select p1.permit_id, p1.status, p1.request_hash from birth.birth_admission_permit p1
       where p1.collection_name = p_family.collection_name and p1.entity_code = a.entity_code and p1.live limit 1) p on true
   where p.request_hash <> birth.request_hash(p_family.collection_name, a.entity_code, a.entity_name, a.species_code,
                                              coalesce(a.governance_role, p_family.governance_role), a.payload_digest)
   limit 1;
  if found then
    return internal.problem('RB009', jsonb_build_object(
      'collection', p_family.collection_name, 'entity_code', v_other.entity_code, 'permit_id', v_other.permit_id, 'permit_status', v_other.status));
  end if;
  select a.entity_code, b.birth_id, b.admission into v_other
    from unnest(p_asks) a
    join lateral (
      select b1.birth_id, b1.admission, b1.permit_id from birth.birth_registry b1
       where b1.collection_name = p_family.collection_name and b1.entity_code = a.entity_code limit 1) b on true
   where b.permit_id is null
   limit 1;
  if found then
    return internal.problem('RB010', jsonb_build_object(
      'collection', p_family.collection_name, 'entity_code', v_other.entity_code, 'birth_id', v_other.birth_id, 'admission', v_other.admission));
  end if;
  -- An id that the caller chose: birth.reserve would wait for ever for a place that is taken.
  if exists (select from unnest(p_asks) a where a.permit_id is not null) then
    select a.permit_id, l.state_machine_id into v_other
      from unnest(p_asks) a
      join lateral (select l1.state_machine_id from fsm.transition_log l1 where l1.run_id = a.permit_id and l1.seq = 1 limit 1) l on true
      left join lateral (
        select p1.live and p1.collection_name = p_family.collection_name and p1.entity_code = a.entity_code as its_own
          from birth.birth_admission_permit p1 where p1.permit_id = a.permit_id limit 1) p on true
     where p.its_own is distinct from true
     limit 1;
    if found then
      return internal.problem('RS023', jsonb_build_object('run_id', v_other.permit_id, 'machine', v_other.state_machine_id));
    end if;
  end if;
  return null;
end
$$;
