-- promise: the bytes that are signed for a text of a type: both with their lengths (DSSE v1), so that no text is good as one of another type.
-- callers: identity.signature_problems, identity.possession_problems
create or replace function identity.pre_authentication_encoding(p_payload_type text, p_payload text) returns bytea
language sql stable
as $$
  select convert_to('DSSEv1 ' || octet_length(p_payload_type) || ' ' || p_payload_type || ' ' || octet_length(p_payload) || ' ' || p_payload, 'UTF8')
$$;
