-- owner: chancery_guard
-- promise: IG_closeout: every document of the run before this one is in the knowledge base as its gate wrote it, its line stands once in the index, and the sidecar is complete.
create or replace function orchestrator.inv_closeout(p_run orchestrator.run, p_pins jsonb, p_evidence jsonb) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'all_documents_are_there', not exists (
      select from unnest(array['IG_source_pin', 'IG_mark', 'IG_cutplan', 'IG_backup', 'IG_grant_probe', 'SG_cut_authz_request', 'SG_cut_authz_received',
                               'IG_structural_verify', 'IG_leg_b_record', 'IG_write_verify', 'SG_lifecycle_authz_request', 'SG_lifecycle_authz_received']) g (gate)
       where not exists (select from kb.revision k where k.path = orchestrator.document_path(p_run.run_name, g.gate)))
      and not exists (
        select from fsm.transition_log l
         where l.run_id = p_run.run_id and l.evidence::jsonb ? 'approval_kb_id'
           and not exists (select from kb.revision k where k.path = l.evidence::jsonb ->> 'approval_kb_id'))
      and not exists (
        select from fsm.transition_log l
         where l.run_id = p_run.run_id and l.evidence::jsonb ? 'report_kb_id'
           and not exists (select from kb.revision k where k.path = l.evidence::jsonb ->> 'report_kb_id')),
    -- Nobody wrote over what a gate left, or before it: there is the revision that its move names and no other.
    'documents_are_as_written', not exists (
      select from fsm.transition_log l
       where l.run_id = p_run.run_id and l.evidence::jsonb ? 'kb_revision'
         and exists (select from kb.revision k
                      where k.path = l.evidence::jsonb ->> 'kb_doc_id' and k.revision <> (l.evidence::jsonb ->> 'kb_revision')::integer))
      -- A sovereign signs a stop before its report has a number: the digest of the move says which one it is.
      and not exists (
        select from fsm.transition_log l join kb.revision k on k.path = l.evidence::jsonb ->> 'report_kb_id'
         where l.run_id = p_run.run_id and l.artefact_digest is distinct from internal.artefact_digest(array[k.row_digest])),
    'run_stands_in_the_index', (
      select count(*) from kb.revision k, regexp_split_to_table(k.body, E'\n') line
       where k.path = p_evidence ->> 'index_kb_id' and position(p_run.run_name in line) > 0
         and k.revision = (select max(n.revision) from kb.revision n where n.path = k.path)) = 1,
    -- Every gate that the log says was passed, the sidecar says as well.
    'sidecar_is_complete', orchestrator.is_sha256(p_evidence ->> 'sidecar_sha256') and not exists (
      select from fsm.transition_log l
       where l.run_id = p_run.run_id and l.idempotency_key ~ '^(IG|SG)_' and l.idempotency_key <> 'IG_closeout'
         and not coalesce(p_evidence -> 'sidecar_gates' ? l.idempotency_key, false)))
$$;
