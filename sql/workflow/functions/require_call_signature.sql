-- promise: where a call comes with a signature, it verifies as one under the move that the call leads to from where the run stands now. Gives what
--          fsm.move takes as p_verified.
-- callers: doors of this room, before they lock anything
-- refuses with: RI051
create or replace function workflow.require_call_signature(
  p_run_kind text, p_run_id uuid, p_call text, p_evidence jsonb, p_principal text, p_actor_class text, p_idempotency_key text, p_reason text,
  p_key_id uuid, p_signature bytea
) returns bytea
language plpgsql stable
as $$
declare
  v_machine text;
  v_target record;
begin
  if p_signature is null then
    return null;
  end if;
  v_machine := (fsm.run_peek(p_run_kind, p_run_id)).state_machine_id;
  -- A run or a call that there is not is refused for that, by who takes the run.
  if not exists (select from fsm.transition_def t where t.state_machine_id = v_machine and t.trigger_ref = p_call and t.from_state is not null) then
    return null;
  end if;
  select * into v_target from workflow.target_of(p_run_kind, p_run_id, p_call, p_actor_class);
  return fsm.require_move_signature(p_run_kind, p_run_id, v_target.to_state, p_actor_class, v_target.trigger_kind, p_call, p_evidence, p_principal,
                                    p_idempotency_key, p_reason, p_key_id, p_signature);
end
$$;
