//! The rows of a rehearsal, beside the plan.

use std::collections::{BTreeMap, HashMap};

use chancery_model::cutter;
use chancery_store::iu::UnitRow;
use sha2::{Digest as _, Sha256};

use super::super::plan::Planned;

/// What stands in the transaction, beside what was planned, twice.
pub(super) struct Rehearsed {
    pub(super) plan: Planned,
    pub(super) again: Planned,
    pub(super) units: Vec<UnitRow>,
}

impl Rehearsed {
    fn pairs(&self) -> impl Iterator<Item = (&cutter::UnitEffect, &UnitRow)> {
        let by_address: HashMap<&str, &UnitRow> =
            self.units.iter().map(|u| (u.address.as_str(), u)).collect();
        self.again
            .effect
            .units
            .iter()
            .filter_map(move |planned| Some((planned, *by_address.get(planned.address.as_str())?)))
    }

    fn all(&self, holds: impl Fn(&cutter::UnitEffect, &UnitRow) -> bool) -> bool {
        self.pairs().filter(|(planned, unit)| holds(planned, unit)).count() == self.again.count()
    }

    /// The eleven booleans of the structural probe, about the rows in the transaction.
    pub(super) fn structure(&self, forbidden: &[String]) -> Vec<(&'static str, bool)> {
        let hash = |unit: &UnitRow| hex::encode(Sha256::digest(unit.body.as_bytes()));
        let mut types: BTreeMap<&str, usize> = BTreeMap::new();
        for unit in &self.units {
            *types.entry(unit.section_type.as_str()).or_default() += 1;
        }
        vec![
            ("row_count", self.units.len() == self.plan.count()),
            ("address_distinct", self.all(|_, _| true)),
            ("version_count", self.units.len() == self.again.count()),
            ("version_seq_is_1", self.units.iter().all(|unit| unit.version_seq == 1)),
            ("anchor_exact", self.units.iter().all(|unit| !unit.version_id.is_nil())),
            (
                "content_hash_distinct",
                self.all(|planned, unit| planned.content_hash == unit.content_hash),
            ),
            ("body_hash_match", self.all(|planned, unit| planned.content_hash == hash(unit))),
            ("lifecycle_all_draft", self.units.iter().all(|unit| unit.lifecycle_status == "draft")),
            ("section_type_cardinality", types == self.plan.section_types()),
            ("no_unexpected_rows", self.units.len() == self.pairs().count()),
            (
                "forbidden_id_zero",
                !self
                    .units
                    .iter()
                    .any(|unit| forbidden.iter().any(|pattern| is_like(&unit.address, pattern))),
            ),
        ]
    }

    pub(super) fn is_the_source(&self) -> bool {
        self.plan.writer_digest() == self.again.writer_digest()
            && self.all(|planned, unit| {
                planned.content_hash == unit.content_hash
                    && planned.section_type == unit.section_type
                    && planned.title == unit.title
                    && planned.sort_order == unit.sort_order
            })
    }
}

/// LIKE, as the database has it: `%` is any text, `_` any one character.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => text.is_empty(),
        Some('%') => {
            let rest = rest.as_str();
            text.char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .any(|at| is_like(&text[at..], rest))
        }
        Some(wanted) => {
            let mut given = text.chars();
            given.next().is_some_and(|c| wanted == '_' || c == wanted)
                && is_like(given.as_str(), rest.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn like_is_as_in_the_database() {
        for (text, pattern, like) in [
            ("POL/sec.1", "POL/%", true),
            ("POL/sec.1", "%sec._", true),
            ("POL/sec.12", "%sec._", false),
            ("POL", "POL", true),
            ("POL", "", false),
            ("", "%", true),
            ("Điều", "Đi_u", true),
        ] {
            assert_eq!(is_like(text, pattern), like, "{text} {pattern}");
        }
    }
}
