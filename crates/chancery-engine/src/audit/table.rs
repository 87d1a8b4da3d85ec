//! The tables of evidence: their names, keys and columns, as this release has them.
//!
//! A row's digest is over values, in the order of their columns' names, and not over the names. So what a value is called must be
//! known from elsewhere than from what is audited: from here.

pub(super) const LOG: &str = "fsm.transition_log";
pub(super) const RUN: &str = "fsm.run";
pub(super) const DOCUMENT: &str = "iu.source_document";
pub(super) const SOURCE: &str = "iu.source_version";
pub(super) const UNIT: &str = "iu.information_unit";
pub(super) const VERSION: &str = "iu.unit_version";
pub(super) const DRAFT: &str = "iu.unit_edit_draft";
pub(super) const LIFECYCLE: &str = "iu.iu_lifecycle_log";
pub(super) const ENTRY: &str = "cutter_governance.decision_backlog_entry";
pub(super) const DEPENDENCY: &str = "cutter_governance.decision_backlog_dependency";
pub(super) const SWEEP: &str = "cutter_governance.decision_backlog_sweep_log";
pub(super) const ENVELOPE: &str = "cutter_governance.manifest_envelope";
pub(super) const BLOCK: &str = "cutter_governance.manifest_unit_block";
pub(super) const DECISION: &str = "cutter_governance.review_decision";
pub(super) const SIGNATURE: &str = "cutter_governance.dot_pair_signature";
pub(super) const CHANGE_SET: &str = "cutter_governance.cut_change_set";
pub(super) const AFFECTED: &str = "cutter_governance.cut_change_set_affected_row";
pub(super) const RESULT: &str = "cutter_governance.verify_result";
pub(super) const REQUEST: &str = "approval.approval_request";
pub(super) const VOTE: &str = "approval.approval_vote";
pub(super) const USE: &str = "approval.approval_use";
pub(super) const REVISION: &str = "kb.revision";
pub(super) const UNDER: &str = "kb.revision_signature";
pub(super) const ORCHESTRATED: &str = "orchestrator.run";
pub(super) const BACKUP_KEY: &str = "orchestrator.backup_key";
pub(super) const FINDING: &str = "governance.system_issues";
pub(super) const JOB: &str = "queue.job_queue";
/// The jobs that the log knows, through a view: what a job is besides is no evidence before it dies.
pub(super) const LOGGED_JOB: &str = "queue.logged_job";
pub(super) const DEAD_LETTER: &str = "queue.job_dead_letter";
pub(super) const REPLAY: &str = "queue.dlq_replay_request";
/// Policies as they stand; what they were is evidence.
pub(super) const FAMILY: &str = "birth.family";
pub(super) const FAMILY_LOG: &str = "birth.family_log";
/// Permits are not stamped: their reservations in the log carry the digest of what they were issued with.
pub(super) const PERMIT: &str = "birth.birth_admission_permit";
pub(super) const BIRTH: &str = "birth.birth_registry";
pub(super) const GLASS: &str = "birth.break_glass";
pub(super) const CANDIDATE: &str = "governance.governance_candidate_state";
pub(super) const COMMAND: &str = "iu.dot_iu_command_run";
pub(super) const WORKFLOW: &str = "workflow.workflow_version";
pub(super) const CHANGE: &str = "workflow.workflow_change_requests";
pub(super) const CHANGE_REVISION: &str = "workflow.change_revision";
pub(super) const PROPOSAL: &str = "governance.proposal";
pub(super) const USAGE: &str = "governance.iu_usage_evidence";
pub(super) const WORKFLOW_RUN: &str = "workflow.workflow_run";
pub(super) const SNAPSHOT: &str = "workflow.step_run_snapshot";
pub(super) const CYCLE: &str = "workflow.step_run_correction_cycle";
pub(super) const STEP_DECISION: &str = "workflow.step_decision";
pub(super) const WAIT: &str = "workflow.wait";
pub(super) const SUMMARY: &str = "governance.status_summary";
/// Steps and tasks are not stamped: what they are follows from their run, their definition and the log.
pub(super) const STEP: &str = "workflow.step_run";
pub(super) const TASK: &str = "workflow.task_run";
/// Both through views of raw columns.
pub(super) const LOGGED_STEP: &str = "workflow.logged_step";
pub(super) const LOGGED_TASK: &str = "workflow.logged_task";
/// What a version was cut into when it was merged.
pub(super) const STEP_DEF: &str = "workflow.workflow_step_def";
pub(super) const TASK_DEF: &str = "workflow.workflow_task_def";
pub(super) const RELATION: &str = "workflow.workflow_step_relations";
pub(super) const PERMISSION: &str = "workflow.workflow_step_permission";
pub(super) const REGISTRY: &str = "workflow.workflow_registry";
/// Which ways were taken; what that follows from is evidence.
pub(super) const OUTCOME: &str = "workflow.relation_outcome";

/// A table of evidence.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    /// Columns and their types.
    pub(super) key: &'static [(&'static str, &'static str)],
    /// Every column, ascending.
    columns: &'static str,
}

impl Table {
    pub(super) fn columns(&self) -> impl Iterator<Item = &'static str> {
        self.columns.split_ascii_whitespace()
    }
}

/// The table of this name.
pub(super) fn of(name: &str) -> Option<&'static Table> {
    ALL.iter().find(|table| table.name == name)
}

/// The key columns of a table.
pub(super) fn key_of(name: &str) -> &'static [(&'static str, &'static str)] {
    match name {
        JOB => &[("job_id", "uuid")],
        PERMIT => &[("permit_id", "uuid")],
        FAMILY => &[("collection_name", "text")],
        STEP => &[("step_run_id", "uuid")],
        TASK => &[("task_run_id", "uuid")],
        STEP_DEF => &[("workflow_def_id", "uuid"), ("step_no", "integer")],
        TASK_DEF => &[("task_def_id", "uuid")],
        RELATION => &[("workflow_def_id", "uuid"), ("relation_no", "integer")],
        PERMISSION => &[("step_def_id", "uuid"), ("actor_class", "text")],
        REGISTRY => &[("workflow", "text")],
        OUTCOME => &[("workflow_run_id", "uuid"), ("relation_no", "integer")],
        name => of(name).map_or(&[], |table| table.key),
    }
}

/// Every table of evidence.
pub(super) const ALL: &[Table] = &[
    Table {
        name: DOCUMENT,
        key: &[("document_id", "text")],
        columns: "address_docprefix created_at created_by document_id row_digest",
    },
    Table {
        name: SOURCE,
        key: &[("source_version_id", "uuid")],
        columns: "body byte_length content_sha256 created_at created_by document_id media_type row_digest \
                  source_version_id version_seq",
    },
    Table {
        name: UNIT,
        key: &[("id", "uuid")],
        columns: "canonical_address conformance_status content_anchor_ref created_at created_by deleted_at doc_code id \
                  identity_profile lifecycle_status owner_ref parent_or_container_ref row_digest section_code \
                  section_type sort_order unit_kind updated_at updated_by version_anchor_ref",
    },
    Table {
        name: VERSION,
        key: &[("id", "uuid")],
        columns: "body content_hash content_profile created_at created_by enacted_at id lifecycle_status row_digest \
                  title unit_id version_seq",
    },
    Table {
        name: DRAFT,
        key: &[("draft_id", "uuid")],
        columns: "base_version_id body created_at created_by draft_id row_digest title unit_id",
    },
    Table {
        name: LIFECYCLE,
        key: &[("lifecycle_log_id", "uuid")],
        columns: "actor at change_kind change_set_id edit_draft_id from_lifecycle lifecycle_log_id prev_digest reason \
                  review_decision_id row_digest seq to_lifecycle tool_revision unit_digest unit_id unit_version_id \
                  version_digest",
    },
    Table {
        name: ENTRY,
        key: &[("entry_id", "uuid")],
        columns: "correlation_id document_id emitted_at entry_id escalation_of facet head_hash idempotency_key kind \
                  last_transition_at payload row_digest scenario_ref seq source_version_id started_by state_machine_id \
                  status trace_id",
    },
    Table {
        name: DEPENDENCY,
        key: &[("dependency_id", "uuid")],
        columns: "created_at created_by dependency_id dependency_kind from_entry_id row_digest to_entry_id",
    },
    Table {
        name: SWEEP,
        key: &[("sweep_id", "uuid")],
        columns: "batch_limit created_count prev_digest promoted_count report_summary row_digest scanned_count \
                  sweep_id sweep_seq sweep_trigger_kind swept_at swept_by",
    },
    Table {
        name: ENVELOPE,
        key: &[("envelope_id", "uuid")],
        columns: "created_at created_by document_id entry_id envelope_id manifest_digest operation_kind profile \
                  publication_type rationale region_sha reviewed_at reviewer row_digest source_doc_ref \
                  source_version_id status tool_revision unit_count unit_kind",
    },
    Table {
        name: BLOCK,
        key: &[("envelope_id", "uuid"), ("unit_local_id", "text")],
        columns: "block_role envelope_id parent_local_id proposed_canonical_address region_sha render_order row_digest \
                  section_type span_end span_start title unit_local_id",
    },
    Table {
        name: DECISION,
        key: &[("review_decision_id", "uuid")],
        columns: "created_at decision_at decision_payload entry_id findings governance_event_kind key_id manifest_id \
                  manifest_unit_local_id manifest_version prior_review_decision_id review_decision_id review_scope \
                  reviewer_class reviewer_identity risk_class_assessment row_digest signature status \
                  superseded_by_review_decision_id verdict verdict_rationale",
    },
    Table {
        name: SIGNATURE,
        key: &[("signature_id", "uuid")],
        columns: "cross_reference_change_set_id cross_reference_verify_result_id key_id lane_seq payload_envelope \
                  payload_hash prior_signature_id recorded_at row_digest signature signature_id signature_kind \
                  signature_payload signed_at signer_dot_id signer_principal signer_tool_revision",
    },
    Table {
        name: CHANGE_SET,
        key: &[("change_set_id", "uuid")],
        columns: "affected_unit_count change_kind change_set_digest change_set_id decision_backlog_entry_id \
                  effect_digest emitted_at emitted_by executor_signature_id executor_tool_revision manifest_id \
                  manifest_version payload_summary review_decision_id rollback_key rollback_of_change_set_id \
                  rollback_reason row_digest state verifier_signature_id verifier_tool_revision writer_digest",
    },
    Table {
        name: AFFECTED,
        key: &[("affected_row_id", "uuid")],
        columns: "affected_row_id after_state_snapshot before_state_snapshot change_set_id lifecycle_digest \
                  operation_kind render_order row_digest target_row_id target_table",
    },
    Table {
        name: RESULT,
        key: &[("verify_result_id", "uuid")],
        columns: "axis_1_status axis_2_status canonicalization_rule_used change_set_id escalation_ref \
                  executor_signature_id executor_tool_revision findings manifest_id manifest_version \
                  prior_verify_result_id review_decision_id rollback_change_set_id_triggered row_digest state \
                  tool_revision_match verdict verified_at verified_by verifier_signature_id verifier_tool_revision \
                  verify_digest verify_kind verify_result_id",
    },
    Table {
        name: REQUEST,
        key: &[("approval_id", "uuid")],
        columns: "approval_id expires_at facts key_id kind proposer request_payload requested_at risk row_digest \
                  signature signed_at subject_digest subject_kind subject_ref title",
    },
    Table {
        name: VOTE,
        key: &[("vote_id", "uuid")],
        columns: "approval_id counted_as decision key_id rationale row_digest signature signed_at vote_id vote_payload \
                  vote_seq voted_at voter",
    },
    Table {
        name: USE,
        key: &[("approval_id", "uuid")],
        columns: "approval_id row_digest used_at used_by used_for_kind used_for_ref",
    },
    Table {
        name: REVISION,
        key: &[("path", "text"), ("revision", "integer")],
        columns: "author body created_at kind path revision row_digest sha256",
    },
    Table {
        name: UNDER,
        key: &[("signature_id", "uuid")],
        columns: "key_id meaning path recorded_at revision row_digest signature signature_id signature_payload \
                  signed_at signer",
    },
    Table {
        name: ORCHESTRATED,
        key: &[("run_id", "uuid")],
        columns: "correlation_id created_at document_id entry_id facet head_hash last_transition_at row_digest run_id \
                  run_name seq source_version_id started_by state_code state_machine_id trace_id",
    },
    Table {
        name: BACKUP_KEY,
        key: &[("pin_seq", "integer")],
        columns: "fingerprint pin_seq pinned_at pinned_by public_key row_digest",
    },
    Table {
        name: FINDING,
        key: &[("issue_id", "uuid")],
        columns: "correlation_id description entity_code entity_type evidence facet fingerprint first_seen_at head_hash \
                  issue_class issue_id issue_type last_seen_at last_transition_at occurrence_count row_digest seq \
                  severity source_system started_by state state_machine_id title trace_id",
    },
    Table {
        name: DEAD_LETTER,
        key: &[("job_id", "uuid")],
        columns: "attempts classification correlation_id created_at died_at executor_class idempotency_key job_id \
                  job_kind lease_no lease_owner max_attempts payload payload_ref priority reason replay_request_id \
                  row_digest source_ref started_by story target_ref trace_id",
    },
    Table {
        name: REPLAY,
        key: &[("dlq_replay_request_id", "uuid")],
        columns: "approval_id batch_id batch_no correlation_id created_at dlq_replay_request_id facet head_hash job_id \
                  last_transition_at outcome_jsonb proposal_state reason replay_job_id row_digest seq stagger_ms \
                  started_by state_machine_id trace_id",
    },
    Table {
        name: FAMILY_LOG,
        key: &[("family_log_id", "uuid")],
        columns: "action at collection_name family_log_id login_role policy principal row_digest",
    },
    Table {
        name: BIRTH,
        key: &[("birth_id", "uuid")],
        columns: "admission birth_id born_at born_by collection_name dot_origin entity_code entity_name governance_role \
                  permit_id row_digest species_code status xid",
    },
    Table {
        name: GLASS,
        key: &[("break_glass_id", "uuid")],
        columns: "approval_id break_glass_id collection_name expires_at opened_at opened_by reason row_digest",
    },
    Table {
        name: CANDIDATE,
        key: &[("candidate_id", "uuid")],
        columns: "birth_id candidate_id correlation_id created_at facet head_hash last_transition_at object_ref \
                  object_type row_digest seq started_by state state_machine_id trace_id",
    },
    Table {
        name: COMMAND,
        key: &[("command_run_id", "uuid")],
        columns: "actor after_state at attempt before_state command_name command_run_id login_role phase request_hash \
                  row_digest run_mode status",
    },
    Table {
        name: WORKFLOW,
        key: &[("workflow_def_id", "uuid")],
        columns: "change_request_id definition definition_sha256 merged_at merged_by row_digest version workflow \
                  workflow_def_id",
    },
    Table {
        name: CHANGE,
        key: &[("change_request_id", "uuid")],
        columns: "approval_id base_version change_request_id correlation_id created_at facet head_hash \
                  last_transition_at merged_def_id proposal_state row_digest seq started_by state_machine_id title \
                  trace_id workflow",
    },
    Table {
        name: CHANGE_REVISION,
        key: &[("change_request_id", "uuid"), ("revision_no", "integer")],
        columns: "change_request_id definition definition_sha256 revision_no row_digest written_at written_by",
    },
    Table {
        name: PROPOSAL,
        key: &[("proposal_id", "uuid")],
        columns: "action_sha256 affected_iu_ids approval_id correlation_id created_at facet head_hash \
                  last_transition_at outcome proposal_id proposal_kind proposal_state proposed_action proposer_class \
                  row_digest seq started_by state_machine_id title trace_id",
    },
    Table {
        name: USAGE,
        key: &[("evidence_id", "uuid")],
        columns: "evidence_id evidence_kind facts iu_id proposal_id recorded_at row_digest",
    },
    Table {
        name: WORKFLOW_RUN,
        key: &[("workflow_run_id", "uuid")],
        columns: "completed_count correlation_id created_at critical_due decisive_state_code decisive_step_run_id facet \
                  frozen_at green_count head_hash inputs last_rollup_at last_transition_at mandatory_count \
                  optional_excluded_count parent_step_run_id red_count rollup_state_code row_digest seq skipped_count \
                  started_by state_code state_machine_id trace_id workflow workflow_class workflow_def_id \
                  workflow_run_id yellow_count",
    },
    Table {
        name: SNAPSHOT,
        key: &[("snapshot_id", "uuid")],
        columns: "attempt cycle_no document document_sha256 row_digest run_id run_kind snapshot_id snapshot_kind \
                  taken_at",
    },
    Table {
        name: CYCLE,
        key: &[("run_id", "uuid"), ("cycle_no", "integer")],
        columns: "approval_id completed_at completion_actor_id correction_reason cycle_no original_output_snapshot_id \
                  output_snapshot_id prior_actor prior_at prior_audit_id prior_key_id prior_state reopened_at \
                  reopened_by row_digest run_id run_kind",
    },
    Table {
        name: STEP_DECISION,
        key: &[("decision_id", "uuid")],
        columns: "actor_class approval_id decided_at decision_id decision_kind facts idempotency_key principal \
                  row_digest run_id run_kind",
    },
    Table {
        name: WAIT,
        key: &[("wait_id", "uuid")],
        columns: "attempt cycle_no facet issued_at opened proof resolved_at resolved_by row_digest run_id run_kind \
                  subject_kind subject_ref token_sha256 until wait_id workflow_run_id",
    },
    Table {
        name: SUMMARY,
        key: &[("summary_id", "uuid")],
        columns: "category confidence created_at facts idempotency_key low_confidence prior_summary_id put_by \
                  resolved_by_event_id row_digest source_event_count source_event_refs source_event_total state subject \
                  summarizer_kind summarizer_ref summarizer_version summary_id text_en text_vi trace_id window_end \
                  window_start",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use chancery_model::evidence;

    #[test]
    fn the_tables_are_those_that_are_stamped() {
        let names: Vec<&str> = ALL.iter().map(|table| table.name).collect();
        let stamped: Vec<&str> = evidence::TABLES.iter().map(|(table, _)| *table).collect();
        assert_eq!(names, stamped);
        for table in ALL {
            let columns: Vec<&str> = table.columns().collect();
            assert!(columns.is_sorted(), "{}", table.name);
            assert!(columns.contains(&evidence::DIGEST_COLUMN), "{}", table.name);
            assert!(table.key.iter().all(|(key, _)| columns.contains(key)), "{}", table.name);
        }
    }
}
