//! An edit elsewhere changes no address.

use chancery_document::{SectionType, cut};
use proptest::prelude::*;

use crate::documents::{Document, Section};
use crate::laws::{PREFIX, config, documents};

fn addresses(document: &Document) -> Result<Vec<String>, TestCaseError> {
    if document.sections.is_empty() {
        return Ok(Vec::new());
    }
    let text = document.text();
    let found = cut(&text, PREFIX, Some(document.profile));
    let found = found.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
    let units = found.units.into_iter().filter(|unit| unit.section_type != SectionType::Preamble);
    Ok(units.map(|unit| unit.address).collect())
}

proptest! {
    #![proptest_config(config(3_000))]

    #[test]
    fn an_edited_body_changes_no_address(document in documents(), at: prop::sample::Index, body in "[a-z \n]{0,40}") {
        prop_assume!(!document.sections.is_empty());
        let mut edited = document.clone();
        // A blank line keeps an edit apart from the heading after it.
        edited.sections[at.index(document.sections.len())].body = format!("\n{body}.\n\n");
        edited.lead = "Another lead.\n\n";
        prop_assert_eq!(addresses(&edited)?, addresses(&document)?);
    }

    #[test]
    fn a_removed_section_changes_no_other_address(document in documents(), at: prop::sample::Index) {
        prop_assume!(!document.sections.is_empty());
        let removed = document.subtree(at.index(document.sections.len()));
        let mut shorter = document.clone();
        shorter.sections.drain(removed.clone());
        let mut expected = addresses(&document)?;
        expected.drain(removed);
        prop_assert_eq!(addresses(&shorter)?, expected);
    }

    #[test]
    fn an_inserted_section_changes_no_other_address(document in documents(), at: prop::sample::Index) {
        prop_assume!(!document.sections.is_empty());
        let at = at.index(document.sections.len());
        let next = &document.sections[at];
        let inserted = match next.path.rsplit_once('-').map_or(next.path.as_str(), |(_, last)| last) {
            last if last.starts_with("art.") => "Article 9000. Inserted\n\n(1) text\n",
            last if last.starts_with("ch.") => "Chapter 9000\n",
            last if last.starts_with("dieu.") => "Điều 9000. Thêm\n1. một\na) hai\n",
            last if last.starts_with("chuong.") => "Chương 9000\n",
            _ if next.kind == 0 && next.heading.contains(['#', '=']) => "# Inserted\n",
            _ => return Ok(()),
        };
        // A heading of Markdown is inserted with the depth of the one after it.
        let hashes = next.heading.trim_start().bytes().take_while(|b| *b == b'#').count().max(1);
        let heading = inserted.replace("# Inserted", &format!("{} Inserted", "#".repeat(hashes)));
        let mut longer = document.clone();
        let section = Section { heading, body: String::from("Text.\n"), ..next.clone() };
        longer.sections.insert(at, section);
        let kept: Vec<_> = addresses(&longer)?
            .into_iter()
            .filter(|address| !address.contains("9000") && !address.ends_with("inserted"))
            .collect();
        prop_assert_eq!(kept, addresses(&document)?);
    }
}
