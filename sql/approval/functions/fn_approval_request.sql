-- promise: the request stands, signed by who asks; the same id with the same request gives it again.
-- callers: chancery_app, cutter_exec, cutter_review
-- locks: the request (its turn), so that the same request twice at once is one
-- refuses with: RA001 what is asked is malformed, RA008 the id stands for another request, RC007, RC010, RI001–RI008, RI051, RS025
create or replace function approval.fn_approval_request(
  p_approval_id uuid, p_kind text, p_subject_ref text, p_subject_digest bytea, p_risk text, p_title text, p_facts jsonb, p_expires_at bigint,
  p_principal text, p_actor_class text, p_key_id uuid, p_signed_at bigint, p_payload text, p_signature bytea
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_kind approval.approval_kind;
  v_existing approval.approval_request;
  v_request approval.approval_request;
  v_ranks constant text[] := '{low,medium,high}';
begin
  perform fsm.require_fresh_reads();
  -- What is malformed is told before anybody's signature is looked at: nobody is asked to sign what is refused. A request that stands was well-formed.
  select k.* into v_kind from approval.approval_kind k where k.kind = p_kind;
  if not exists (select from approval.approval_request r where r.approval_id = p_approval_id) then
    -- A request may ask for more care than its kind demands, never for less.
    if v_kind.kind is null or p_approval_id is null or internal.is_blank(p_subject_ref) or internal.is_blank(p_title)
       or jsonb_typeof(p_facts) is distinct from 'object' or not coalesce(array_position(v_ranks, p_risk) >= array_position(v_ranks, v_kind.risk), false)
       or p_expires_at is null or p_expires_at <= internal.micros(internal.now())
       or p_expires_at > internal.micros(internal.now()) + v_kind.max_ttl_seconds * 1000000::bigint then
      perform internal.refuse(internal.problem('RA001', jsonb_build_object(
        'kind', p_kind, 'known_kinds', (select jsonb_agg(k.kind order by k.kind) from approval.approval_kind k), 'subject_ref', p_subject_ref,
        'risk', p_risk, 'least_risk', v_kind.risk, 'expires_at', p_expires_at, 'max_ttl_seconds', v_kind.max_ttl_seconds)));
    end if;
  end if;
  perform identity.require_actor(p_principal, p_actor_class);
  perform identity.require_signature(p_principal, p_key_id, 'application/vnd.chancery.approval.v1+json', p_payload, p_signature);
  perform internal.take_turn('approval:' || p_approval_id);
  select r.* into v_existing from approval.approval_request r where r.approval_id = p_approval_id;
  if found then
    if v_existing.request_payload is distinct from p_payload then
      perform internal.refuse(internal.problem('RA008', jsonb_build_object('approval_id', p_approval_id)));
    end if;
    return approval.report(p_approval_id) || '{"replayed": true}';
  end if;
  perform identity.require_signer(p_principal, p_actor_class, p_key_id, p_signed_at, p_signature);
  v_request.approval_id := p_approval_id;
  v_request.kind := p_kind;
  v_request.subject_kind := v_kind.subject_kind;
  v_request.subject_ref := p_subject_ref;
  v_request.subject_digest := p_subject_digest;
  v_request.risk := p_risk;
  v_request.title := p_title;
  v_request.facts := internal.canonical_json(p_facts);
  v_request.proposer := p_principal;
  v_request.requested_at := internal.now();
  v_request.expires_at := internal.from_micros(p_expires_at);
  v_request.key_id := p_key_id;
  v_request.request_payload := p_payload;
  v_request.signature := p_signature;
  v_request.signed_at := internal.from_micros(p_signed_at);
  if approval.request_payload(v_request) is distinct from p_payload then
    perform internal.refuse(internal.problem('RC007', jsonb_build_object('signed', p_payload, 'stored', approval.request_payload(v_request))));
  end if;
  insert into approval.approval_request select v_request.*;
  return approval.report(p_approval_id) || '{"replayed": false}';
end
$$;
