//! Whole documents, cut, as a reviewer can read them.

use std::fmt::Write;

use chancery_document::{Cut, Profile, cut, rejoin};

fn check(name: &str, text: &str, expected: Profile) {
    let detected = cut(text, "DOC-1", None).expect("the sample can be cut");
    assert_eq!(detected.profile, expected);
    assert_eq!(cut(text, "DOC-1", Some(expected)), Ok(detected.clone()));
    assert_eq!(rejoin(text, &detected), text);
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!(name, table(text, &detected));
    });
}

/// Local id, lines, kind, address and title, indented by level.
fn table(text: &str, cut: &Cut) -> String {
    let line = |offset: usize| text[..offset].matches('\n').count() + 1;
    let mut table = String::new();
    for unit in &cut.units {
        let lines = format!("{}-{}", line(unit.range.start), line(unit.range.end - 1));
        let indent = "  ".repeat(usize::from(unit.level) - 1);
        writeln!(
            table,
            "{} {lines:>7} {:9} {indent}{} | {}",
            unit.local_id, unit.section_type, unit.address, unit.title
        )
        .expect("a string takes everything");
    }
    table
}

/// IU-1.
#[test]
fn an_english_act() {
    check("harbour_act", include_str!("../samples/harbour_act.txt"), Profile::LegalEn);
}

/// IU-1: articles that are divided into sections.
#[test]
fn english_bylaws() {
    let text = include_str!("../samples/cooperative_bylaws.txt");
    check("cooperative_bylaws", text, Profile::LegalEn);
}

/// IU-1.
#[test]
fn a_vietnamese_decree() {
    check("nghi_dinh", include_str!("../samples/nghi_dinh.txt"), Profile::LegalVi);
}

/// IU-1.
#[test]
fn a_policy_in_markdown() {
    check("policy", include_str!("../samples/policy.md"), Profile::Markdown);
}
