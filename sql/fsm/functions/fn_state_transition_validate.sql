-- promise: the preview of a move: what apply would say, with every problem. Changes nothing; callers run it READ ONLY.
--          The eight arguments are the specification's; the ninth names who asks, when the answer should depend on it.
-- callers: every login that may move runs
create or replace function fsm.fn_state_transition_validate(
  p_run_id uuid, p_run_kind text, p_from_state text, p_to_state text, p_actor_class text,
  p_trigger_kind text, p_trigger_ref text, p_evidence jsonb, p_principal text default null
) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run fsm.run_row;
  v_verdict fsm.verdict;
begin
  v_verdict.problems := fsm.request_problems(p_run_kind, p_evidence, 'preview', coalesce(p_principal, 'preview'));
  if v_verdict.problems is null then
    v_run := fsm.run_peek(p_run_kind, p_run_id);
    if v_run.state_machine_id is null then
      v_verdict.problems := internal.problem('RS001', jsonb_build_object('run_kind', p_run_kind, 'run_id', p_run_id));
    else
      -- A preview is never signed, so the missing signature is no problem of the move.
      v_verdict := fsm.evaluate(p_run_kind, p_run_id, v_run, p_from_state, p_to_state, p_actor_class,
                                p_trigger_kind, p_trigger_ref, p_evidence, p_principal, null, null);
    end if;
  end if;
  return jsonb_build_object(
    'ok', v_verdict.problems is null,
    'transition_id', v_verdict.transition_id,
    'emitted_event_type', v_verdict.event_type,
    'problems', coalesce(v_verdict.problems, '[]'));
end
$$;
