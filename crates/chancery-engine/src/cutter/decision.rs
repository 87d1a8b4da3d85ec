//! Whether a decision holds: it approves exactly this manifest, and its reviewer signed it.

use chancery_model::cutter::{Decision, Manifest, decision_payload_of};
use chancery_model::envelope::{Domain, Statement};
use chancery_store::EvidenceRow;
use chancery_store::cutter::PlanEvidence;
use chancery_store::identity::SigningKey;
use serde_json::json;

use super::finding::Finding;
use super::plan::{json_of, unstamped};
use super::signature::key_of;

/// The decision on a cut that holds now, if there is one.
pub(super) fn newest(plan: &PlanEvidence) -> Option<&EvidenceRow> {
    plan.decisions.iter().rev().find(|decision| {
        decision.text("governance_event_kind") == "cut_review"
            && decision.get("superseded_by_review_decision_id").is_none()
    })
}

/// Everything that stands against acting on a decision.
pub(super) fn problems(
    entry: &EvidenceRow,
    decision: &EvidenceRow,
    envelope: &EvidenceRow,
    manifest: &Manifest,
    keys: &[SigningKey],
) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        [decision, envelope].into_iter().filter_map(unstamped).collect();
    let mut differs = |column: &str, expected: &str, found: &str| {
        if expected != found {
            let facts = json!({ "column": column, "expected": expected, "found": found });
            findings.push(Finding::new("decision_differs", facts));
        }
    };
    let digest = hex::encode(manifest.digest());
    differs("governance_event_kind", "cut_review", decision.text("governance_event_kind"));
    differs("verdict", "approve", decision.text("verdict"));
    differs(
        "superseded_by_review_decision_id",
        "",
        decision.text("superseded_by_review_decision_id"),
    );
    differs("entry_id", entry.text("entry_id"), decision.text("entry_id"));
    differs("manifest_id", envelope.text("envelope_id"), decision.text("manifest_id"));
    differs("manifest_version", &digest, decision.text("manifest_version"));
    differs("manifest_envelope.manifest_digest", &digest, envelope.text("manifest_digest"));
    differs("manifest_envelope.entry_id", entry.text("entry_id"), envelope.text("entry_id"));
    if decision.text("reviewer_identity") == entry.text("started_by") {
        let facts = json!({ "reviewer": decision.text("reviewer_identity") });
        findings.push(Finding::new("decision_by_marker", facts));
    }
    findings.extend(signature_problems(entry, decision, envelope, manifest, keys));
    findings
}

fn signature_problems(
    entry: &EvidenceRow,
    decision: &EvidenceRow,
    envelope: &EvidenceRow,
    manifest: &Manifest,
    keys: &[SigningKey],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let reviewer = decision.text("reviewer_identity");
    // What the reviewer must have signed, from the rows and the rebuilt manifest; not what the row says was signed. Only the version is
    // the row's: the decision may be older than this release. No text is expected of one that is not known.
    let stored = decision.text("decision_payload");
    let version = Domain::Review.version_of(stored).unwrap_or_default();
    let expected = decision_payload_of(
        version,
        &Decision {
            review_decision_id: decision.uuid("review_decision_id").unwrap_or_default(),
            governance_event_kind: decision.text("governance_event_kind"),
            entry_id: entry.uuid("entry_id").unwrap_or_default(),
            manifest_id: envelope.uuid("envelope_id").unwrap_or_default(),
            manifest_digest: manifest.digest(),
            verdict: decision.text("verdict"),
            findings: &json_of(decision, "findings"),
            rationale: decision.get("verdict_rationale"),
            risk: decision.text("risk_class_assessment"),
            prior_review_decision_id: decision.uuid("prior_review_decision_id"),
            principal: reviewer,
            key_id: decision.uuid("key_id").unwrap_or_default(),
            signed_at: decision.number("decision_at").unwrap_or_default(),
        },
    );
    if expected.as_deref() != Some(stored) {
        let facts = json!({ "expected": expected, "found": stored });
        findings.push(Finding::new("decision_payload_differs", facts));
    }
    let signed = Statement::stored(Domain::Review, stored);
    match key_of(keys, decision, reviewer, "created_at") {
        Ok(public_key) => {
            let signature = decision.bytes("signature").unwrap_or_default();
            if !signed.is_ok_and(|signed| signed.is_signed_by(&public_key, &signature)) {
                let facts = json!({ "signer": reviewer, "of": "review_decision" });
                findings.push(Finding::new("signature_bad", facts));
            }
        }
        Err(finding) => findings.push(finding),
    }
    findings
}
