-- owner: chancery_guard
-- promise: where a document carried the sovereign's word and does not any more, because the key was revoked since, a problem that names whose
--          signature that was; otherwise null.
-- callers: orchestrator.fn_orchestrate_void
create or replace function orchestrator.revoked_signature(p_path text, p_meaning text) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select internal.problem('RA030', jsonb_build_object(
           'what', 'document', 'id', s.path, 'signer', s.signer, 'key_id', s.key_id, 'revoked_at', internal.micros(k.revoked_at)))
    from kb.revision_signature s join identity.signing_key k on k.key_id = s.key_id and k.revoked_at is not null
   where s.path = p_path and s.meaning = p_meaning and s.revision = (select max(r.revision) from kb.revision r where r.path = p_path)
     and orchestrator.signed_by_sovereign(p_path, p_meaning) and not orchestrator.signed_by_sovereign(p_path, p_meaning, p_by_live_key => true)
   order by s.recorded_at desc limit 1
$$;
