-- promise: what is wrong with the codes asked for, whatever stands in the tables: missing, too long, against the family's rule, named
--          twice; null when nothing is.
-- callers: birth.reserve, birth.fn_pre_birth_check
create or replace function birth.code_problems(p_family birth.family, p_asks birth.permit_ask[]) returns jsonb
language plpgsql stable
as $$
declare
  v_most integer;
  v_bad jsonb;
begin
  if coalesce(cardinality(p_asks), 0) > 1 then
    select (c.value #>> '{}')::int into v_most from config.dot_config c where c.key = 'birth.permit.max_batch';
    if cardinality(p_asks) > v_most then
      return internal.problem('RB003', jsonb_build_object('collection', p_family.collection_name, 'why', 'too_many', 'codes', cardinality(p_asks), 'most', v_most));
    end if;
  elsif coalesce(cardinality(p_asks), 0) = 0 then
    return internal.problem('RB003', jsonb_build_object('collection', p_family.collection_name, 'why', 'no_code'));
  end if;
  select jsonb_agg(b.problem) into v_bad
    from (select jsonb_strip_nulls(jsonb_build_object('entity_code', left(a.entity_code, 200), 'why', w.why)) as problem
            from unnest(p_asks) a,
                 lateral (select case
                   when internal.is_blank(a.entity_code) then 'no_code'
                   when octet_length(a.entity_code) > 200 then 'too_long'
                   when a.entity_code !~ p_family.code_rule then 'against_the_rule'
                   when octet_length(a.entity_name) > 1000 or octet_length(a.species_code) > 100 then 'name_too_long'
                   when a.governance_role not in ('governed', 'observed', 'excluded') then 'role_unknown'
                 end as why) w
           where w.why is not null limit 10) b;
  if v_bad is null and cardinality(p_asks) > 1 then
    select jsonb_agg(b.problem) into v_bad
      from (select jsonb_build_object('entity_code', a.entity_code, 'why', 'named_twice') as problem
              from unnest(p_asks) a group by a.entity_code having count(*) > 1 limit 10) b;
  end if;
  if v_bad is not null then
    return internal.problem('RB003', v_bad -> 0 || jsonb_strip_nulls(jsonb_build_object(
      'collection', p_family.collection_name, 'rule', p_family.code_rule, 'more', nullif(v_bad - 0, '[]'))));
  end if;
  return null;
end
$$;
