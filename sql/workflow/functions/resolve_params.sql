-- promise: the parameters of a step with every text that begins with "$." replaced by what that path finds in the context, or null.
create or replace function workflow.resolve_params(p_params jsonb, p_context jsonb) returns jsonb
language plpgsql stable
as $$
begin
  return case jsonb_typeof(p_params)
    when 'object' then coalesce((select jsonb_object_agg(e.key, workflow.resolve_params(e.value, p_context)) from jsonb_each(p_params) e), '{}')
    when 'array' then coalesce((select jsonb_agg(workflow.resolve_params(e.value, p_context) order by e.no) from jsonb_array_elements(p_params) with ordinality e (value, no)), '[]')
    when 'string' then case when starts_with(p_params #>> '{}', '$.')
      then coalesce(fsm.found(p_context, (p_params #>> '{}')::jsonpath), 'null') else p_params end
    else p_params end;
end
$$;
