//! The two machines without a fault, and ways to break them.

use chancery_model::machine::{Definition, File, Finding, check};

pub(crate) const PURCHASE: &str = include_str!("../../fixtures/machines/purchase.yaml");
pub(crate) const FLOOR: &str = include_str!("../../fixtures/machines/floor.yaml");

pub(crate) fn definition(text: &str) -> Definition {
    let file = File::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Definition::from(&file)
}

pub(crate) fn findings(text: &str) -> Vec<Finding> {
    check(&definition(text))
}

/// Replaces text that must be there exactly once, so that a case cannot silently change nothing.
pub(crate) fn replace_once(text: &str, old: &str, new: &str) -> String {
    assert_eq!(text.matches(old).count(), 1, "{old:?} must stand in the fixture exactly once");
    text.replacen(old, new, 1)
}
