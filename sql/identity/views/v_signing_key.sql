create or replace view identity.v_signing_key with (security_barrier) as
select k.key_id, k.principal, encode(k.public_key, 'hex') as public_key, encode(sha256(k.public_key), 'hex') as fingerprint,
       k.registered_at, k.supersedes, k.revoked_at, (extract(epoch from k.revoked_at) * 1000000)::bigint as revoked_at_micros,
       k.revoke_reason
  from identity.signing_key k;
comment on view identity.v_signing_key is 'Public keys with the time they stopped being good for new signatures.';
