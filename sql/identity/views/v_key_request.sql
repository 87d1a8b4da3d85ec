create or replace view identity.v_key_request with (security_barrier) as
select r.request_id, r.principal, encode(r.public_key, 'hex') as public_key, encode(sha256(r.public_key), 'hex') as fingerprint, r.requested_at, r.settled_at, r.outcome
  from identity.key_request r;
comment on view identity.v_key_request is 'Keys that people asked for.';
