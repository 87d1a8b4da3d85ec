-- promise: where a JSON value breaks a schema of the subset, by JSON pointer; an empty array when it does not.
create or replace function event.value_problems(p_schema jsonb, p_value jsonb, p_pointer text default '') returns jsonb
language plpgsql immutable
as $$
declare
  v_found jsonb := '[]';
  v_kind text := jsonb_typeof(p_value);
  v_child record;
begin
  if p_schema ? 'type' and not exists (
       select from jsonb_array_elements_text(
         case jsonb_typeof(p_schema -> 'type') when 'array' then p_schema -> 'type' else jsonb_build_array(p_schema -> 'type') end) t
        where t = v_kind or (t = 'integer' and v_kind = 'number' and p_value::numeric = trunc(p_value::numeric))) then
    return jsonb_build_array(jsonb_build_object('at', p_pointer, 'rule', 'type', 'expected', p_schema -> 'type', 'given', v_kind));
  end if;
  if p_schema ? 'enum' and not exists (select from jsonb_array_elements(p_schema -> 'enum') e where e = p_value) then
    v_found := v_found || jsonb_build_array(jsonb_build_object('at', p_pointer, 'rule', 'enum', 'expected', p_schema -> 'enum'));
  end if;
  if p_schema ? 'const' and p_schema -> 'const' <> p_value then
    v_found := v_found || jsonb_build_array(jsonb_build_object('at', p_pointer, 'rule', 'const', 'expected', p_schema -> 'const'));
  end if;
  if v_kind = 'number' then
    if (p_schema ->> 'minimum')::numeric > p_value::numeric then
      v_found := v_found || jsonb_build_array(jsonb_build_object('at', p_pointer, 'rule', 'minimum', 'expected', p_schema -> 'minimum'));
    end if;
    if (p_schema ->> 'maximum')::numeric < p_value::numeric then
      v_found := v_found || jsonb_build_array(jsonb_build_object('at', p_pointer, 'rule', 'maximum', 'expected', p_schema -> 'maximum'));
    end if;
  elsif v_kind = 'string' then
    if (p_schema ->> 'minLength')::numeric > char_length(p_value #>> '{}') then
      v_found := v_found || jsonb_build_array(jsonb_build_object('at', p_pointer, 'rule', 'minLength', 'expected', p_schema -> 'minLength'));
    end if;
    if (p_schema ->> 'maxLength')::numeric < char_length(p_value #>> '{}') then
      v_found := v_found || jsonb_build_array(jsonb_build_object('at', p_pointer, 'rule', 'maxLength', 'expected', p_schema -> 'maxLength'));
    end if;
    if p_schema ->> 'format' = 'date-time' and event.instant(p_value #>> '{}') is null then
      v_found := v_found || jsonb_build_array(jsonb_build_object('at', p_pointer, 'rule', 'format', 'expected', p_schema -> 'format'));
    end if;
    if (p_value #>> '{}') !~ (p_schema ->> 'pattern') then
      v_found := v_found || jsonb_build_array(jsonb_build_object('at', p_pointer, 'rule', 'pattern', 'expected', p_schema -> 'pattern'));
    end if;
  elsif v_kind = 'array' then
    if (p_schema ->> 'minItems')::numeric > jsonb_array_length(p_value) then
      v_found := v_found || jsonb_build_array(jsonb_build_object('at', p_pointer, 'rule', 'minItems', 'expected', p_schema -> 'minItems'));
    end if;
    if (p_schema ->> 'maxItems')::numeric < jsonb_array_length(p_value) then
      v_found := v_found || jsonb_build_array(jsonb_build_object('at', p_pointer, 'rule', 'maxItems', 'expected', p_schema -> 'maxItems'));
    end if;
    if p_schema ? 'items' then
      for v_child in select a.value, a.n - 1 as n from jsonb_array_elements(p_value) with ordinality a (value, n) loop
        v_found := v_found || event.value_problems(p_schema -> 'items', v_child.value, p_pointer || '/' || v_child.n);
      end loop;
    end if;
  elsif v_kind = 'object' then
    -- Names stand in a pointer as RFC 6901 says: ~ as ~0, / as ~1.
    for v_child in select replace(replace(r.key, '~', '~0'), '/', '~1') as token
                     from jsonb_array_elements_text(coalesce(p_schema -> 'required', '[]')) r (key) where not p_value ? r.key loop
      v_found := v_found || jsonb_build_array(jsonb_build_object('at', p_pointer || '/' || v_child.token, 'rule', 'required'));
    end loop;
    for v_child in select e.key, e.value, replace(replace(e.key, '~', '~0'), '/', '~1') as token from jsonb_each(p_value) e loop
      if p_schema -> 'properties' ? v_child.key then
        v_found := v_found || event.value_problems(p_schema -> 'properties' -> v_child.key, v_child.value, p_pointer || '/' || v_child.token);
      elsif p_schema -> 'additionalProperties' = 'false' then
        v_found := v_found || jsonb_build_array(jsonb_build_object('at', p_pointer || '/' || v_child.token, 'rule', 'additionalProperties'));
      end if;
    end loop;
  end if;
  return v_found;
end
$$;
