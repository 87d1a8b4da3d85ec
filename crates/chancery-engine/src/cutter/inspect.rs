//! What a verifier compares: everything that a cut of the stored bytes must have written, with everything that stands.
//!
//! No I/O: all rows come from one snapshot. The writer's plan is never taken as true: the manifest, the effect and the text of every
//! unit are derived from the source bytes, and the rows are held against them.

use std::collections::{BTreeMap, HashMap};

use chancery_document::Profile;
use chancery_model::cutter::{Effect, Manifest, ManifestUnit, executor_attested};
use chancery_store::EvidenceRow;
use chancery_store::cutter::CutEvidence;
use chancery_store::identity::SigningKey;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::finding::Finding;
use super::live::live_problems;
use super::plan::{
    Header, blocks_of, json_of, manifest_of_cut, manifest_of_rows, partition_problems, unstamped,
};
use super::{decision, signature};
use crate::iu::cut_bytes;

/// More findings than this say nothing new.
const MAX_FINDINGS: usize = 1_000;

/// What was looked at, and what does not fit.
pub(crate) struct Inspection {
    pub(crate) findings: Vec<Finding>,
    /// By the name of what was looked at.
    checks: BTreeMap<&'static str, bool>,
}

impl Inspection {
    /// The document that is stored and signed.
    pub(crate) fn document(&self) -> Value {
        let mut findings: Vec<Value> =
            self.findings.iter().take(MAX_FINDINGS).map(Finding::to_json).collect();
        if self.findings.len() > MAX_FINDINGS {
            let more = self.findings.len() - MAX_FINDINGS;
            findings.push(json!({ "finding": "more", "count": more }));
        }
        json!({ "findings": findings, "checks": self.checks, "rule": "rfc8785" })
    }

    fn add(&mut self, check: &'static str, findings: Vec<Finding>) {
        let fits = self.checks.entry(check).or_insert(true);
        *fits &= findings.is_empty();
        self.findings.extend(findings);
    }
}

/// Compares everything about a change set with what a cut of the stored bytes makes.
pub(crate) fn inspect(
    evidence: &CutEvidence,
    change_set: &EvidenceRow,
    keys: &[SigningKey],
) -> Inspection {
    let mut inspection = Inspection { findings: Vec::new(), checks: BTreeMap::new() };
    for check in
        ["source", "manifest", "decision", "change_set", "signature", "affected_rows", "units"]
    {
        inspection.checks.insert(check, true);
    }
    let plan = &evidence.plan;
    let envelope =
        plan.envelopes.iter().find(|e| e.get("envelope_id") == change_set.get("manifest_id"));
    let (Some(document), Some(source), Some(envelope)) = (&plan.document, &plan.source, envelope)
    else {
        let facts = json!({ "manifest_id": change_set.get("manifest_id") });
        inspection.add("manifest", vec![Finding::new("manifest_missing", facts)]);
        return inspection;
    };
    let body = source.bytes("body").unwrap_or_default();
    inspection.add("source", source_problems(&plan.entry, document, source, envelope, &body));

    let stored = manifest_of_rows(
        document,
        envelope,
        &blocks_of(&plan.blocks, envelope.text("envelope_id")),
    );
    let expected = match recut(document, source, envelope, &body) {
        Ok(expected) => expected,
        Err(finding) => {
            // Nothing that follows from the source can be compared; this alone is a fail.
            inspection.add("manifest", vec![finding]);
            return inspection;
        }
    };
    inspection.add(
        "manifest",
        manifest_problems(plan_rows(evidence, envelope), &expected, &stored, &body),
    );

    let decision = plan
        .decisions
        .iter()
        .find(|d| d.get("review_decision_id") == change_set.get("review_decision_id"));
    let decision_findings = match decision {
        Some(decision) => decision::problems(&plan.entry, decision, envelope, &expected, keys),
        None => {
            let facts = json!({ "review_decision_id": change_set.get("review_decision_id") });
            vec![Finding::new("decision_missing", facts)]
        }
    };
    inspection.add("decision", decision_findings);

    let change_set_id = change_set.uuid("change_set_id").unwrap_or_default();
    let entry_id = plan.entry.uuid("entry_id").unwrap_or_default();
    let effect = Effect::of(&expected, change_set_id, plan.entry.text("started_by"));
    let change_set_digest = effect.change_set_digest(
        &expected,
        entry_id,
        change_set.uuid("review_decision_id").unwrap_or_default(),
    );
    inspection.add(
        "change_set",
        change_set_problems(evidence, change_set, envelope, &expected, &effect, &change_set_digest),
    );
    let attested =
        executor_attested(entry_id, change_set_id, &change_set_digest, &expected.digest());
    inspection.add(
        "signature",
        signature::executor_problems(change_set, &evidence.signatures, &attested, keys),
    );
    let ledger: Vec<&EvidenceRow> = evidence
        .affected
        .iter()
        .filter(|row| row.get("change_set_id") == change_set.get("change_set_id"))
        .collect();
    inspection.add("affected_rows", ledger_problems(&ledger, &effect));
    inspection
        .add("units", live_problems(evidence, change_set, &expected, &effect, &ledger, &body));
    inspection
}

fn source_problems(
    entry: &EvidenceRow,
    document: &EvidenceRow,
    source: &EvidenceRow,
    envelope: &EvidenceRow,
    body: &[u8],
) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        [entry, document, source].into_iter().filter_map(unstamped).collect();
    let digest = hex::encode(Sha256::digest(body));
    let spec = &json_of(entry, "payload")["proposed_cut_spec"];
    let says = |name: &str| spec[name].as_str().unwrap_or_default();
    for (place, found) in [
        ("source_version.content_sha256", source.text("content_sha256")),
        ("manifest_envelope.region_sha", envelope.text("region_sha")),
        ("payload.content_sha256", says("content_sha256")),
    ] {
        if found != digest {
            let facts = json!({ "place": place, "expected": digest, "found": found });
            findings.push(Finding::new("source_differs", facts));
        }
    }
    for (place, expected, found) in [
        (
            "entry.source_version_id",
            source.text("source_version_id"),
            entry.text("source_version_id"),
        ),
        ("payload.source_version_id", source.text("source_version_id"), says("source_version_id")),
        (
            "manifest_envelope.source_version_id",
            source.text("source_version_id"),
            envelope.text("source_version_id"),
        ),
        ("entry.document_id", source.text("document_id"), entry.text("document_id")),
        ("payload.document_id", source.text("document_id"), says("document_id")),
        ("manifest_envelope.document_id", source.text("document_id"), envelope.text("document_id")),
        ("source_document.document_id", source.text("document_id"), document.text("document_id")),
    ] {
        if found != expected {
            let facts = json!({ "place": place, "expected": expected, "found": found });
            findings.push(Finding::new("source_differs", facts));
        }
    }
    findings
}

/// The manifest of a cut of the stored bytes, made here and now.
fn recut(
    document: &EvidenceRow,
    source: &EvidenceRow,
    envelope: &EvidenceRow,
    body: &[u8],
) -> Result<Manifest, Finding> {
    let profile: Profile = envelope.text("profile").parse().map_err(|_| {
        Finding::new(
            "recut_failed",
            json!({ "reason": "profile_unknown", "profile": envelope.get("profile") }),
        )
    })?;
    let prefix = document.text("address_docprefix");
    let cut = cut_bytes(body, prefix, Some(profile)).map_err(|error| {
        Finding::new(
            "recut_failed",
            json!({ "reason": error.code(), "message": error.to_string() }),
        )
    })?;
    let header = Header {
        document_id: source.text("document_id").to_owned(),
        prefix: prefix.to_owned(),
        source_version_id: source.uuid("source_version_id").unwrap_or_default(),
        unit_kind: envelope.text("unit_kind").to_owned(),
        publication_type: envelope.text("publication_type").to_owned(),
    };
    Ok(manifest_of_cut(&cut, body, header))
}

/// The rows of a manifest, beside the entry that asked for it.
struct PlanRows<'a> {
    entry: &'a EvidenceRow,
    envelope: &'a EvidenceRow,
    blocks: Vec<&'a EvidenceRow>,
}

fn plan_rows<'a>(evidence: &'a CutEvidence, envelope: &'a EvidenceRow) -> PlanRows<'a> {
    PlanRows {
        entry: &evidence.plan.entry,
        envelope,
        blocks: blocks_of(&evidence.plan.blocks, envelope.text("envelope_id")),
    }
}

fn manifest_problems(
    rows: PlanRows<'_>,
    expected: &Manifest,
    stored: &Manifest,
    body: &[u8],
) -> Vec<Finding> {
    let PlanRows { entry, envelope, blocks } = rows;
    let mut findings: Vec<Finding> = blocks
        .iter()
        .filter_map(|block| {
            let mut finding = unstamped(block)?;
            finding.address = block.get("proposed_canonical_address").map(str::to_owned);
            Some(finding)
        })
        .collect();
    // What was asked for is what was planned.
    let spec = &json_of(entry, "payload")["proposed_cut_spec"];
    for name in ["profile", "unit_kind", "publication_type"] {
        if spec[name].as_str().is_some_and(|asked| asked != envelope.text(name)) {
            let facts =
                json!({ "column": name, "expected": spec[name], "found": envelope.get(name) });
            findings.push(Finding::new("manifest_differs", facts));
        }
    }
    for (n, unit) in expected.units.iter().enumerate() {
        match stored.units.get(n) {
            None => findings.push(Finding::at("manifest_unit_missing", &unit.address, Value::Null)),
            Some(found) => findings.extend(block_problem(unit, found)),
        }
    }
    for unit in stored.units.iter().skip(expected.units.len()) {
        findings.push(Finding::at("manifest_unit_unexpected", &unit.address, Value::Null));
    }
    for (n, block) in blocks.iter().enumerate() {
        let place = i64::try_from(n + 1).ok();
        if block.number("render_order") != place || block.text("block_role") != "result" {
            let facts = json!({ "column": "render_order", "expected": place, "found": block.get("render_order") });
            findings.push(Finding::at(
                "manifest_unit_differs",
                block.text("proposed_canonical_address"),
                facts,
            ));
        }
    }
    if stored != expected && findings.is_empty() {
        findings.push(Finding::new("manifest_differs", json!({ "column": "header" })));
    }
    let digest = hex::encode(expected.digest());
    if envelope.text("manifest_digest") != digest {
        let facts = json!({ "column": "manifest_digest", "expected": digest, "found": envelope.get("manifest_digest") });
        findings.push(Finding::new("manifest_differs", facts));
    }
    if envelope.number("unit_count") != i64::try_from(expected.units.len()).ok() {
        let facts = json!({ "column": "unit_count", "expected": expected.units.len(), "found": envelope.get("unit_count") });
        findings.push(Finding::new("manifest_differs", facts));
    }
    if findings.is_empty() {
        findings = partition_problems(stored, body);
    }
    findings
}

fn block_problem(expected: &ManifestUnit, found: &ManifestUnit) -> Option<Finding> {
    if expected == found {
        return None;
    }
    let as_json = |unit: &ManifestUnit| {
        json!({
            "local_id": unit.local_id, "address": unit.address, "start": unit.start, "end": unit.end,
            "sha256": hex::encode(unit.sha256), "section_type": unit.section_type, "title": unit.title, "parent": unit.parent,
        })
    };
    let facts = json!({ "expected": as_json(expected), "found": as_json(found) });
    Some(Finding::at("manifest_unit_differs", &expected.address, facts))
}

fn change_set_problems(
    evidence: &CutEvidence,
    change_set: &EvidenceRow,
    envelope: &EvidenceRow,
    manifest: &Manifest,
    effect: &Effect,
    change_set_digest: &[u8; 32],
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = unstamped(change_set).into_iter().collect();
    let applied =
        evidence.change_sets.iter().filter(|set| set.text("change_kind") == "apply").count();
    if applied > 1 {
        findings.push(Finding::new("change_set_twice", json!({ "change_sets": applied })));
    }
    let writer_digest = hex::encode(effect.writer_digest());
    let document = &manifest.document_id;
    for (column, expected) in [
        ("decision_backlog_entry_id", evidence.plan.entry.text("entry_id").to_owned()),
        ("manifest_id", envelope.text("envelope_id").to_owned()),
        ("manifest_version", hex::encode(manifest.digest())),
        ("affected_unit_count", manifest.units.len().to_string()),
        ("effect_digest", hex::encode(effect.effect_digest())),
        ("change_set_digest", hex::encode(change_set_digest)),
        (
            "rollback_key",
            format!("rbk:{document}:{}:{}", &writer_digest[..16], effect.change_set_id),
        ),
        ("writer_digest", writer_digest),
        ("state", "committed".to_owned()),
        ("rollback_of_change_set_id", String::new()),
        ("verifier_signature_id", String::new()),
    ] {
        if change_set.text(column) != expected {
            let facts =
                json!({ "column": column, "expected": expected, "found": change_set.get(column) });
            findings.push(Finding::new("change_set_differs", facts));
        }
    }
    findings
}

fn ledger_problems(ledger: &[&EvidenceRow], effect: &Effect) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut rows: HashMap<&str, &EvidenceRow> =
        ledger.iter().map(|row| (row.text("affected_row_id"), *row)).collect();
    for (unit, snapshot) in effect.units.iter().zip(&effect.snapshots) {
        let Some(row) = rows.remove(unit.affected_row_id.to_string().as_str()) else {
            findings.push(Finding::at("affected_row_missing", &unit.address, Value::Null));
            continue;
        };
        for (column, expected) in [
            ("render_order", unit.sort_order.to_string()),
            ("target_table", "iu.information_unit".to_owned()),
            ("target_row_id", unit.unit_id.to_string()),
            ("operation_kind", "insert".to_owned()),
            ("before_state_snapshot", String::new()),
            ("after_state_snapshot", snapshot.clone()),
        ] {
            if row.text(column) != expected {
                let facts =
                    json!({ "column": column, "expected": expected, "found": row.get(column) });
                findings.push(Finding::at("affected_row_differs", &unit.address, facts));
            }
        }
        if let Some(mut finding) = unstamped(row) {
            finding.address = Some(unit.address.clone());
            findings.push(finding);
        }
    }
    for row in rows.into_values() {
        let facts = json!({ "affected_row_id": row.get("affected_row_id"), "target_row_id": row.get("target_row_id") });
        findings.push(Finding::new("affected_row_unexpected", facts));
    }
    findings
}
