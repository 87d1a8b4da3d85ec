-- promise: the digest of what a permit was issued with; the log row of its reservation carries it. Rust makes the same one.
-- One expression and STABLE, so that the planner can inline it.
create or replace function birth.permit_digest(
  p_permit_id uuid, p_request_hash bytea, p_batch_id uuid, p_dot text, p_approval_id uuid, p_requested_at timestamptz, p_expires_at timestamptz
) returns bytea
language sql stable parallel safe
as $$
  select sha256(convert_to(concat(
    'chancery.permit.v1,', p_permit_id, ',', encode(p_request_hash, 'hex'), ',', p_batch_id, ',', p_approval_id, ',',
    (extract(epoch from p_requested_at) * 1000000)::bigint, ',', (extract(epoch from p_expires_at) * 1000000)::bigint, ',', p_dot), 'UTF8'))
$$;
