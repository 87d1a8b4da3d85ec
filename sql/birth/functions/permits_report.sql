-- promise: where the newest permit of each of these codes stands, in the order of the codes.
-- callers: the doors of this room. PL/pgSQL and not SQL, which would be planned anew in every call.
create or replace function birth.permits_report(p_collection text, p_codes text[]) returns jsonb
language plpgsql stable
as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
             'permit_id', p.permit_id, 'collection', p_collection, 'code', c.code, 'status', p.status, 'request_hash', encode(p.request_hash, 'hex'),
             'requested_by', p.started_by, 'requested_at', p.requested_at, 'expires_at', p.expires_at, 'birth_id', p.finalized_birth_id,
             'failure_reason', case when p.status in ('FAILED', 'REVOKED') then (
               select coalesce(l.evidence::jsonb ->> 'failure_reason', l.evidence::jsonb ->> 'reason')
                 from fsm.transition_log l where l.run_id = p.permit_id and l.seq = p.seq) end) order by c.n), '[]')
      from unnest(p_codes) with ordinality c (code, n)
      join lateral (
        (select p1.* from birth.birth_admission_permit p1 where p1.collection_name = p_collection and p1.entity_code = c.code and p1.live)
        union all
        (select p2.* from birth.birth_admission_permit p2
          where p2.collection_name = p_collection and p2.entity_code = c.code and not p2.live order by p2.requested_at desc limit 1)
        limit 1) p on true);
end
$$;
