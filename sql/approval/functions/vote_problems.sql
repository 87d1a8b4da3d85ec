-- promise: what keeps a person from voting on a request in a class, as problems; an empty array when nothing does. The vote and the list of what
--          can be done both ask here, so they cannot differ.
-- callers: approval.fn_approval_vote, approval.fn_approval_actions
create or replace function approval.vote_problems(p_approval_id uuid, p_principal text, p_actor_class text) returns jsonb
language plpgsql stable
as $$
declare
  v_principal record;
  v_proposer text;
  v_state text;
  v_problems jsonb;
begin
  select r.proposer into v_proposer from approval.approval_request r where r.approval_id = p_approval_id;
  if not found then
    return internal.problem('RA002', jsonb_build_object('approval_id', p_approval_id));
  end if;
  select p.kind, p.active, p.actor_classes into v_principal from identity.principal p where p.name = p_principal;
  v_problems := identity.actor_problems(p_principal, v_principal.kind, v_principal.active, v_principal.actor_classes, p_actor_class, null, null);
  -- Votes are signed, whoever casts them.
  if v_principal.kind is not null and not exists (select from identity.signing_key k where k.principal = p_principal and k.revoked_at is null) then
    v_problems := v_problems || internal.problem('RI008', jsonb_build_object('principal', p_principal, 'kind', v_principal.kind));
  end if;
  if v_proposer = p_principal then
    v_problems := v_problems || internal.problem('RA004', jsonb_build_object('approval_id', p_approval_id, 'proposer', p_principal));
  end if;
  v_state := approval.state(p_approval_id);
  if v_state <> 'pending' then
    v_problems := v_problems || internal.problem('RA005', jsonb_build_object('approval_id', p_approval_id, 'state', v_state));
  end if;
  return v_problems;
end
$$;
