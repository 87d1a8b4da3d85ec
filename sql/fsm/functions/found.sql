-- promise: what is at a place of a document, or null where it is not there, whatever the reason is.
-- callers: workflow.resolve_params
create or replace function fsm.found(p_document jsonb, p_path jsonpath) returns jsonb
language plpgsql immutable
as $$
begin
  return jsonb_path_query_first(p_document, fsm.strict_rule(p_path), '{}', true);
exception when others then
  return null;
end
$$;
