-- promise: a row that is there, under a code for which this transaction consumed no permit, is what it may be: one that was moved within
--          its table, one born while the glass was broken, one whose missing permit is only reported; otherwise it is refused. Asked
--          after the insert, not before: only then is it known that there is a row, and under which code.
-- callers: the trigger functions of the families
-- refuses with: RB001 without a permit, RB003 without a code
create or replace function birth.admit_without_permit(p_collection text, p_code text, p_name text) returns void
language plpgsql
as $$
declare
  v_family birth.family;
  v_enforced boolean;
  v_admission text := 'missing';
  -- One time for all that is asked: a birth says of itself when it was, and that must be the time at which it was allowed.
  v_at timestamptz := internal.now();
begin
  -- One that left in this transaction and comes back was moved.
  update birth.departure d set returned = true
   where d.departure_id = (
     select d2.departure_id from birth.departure d2
      where d2.collection_name = p_collection and d2.entity_code = birth.short_code(p_code) and d2.xid = pg_current_xact_id() and not d2.returned
      order by d2.departure_id desc limit 1);
  if found then
    return;
  end if;
  select f.* into v_family from birth.family f where f.collection_name = p_collection;
  if not v_family.active then
    return;
  end if;
  v_enforced := coalesce(v_family.enforced_from <= v_at, false);
  if v_enforced and exists (select from birth.break_glass g where g.collection_name = p_collection and g.expires_at > v_at) then
    v_enforced := false;
    v_admission := 'break_glass';
  end if;
  if v_enforced then
    perform internal.refuse(birth.missing_permit(p_collection, p_code));
  elsif p_code is not null then
    insert into birth.birth_registry (
      birth_id, entity_code, collection_name, entity_name, governance_role, dot_origin, admission, born_at, born_by, xid)
    values (internal.uuid_v7(), birth.short_code(p_code), p_collection, p_name, v_family.governance_role, 'by_hand', v_admission, v_at, session_user, pg_current_xact_id())
    on conflict on constraint birth_once_a_code do nothing;
  end if;
end
$$;
