//! What applying a manifest does, row by row, before anybody does it.

use std::collections::HashMap;

use serde_json::json;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::id::derived_uuid;
use super::manifest::Manifest;
use super::snapshot::UnitSnapshot;
use crate::canonical::{self, write_string};

/// Everything that a change set makes of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    pub change_set_id: Uuid,
    pub owner_ref: String,
    /// The units, in the order of the manifest.
    pub units: Vec<UnitEffect>,
    /// What the ledger of effects says of each unit (`after_state_snapshot`), in the same order.
    pub snapshots: Vec<String>,
    /// The same without ids: lines of the writer's digest.
    writer_lines: Vec<String>,
}

/// One unit that a change set makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitEffect {
    pub local_id: String,
    pub unit_id: Uuid,
    pub version_id: Uuid,
    /// The row of the ledger.
    pub affected_row_id: Uuid,
    pub parent_id: Option<Uuid>,
    pub address: String,
    pub section_type: String,
    pub title: String,
    /// From one; also `render_order`.
    pub sort_order: i32,
    /// The bytes in the source.
    pub start: i64,
    pub end: i64,
    /// SHA-256 of the text, in hex.
    pub content_hash: String,
    /// `information_unit.identity_profile`, canonical.
    pub identity_profile: String,
    /// `unit_version.content_profile`, canonical.
    pub content_profile: String,
}

impl Effect {
    /// What the manifest makes when this change set applies it for this owner.
    pub fn of(manifest: &Manifest, change_set_id: Uuid, owner_ref: &str) -> Self {
        let addresses: HashMap<&str, &str> = manifest
            .units
            .iter()
            .map(|unit| (unit.local_id.as_str(), unit.address.as_str()))
            .collect();
        let provenance = Provenance {
            change_set_id,
            manifest_digest: hex::encode(manifest.digest()),
            region_sha: hex::encode(manifest.content_sha256),
            source_version_id: manifest.source_version_id,
        };
        let mut effect = Self {
            change_set_id,
            owner_ref: owner_ref.to_owned(),
            units: Vec::with_capacity(manifest.units.len()),
            snapshots: Vec::with_capacity(manifest.units.len()),
            writer_lines: Vec::with_capacity(manifest.units.len()),
        };
        for (n, unit) in manifest.units.iter().enumerate() {
            let unit_id = derived_uuid(change_set_id, &format!("unit,{}", unit.local_id));
            let version_id = derived_uuid(change_set_id, &format!("version,{}", unit.local_id));
            let content_hash = hex::encode(unit.sha256);
            let sort_order = i32::try_from(n + 1).expect("a manifest has at most 20,000 units");
            let mut snapshot = UnitSnapshot {
                address: &unit.address,
                content_hash: &content_hash,
                local_id: &unit.local_id,
                owner_ref,
                parent_address: unit
                    .parent
                    .as_deref()
                    .and_then(|parent| addresses.get(parent).copied()),
                publication_type: &manifest.publication_type,
                section_type: &unit.section_type,
                sort_order,
                title: &unit.title,
                unit_kind: &manifest.unit_kind,
                ids: None,
            };
            effect.writer_lines.push(snapshot.text());
            snapshot.ids = Some((unit_id, version_id));
            effect.snapshots.push(snapshot.text());
            let provenance = provenance.text(unit.start, unit.end, &content_hash);
            effect.units.push(UnitEffect {
                local_id: unit.local_id.clone(),
                unit_id,
                version_id,
                affected_row_id: derived_uuid(change_set_id, &format!("row,{}", unit.local_id)),
                parent_id: unit
                    .parent
                    .as_deref()
                    .map(|parent| derived_uuid(change_set_id, &format!("unit,{parent}"))),
                address: unit.address.clone(),
                section_type: unit.section_type.clone(),
                title: unit.title.clone(),
                sort_order,
                start: unit.start,
                end: unit.end,
                content_hash,
                identity_profile: identity_profile(
                    owner_ref,
                    &unit.section_type,
                    &provenance,
                    &manifest.publication_type,
                    &unit.title,
                ),
                content_profile: format!("{{\"provenance\":{provenance}}}"),
            });
        }
        effect
    }

    /// The digest of everything that the change set does, in order.
    pub fn effect_digest(&self) -> [u8; 32] {
        effect_digest(&self.snapshots)
    }

    /// The digest of what the manifest makes the writer write, without ids and times: two rebuilds agree, on any machine.
    pub fn writer_digest(&self) -> [u8; 32] {
        effect_digest(&self.writer_lines)
    }

    /// The header's digest, which the executor signs.
    pub fn change_set_digest(
        &self,
        manifest: &Manifest,
        entry_id: Uuid,
        review_decision_id: Uuid,
    ) -> [u8; 32] {
        change_set_digest(&ChangeSet {
            change_set_id: self.change_set_id,
            entry_id,
            review_decision_id,
            manifest_digest: manifest.digest(),
            writer_digest: self.writer_digest(),
            effect_digest: self.effect_digest(),
            unit_count: i32::try_from(self.units.len())
                .expect("a manifest has at most 20,000 units"),
        })
    }
}

/// The digest of a change set's snapshots, in the order of its ledger.
pub fn effect_digest<S: AsRef<str>>(snapshots: &[S]) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update("[");
    for (n, snapshot) in snapshots.iter().enumerate() {
        if n > 0 {
            digest.update(",");
        }
        digest.update(snapshot.as_ref());
    }
    digest.update("]");
    digest.finalize().into()
}

/// What the digest of a change set is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeSet {
    pub change_set_id: Uuid,
    pub entry_id: Uuid,
    pub review_decision_id: Uuid,
    pub manifest_digest: [u8; 32],
    pub writer_digest: [u8; 32],
    pub effect_digest: [u8; 32],
    pub unit_count: i32,
}

/// The digest that an executor signs: which decision on which manifest was applied to which effect.
pub fn change_set_digest(set: &ChangeSet) -> [u8; 32] {
    canonical::sha256(&json!({
        "change_set_id": set.change_set_id,
        "entry_id": set.entry_id,
        "review_decision_id": set.review_decision_id,
        "manifest_digest": hex::encode(set.manifest_digest),
        "writer_digest": hex::encode(set.writer_digest),
        "effect_digest": hex::encode(set.effect_digest),
        "unit_count": set.unit_count,
        "v": 1,
    }))
}

/// Where a unit comes from, as `cutter_governance.write_units` writes it into both profiles.
struct Provenance {
    change_set_id: Uuid,
    manifest_digest: String,
    region_sha: String,
    source_version_id: Uuid,
}

impl Provenance {
    fn text(&self, start: i64, end: i64, span_sha: &str) -> String {
        format!(
            "{{\"change_set_id\":\"{}\",\"manifest_digest\":\"{}\",\"region_sha\":\"{}\",\"source_version_id\":\"{}\",\
             \"span\":[{start},{end}],\"span_sha\":\"{span_sha}\"}}",
            self.change_set_id, self.manifest_digest, self.region_sha, self.source_version_id
        )
    }
}

fn identity_profile(
    owner_ref: &str,
    section_type: &str,
    provenance: &str,
    publication_type: &str,
    title: &str,
) -> String {
    let mut text = String::from("{\"owner_lookup_ref\":");
    write_string(owner_ref, &mut text);
    text.push_str(",\"primary_section_type_ref\":");
    write_string(section_type, &mut text);
    text.push_str(",\"provenance\":");
    text.push_str(provenance);
    text.push_str(",\"publication_type_ref\":");
    write_string(publication_type, &mut text);
    text.push_str(",\"title\":");
    write_string(title, &mut text);
    text.push('}');
    text
}
