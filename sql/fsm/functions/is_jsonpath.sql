-- promise: whether PostgreSQL can read the text as an SQL/JSON path.
create or replace function fsm.is_jsonpath(p_rule text) returns boolean
language plpgsql immutable
as $$
begin
  perform p_rule::jsonpath;
  return p_rule is not null;
exception when syntax_error or invalid_regular_expression or invalid_text_representation then
  return false;
end
$$;
