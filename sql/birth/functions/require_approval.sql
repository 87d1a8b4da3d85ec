-- promise: where the family's policy asks for an approval, this one is for exactly this request, and is used for it.
-- callers: birth.fn_birth_permit_request
-- locks: the approval (its turn)
-- refuses with: RB011, RA002, RA003, RA006
create or replace function birth.require_approval(p_collection text, p_asks birth.permit_ask[], p_approval_id uuid, p_principal text) returns void
language plpgsql
as $$
declare
  v_family birth.family;
  v_hash bytea;
begin
  select f.* into v_family from birth.family f where f.collection_name = p_collection and f.active;
  if not found or not v_family.approval_required and p_approval_id is null then
    return;
  end if;
  if p_approval_id is null or cardinality(p_asks) <> 1 then
    perform internal.refuse(internal.problem('RB011', jsonb_build_object('collection', p_collection, 'codes', cardinality(p_asks), 'approval_id', p_approval_id)));
  end if;
  v_hash := birth.request_hash(p_collection, p_asks[1].entity_code, p_asks[1].entity_name, p_asks[1].species_code,
                               coalesce(p_asks[1].governance_role, v_family.governance_role), p_asks[1].payload_digest);
  -- What was revoked is over, and the approval with it; a request that failed or ran out may be made again on the same one.
  if exists (select from birth.birth_admission_permit p
              where p.request_hash = v_hash and not p.live and p.status = 'REVOKED' and p.approval_id = p_approval_id) then
    perform internal.refuse(internal.problem('RB011', jsonb_build_object(
      'collection', p_collection, 'codes', 1, 'approval_id', p_approval_id, 'why', 'revoked')));
  end if;
  perform approval.consume(p_approval_id, 'birth_admission', p_collection || '/' || p_asks[1].entity_code, v_hash, 'birth_request', encode(v_hash, 'hex'), p_principal);
end
$$;
