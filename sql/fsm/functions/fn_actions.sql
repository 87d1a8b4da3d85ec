-- promise: what can be done to a run from where it is, and whether the reader may: each call once, judged by the function that judges the move
--          itself. Problems stand against it; needs are what the caller still has to bring, each with its field, and its values where rows hold
--          them. Changes nothing.
-- callers: chancery_app, for pages and programs that show what can be done
create or replace function fsm.fn_actions(p_run_kind text, p_run_id uuid, p_reader text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run fsm.run_row := fsm.run_peek(p_run_kind, p_run_id);
  v_reader record;
  v_way record;
  v_verdict fsm.verdict;
  v_problems jsonb;
  v_needs jsonb;
  v_actions jsonb := '[]';
begin
  select p.kind, p.active, p.actor_classes into v_reader from identity.principal p where p.name = p_reader;
  for v_way in
    -- Of the rows of one call to one state: the one for a class that the reader holds. What only machinery does is nobody's button.
    select distinct on (t.label, t.to_state, t.trigger_ref) t.label, t.to_state, t.trigger_kind, t.trigger_ref, t.actor_class, t.audit_required, t.needs_facet
      from fsm.transition_def t
     where t.state_machine_id = v_run.state_machine_id and t.from_state = v_run.state_code
       and (t.actor_class = any (v_reader.actor_classes) or t.actor_class not in ('system', 'mow_orchestrator', 'executor_worker'))
     order by t.label, t.to_state, t.trigger_ref, t.actor_class = any (v_reader.actor_classes) desc,
              t.actor_class in ('system', 'mow_orchestrator', 'executor_worker'), t.actor_class
  loop
    v_verdict := fsm.evaluate(p_run_kind, p_run_id, v_run, null, v_way.to_state, v_way.actor_class, v_way.trigger_kind, v_way.trigger_ref, '{}', p_reader, null, null);
    select n.problems, n.needs into v_problems, v_needs
      from fsm.what_is_needed(p_run_kind, p_run_id, v_run.state_machine_id, v_way.to_state, v_way.trigger_ref, coalesce(v_verdict.problems, '[]')) n;
    v_actions := v_actions || jsonb_build_object(
      'name', v_way.trigger_ref, 'label', v_way.label, 'to', v_way.to_state, 'actor_class', v_way.actor_class, 'allowed', v_problems = '[]',
      'problems', v_problems, 'needs', v_needs);
  end loop;
  return v_actions;
end
$$;
