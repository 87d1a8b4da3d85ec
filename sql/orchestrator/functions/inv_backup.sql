-- owner: chancery_guard
-- promise: IG_backup: the backup was read back as it was written, for the pinned key, and the sidecar knows it.
create or replace function orchestrator.inv_backup(p_run orchestrator.run, p_pins jsonb, p_evidence jsonb) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'backup_target_reachable', coalesce(p_evidence ->> 'read_back_sha' = p_evidence #>> '{pins,backup_sha}', false),
    'key_fingerprint_matches', coalesce(p_evidence #>> '{pins,backup_fingerprint}' = (
      select k.fingerprint from orchestrator.backup_key k order by k.pin_seq desc limit 1), false),
    'backup_sha_recorded', orchestrator.is_sha256(p_evidence #>> '{pins,backup_sha}') and coalesce((p_evidence #>> '{pins,backup_bytes}')::bigint > 0, false),
    'sidecar_written', orchestrator.is_sha256(p_evidence ->> 'sidecar_sha256')
      and coalesce(p_evidence #>> '{pins,backup_utc}' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$', false))
$$;
