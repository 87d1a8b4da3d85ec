-- promise: a proposed transition fires from now on, by an approval of exactly this transition, used once for it.
-- callers: chancery_app
-- locks: the approval (advisory)
-- refuses with: RS004 no such transition, RA002, RA003, RA006, RI001–RI004
create or replace function fsm.fn_transition_activate(p_transition_id text, p_approval_id uuid, p_principal text, p_actor_class text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_transition record;
begin
  select t.proposed, t.state_machine_id, t.from_state, t.to_state into v_transition from fsm.transition_def t where t.transition_id = p_transition_id;
  if not found then
    perform internal.refuse(internal.problem('RS004', jsonb_build_object('transition', p_transition_id)));
  end if;
  perform identity.require_actor(p_principal, p_actor_class);
  perform approval.consume(p_approval_id, 'transition_activation', p_transition_id, null, 'transition', p_transition_id, p_principal);
  update fsm.transition_def t set proposed = false where t.transition_id = p_transition_id and t.proposed;
  return jsonb_build_object('transition_id', p_transition_id, 'proposed', false, 'approval_id', p_approval_id, 'replayed', not v_transition.proposed);
end
$$;
