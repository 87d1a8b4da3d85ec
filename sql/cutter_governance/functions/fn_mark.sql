-- promise: the request stands in the backlog, marked, with what it waits for. The same key with the same request gives the same
--          entry again.
-- callers: cutter_exec (executor_dot991), chancery_app (pic_human, executor_worker)
-- arrow: ∅ → marked
-- locks: see fsm.move
-- refuses with: RC022 what p_plan would make, RC002 the payload, RC003 a cycle, RC004 an unknown blocker, RC015 the key or id stands for another request, RS018,
--               and whatever the birth row refuses
create or replace function cutter_governance.fn_mark(
  p_entry_id uuid, p_kind text, p_payload jsonb, p_depends_on uuid[], p_scenario_ref text, p_actor_class text, p_principal text,
  p_reason text default null, p_trace_id text default null, p_key_id uuid default null, p_signature bytea default null, p_plan jsonb default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_problems jsonb := cutter_governance.plan_problems(p_payload ->> 'iu_ref', p_plan);
begin
  -- What stands already is answered as it stands.
  if v_problems <> '[]' and not exists (select from cutter_governance.decision_backlog_entry e where e.entry_id = p_entry_id) then
    perform internal.refuse(v_problems);
  end if;
  return cutter_governance.mark_entry(p_entry_id, p_kind, p_payload, p_depends_on, p_scenario_ref, p_actor_class, 'mark', p_principal, p_reason,
                                      p_trace_id, p_key_id, p_signature);
end
$$;
