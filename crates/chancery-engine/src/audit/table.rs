//! The tables that the audit reads: their names and keys, as this release has them.
//!
//! A row's digest is over values, in an order that its version pins, and not over their columns' names. So what a value is called
//! must be known from elsewhere than from what is audited: from `chancery_model::evidence`, which has the columns of every table of
//! evidence and of every version.

use chancery_model::evidence;

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
        name => evidence::release().table(name).map_or(&[], evidence::Table::key),
    }
}
