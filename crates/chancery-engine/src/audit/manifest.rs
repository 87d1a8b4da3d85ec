//! Plans: the rows of a manifest against its source, byte for byte.

use std::collections::{HashMap, HashSet};

use chancery_model::cutter::{FIRST_CUT, Manifest, ManifestUnit};
use sha2::{Digest as _, Sha256};

use super::check::Checker;
use super::rows::Row;
use super::table;

impl<'a> Checker<'a> {
    /// A source is what its hash and its length say.
    pub(super) fn source(&mut self, source: Row<'_>) {
        let body = source.bytes("body").unwrap_or_default();
        let sha256 = hex::encode(Sha256::digest(&body));
        let length = body.len().to_string();
        self.expect_all(
            source,
            "source_is_its_bytes",
            &[("content_sha256", Some(&sha256)), ("byte_length", Some(&length))],
        );
        let document = self.rows.one(table::DOCUMENT, "document_id", source.text("document_id"));
        if document.is_none() {
            self.wrong(source, "source_has_a_document", "there is no such document");
        }
    }

    /// The manifest that the rows hold, when they hold one: a partition of its source, with the digest its header says.
    pub(super) fn manifest(&mut self, envelope: Row<'a>) -> Option<Manifest> {
        const RULE: &str = "manifest_is_its_units";
        let blocks: Vec<Row<'a>> =
            self.rows.of(table::BLOCK, "envelope_id", envelope.text("envelope_id")).collect();
        let source =
            self.rows.one(table::SOURCE, "source_version_id", envelope.text("source_version_id"));
        let Some(source) = source else {
            self.wrong(envelope, RULE, "its source is not there");
            return None;
        };
        let document = self.rows.one(table::DOCUMENT, "document_id", source.text("document_id"));
        let prefix = document.map_or("", |document| document.text("address_docprefix"));
        let count = blocks.len().to_string();
        self.expect_all(
            envelope,
            RULE,
            &[
                ("document_id", source.opt("document_id")),
                ("region_sha", source.opt("content_sha256")),
                ("unit_count", Some(&count)),
                ("operation_kind", Some(FIRST_CUT)),
            ],
        );
        let body = source.bytes("body").unwrap_or_default();
        let units = self.partition(&blocks, &body, prefix)?;
        let manifest = Manifest {
            document_id: envelope.text("document_id").to_owned(),
            prefix: prefix.to_owned(),
            source_version_id: envelope.id("source_version_id"),
            content_sha256: envelope.sha256("region_sha")?,
            operation: envelope.text("operation_kind").to_owned(),
            profile: envelope.text("profile").to_owned(),
            unit_kind: envelope.text("unit_kind").to_owned(),
            publication_type: envelope.text("publication_type").to_owned(),
            units,
        };
        let digest = hex::encode(manifest.digest());
        self.expect(envelope, RULE, "manifest_digest", Some(&digest));
        Some(manifest)
    }

    /// The units of a plan: joined, their regions are the source.
    fn partition(
        &mut self,
        blocks: &[Row<'a>],
        body: &[u8],
        prefix: &str,
    ) -> Option<Vec<ManifestUnit>> {
        const RULE: &str = "units_partition_their_source";
        let mut units = Vec::with_capacity(blocks.len());
        let mut at = 0;
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut addresses = HashSet::new();
        let mut whole = true;
        for (n, block) in blocks.iter().copied().enumerate() {
            let order = (n + 1).to_string();
            self.expect(block, RULE, "render_order", Some(&order));
            self.expect(block, RULE, "block_role", Some("result"));
            let (start, end) = (block.number("span_start"), block.number("span_end"));
            let (Some(start), Some(end), Some(sha256)) = (start, end, block.sha256("region_sha"))
            else {
                self.wrong(block, RULE, "the unit has no region");
                return None;
            };
            let region = usize::try_from(start)
                .ok()
                .zip(usize::try_from(end).ok())
                .filter(|(start, end)| start < end)
                .and_then(|(start, end)| body.get(start..end));
            let what = match region {
                _ if start != at => Some(format!("the region starts at {start}, not at {at}")),
                None => Some(format!("the source has no bytes {start}..{end}")),
                Some(region) if <[u8; 32]>::from(Sha256::digest(region)) != sha256 => {
                    Some("region_sha is not the hash of the region's bytes".to_owned())
                }
                Some(_) => None,
            };
            let address = block.text("proposed_canonical_address");
            let parent = block.opt("parent_local_id");
            let what = what.or_else(|| {
                if address.strip_prefix(prefix).is_none_or(|rest| !rest.starts_with('/')) {
                    Some(format!("the address {address} is not one of {prefix}"))
                } else if !addresses.insert(address) {
                    Some(format!("the address {address} stands there twice"))
                } else if parent.is_some_and(|parent| !known.contains_key(parent)) {
                    Some("the unit that contains it does not stand before it".to_owned())
                } else {
                    None
                }
            });
            if let Some(what) = what {
                self.wrong(block, RULE, what);
                whole = false;
            }
            at = end;
            known.insert(block.text("unit_local_id"), n);
            units.push(ManifestUnit {
                local_id: block.text("unit_local_id").to_owned(),
                address: address.to_owned(),
                start,
                end,
                sha256,
                section_type: block.text("section_type").to_owned(),
                title: block.text("title").to_owned(),
                parent: parent.map(str::to_owned),
            });
        }
        if whole
            && let Some(last) = blocks.last()
            && usize::try_from(at) != Ok(body.len())
        {
            let what = format!("the regions end at {at}, the source at {}", body.len());
            self.wrong(*last, RULE, what);
        }
        Some(units)
    }
}
