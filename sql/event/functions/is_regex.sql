-- promise: whether PostgreSQL can run the text as a regular expression.
create or replace function event.is_regex(p_pattern text) returns boolean
language plpgsql immutable
as $$
begin
  perform '' ~ p_pattern;
  return true;
exception when invalid_regular_expression then
  return false;
end
$$;
