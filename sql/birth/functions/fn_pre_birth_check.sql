-- promise: whether this object could be born now, check by check, with the reason where one fails. Writes nothing.
-- callers: chancery_app, birth_writer, auditor_ro
create or replace function birth.fn_pre_birth_check(p_collection text, p_code text, p_name text, p_dot_origin text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_family birth.family;
  -- As a row with it says it; what the columns cannot hold is judged as it is.
  v_normal constant text := (birth.normal_codes(p_collection, array[p_code]))[1];
  v_said constant text := coalesce(v_normal, p_code);
  v_code jsonb;
  v_checks jsonb;
begin
  select f.* into v_family from birth.family f where f.collection_name = p_collection and f.active;
  v_code := birth.code_problems(v_family, array[row(null, v_said, p_name, null, null, null, null)::birth.permit_ask]);
  select jsonb_agg(jsonb_build_object('check', c.name, 'ok', c.ok, 'why', case when not c.ok then c.why end) order by c.n) into v_checks
    from (values
      (1, 'family_is_protected', v_family.collection_name is not null, 'no table is under admission by this name'),
      (2, 'code_is_there', not internal.is_blank(p_code), 'the code is missing'),
      (3, 'code_keeps_the_rule', coalesce(v_code #>> '{0,why}', '') not in ('against_the_rule', 'too_long', 'name_too_long')
                                 and (v_normal is not null or p_code is null), case when v_normal is null then 'not_of_its_type' else coalesce(v_code #>> '{0,why}', '') end),
      (4, 'code_is_not_born', not exists (
        select from birth.birth_registry b where b.collection_name = p_collection and b.entity_code = v_said), 'the code was born before'),
      (5, 'no_permit_is_live', not exists (
        select from birth.birth_admission_permit p
         where p.collection_name = p_collection and p.entity_code = v_said and p.status in ('RESERVED', 'CONSUMED') and p.expires_at > internal.now()),
        'a permit for the code is live'),
      (6, 'origin_is_in_the_catalogue', exists (
        select from iu.dot_iu_command_catalog c where c.command_name = p_dot_origin and c.mutating), 'the command is not in the catalogue')
    ) c (n, name, ok, why);
  return jsonb_build_object('ok', not exists (select from jsonb_array_elements(v_checks) c where c -> 'ok' = 'false'), 'checks', v_checks);
end
$$;
