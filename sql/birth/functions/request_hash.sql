-- promise: the digest of a request: SHA-256 over the length-prefixed collection, code and normalized intent (name, species, role,
--          digest of the payload). The same request has the same digest, whoever makes it and how often. Rust makes the same one.
-- One expression and STABLE (concat is), so that the planner can inline it.
create or replace function birth.request_hash(
  p_collection text, p_code text, p_name text, p_species text, p_role text, p_payload_digest bytea
) returns bytea
language sql stable parallel safe
as $$
  select sha256(convert_to(concat(
    'chancery.birth.v1,', encode(p_payload_digest, 'hex'), ',', octet_length(p_collection), ',', octet_length(p_code), ',',
    coalesce(octet_length(p_name), -1), ',', coalesce(octet_length(p_species), -1), ',', octet_length(p_role), ':',
    p_collection, p_code, p_name, p_species, p_role), 'UTF8'))
$$;
