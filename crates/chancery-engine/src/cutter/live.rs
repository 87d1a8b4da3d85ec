//! The units that live, against what the cut must have made of the source.

use std::collections::{HashMap, HashSet};

use chancery_model::cutter::{Effect, Manifest, UnitEffect};
use chancery_store::EvidenceRow;
use chancery_store::cutter::CutEvidence;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::finding::Finding;
use super::plan::unstamped;

/// Every difference between the units that a change set must have made and those that stand.
pub(super) fn live_problems(
    evidence: &CutEvidence,
    change_set: &EvidenceRow,
    manifest: &Manifest,
    effect: &Effect,
    ledger: &[&EvidenceRow],
    body: &[u8],
) -> Vec<Finding> {
    let taken_back = evidence
        .change_sets
        .iter()
        .any(|set| set.get("rollback_of_change_set_id") == change_set.get("change_set_id"));
    let mut lifecycle: HashMap<&str, Vec<&EvidenceRow>> = HashMap::new();
    for row in &evidence.units.lifecycle {
        lifecycle.entry(row.text("unit_id")).or_default().push(row);
    }
    let look = Look {
        units: by(&evidence.units.units, "id"),
        versions: by(&evidence.units.versions, "id"),
        lifecycle,
        ledger: ledger.iter().map(|row| (row.text("target_row_id"), *row)).collect(),
        change_set,
        manifest,
        effect,
        body,
        taken_back,
        waiting: evidence.plan.entry.text("status") == "cut_applied",
    };
    let mut findings: Vec<Finding> =
        effect.units.iter().flat_map(|unit| look.unit_problems(unit)).collect();
    // What was taken back left the prefix to whoever cuts the document next.
    if !taken_back {
        let made: HashSet<String> =
            effect.units.iter().map(|unit| unit.unit_id.to_string()).collect();
        for unit in &evidence.units.units {
            let lives =
                unit.get("deleted_at").is_none() && unit.text("doc_code") == manifest.prefix;
            if lives && !made.contains(unit.text("id")) {
                let facts = json!({ "unit_id": unit.get("id") });
                findings.push(Finding::at(
                    "unit_unexpected",
                    unit.text("canonical_address"),
                    facts,
                ));
            }
        }
    }
    findings
}

fn by<'a>(rows: &'a [EvidenceRow], column: &str) -> HashMap<&'a str, &'a EvidenceRow> {
    rows.iter().map(|row| (row.text(column), row)).collect()
}

struct Look<'a> {
    units: HashMap<&'a str, &'a EvidenceRow>,
    versions: HashMap<&'a str, &'a EvidenceRow>,
    lifecycle: HashMap<&'a str, Vec<&'a EvidenceRow>>,
    ledger: HashMap<&'a str, &'a EvidenceRow>,
    change_set: &'a EvidenceRow,
    manifest: &'a Manifest,
    effect: &'a Effect,
    body: &'a [u8],
    /// The cut was compensated, so its units are expected to be retired.
    taken_back: bool,
    /// Nobody has verified the cut, so nothing can have happened to its units.
    waiting: bool,
}

impl Look<'_> {
    fn unit_problems(&self, expected: &UnitEffect) -> Vec<Finding> {
        let id = expected.unit_id.to_string();
        let unit = self.units.get(id.as_str()).copied();
        let Some(unit) = unit.filter(|unit| self.taken_back || unit.get("deleted_at").is_none())
        else {
            let facts = json!({ "unit_id": id });
            return vec![Finding::at("unit_missing", &expected.address, facts)];
        };
        let mut findings = Vec::new();
        let mut differs =
            |finding: &'static str, column: &str, expected_text: &str, found: Option<&str>| {
                if found.unwrap_or_default() != expected_text {
                    let facts =
                        json!({ "column": column, "expected": expected_text, "found": found });
                    findings.push(Finding::at(finding, &expected.address, facts));
                }
            };
        let section_code = expected.address.split_once('/').map_or("", |(_, code)| code);
        let executor = self.change_set.text("emitted_by");
        let parent = expected.parent_id.map(|id| id.to_string()).unwrap_or_default();
        let sort_order = expected.sort_order.to_string();
        for (column, text) in [
            ("canonical_address", expected.address.as_str()),
            ("unit_kind", &self.manifest.unit_kind),
            ("owner_ref", &self.effect.owner_ref),
            ("parent_or_container_ref", &parent),
            ("conformance_status", "open"),
            ("doc_code", &self.manifest.prefix),
            ("section_type", &expected.section_type),
            ("section_code", section_code),
            ("sort_order", &sort_order),
            ("created_by", executor),
        ] {
            differs("unit_differs", column, text, unit.get(column));
        }
        // Edited by its door after it was verified: its own text is no longer the cut's, and that is what there is to say.
        let version_id = expected.version_id.to_string();
        let edited = unit.get("version_anchor_ref") != Some(&version_id)
            && self.changes(&id).any(|row| row.text("change_kind") == "edited");
        if edited {
            let facts = json!({ "version_id": unit.get("version_anchor_ref") });
            findings.push(Finding::at("unit_edited", &expected.address, facts));
        } else {
            differs(
                "unit_differs",
                "identity_profile",
                &expected.identity_profile,
                unit.get("identity_profile"),
            );
            differs(
                "anchor_differs",
                "version_anchor_ref",
                &version_id,
                unit.get("version_anchor_ref"),
            );
        }
        findings.extend(self.anchor_problems(expected, unit));
        findings.extend(self.version_problems(expected));
        findings.extend(self.status_problems(expected, unit));
        findings.extend(self.history_problems(expected, unit));
        for row in
            [Some(unit), self.versions.get(version_id.as_str()).copied()].into_iter().flatten()
        {
            if let Some(mut finding) = unstamped(row) {
                finding.address = Some(expected.address.clone());
                findings.push(finding);
            }
        }
        findings
    }

    fn changes(&self, unit_id: &str) -> impl Iterator<Item = &EvidenceRow> {
        self.lifecycle.get(unit_id).map_or(&[][..], Vec::as_slice).iter().copied()
    }

    fn anchor_problems(&self, expected: &UnitEffect, unit: &EvidenceRow) -> Option<Finding> {
        let anchor = unit.text("version_anchor_ref");
        let why = match self.versions.get(anchor) {
            None => "the anchored text is missing",
            Some(version) if version.get("unit_id") != unit.get("id") => {
                "the anchored text is another unit's"
            }
            Some(_) if unit.text("content_anchor_ref") != anchor => "the two anchors differ",
            Some(_) => return None,
        };
        let facts = json!({ "why": why, "version_anchor_ref": anchor, "content_anchor_ref": unit.get("content_anchor_ref") });
        Some(Finding::at("anchor_differs", &expected.address, facts))
    }

    /// The text that the cut made, which stays as it was made whatever became of the unit.
    fn version_problems(&self, expected: &UnitEffect) -> Vec<Finding> {
        let mut findings = Vec::new();
        let Some(version) = self.versions.get(expected.version_id.to_string().as_str()) else {
            let facts = json!({ "why": "the text is missing", "version_id": expected.version_id });
            return vec![Finding::at("text_differs", &expected.address, facts)];
        };
        let unit_id = expected.unit_id.to_string();
        for (column, text) in [
            ("unit_id", unit_id.as_str()),
            ("version_seq", "1"),
            ("title", &expected.title),
            ("content_hash", &expected.content_hash),
            ("content_profile", &expected.content_profile),
            ("created_by", self.change_set.text("emitted_by")),
        ] {
            if version.text(column) != text {
                let facts =
                    json!({ "column": column, "expected": text, "found": version.get(column) });
                findings.push(Finding::at("text_differs", &expected.address, facts));
            }
        }
        let span = usize::try_from(expected.start).ok().zip(usize::try_from(expected.end).ok());
        let bytes = span.and_then(|(start, end)| self.body.get(start..end)).unwrap_or_default();
        if version.text("body").as_bytes() != bytes {
            let found = hex::encode(Sha256::digest(version.text("body")));
            let facts = json!({ "column": "body", "expected_sha256": expected.content_hash, "found_sha256": found });
            findings.push(Finding::at("text_differs", &expected.address, facts));
        }
        findings
    }

    fn status_problems(&self, expected: &UnitEffect, unit: &EvidenceRow) -> Vec<Finding> {
        let status = unit.text("lifecycle_status");
        let version = self.versions.get(unit.text("version_anchor_ref"));
        let text_status = version.map_or("", |version| version.text("lifecycle_status"));
        let fits = if self.taken_back {
            status == "retired" && unit.get("deleted_at").is_some()
        } else if self.waiting {
            status == "draft" && text_status == "draft"
        } else {
            matches!(status, "draft" | "enacted") && text_status == status
        };
        // A text says when it was enacted, and only then.
        let enacted_at = version.is_some_and(|version| version.get("enacted_at").is_some());
        if fits && enacted_at == (text_status == "enacted") {
            return Vec::new();
        }
        let facts = json!({ "lifecycle_status": status, "text": text_status, "deleted_at": unit.get("deleted_at") });
        vec![Finding::at("lifecycle_differs", &expected.address, facts)]
    }

    /// The unit's own log: it begins with this cut, is chained, and ends with the unit and the text as they are.
    fn history_problems(&self, expected: &UnitEffect, unit: &EvidenceRow) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut broken = |why: &str, facts: Value| {
            let mut finding = Finding::at("lifecycle_log_differs", &expected.address, facts);
            finding.facts.insert("why".to_owned(), json!(why));
            findings.push(finding);
        };
        let id = expected.unit_id.to_string();
        let rows: Vec<&EvidenceRow> = self.changes(&id).collect();
        let mut previous: Option<String> = None;
        for (n, row) in rows.iter().enumerate() {
            let digest = row.expected_digest();
            if row.stored_digest() != digest {
                broken("a row is not as it was stamped", json!({ "seq": row.get("seq") }));
            }
            if row.number("seq") != i64::try_from(n + 1).ok()
                || row.get("prev_digest") != previous.as_deref()
            {
                broken("the chain is broken", json!({ "seq": row.get("seq") }));
            }
            previous = Some(digest);
        }
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            broken("there is none", Value::Null);
            return findings;
        };
        let version_id = expected.version_id.to_string();
        for (column, text) in [
            ("change_kind", "created"),
            ("to_lifecycle", "draft"),
            ("change_set_id", self.change_set.text("change_set_id")),
            ("unit_version_id", &version_id),
            ("actor", self.change_set.text("emitted_by")),
            ("tool_revision", self.change_set.text("executor_tool_revision")),
        ] {
            if first.text(column) != text {
                broken(
                    "it does not begin with this cut",
                    json!({ "column": column, "expected": text, "found": first.get(column) }),
                );
            }
        }
        if self.waiting && rows.len() > 1 {
            broken("the unit was changed before it was verified", json!({ "changes": rows.len() }));
        }
        let ledger = self.ledger.get(id.as_str()).map(|row| row.text("lifecycle_digest"));
        if ledger != Some(first.expected_digest().as_str()) {
            broken("the ledger has another digest", json!({ "found": ledger }));
        }
        let version = self.versions.get(unit.text("version_anchor_ref"));
        let version_digest = version.map(|version| version.expected_digest());
        if last.text("unit_digest") != unit.expected_digest() {
            broken("it does not end with the unit as it is", json!({ "seq": last.get("seq") }));
        }
        if last.get("version_digest") != version_digest.as_deref() {
            broken("it does not end with the text as it is", json!({ "seq": last.get("seq") }));
        }
        if last.text("to_lifecycle") != unit.text("lifecycle_status") {
            broken("it does not end with the unit's state", json!({ "seq": last.get("seq") }));
        }
        findings
    }
}
