//! What holds for every document that is cut.

use std::collections::HashSet;

use chancery_document::{Cut, CutError, Profile, SectionType, cut, rejoin};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::documents::{Document, ODD};

pub(crate) const PREFIX: &str = "DOC-1";

pub(crate) fn documents() -> impl Strategy<Value = Document> {
    let profile = select(Profile::ALL);
    (profile, vec(any::<u64>(), 2..16)).prop_map(|(profile, roll)| Document::roll(profile, &roll))
}

pub(crate) fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn holds(text: &str, cut: &Cut) -> Result<(), TestCaseError> {
    let units = &cut.units;
    prop_assert_eq!(rejoin(text, cut), text);
    let mut end = 0;
    let mut addresses = HashSet::new();
    for (n, unit) in units.iter().enumerate() {
        prop_assert_eq!(unit.range.start, end, "no gap and no overlap");
        prop_assert!(unit.range.end > unit.range.start);
        end = unit.range.end;
        prop_assert!(text.is_char_boundary(end));
        let before = text[..unit.range.start].chars().next_back();
        prop_assert!(matches!(before, None | Some('\n' | '\r')), "begins with a line");

        let path = unit.address.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('/'));
        let path = path.expect("an address begins with its prefix");
        for segment in path.split('-') {
            prop_assert!(
                segment.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            );
            let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c);
            prop_assert!(segment.chars().all(known), "{}", unit.address);
        }
        prop_assert!(addresses.insert(&unit.address), "{} twice", unit.address);

        prop_assert_eq!(&unit.local_id, &format!("u{:04}", n + 1));
        prop_assert!(!unit.title.is_empty());
        prop_assert_eq!(unit.title.trim(), &unit.title);
        prop_assert!(!unit.title.contains(['\n', '\r']));
        match unit.parent {
            None => prop_assert_eq!(unit.level, 1),
            Some(parent) => {
                prop_assert!(parent < n);
                prop_assert_eq!(unit.level, units[parent].level + 1);
                let below = matches!(
                    unit.section_type,
                    SectionType::Heading | SectionType::Clause | SectionType::Point
                );
                let within = format!("{}-", units[parent].address);
                prop_assert!(!below || unit.address.starts_with(&within));
            }
        }
        prop_assert_eq!(
            unit.section_type == SectionType::Preamble,
            unit.address == "DOC-1/preamble"
        );
    }
    prop_assert_eq!(end, text.len());
    Ok(())
}

proptest! {
    #![proptest_config(config(10_000))]

    /// IU-1: ten thousand documents of all profiles; the expected addresses come from the dice.
    #[test]
    fn the_units_of_a_document_are_the_document(document in documents()) {
        let text = document.text();
        if document.sections.is_empty() {
            return Ok(());
        }
        let found = cut(&text, PREFIX, Some(document.profile));
        let found = found.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        holds(&text, &found)?;
        prop_assert_eq!(cut(&text, PREFIX, Some(document.profile)), Ok(found.clone()));

        let named = found.units.iter().filter(|unit| unit.section_type != SectionType::Preamble);
        let addresses: Vec<_> = named.clone().map(|unit| unit.address.clone()).collect();
        prop_assert_eq!(addresses, document.addresses(PREFIX));
        let levels: Vec<_> = named.map(|unit| usize::from(unit.level)).collect();
        let depths: Vec<_> = document.sections.iter().map(|section| section.depth).collect();
        prop_assert_eq!(levels, depths);
    }

    /// IU-1: any text is cut whole or refused with a place that exists.
    #[test]
    fn no_text_is_cut_halfway(pieces in vec(select(PIECES), 0..60), odd in vec(select(ODD), 0..4)) {
        let text = pieces.concat() + &odd.concat() + &pieces.iter().rev().copied().collect::<String>();
        for profile in [None, Some(Profile::Markdown), Some(Profile::LegalEn), Some(Profile::LegalVi)] {
            match cut(&text, PREFIX, profile) {
                Ok(found) => holds(&text, &found)?,
                Err(CutError::Empty) => {
                    let visible = text.contains(|c: char| !c.is_whitespace() && c != '\u{feff}');
                    prop_assert!(!visible);
                }
                Err(CutError::NoStructure { .. }) => {}
                Err(CutError::AddressCollision { first_offset, second_offset, first_line, second_line, .. }) => {
                    prop_assert!(first_offset < second_offset && second_offset < text.len());
                    prop_assert!(first_line < second_line);
                }
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            }
        }
    }
}

/// What documents are made of, in no order.
const PIECES: &[&str] = &[
    "\n",
    "\n",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    " ",
    "    ",
    "\t",
    "\u{feff}",
    "\u{a0}",
    "\u{301}",
    "é",
    "🚀",
    "#",
    "# ",
    "## ",
    "### ",
    "===",
    "---",
    "- ",
    "1. ",
    "> ",
    "| ",
    "`",
    "```",
    "~~~",
    "<div>",
    "<!--",
    "-->",
    "[",
    "]",
    "(",
    ")",
    "[^1]",
    "{#a}",
    "*",
    "**",
    "_",
    "\\",
    "&amp;",
    "\"",
    "“",
    "”",
    "...",
    "Article ",
    "Section ",
    "PART ",
    "Chapter ",
    "Điều ",
    "Chương ",
    "Mục ",
    "Khoản ",
    "Điểm ",
    "PHỤ LỤC",
    "1",
    "2",
    "3.",
    "IV",
    "a",
    "b)",
    "(1) ",
    "(2) ",
    "(a) ",
    "(ii) ",
    "5.1 ",
    "a) ",
    "đ) ",
    "Scope",
    "of",
    ",",
];
