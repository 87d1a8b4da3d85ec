//! The tables of the database by what guards them: whoever makes a new one says here which kind it is.

use sqlx::postgres::PgConnection;

/// Append-only for everyone, the role of the doors included.
pub(crate) const HISTORY: &[&str] = &[
    "approval.approval_request",
    "approval.approval_use",
    "approval.approval_vote",
    "audit.drift_acknowledgement",
    "audit.rule_change",
    "birth.birth_registry",
    "birth.break_glass",
    "birth.family_log",
    "cutter_governance.cut_change_set",
    "cutter_governance.cut_change_set_affected_row",
    "cutter_governance.decision_backlog_dependency",
    "cutter_governance.decision_backlog_sweep_log",
    "cutter_governance.dot_pair_signature",
    "cutter_governance.manifest_envelope",
    "cutter_governance.manifest_unit_block",
    "cutter_governance.verify_result",
    "event.consumer_delivery",
    "event.event_lag_series",
    "event.event_outbox",
    "event.event_position",
    "event.event_sequenced",
    "event.event_validation_audit",
    "fsm.transition_log",
    "governance.issue_report",
    "governance.iu_usage_evidence",
    "governance.status_summary",
    "identity.identity_log",
    "iu.dot_iu_command_run",
    "iu.iu_lifecycle_log",
    "iu.source_document",
    "iu.source_version",
    "iu.unit_edit_draft",
    "kb.revision",
    "kb.revision_signature",
    "orchestrator.backup_key",
    "queue.heartbeat_series",
    "queue.job_dead_letter",
    "workflow.change_revision",
    "workflow.relation_outcome",
    "workflow.step_decision",
    "workflow.step_run_snapshot",
    "workflow.task_checkpoints",
    "workflow.task_comments",
    "workflow.workflow_step_def",
    "workflow.workflow_step_permission",
    "workflow.workflow_step_relations",
    "workflow.workflow_task_def",
    "workflow.workflow_version",
];

/// Facts that change in one way only, and by the doors alone: the table's owner is refused as well.
pub(crate) const FACTS: &[&str] = &[
    "birth.birth_admission_permit",
    "cutter_governance.decision_backlog_entry",
    "cutter_governance.review_decision",
    "fsm.run",
    "governance.governance_candidate_state",
    "governance.proposal",
    "governance.system_issues",
    "identity.signing_key",
    "iu.information_unit",
    "iu.unit_version",
    "orchestrator.run",
    "queue.dlq_replay_request",
    "queue.job_finished", // leaves by partition, as the retention says
    "queue.job_queue",
    "workflow.step_run",
    "workflow.step_run_correction_cycle",
    "workflow.task_run",
    "workflow.wait",
    "workflow.workflow_change_requests",
    "workflow.workflow_run",
];

/// Rules and registries: doors and migrations change them, nobody else does. Nothing here is ever emptied.
pub(crate) const RULES: &[&str] = &[
    "approval.approval_kind",
    "approval.quorum_rule",
    "audit.evidence_def",
    "audit.evidence_version",
    "audit.rule_table",
    "birth.departure",
    "birth.family",
    "birth.handoff_cursor",
    "birth.rehearsal",
    "config.dot_config",
    "config.message",
    "config.colour",
    "config.palette",
    "config.silhouette",
    "birth.drawn_codes", // of ids that were drawn, for a week
    "birth.family_part",
    "config.partitioned_table",
    "config.refusal",
    "config.theme",
    "cutter_governance.canonical_address_alias", // reserved: nobody writes it at all
    "event.event_consumer",
    "event.event_receipt", // of what a receiver got ahead of its position, and forgets again
    "event.event_pending",
    "event.event_type_registry",
    "event.lag_cursor",
    "event.sequencer_cursor",
    "fsm.guard_def",
    "fsm.guard_need",
    "fsm.invariant_def",
    "fsm.lock_target_def",
    "fsm.rollup_policy_def",
    "fsm.run_kind_def",
    "fsm.state_def",
    "fsm.state_facet_def",
    "fsm.state_machine_def",
    "fsm.transition_def",
    "governance.clock_mark",
    "identity.actor_class",
    "identity.api_token",
    "identity.class_permission",
    "identity.credential",
    "identity.decoy",
    "identity.key_request",
    "identity.login_actor_class",
    "identity.machine_permission",
    "identity.oidc_link",
    "identity.permission",
    "identity.permission_source",
    "identity.principal",
    "identity.session",
    "identity.sign_in_attempt", // what was wrong a while ago is forgotten
    "iu.dot_iu_command_catalog",
    "queue.heartbeat_class",
    "queue.queue_heartbeat",
    "queue.executor_class_registry",
    "queue.lane",
    "queue.retry_policy_registry",
    "queue.loop_lease",
    "queue.turn",      // names that somebody was alone at; the row is the lock
    "workflow.agenda", // what the loops have to do, and forget again
    "workflow.failure_class_registry",
    "workflow.timer",
    "workflow.workflow_registry",
];

/// The migrator's own notes: it writes them while it migrates, as itself.
pub(crate) const NOTES: &[&str] = &["internal.migration", "internal.release"];

/// Without a trigger on INSERT, which every move would pay for: nobody but the role of the doors has the right, and an event
/// without a log row tells of nothing. A superuser needs no right, so the list of what a superuser is refused leaves it out.
pub(crate) const APPENDED_BY_RIGHT_ALONE: &str = "event.event_outbox";

/// Every table of ours, partitions included.
pub(crate) async fn all_tables(connection: &mut PgConnection) -> Vec<String> {
    sqlx::query_scalar(
        "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
          where n.nspowner = 'chancery_owner'::regrole and c.relkind in ('r', 'p') order by 1",
    )
    .fetch_all(connection)
    .await
    .expect("the tables")
}

/// The tables, and the partitions of those that have some.
pub(crate) async fn with_partitions(
    connection: &mut PgConnection,
    kinds: &[&[&str]],
) -> Vec<String> {
    let tables: Vec<String> = kinds.concat().iter().map(|&table| table.to_owned()).collect();
    sqlx::query_scalar(
        "select distinct p.relid::regclass::text from unnest($1::text[]) t, pg_partition_tree(t::regclass) p
         union select unnest($1::text[]) order by 1",
    )
    .bind(tables)
    .fetch_all(connection)
    .await
    .expect("tables and partitions")
}
