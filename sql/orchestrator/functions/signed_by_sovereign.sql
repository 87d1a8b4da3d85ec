-- owner: chancery_guard
-- promise: the newest revision of the document carries the signature of a human sovereign with this meaning, by a key that was theirs and
--          not revoked then; with p_by_live_key, by one that is not revoked now. (That the signature is one over these bytes is checked by who stores it, who acts on it, and the audit.)
create or replace function orchestrator.signed_by_sovereign(p_path text, p_meaning text, p_by_live_key boolean default false) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from kb.revision_signature s
      join identity.principal p on p.name = s.signer and p.kind = 'human' and p.active and 'sovereign' = any (p.actor_classes)
      join identity.signing_key k on k.key_id = s.key_id and k.principal = s.signer and (k.revoked_at is null or not p_by_live_key and k.revoked_at > s.recorded_at)
     where s.path = p_path and s.meaning = p_meaning
       and s.revision = (select max(r.revision) from kb.revision r where r.path = p_path))
$$;
