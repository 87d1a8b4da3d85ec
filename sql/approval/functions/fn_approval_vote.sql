-- promise: the signed vote stands and, while nothing is decided, is the one of its voter that counts. The same vote id gives the
--          first answer again.
-- callers: chancery_app, cutter_review
-- locks: the request (its turn)
-- refuses with: RA002 no such request, RA004 one's own request, RA005 decided, expired or used already, RA009 no such vote, or its id is taken, RA010 agents do not
--               vote, RC007, RC010, RI001–RI008, RI051, RS025
create or replace function approval.fn_approval_vote(
  p_vote_id uuid, p_approval_id uuid, p_decision text, p_rationale text, p_principal text, p_actor_class text, p_key_id uuid, p_signed_at bigint,
  p_payload text, p_signature bytea
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_request approval.approval_request;
  v_principal record;
  v_problems jsonb;
  v_payload text;
begin
  -- Who may not act is told so before anybody's signature is looked at: nobody is asked to sign what is refused.
  perform identity.require_actor(p_principal, p_actor_class);
  perform identity.require_signature(p_principal, p_key_id, 'application/vnd.chancery.approval.v1+json', p_payload, p_signature);
  perform fsm.require_fresh_reads();
  perform internal.take_turn('approval:' || p_approval_id);
  select r.* into v_request from approval.approval_request r where r.approval_id = p_approval_id;
  if not found then
    perform internal.refuse(internal.problem('RA002', jsonb_build_object('approval_id', p_approval_id)));
  end if;
  if exists (select from approval.approval_vote v where v.vote_id = p_vote_id and v.approval_id = p_approval_id and v.vote_payload = p_payload) then
    return approval.report(p_approval_id) || '{"replayed": true}';
  end if;
  perform identity.require_signer(p_principal, p_actor_class, p_key_id, p_signed_at, p_signature);
  select p.kind into v_principal from identity.principal p where p.name = p_principal;
  if p_vote_id is null or p_decision is null or p_decision not in ('approve', 'reject', 'abstain')
     or exists (select from approval.approval_vote v where v.vote_id = p_vote_id) then
    perform internal.refuse(internal.problem('RA009', jsonb_build_object('vote_id', p_vote_id, 'decision', p_decision)));
  end if;
  v_problems := approval.vote_problems(p_approval_id, p_principal, p_actor_class);
  if v_problems <> '[]' then
    perform internal.refuse(v_problems);
  end if;
  v_payload := approval.vote_payload(p_vote_id, p_approval_id, v_request.row_digest, p_decision, p_rationale, p_principal, p_actor_class, p_key_id, p_signed_at);
  if v_payload is distinct from p_payload then
    perform internal.refuse(internal.problem('RC007', jsonb_build_object('signed', p_payload, 'stored', v_payload)));
  end if;
  insert into approval.approval_vote (
    vote_id, approval_id, voter, vote_seq, decision, rationale, counted_as, key_id, vote_payload, signature, signed_at, voted_at)
  select p_vote_id, p_approval_id, p_principal, coalesce(max(v.vote_seq), 0) + 1, p_decision, p_rationale,
         -- One voter, one part: a person who is both votes as what they sign as.
         case when p_actor_class = 'sovereign' and v_principal.kind = 'human' then 'sovereign'
              when p_actor_class in ('reviewer', 'review_authority') then 'reviewer' else 'other' end,
         p_key_id, p_payload, p_signature, internal.from_micros(p_signed_at), internal.now()
    from approval.approval_vote v where v.approval_id = p_approval_id and v.voter = p_principal;
  perform workflow.approval_changed(p_approval_id);
  return approval.report(p_approval_id) || '{"replayed": false}';
end
$$;
