-- promise: where a signature comes with a key of this principal, it verifies. Whether the key is theirs and live, and whether a signature has to be
--          there, asks identity.require_signer, later and with all other problems: every door that calls this calls that too.
-- callers: doors that store signatures, before they lock anything: it takes some milliseconds, for which nobody has to wait
-- refuses with: RI051
create or replace function identity.require_signature(
  p_principal text, p_key_id uuid, p_payload_type text, p_payload text, p_signature bytea
) returns void
language plpgsql stable
as $$
declare
  v_problems jsonb;
begin
  if p_signature is null or not exists (select from identity.signing_key k where k.key_id = p_key_id and k.principal = p_principal) then
    return;
  end if;
  v_problems := identity.signature_problems(p_principal, p_key_id, p_payload_type, p_payload, p_signature);
  if v_problems <> '[]' then
    perform internal.refuse(v_problems);
  end if;
end
$$;
