//! What is evidence in this release: tables, keys, the columns that their digests are over, and those that doors change.
//!
//! A table stands here as its first release had it. What came later is appended, in the order in which it came: a version with more
//! columns ([`Table::add_columns`]), a column or the table under another name ([`Table::rename_column`], [`Table::rename_table`]).
//! `audit.evidence_def` and `audit.evidence_version` say the same; a test compares.

use super::Table;

/// Every table whose rows carry a digest.
#[rustfmt::skip]
pub(super) fn tables() -> Vec<Table> {
    vec![
        Table::new("iu.source_document", &[("document_id", "text")],
            "address_docprefix created_at created_by document_id"),
        Table::new("iu.source_version", &[("source_version_id", "uuid")],
            "body byte_length content_sha256 created_at created_by document_id media_type source_version_id version_seq"),
        Table::new("iu.information_unit", &[("id", "uuid")],
            "canonical_address conformance_status content_anchor_ref created_at created_by deleted_at doc_code id \
             identity_profile lifecycle_status owner_ref parent_or_container_ref section_code section_type sort_order \
             unit_kind updated_at updated_by version_anchor_ref"),
        Table::new("iu.unit_version", &[("id", "uuid")],
            "body content_hash content_profile created_at created_by enacted_at id lifecycle_status title unit_id version_seq"),
        Table::new("iu.unit_edit_draft", &[("draft_id", "uuid")],
            "base_version_id body created_at created_by draft_id title unit_id"),
        Table::new("iu.iu_lifecycle_log", &[("lifecycle_log_id", "uuid")],
            "actor at change_kind change_set_id edit_draft_id from_lifecycle lifecycle_log_id prev_digest reason \
             review_decision_id seq to_lifecycle tool_revision unit_digest unit_id unit_version_id version_digest"),
        Table::new("cutter_governance.decision_backlog_entry", &[("entry_id", "uuid")],
            "correlation_id document_id emitted_at entry_id escalation_of idempotency_key kind payload scenario_ref \
             source_version_id started_by state_machine_id trace_id")
            .mutable("status facet seq head_hash last_transition_at"),
        Table::new("cutter_governance.decision_backlog_dependency", &[("dependency_id", "uuid")],
            "created_at created_by dependency_id dependency_kind from_entry_id to_entry_id"),
        Table::new("cutter_governance.decision_backlog_sweep_log", &[("sweep_id", "uuid")],
            "batch_limit created_count prev_digest promoted_count report_summary scanned_count sweep_id sweep_seq \
             sweep_trigger_kind swept_at swept_by"),
        Table::new("cutter_governance.manifest_envelope", &[("envelope_id", "uuid")],
            "created_at created_by document_id entry_id envelope_id manifest_digest operation_kind profile publication_type \
             rationale region_sha reviewed_at reviewer source_doc_ref source_version_id status tool_revision unit_count \
             unit_kind"),
        Table::new("cutter_governance.manifest_unit_block", &[("envelope_id", "uuid"), ("unit_local_id", "text")],
            "block_role envelope_id parent_local_id proposed_canonical_address region_sha render_order section_type span_end \
             span_start title unit_local_id"),
        Table::new("cutter_governance.review_decision", &[("review_decision_id", "uuid")],
            "created_at decision_at decision_payload entry_id findings governance_event_kind key_id manifest_id \
             manifest_unit_local_id manifest_version prior_review_decision_id review_decision_id review_scope reviewer_class \
             reviewer_identity risk_class_assessment signature status verdict verdict_rationale")
            .mutable("superseded_by_review_decision_id"),
        Table::new("cutter_governance.dot_pair_signature", &[("signature_id", "uuid")],
            "cross_reference_change_set_id cross_reference_verify_result_id key_id lane_seq payload_envelope payload_hash \
             prior_signature_id recorded_at signature signature_id signature_kind signature_payload signed_at signer_dot_id \
             signer_principal signer_tool_revision"),
        Table::new("cutter_governance.cut_change_set", &[("change_set_id", "uuid")],
            "affected_unit_count change_kind change_set_digest change_set_id decision_backlog_entry_id effect_digest \
             emitted_at emitted_by executor_signature_id executor_tool_revision manifest_id manifest_version payload_summary \
             review_decision_id rollback_key rollback_of_change_set_id rollback_reason state verifier_signature_id \
             verifier_tool_revision writer_digest"),
        Table::new("cutter_governance.cut_change_set_affected_row", &[("affected_row_id", "uuid")],
            "affected_row_id after_state_snapshot before_state_snapshot change_set_id lifecycle_digest operation_kind \
             render_order target_row_id target_table"),
        Table::new("cutter_governance.verify_result", &[("verify_result_id", "uuid")],
            "axis_1_status axis_2_status canonicalization_rule_used change_set_id escalation_ref executor_signature_id \
             executor_tool_revision findings manifest_id manifest_version prior_verify_result_id review_decision_id \
             rollback_change_set_id_triggered state tool_revision_match verdict verified_at verified_by verifier_signature_id \
             verifier_tool_revision verify_digest verify_kind verify_result_id"),
        Table::new("approval.approval_request", &[("approval_id", "uuid")],
            "approval_id expires_at facts key_id kind proposer request_payload requested_at risk signature signed_at \
             subject_digest subject_kind subject_ref title"),
        Table::new("approval.approval_vote", &[("vote_id", "uuid")],
            "approval_id counted_as decision key_id rationale signature signed_at vote_id vote_payload vote_seq voted_at \
             voter"),
        Table::new("approval.approval_use", &[("approval_id", "uuid")],
            "approval_id used_at used_by used_for_kind used_for_ref"),
        Table::new("kb.revision", &[("path", "text"), ("revision", "integer")],
            "author body created_at kind path revision sha256"),
        Table::new("kb.revision_signature", &[("signature_id", "uuid")],
            "key_id meaning path recorded_at revision signature signature_id signature_payload signed_at signer"),
        Table::new("orchestrator.run", &[("run_id", "uuid")],
            "correlation_id created_at document_id entry_id run_id run_name source_version_id started_by state_machine_id \
             trace_id")
            .mutable("state_code facet seq head_hash last_transition_at"),
        Table::new("orchestrator.backup_key", &[("pin_seq", "integer")],
            "fingerprint pin_seq pinned_at pinned_by public_key"),
        Table::new("governance.system_issues", &[("issue_id", "uuid")],
            "correlation_id description entity_code entity_type fingerprint first_seen_at issue_class issue_id issue_type \
             source_system started_by state_machine_id title trace_id")
            .mutable("severity evidence occurrence_count last_seen_at state facet seq head_hash last_transition_at"),
        Table::new("queue.job_dead_letter", &[("job_id", "uuid")],
            "attempts classification correlation_id created_at died_at executor_class idempotency_key job_id job_kind \
             lease_no lease_owner max_attempts payload payload_ref priority reason replay_request_id source_ref started_by \
             story target_ref trace_id"),
        Table::new("queue.dlq_replay_request", &[("dlq_replay_request_id", "uuid")],
            "batch_id batch_no correlation_id created_at dlq_replay_request_id job_id reason stagger_ms started_by \
             state_machine_id trace_id")
            .mutable("proposal_state facet seq head_hash approval_id replay_job_id outcome_jsonb last_transition_at"),
        Table::new("birth.family_log", &[("family_log_id", "uuid")],
            "action at collection_name family_log_id login_role policy principal"),
        Table::new("birth.birth_registry", &[("birth_id", "uuid")],
            "admission birth_id born_at born_by collection_name dot_origin entity_code entity_name governance_role permit_id \
             species_code status xid"),
        Table::new("birth.break_glass", &[("break_glass_id", "uuid")],
            "approval_id break_glass_id collection_name expires_at opened_at opened_by reason"),
        Table::new("governance.governance_candidate_state", &[("candidate_id", "uuid")],
            "birth_id candidate_id correlation_id created_at object_ref object_type started_by state_machine_id trace_id")
            .mutable("state facet seq head_hash last_transition_at"),
        Table::new("iu.dot_iu_command_run", &[("command_run_id", "uuid")],
            "actor after_state at attempt before_state command_name command_run_id login_role phase request_hash run_mode \
             status"),
        Table::new("workflow.workflow_version", &[("workflow_def_id", "uuid")],
            "change_request_id definition definition_sha256 merged_at merged_by version workflow workflow_def_id"),
        Table::new("workflow.workflow_change_requests", &[("change_request_id", "uuid")],
            "base_version change_request_id correlation_id created_at started_by state_machine_id title trace_id workflow")
            .mutable("proposal_state facet seq head_hash approval_id merged_def_id last_transition_at"),
        Table::new("workflow.change_revision", &[("change_request_id", "uuid"), ("revision_no", "integer")],
            "change_request_id definition definition_sha256 revision_no written_at written_by"),
        Table::new("governance.proposal", &[("proposal_id", "uuid")],
            "action_sha256 affected_iu_ids correlation_id created_at proposal_id proposal_kind proposed_action proposer_class \
             started_by state_machine_id title trace_id")
            .mutable("proposal_state facet seq head_hash approval_id outcome last_transition_at"),
        Table::new("governance.iu_usage_evidence", &[("evidence_id", "uuid")],
            "evidence_id evidence_kind facts iu_id proposal_id recorded_at"),
        Table::new("workflow.workflow_run", &[("workflow_run_id", "uuid")],
            "correlation_id created_at inputs parent_step_run_id started_by state_machine_id trace_id workflow workflow_class \
             workflow_def_id workflow_run_id")
            .mutable("state_code facet seq head_hash last_transition_at rollup_state_code red_count yellow_count green_count \
                      skipped_count optional_excluded_count mandatory_count completed_count decisive_step_run_id decisive_state_code \
                      last_rollup_at frozen_at critical_due"),
        Table::new("workflow.step_run_snapshot", &[("snapshot_id", "uuid")],
            "attempt cycle_no document document_sha256 run_id run_kind snapshot_id snapshot_kind taken_at"),
        Table::new("workflow.step_run_correction_cycle", &[("run_id", "uuid"), ("cycle_no", "integer")],
            "approval_id correction_reason cycle_no original_output_snapshot_id prior_actor prior_at prior_audit_id \
             prior_key_id prior_state reopened_at reopened_by run_id run_kind")
            .mutable("completed_at completion_actor_id output_snapshot_id"),
        Table::new("workflow.step_decision", &[("decision_id", "uuid")],
            "actor_class approval_id decided_at decision_id decision_kind facts idempotency_key principal run_id run_kind"),
        Table::new("workflow.wait", &[("wait_id", "uuid")],
            "attempt cycle_no facet issued_at run_id run_kind subject_kind subject_ref token_sha256 until wait_id \
             workflow_run_id")
            .mutable("opened resolved_at resolved_by proof"),
        Table::new("governance.status_summary", &[("summary_id", "uuid")],
            "category confidence created_at facts idempotency_key low_confidence prior_summary_id put_by resolved_by_event_id \
             source_event_count source_event_refs source_event_total state subject summarizer_kind summarizer_ref \
             summarizer_version summary_id text_en text_vi trace_id window_end window_start"),
    ]
}
