-- promise: a proposed transition fires from now on, by an approval of exactly this transition, used once for it. An approval that
--          pins the machine's definition is good for that definition only.
-- callers: chancery_app
-- locks: the approval (its turn), the transition
-- refuses with: RS004 no such transition, RA002, RA003, RA006, RI001–RI004, RS025
create or replace function fsm.fn_transition_activate(p_transition_id text, p_approval_id uuid, p_principal text, p_actor_class text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_digest bytea;
  v_used_now boolean;
  v_proposed boolean;
begin
  select case when r.approval_id is not null then decode(m.definition_sha256, 'hex') end into v_digest
    from fsm.transition_def t
    join fsm.state_machine_def m using (state_machine_id)
    left join approval.approval_request r on r.approval_id = p_approval_id and r.subject_digest is not null
   where t.transition_id = p_transition_id;
  if not found then
    perform internal.refuse(internal.problem('RS004', jsonb_build_object('transition', p_transition_id)));
  end if;
  perform identity.require_actor(p_principal, p_actor_class);
  v_used_now := approval.consume(p_approval_id, 'transition_activation', p_transition_id, v_digest, 'transition', p_transition_id, p_principal);
  select t.proposed into v_proposed from fsm.transition_def t where t.transition_id = p_transition_id for no key update;
  -- A version without runs can be replaced: then the same name may stand for another transition, which nobody approved.
  if v_proposed and not v_used_now then
    perform internal.refuse(internal.problem('RA006', approval.report(p_approval_id) - 'title' - 'request_digest'));
  end if;
  update fsm.transition_def t set proposed = false where t.transition_id = p_transition_id and t.proposed;
  return jsonb_build_object('transition_id', p_transition_id, 'proposed', false, 'approval_id', p_approval_id, 'replayed', not v_used_now);
end
$$;
