-- owner: chancery_guard
-- promise: true when every wait that the evidence names has a declared facet and is on record
create or replace function workflow.guard_facet_vocab(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  return jsonb_typeof(p_context #> '{evidence,facets}') = 'array' and p_context #> '{evidence,facets}' <> '[]'
     and not exists (
       select from jsonb_array_elements_text(p_context #> '{evidence,facets}') f
        where not exists (select from fsm.state_facet_def d where d.state_machine_id = p_context #>> '{run,machine}' and d.state_code = 'waiting' and d.facet_code = f)
           or not exists (select from workflow.wait w where w.run_id = v_work.run_id and w.facet = f and w.opened));
end
$$;
