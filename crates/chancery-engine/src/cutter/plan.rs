//! The plan of a cut, made from the stored source.

use chancery_document::{Cut, Profile};
use chancery_model::cutter::{FIRST_CUT, Manifest, ManifestUnit};
use chancery_model::refusal::Code;
use chancery_store::cutter::EntryRow;
use chancery_store::iu::SourceVersion;
use chancery_store::{EvidenceRow, Store};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::finding::Finding;
use super::mark::{publication_type, unit_kind};
use super::refused;
use crate::Error;
use crate::iu::cut_source;

/// What a reviewer decides on.
#[derive(Debug, Clone)]
pub struct Plan {
    pub entry: EntryRow,
    pub source: SourceVersion,
    pub manifest: Manifest,
    pub digest: [u8; 32],
}

/// Cuts the source of a request anew. Nothing is stored: a plan is written with the decision on it.
///
/// # Errors
/// RC001 for an unknown entry, RI022 when the source cannot be cut.
pub async fn plan(store: &Store, entry_id: Uuid) -> Result<Plan, Error> {
    let Some(entry) = store.entry(entry_id).await? else {
        return Err(refused(store, Code::RC001, json!({ "entry_id": entry_id })).await);
    };
    let source = match entry.source_version_id {
        Some(id) => store.source_version(id).await?,
        None => None,
    };
    let Some(source) = source else {
        let facts = json!({ "field": "source_version_id", "entry_id": entry_id, "given": entry.source_version_id });
        return Err(refused(store, Code::RC002, facts).await);
    };
    let manifest = manifest_of_source(store, &source, &entry.payload["proposed_cut_spec"]).await?;
    let digest = manifest.digest();
    Ok(Plan { entry, source, manifest, digest })
}

/// The manifest of a stored source, cut now, as the spec says; what the spec leaves out follows from the text.
///
/// # Errors
/// RI022 when the source cannot be cut.
pub(crate) async fn manifest_of_source(
    store: &Store,
    source: &SourceVersion,
    spec: &Value,
) -> Result<Manifest, Error> {
    let profile = match spec["profile"].as_str().map(str::parse::<Profile>) {
        None => None,
        Some(Ok(profile)) => Some(profile),
        Some(Err(_)) => {
            let facts = json!({
                "reason": "profile_unknown", "document": source.document_id, "profile": spec["profile"],
            });
            return Err(refused(store, Code::RI022, facts).await);
        }
    };
    let cut = cut_source(store, &source.document_id, &source.prefix, &source.body, profile).await?;
    let word = |name: &str, default: &str| spec[name].as_str().unwrap_or(default).to_owned();
    Ok(manifest_of_cut(
        &cut,
        &source.body,
        Header {
            document_id: source.document_id.clone(),
            prefix: source.prefix.clone(),
            source_version_id: source.source_version_id,
            unit_kind: word("unit_kind", unit_kind(cut.profile)),
            publication_type: word("publication_type", publication_type(cut.profile)),
        },
    ))
}

/// What a manifest says besides its units.
pub(super) struct Header {
    pub(super) document_id: String,
    pub(super) prefix: String,
    pub(super) source_version_id: Uuid,
    pub(super) unit_kind: String,
    pub(super) publication_type: String,
}

/// The manifest of a cut of these bytes.
pub(super) fn manifest_of_cut(cut: &Cut, body: &[u8], header: Header) -> Manifest {
    let offset = |n: usize| i64::try_from(n).expect("a source has at most 64 MB");
    let units = cut
        .units
        .iter()
        .map(|unit| ManifestUnit {
            local_id: unit.local_id.clone(),
            address: unit.address.clone(),
            start: offset(unit.range.start),
            end: offset(unit.range.end),
            sha256: Sha256::digest(&body[unit.range.clone()]).into(),
            section_type: unit.section_type.as_str().to_owned(),
            title: unit.title.clone(),
            parent: unit.parent.map(|parent| cut.units[parent].local_id.clone()),
        })
        .collect();
    Manifest {
        document_id: header.document_id,
        prefix: header.prefix,
        source_version_id: header.source_version_id,
        content_sha256: Sha256::digest(body).into(),
        operation: FIRST_CUT.to_owned(),
        profile: cut.profile.as_str().to_owned(),
        unit_kind: header.unit_kind,
        publication_type: header.publication_type,
        units,
    }
}

/// The manifest that stands in the tables, as its rows have it. A column that cannot be read is nothing that fits.
pub(super) fn manifest_of_rows(
    document: &EvidenceRow,
    envelope: &EvidenceRow,
    blocks: &[&EvidenceRow],
) -> Manifest {
    let units = blocks
        .iter()
        .map(|block| ManifestUnit {
            local_id: block.text("unit_local_id").to_owned(),
            address: block.text("proposed_canonical_address").to_owned(),
            start: block.number("span_start").unwrap_or(-1),
            end: block.number("span_end").unwrap_or(-1),
            sha256: block.sha256("region_sha").unwrap_or_default(),
            section_type: block.text("section_type").to_owned(),
            title: block.text("title").to_owned(),
            parent: block.get("parent_local_id").map(str::to_owned),
        })
        .collect();
    Manifest {
        document_id: envelope.text("document_id").to_owned(),
        prefix: document.text("address_docprefix").to_owned(),
        source_version_id: envelope.uuid("source_version_id").unwrap_or_default(),
        content_sha256: envelope.sha256("region_sha").unwrap_or_default(),
        operation: envelope.text("operation_kind").to_owned(),
        profile: envelope.text("profile").to_owned(),
        unit_kind: envelope.text("unit_kind").to_owned(),
        publication_type: envelope.text("publication_type").to_owned(),
        units,
    }
}

/// The rows of one manifest's units.
pub(super) fn blocks_of<'a>(blocks: &'a [EvidenceRow], envelope_id: &str) -> Vec<&'a EvidenceRow> {
    blocks.iter().filter(|block| block.get("envelope_id") == Some(envelope_id)).collect()
}

/// What keeps a manifest from being a partition of these bytes, each piece with the hash it names.
pub(super) fn partition_problems(manifest: &Manifest, body: &[u8]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut expected_start = 0;
    for unit in &manifest.units {
        let span = usize::try_from(unit.start).ok().zip(usize::try_from(unit.end).ok());
        let bytes = span.and_then(|(start, end)| body.get(start..end));
        if unit.start != expected_start || bytes.is_none_or(<[u8]>::is_empty) {
            let facts =
                json!({ "start": unit.start, "end": unit.end, "expected_start": expected_start });
            findings.push(Finding::at("manifest_span_differs", &unit.address, facts));
        }
        let hash = bytes.map(|bytes| <[u8; 32]>::from(Sha256::digest(bytes)));
        if hash != Some(unit.sha256) {
            let facts =
                json!({ "expected": hash.map(hex::encode), "found": hex::encode(unit.sha256) });
            findings.push(Finding::at("manifest_hash_differs", &unit.address, facts));
        }
        expected_start = unit.end;
    }
    if i64::try_from(body.len()).ok() != Some(expected_start) {
        let facts = json!({ "covered": expected_start, "bytes": body.len() });
        findings.push(Finding::new("manifest_span_differs", facts));
    }
    findings
}

/// A row that is not as it was stamped.
pub(super) fn unstamped(row: &EvidenceRow) -> Option<Finding> {
    (!row.fits()).then(|| {
        Finding::new(
            "row_digest_differs",
            json!({ "table": row.table, "expected": row.expected_digest(), "found": row.stored_digest() }),
        )
    })
}

/// JSON that stands in a column; null when it is none.
pub(super) fn json_of(row: &EvidenceRow, column: &str) -> Value {
    row.get(column).and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null)
}
