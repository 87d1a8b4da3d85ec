-- owner: chancery_guard
-- promise: the request to the sovereign says everything it must, and an approval is asked for exactly that.
create or replace function orchestrator.inv_request(p_run orchestrator.run, p_pins jsonb, p_evidence jsonb, p_gate text) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'request_is_complete', not exists (
      select from jsonb_each(
        orchestrator.binding(p_run.run_id, p_gate)
        || case p_gate when 'SG_cut_authz' then jsonb_build_object(
             'region_sha', p_pins -> 'region_sha', 'candidate_count', p_pins -> 'candidate_count', 'backup_sha', p_pins -> 'backup_sha',
             'grants_probe_snapshot', p_pins -> 'grants_probe_snapshot') else '{}' end) e
       where e.value = 'null' or d.said -> e.key is distinct from e.value)
      and coalesce(d.said ->> 'sidecar_path', '') <> '' and coalesce(d.said ->> 'nonce', '') <> '',
    'approval_is_asked_for', exists (
      select from approval.approval_request q
       where q.approval_id = internal.uuid_or_null(p_evidence ->> 'approval_id') and q.kind = orchestrator.approval_kind(p_gate)
         and q.subject_ref = p_run.run_name and q.subject_digest = sha256(convert_to(q.facts, 'UTF8'))
         and q.facts::jsonb @> orchestrator.binding(p_run.run_id, p_gate) and q.facts::jsonb -> 'nonce' = d.said -> 'nonce'),
    'decision_is_new', not exists (
      select from cutter_governance.review_decision r
       where r.review_decision_id = (orchestrator.binding(p_run.run_id, p_gate) ->> 'review_decision_id')::uuid))
    from (select orchestrator.json_block((
            select k.body from kb.revision k
             where k.path = orchestrator.document_path(p_run.run_name, p_gate || '_request') order by k.revision desc limit 1)) as said) d
$$;
