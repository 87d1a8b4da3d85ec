//! Digests of evidence rows, recomputed from raw columns.
//!
//! The triggers that `internal.generate_digests` writes stamp the same into `row_digest`; the digests of what a move wrote stand
//! in its log row. Nothing here comes from the database that is looked at: which columns are outside a digest is said below.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// The column that holds the digest.
pub const DIGEST_COLUMN: &str = "row_digest";

/// Every table whose rows are stamped, with the columns outside the digest because doors change them; what these hold follows
/// from other evidence. `audit.evidence_def` says the same; a test compares.
pub const TABLES: &[(&str, &[&str])] = &[
    ("iu.source_document", &[]),
    ("iu.source_version", &[]),
    ("iu.information_unit", &[]),
    ("iu.unit_version", &[]),
    ("iu.unit_edit_draft", &[]),
    ("iu.iu_lifecycle_log", &[]),
    (
        "cutter_governance.decision_backlog_entry",
        &["status", "facet", "seq", "head_hash", "last_transition_at"],
    ),
    ("cutter_governance.decision_backlog_dependency", &[]),
    ("cutter_governance.decision_backlog_sweep_log", &[]),
    ("cutter_governance.manifest_envelope", &[]),
    ("cutter_governance.manifest_unit_block", &[]),
    ("cutter_governance.review_decision", &["superseded_by_review_decision_id"]),
    ("cutter_governance.dot_pair_signature", &[]),
    ("cutter_governance.cut_change_set", &[]),
    ("cutter_governance.cut_change_set_affected_row", &[]),
    ("cutter_governance.verify_result", &[]),
    ("approval.approval_request", &[]),
    ("approval.approval_vote", &[]),
    ("approval.approval_use", &[]),
    ("kb.revision", &[]),
    ("kb.revision_signature", &[]),
    ("orchestrator.run", &["state_code", "facet", "seq", "head_hash", "last_transition_at"]),
    ("orchestrator.backup_key", &[]),
    (
        "governance.system_issues",
        &[
            "severity",
            "evidence",
            "occurrence_count",
            "last_seen_at",
            "state",
            "facet",
            "seq",
            "head_hash",
            "last_transition_at",
        ],
    ),
    ("queue.job_dead_letter", &[]),
    (
        "queue.dlq_replay_request",
        &[
            "proposal_state",
            "facet",
            "seq",
            "head_hash",
            "approval_id",
            "replay_job_id",
            "outcome_jsonb",
            "last_transition_at",
        ],
    ),
    ("birth.family_log", &[]),
    ("birth.birth_registry", &[]),
    ("birth.break_glass", &[]),
    (
        "governance.governance_candidate_state",
        &["state", "facet", "seq", "head_hash", "last_transition_at"],
    ),
    ("iu.dot_iu_command_run", &[]),
    ("workflow.workflow_version", &[]),
    (
        "workflow.workflow_change_requests",
        &[
            "proposal_state",
            "facet",
            "seq",
            "head_hash",
            "approval_id",
            "merged_def_id",
            "last_transition_at",
        ],
    ),
    ("workflow.change_revision", &[]),
    (
        "governance.proposal",
        &[
            "proposal_state",
            "facet",
            "seq",
            "head_hash",
            "approval_id",
            "outcome",
            "last_transition_at",
        ],
    ),
    ("governance.iu_usage_evidence", &[]),
    (
        "workflow.workflow_run",
        &[
            "state_code",
            "facet",
            "seq",
            "head_hash",
            "last_transition_at",
            "rollup_state_code",
            "red_count",
            "yellow_count",
            "green_count",
            "skipped_count",
            "optional_excluded_count",
            "mandatory_count",
            "completed_count",
            "decisive_step_run_id",
            "decisive_state_code",
            "last_rollup_at",
            "frozen_at",
            "critical_due",
        ],
    ),
    ("workflow.step_run_snapshot", &[]),
    (
        "workflow.step_run_correction_cycle",
        &["completed_at", "completion_actor_id", "output_snapshot_id"],
    ),
    ("workflow.step_decision", &[]),
    ("workflow.wait", &["opened", "resolved_at", "resolved_by", "proof"]),
    ("governance.status_summary", &[]),
];

/// The columns of a table that stand outside its rows' digests.
pub fn mutable_columns(table: &str) -> &'static [&'static str] {
    TABLES.iter().find(|(name, _)| *name == table).map_or(&[], |(_, columns)| columns)
}

/// The digest that a row must carry. `columns` are all columns of the row as text: times as microseconds since 1970, bytes as
/// lower hex, everything else as PostgreSQL writes it. Columns outside the digest may be among them and are left out.
pub fn row_digest(table: &str, columns: &BTreeMap<String, Option<String>>) -> [u8; 32] {
    digest_of(table, columns.iter().map(|(name, value)| (name.as_str(), value.as_deref())))
}

/// As [`row_digest`], for columns that come in ascending order of their bytes, which is their order in the collation "C".
pub fn digest_of<'a>(
    table: &str,
    columns: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> [u8; 32] {
    let mutable = mutable_columns(table);
    let hashed: Vec<Option<&str>> = columns
        .filter(|(name, _)| *name != DIGEST_COLUMN && !mutable.contains(name))
        .map(|(_, value)| value)
        .collect();
    let lengths: Vec<String> = hashed
        .iter()
        .map(|value| value.map_or_else(|| "-1".to_owned(), |text| text.len().to_string()))
        .collect();
    let mut digest = Sha256::new();
    digest.update(format!("chancery.row.v1,{table},{}:", lengths.join(",")));
    for text in hashed.into_iter().flatten() {
        digest.update(text);
    }
    digest.finalize().into()
}

/// One digest for all rows that a move wrote: SHA-256 over their digests in ascending order.
pub fn artefact_digest(row_digests: &[[u8; 32]]) -> [u8; 32] {
    let mut sorted = row_digests.to_vec();
    sorted.sort_unstable();
    Sha256::digest(sorted.concat()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(columns: &[(&str, Option<&str>)]) -> BTreeMap<String, Option<String>> {
        columns.iter().map(|(n, v)| ((*n).to_owned(), v.map(str::to_owned))).collect()
    }

    #[test]
    fn null_is_not_the_empty_text_and_bytes_cannot_move_between_columns() {
        let table = "iu.source_document";
        let digests = [
            row(&[("a", Some("xy")), ("b", Some(""))]),
            row(&[("a", Some("x")), ("b", Some("y"))]),
            row(&[("a", Some("xy")), ("b", None)]),
        ]
        .map(|row| row_digest(table, &row));
        assert_ne!(digests[0], digests[1]);
        assert_ne!(digests[0], digests[2]);
    }

    #[test]
    fn columns_that_doors_change_are_outside() {
        let table = "cutter_governance.review_decision";
        let plain = row(&[("verdict", Some("approve"))]);
        let stamped = row(&[
            ("verdict", Some("approve")),
            ("row_digest", Some("00")),
            ("superseded_by_review_decision_id", Some("x")),
        ]);
        assert_eq!(row_digest(table, &plain), row_digest(table, &stamped));
    }

    #[test]
    fn the_order_of_rows_does_not_matter() {
        assert_eq!(artefact_digest(&[[1; 32], [2; 32]]), artefact_digest(&[[2; 32], [1; 32]]));
        assert_ne!(artefact_digest(&[]), artefact_digest(&[[0; 32]]));
    }
}
