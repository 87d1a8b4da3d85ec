-- owner: chancery_guard
-- promise: true when everything that was waited for has come, with a proof each
create or replace function workflow.guard_facet_resolved(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  return not exists (select from workflow.wait w where w.run_id = v_work.run_id and w.opened and w.resolved_at is null);
end
$$;
