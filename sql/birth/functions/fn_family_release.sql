-- promise: the table is no longer under admission; what was born stays on record. The answer has the statements that unbind it, for the
--          table's owner to run in the same transaction. Released again changes nothing.
-- callers: whoever may become chancery_definer (chancery birth release)
-- locks: the families (its turn)
-- refuses with: RB002, RB018 units of documents are always under admission, RI001, RI002
create or replace function birth.fn_family_release(p_relation oid, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_family birth.family;
begin
  perform birth.require_operator(p_principal);
  perform internal.take_turn('birth.family');
  select f.* into v_family from birth.family f where f.relation = p_relation order by f.active desc limit 1;
  if not found then
    perform internal.refuse(internal.problem('RB002', jsonb_build_object('collection', p_relation::regclass)));
  elsif v_family.collection_name = 'iu.information_unit' then
    perform internal.refuse(internal.problem('RB018', jsonb_build_object('table', p_relation::regclass, 'why', 'not_yours')));
  end if;
  if v_family.active then
    update birth.family f set active = false where f.collection_name = v_family.collection_name returning f.* into v_family;
    perform birth.note_family(v_family, 'released', p_principal);
  end if;
  return to_jsonb(v_family) || jsonb_build_object(
    'table', v_family.relation::regclass, 'owner', (select pg_get_userbyid(c.relowner) from pg_class c where c.oid = v_family.relation),
    'statements', (
      select coalesce(jsonb_agg(format('drop trigger %I on %s', t.tgname, v_family.relation::regclass)), '[]')
        from pg_trigger t where t.tgrelid = v_family.relation and t.tgfoid = to_regproc(format('birth.%I', 'family_' || v_family.family_no))::oid)
      -- The right that the protection gave.
      || coalesce((select jsonb_build_array(format('revoke insert on %s from birth_writer', c.oid::regclass)) from pg_class c where c.oid = v_family.relation), '[]'));
end
$$;
