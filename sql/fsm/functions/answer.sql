-- promise: whether a rule is true of a document: true, false, or null where it cannot be answered, whatever the reason is. PostgreSQL raises
--          some errors through its own silence (times with zones, variables), and old rules may meet them.
-- callers: fsm.refusing_guards, workflow.holds
create or replace function fsm.answer(p_document jsonb, p_rule jsonpath) returns boolean
language plpgsql immutable
as $$
begin
  return jsonb_path_match(p_document, p_rule, '{}', true);
exception when others then
  return null;
end
$$;
