-- promise: whether PostgreSQL can read the text as an SQL/JSON path.
create or replace function fsm.is_jsonpath(p_rule text) returns boolean
language plpgsql immutable
as $$
begin
  perform p_rule::jsonpath;
  return p_rule is not null;
exception when others then
  -- Also a flag that is not implemented, a number that is too large, brackets that are too deep.
  return false;
end
$$;
