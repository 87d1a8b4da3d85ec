-- owner: chancery_guard
-- promise: what an approval for this gate of this run must say, from what the run pinned and where it stands; nonce and expiry besides are
--          those of the request.
create or replace function orchestrator.binding(p_run_id uuid, p_gate text) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object('run_id', r.run_name, 'gate', p_gate, 'document_id', r.document_id)
         || case
              when p_gate in ('SG_cut_authz', 'SG_lifecycle_authz') then jsonb_build_object(
                'source_version_id', r.source_version_id, 'writer_digest', p.pins -> 'writer_digest', 'manifest_digest', p.pins -> 'manifest_digest',
                'change_set_id', internal.derived_uuid(r.run_id, 'change_set'),
                'review_decision_id', internal.derived_uuid(r.run_id, case p_gate when 'SG_cut_authz' then 'cut_decision' else 'lifecycle_decision' end))
              else jsonb_build_object(
                'stopped_state', r.state_code, 'stopped_seq', r.seq,
                'survey', case p_gate when 'SG_drift_ack' then orchestrator.survey(r.run_id) end)
            end
    from orchestrator.run r, lateral (select orchestrator.pins(r.run_id) as pins) p
   where r.run_id = p_run_id
$$;
