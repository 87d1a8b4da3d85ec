-- promise: whether a JSON value holds nothing that anybody could have said: null, blank text, and lists and objects of nothing else. A number
--          and a truth value say something.
-- callers: workflow.fn_wait_resolve
create or replace function internal.says_nothing(p_value jsonb) returns boolean
language plpgsql immutable
as $$
begin
  return case jsonb_typeof(p_value)
    when 'string' then internal.is_blank(p_value #>> '{}')
    when 'array' then not exists (select from jsonb_array_elements(p_value) v where not internal.says_nothing(v))
    when 'object' then not exists (select from jsonb_each(p_value) v where not internal.says_nothing(v.value))
    when 'number' then false
    when 'boolean' then false
    else true end;
end
$$;
