-- Digests of rows and hashes of the log carry a version, and each version has a pinned list of columns: what was written under it
-- verifies for ever, whatever columns come later (docs/decisions/0029-digests-carry-versions.md).
alter table audit.evidence_def add column tag text;
update audit.evidence_def set tag = table_name;
alter table audit.evidence_def alter column tag set not null, add constraint evidence_tag_once unique (tag);
comment on column audit.evidence_def.tag is 'What a digest calls the table: its first name, which stays when the table is renamed.';

create table audit.evidence_version (
  table_name text not null,
  version smallint not null,
  columns text[] not null,
  primary key (table_name, version),
  constraint evidence_version_is_positive check (version >= 1),
  constraint evidence_version_covers_columns check (cardinality(columns) >= 1)
);
comment on table audit.evidence_version is
  'Which columns a digest of a version is over. A version that was released covers the same values for ever; a column that is renamed is renamed here too.';
comment on column audit.evidence_version.columns is 'In the order of the digest.';

insert into audit.evidence_version (table_name, version, columns) values
  ('iu.source_document', 1, '{address_docprefix,created_at,created_by,document_id}'),
  ('iu.source_version', 1, '{body,byte_length,content_sha256,created_at,created_by,document_id,media_type,source_version_id,version_seq}'),
  ('iu.information_unit', 1,
   '{canonical_address, conformance_status, content_anchor_ref, created_at, created_by, deleted_at, doc_code, id,
     identity_profile, lifecycle_status, owner_ref, parent_or_container_ref, section_code, section_type,
     sort_order, unit_kind, updated_at, updated_by, version_anchor_ref}'),
  ('iu.unit_version', 1,
   '{body, content_hash, content_profile, created_at, created_by, enacted_at, id, lifecycle_status, title, unit_id,
     version_seq}'),
  ('iu.unit_edit_draft', 1, '{base_version_id,body,created_at,created_by,draft_id,title,unit_id}'),
  ('iu.iu_lifecycle_log', 1,
   '{actor, at, change_kind, change_set_id, edit_draft_id, from_lifecycle, lifecycle_log_id, prev_digest, reason,
     review_decision_id, seq, to_lifecycle, tool_revision, unit_digest, unit_id, unit_version_id, version_digest}'),
  ('cutter_governance.decision_backlog_entry', 1,
   '{correlation_id, document_id, emitted_at, entry_id, escalation_of, idempotency_key, kind, payload,
     scenario_ref, source_version_id, started_by, state_machine_id, trace_id}'),
  ('cutter_governance.decision_backlog_dependency', 1, '{created_at,created_by,dependency_id,dependency_kind,from_entry_id,to_entry_id}'),
  ('cutter_governance.decision_backlog_sweep_log', 1,
   '{batch_limit, created_count, prev_digest, promoted_count, report_summary, scanned_count, sweep_id, sweep_seq,
     sweep_trigger_kind, swept_at, swept_by}'),
  ('cutter_governance.manifest_envelope', 1,
   '{created_at, created_by, document_id, entry_id, envelope_id, manifest_digest, operation_kind, profile,
     publication_type, rationale, region_sha, reviewed_at, reviewer, source_doc_ref, source_version_id, status,
     tool_revision, unit_count, unit_kind}'),
  ('cutter_governance.manifest_unit_block', 1,
   '{block_role, envelope_id, parent_local_id, proposed_canonical_address, region_sha, render_order, section_type,
     span_end, span_start, title, unit_local_id}'),
  ('cutter_governance.review_decision', 1,
   '{created_at, decision_at, decision_payload, entry_id, findings, governance_event_kind, key_id, manifest_id,
     manifest_unit_local_id, manifest_version, prior_review_decision_id, review_decision_id, review_scope,
     reviewer_class, reviewer_identity, risk_class_assessment, signature, status, verdict, verdict_rationale}'),
  ('cutter_governance.dot_pair_signature', 1,
   '{cross_reference_change_set_id, cross_reference_verify_result_id, key_id, lane_seq, payload_envelope,
     payload_hash, prior_signature_id, recorded_at, signature, signature_id, signature_kind, signature_payload,
     signed_at, signer_dot_id, signer_principal, signer_tool_revision}'),
  ('cutter_governance.cut_change_set', 1,
   '{affected_unit_count, change_kind, change_set_digest, change_set_id, decision_backlog_entry_id, effect_digest,
     emitted_at, emitted_by, executor_signature_id, executor_tool_revision, manifest_id, manifest_version,
     payload_summary, review_decision_id, rollback_key, rollback_of_change_set_id, rollback_reason, state,
     verifier_signature_id, verifier_tool_revision, writer_digest}'),
  ('cutter_governance.cut_change_set_affected_row', 1,
   '{affected_row_id, after_state_snapshot, before_state_snapshot, change_set_id, lifecycle_digest, operation_kind,
     render_order, target_row_id, target_table}'),
  ('cutter_governance.verify_result', 1,
   '{axis_1_status, axis_2_status, canonicalization_rule_used, change_set_id, escalation_ref,
     executor_signature_id, executor_tool_revision, findings, manifest_id, manifest_version,
     prior_verify_result_id, review_decision_id, rollback_change_set_id_triggered, state, tool_revision_match,
     verdict, verified_at, verified_by, verifier_signature_id, verifier_tool_revision, verify_digest, verify_kind,
     verify_result_id}'),
  ('approval.approval_request', 1,
   '{approval_id, expires_at, facts, key_id, kind, proposer, request_payload, requested_at, risk, signature,
     signed_at, subject_digest, subject_kind, subject_ref, title}'),
  ('approval.approval_vote', 1,
   '{approval_id, counted_as, decision, key_id, rationale, signature, signed_at, vote_id, vote_payload, vote_seq,
     voted_at, voter}'),
  ('approval.approval_use', 1, '{approval_id,used_at,used_by,used_for_kind,used_for_ref}'),
  ('kb.revision', 1, '{author,body,created_at,kind,path,revision,sha256}'),
  ('kb.revision_signature', 1, '{key_id,meaning,path,recorded_at,revision,signature,signature_id,signature_payload,signed_at,signer}'),
  ('orchestrator.run', 1,
   '{correlation_id, created_at, document_id, entry_id, run_id, run_name, source_version_id, started_by,
     state_machine_id, trace_id}'),
  ('orchestrator.backup_key', 1, '{fingerprint,pin_seq,pinned_at,pinned_by,public_key}'),
  ('governance.system_issues', 1,
   '{correlation_id, description, entity_code, entity_type, fingerprint, first_seen_at, issue_class, issue_id,
     issue_type, source_system, started_by, state_machine_id, title, trace_id}'),
  ('queue.job_dead_letter', 1,
   '{attempts, classification, correlation_id, created_at, died_at, executor_class, idempotency_key, job_id,
     job_kind, lease_no, lease_owner, max_attempts, payload, payload_ref, priority, reason, replay_request_id,
     source_ref, started_by, story, target_ref, trace_id}'),
  ('queue.dlq_replay_request', 1,
   '{batch_id, batch_no, correlation_id, created_at, dlq_replay_request_id, job_id, reason, stagger_ms, started_by,
     state_machine_id, trace_id}'),
  ('birth.family_log', 1, '{action,at,collection_name,family_log_id,login_role,policy,principal}'),
  ('birth.birth_registry', 1,
   '{admission, birth_id, born_at, born_by, collection_name, dot_origin, entity_code, entity_name, governance_role,
     permit_id, species_code, status, xid}'),
  ('birth.break_glass', 1, '{approval_id,break_glass_id,collection_name,expires_at,opened_at,opened_by,reason}'),
  ('governance.governance_candidate_state', 1,
   '{birth_id, candidate_id, correlation_id, created_at, object_ref, object_type, started_by, state_machine_id,
     trace_id}'),
  ('iu.dot_iu_command_run', 1,
   '{actor, after_state, at, attempt, before_state, command_name, command_run_id, login_role, phase, request_hash,
     run_mode, status}'),
  ('workflow.workflow_version', 1, '{change_request_id,definition,definition_sha256,merged_at,merged_by,version,workflow,workflow_def_id}'),
  ('workflow.workflow_change_requests', 1,
   '{base_version, change_request_id, correlation_id, created_at, started_by, state_machine_id, title, trace_id,
     workflow}'),
  ('workflow.change_revision', 1, '{change_request_id,definition,definition_sha256,revision_no,written_at,written_by}'),
  ('governance.proposal', 1,
   '{action_sha256, affected_iu_ids, correlation_id, created_at, proposal_id, proposal_kind, proposed_action,
     proposer_class, started_by, state_machine_id, title, trace_id}'),
  ('governance.iu_usage_evidence', 1, '{evidence_id,evidence_kind,facts,iu_id,proposal_id,recorded_at}'),
  ('workflow.workflow_run', 1,
   '{correlation_id, created_at, inputs, parent_step_run_id, started_by, state_machine_id, trace_id, workflow,
     workflow_class, workflow_def_id, workflow_run_id}'),
  ('workflow.step_run_snapshot', 1, '{attempt,cycle_no,document,document_sha256,run_id,run_kind,snapshot_id,snapshot_kind,taken_at}'),
  ('workflow.step_run_correction_cycle', 1,
   '{approval_id, correction_reason, cycle_no, original_output_snapshot_id, prior_actor, prior_at, prior_audit_id,
     prior_key_id, prior_state, reopened_at, reopened_by, run_id, run_kind}'),
  ('workflow.step_decision', 1,
   '{actor_class, approval_id, decided_at, decision_id, decision_kind, facts, idempotency_key, principal, run_id,
     run_kind}'),
  ('workflow.wait', 1,
   '{attempt, cycle_no, facet, issued_at, run_id, run_kind, subject_kind, subject_ref, token_sha256, until,
     wait_id, workflow_run_id}'),
  ('governance.status_summary', 1,
   '{category, confidence, created_at, facts, idempotency_key, low_confidence, prior_summary_id, put_by,
     resolved_by_event_id, source_event_count, source_event_refs, source_event_total, state, subject,
     summarizer_kind, summarizer_ref, summarizer_version, summary_id, text_en, text_vi, trace_id, window_end,
     window_start}'),
  -- Not stamped: internal.log_hash has the same list, and hash_version says which.
  ('fsm.transition_log', 1,
   '{run_id, seq, log_id, key_id, at, prev_hash, artefact_digest, signature, run_kind, state_machine_id,
     transition_id, from_state, to_state, facet, principal, actor_class, trigger_kind, trigger_ref, reason,
     evidence, event_type, idempotency_key}');

-- The stamping triggers set it. The default is for the rows that are there: it is written nowhere, so this takes no time.
do $versions$
declare
  v_table text;
begin
  for v_table in select e.table_name from audit.evidence_def e loop
    execute format('alter table %s add column digest_version smallint not null default 1', v_table::regclass);
  end loop;
end
$versions$;

-- One number for both: the hash of the row, and the statement that was signed for the move. Writers do not name it: its default is what
-- internal.log_hash computes, and the two change together.
alter table fsm.transition_log add column hash_version smallint not null default 1;
comment on column fsm.transition_log.hash_version is
  'Version of the hash and of the signed statement; audit.evidence_version lists the columns.';
