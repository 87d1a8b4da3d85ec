-- promise: where a JSON Schema leaves the subset that value_problems understands; an empty array when it does not.
--          A keyword we would ignore is a rule that would not hold, so it is refused when the type is registered.
create or replace function event.schema_problems(p_schema jsonb, p_pointer text default '') returns jsonb
language plpgsql immutable
as $$
declare
  v_found jsonb := '[]';
  v_keyword text;
  v_value jsonb;
  v_child record;
  v_ok boolean;
begin
  if jsonb_typeof(p_schema) <> 'object' then
    return jsonb_build_array(jsonb_build_object('at', p_pointer, 'why', 'a schema is an object'));
  end if;
  for v_keyword, v_value in select * from jsonb_each(p_schema) loop
    v_ok := case
      when v_keyword = 'type' then
        case jsonb_typeof(v_value)
          when 'string' then v_value #>> '{}' in ('object', 'array', 'string', 'number', 'integer', 'boolean', 'null')
          when 'array' then v_value <> '[]' and not exists (
            select from jsonb_array_elements(v_value) t
             where t #>> '{}' not in ('object', 'array', 'string', 'number', 'integer', 'boolean', 'null') or jsonb_typeof(t) <> 'string')
          else false end
      when v_keyword = 'required' then jsonb_typeof(v_value) = 'array' and not exists (
        select from jsonb_array_elements(v_value) r where jsonb_typeof(r) <> 'string')
      when v_keyword in ('properties', 'items') then jsonb_typeof(v_value) = 'object'
      when v_keyword = 'additionalProperties' then jsonb_typeof(v_value) = 'boolean'
      when v_keyword = 'enum' then jsonb_typeof(v_value) = 'array' and v_value <> '[]'
      when v_keyword = 'const' then true
      when v_keyword in ('minimum', 'maximum') then jsonb_typeof(v_value) = 'number'
      when v_keyword in ('minLength', 'maxLength', 'minItems', 'maxItems') then
        jsonb_typeof(v_value) = 'number' and (v_value #>> '{}') ~ '^[0-9]+$'
      when v_keyword = 'pattern' then jsonb_typeof(v_value) = 'string' and event.is_regex(v_value #>> '{}')
      when v_keyword = 'format' then v_value = '"date-time"'
      when v_keyword = 'description' then jsonb_typeof(v_value) = 'string'
      else false end;
    if not v_ok then
      v_found := v_found || jsonb_build_array(jsonb_build_object('at', p_pointer || '/' || replace(replace(v_keyword, '~', '~0'), '/', '~1'), 'why', 'outside the subset'));
    elsif v_keyword = 'items' then
      v_found := v_found || event.schema_problems(v_value, p_pointer || '/items');
    elsif v_keyword = 'properties' then
      -- Names stand in a pointer as RFC 6901 says: ~ as ~0, / as ~1.
      for v_child in select e.value, replace(replace(e.key, '~', '~0'), '/', '~1') as token from jsonb_each(v_value) e loop
        v_found := v_found || event.schema_problems(v_child.value, p_pointer || '/properties/' || v_child.token);
      end loop;
    end if;
  end loop;
  return v_found;
end
$$;
