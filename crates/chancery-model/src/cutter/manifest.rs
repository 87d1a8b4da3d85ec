//! The plan of a cut.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::canonical::write_string;

/// The only operation so far: a document that has no units yet is cut.
pub const FIRST_CUT: &str = "first_cut";

/// What is cut out of which bytes, and how. It has neither ids of rows nor times, so two rebuilds from the same source agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub document_id: String,
    /// The first part of every address.
    pub prefix: String,
    pub source_version_id: Uuid,
    pub content_sha256: [u8; 32],
    /// [`FIRST_CUT`].
    pub operation: String,
    pub profile: String,
    pub unit_kind: String,
    pub publication_type: String,
    /// In the order of the document.
    pub units: Vec<ManifestUnit>,
}

/// One unit of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestUnit {
    /// Names the unit within its manifest.
    pub local_id: String,
    pub address: String,
    /// The first byte in the source.
    pub start: i64,
    /// The byte behind the last one.
    pub end: i64,
    /// SHA-256 of the bytes.
    pub sha256: [u8; 32],
    pub section_type: String,
    pub title: String,
    /// The local id of the unit that contains it.
    pub parent: Option<String>,
}

impl Manifest {
    /// The canonical text whose SHA-256 is the manifest's digest, as `cutter_governance.manifest_text` builds it from its rows.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(512 + self.units.len() * 320);
        text.push_str("{\"content_sha256\":\"");
        text.push_str(&hex::encode(self.content_sha256));
        text.push_str("\",\"document_id\":");
        write_string(&self.document_id, &mut text);
        text.push_str(",\"operation\":");
        write_string(&self.operation, &mut text);
        text.push_str(",\"prefix\":");
        write_string(&self.prefix, &mut text);
        text.push_str(",\"profile\":");
        write_string(&self.profile, &mut text);
        text.push_str(",\"publication_type\":");
        write_string(&self.publication_type, &mut text);
        write!(text, ",\"source_version_id\":\"{}\",\"unit_kind\":", self.source_version_id)
            .expect("writing to a string cannot fail");
        write_string(&self.unit_kind, &mut text);
        text.push_str(",\"units\":[");
        for (n, unit) in self.units.iter().enumerate() {
            if n > 0 {
                text.push(',');
            }
            unit.write_text(&mut text);
        }
        text.push_str("],\"v\":1}");
        text
    }

    /// SHA-256 of the text.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.text().as_bytes()).into()
    }

    /// The plan as `cutter_governance.fn_review` takes it. What it lacks, the entry says.
    pub fn door_json(&self) -> Value {
        let units: Vec<Value> = self
            .units
            .iter()
            .map(|unit| {
                json!({
                    "local_id": unit.local_id, "address": unit.address, "start": unit.start, "end": unit.end,
                    "sha256": hex::encode(unit.sha256), "section_type": unit.section_type, "title": unit.title,
                    "parent": unit.parent,
                })
            })
            .collect();
        json!({
            "profile": self.profile, "unit_kind": self.unit_kind, "publication_type": self.publication_type, "units": units,
        })
    }

    /// The unit with a local id.
    pub fn unit(&self, local_id: &str) -> Option<&ManifestUnit> {
        self.units.iter().find(|unit| unit.local_id == local_id)
    }
}

impl ManifestUnit {
    fn write_text(&self, text: &mut String) {
        text.push_str("{\"address\":");
        write_string(&self.address, text);
        write!(text, ",\"end\":{},\"local_id\":", self.end)
            .expect("writing to a string cannot fail");
        write_string(&self.local_id, text);
        text.push_str(",\"parent\":");
        match &self.parent {
            Some(parent) => write_string(parent, text),
            None => text.push_str("null"),
        }
        text.push_str(",\"section_type\":");
        write_string(&self.section_type, text);
        write!(
            text,
            ",\"sha256\":\"{}\",\"start\":{},\"title\":",
            hex::encode(self.sha256),
            self.start
        )
        .expect("writing to a string cannot fail");
        write_string(&self.title, text);
        text.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical;

    fn manifest() -> Manifest {
        Manifest {
            document_id: "act".to_owned(),
            prefix: "ACT".to_owned(),
            source_version_id: Uuid::nil(),
            content_sha256: [7; 32],
            operation: FIRST_CUT.to_owned(),
            profile: "markdown".to_owned(),
            unit_kind: "design_doc_section".to_owned(),
            publication_type: "document".to_owned(),
            units: vec![
                ManifestUnit {
                    local_id: "u0001".to_owned(),
                    address: "ACT/one".to_owned(),
                    start: 0,
                    end: 9,
                    sha256: [1; 32],
                    section_type: "heading".to_owned(),
                    title: "Đ \"one\"\\\u{1}\u{7f}\u{2028}𝔸\n".to_owned(),
                    parent: None,
                },
                ManifestUnit {
                    local_id: "u0002".to_owned(),
                    address: "ACT/one-two".to_owned(),
                    start: 9,
                    end: 12,
                    sha256: [2; 32],
                    section_type: "heading".to_owned(),
                    title: "two".to_owned(),
                    parent: Some("u0001".to_owned()),
                },
            ],
        }
    }

    #[test]
    fn the_text_is_canonical() {
        let text = manifest().text();
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(canonical::to_string(&value), text);
    }

    #[test]
    fn every_field_is_in_the_digest() {
        let whole = manifest();
        let changes: [fn(&mut Manifest); 12] = [
            |m| m.document_id.push('x'),
            |m| m.prefix.push('X'),
            |m| m.source_version_id = Uuid::max(),
            |m| m.content_sha256[0] ^= 1,
            |m| m.operation.push('x'),
            |m| m.profile.push('x'),
            |m| m.unit_kind.push('x'),
            |m| m.publication_type.push('x'),
            |m| m.units[1].end += 1,
            |m| m.units[1].sha256[31] ^= 1,
            |m| m.units[1].parent = None,
            |m| m.units.swap(0, 1),
        ];
        for (n, change) in changes.into_iter().enumerate() {
            let mut changed = whole.clone();
            change(&mut changed);
            assert_ne!(changed.digest(), whole.digest(), "change {n}");
        }
    }
}
