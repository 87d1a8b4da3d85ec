//! Documents that are not cut: what is wrong, and where.

use chancery_document::{CutError, Profile, SectionType, cut, source_text};

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let error = source_text(b"# One\r\n\xc3\xa9\rb\xff\n").expect_err("0xff is no UTF-8");
    assert_eq!(error, CutError::InvalidUtf8 { offset: 11, line: 3 });
    assert_eq!(error.to_string(), "not UTF-8 text: a wrong byte at offset 11, line 3");
    // A character that ends too early is wrong where it begins.
    assert_eq!(source_text(b"a\n\xe1\xbb"), Err(CutError::InvalidUtf8 { offset: 2, line: 2 }));
    assert_eq!(source_text("Điều".as_bytes()), Ok("Điều"));
}

#[test]
fn a_nul_is_refused_with_its_place() {
    let expected = CutError::NulCharacter { offset: 6, line: 2 };
    assert_eq!(source_text(b"# One\n\0"), Err(expected.clone()));
    assert_eq!(cut("# One\n\0", "DOC", None), Err(expected));
}

#[test]
fn an_empty_document_is_refused() {
    for text in ["", "\u{feff}", " \r\n\t\u{a0}"] {
        for profile in [None, Some(Profile::Markdown), Some(Profile::LegalVi)] {
            assert_eq!(cut(text, "DOC", profile), Err(CutError::Empty));
        }
    }
}

#[test]
fn a_document_without_structure_is_refused() {
    let error = cut("words\n", "DOC", None).expect_err("there is no heading");
    assert_eq!(error, CutError::NoStructure { profile: None });
    assert_eq!(error.to_string(), "no structure found, and no profile fits");
    for &profile in Profile::ALL {
        let error = cut("words\n1. one\n", "DOC", Some(profile)).expect_err("there is no heading");
        assert_eq!(error, CutError::NoStructure { profile: Some(profile) });
        assert_eq!(error.to_string(), format!("no structure found by the profile {profile}"));
    }
}

#[test]
fn a_prefix_follows_its_rule() {
    let longest = format!("A{}", "9".repeat(31));
    for prefix in ["AB", "ACT-2024", "A-", &longest] {
        assert!(cut("# One\n", prefix, None).is_ok(), "{prefix}");
    }
    let too_long = format!("{longest}9");
    for prefix in ["", "A", "act", "1A", "-A", "A/B", "A_B", "A B", "ĐA", "AĐ", &too_long] {
        let refused = Err(CutError::BadPrefix { prefix: prefix.to_owned() });
        assert_eq!(cut("# One\n", prefix, None), refused);
    }
}

#[test]
fn a_collision_names_both_lines() {
    let error = cut("\n\nĐiều 1. A\r\n\r\nĐiều 1. B\r\n", "DOC", Some(Profile::LegalVi));
    let error = error.expect_err("both are article 1");
    assert_eq!(
        error.to_string(),
        "two units have the address DOC/dieu.1: line 3 (offset 2) and line 5 (offset 18)"
    );
    assert_eq!(error.code(), "address_collision");
    assert!(error.hint().contains("annex"));
}

#[test]
fn the_vocabulary_of_sections_is_closed() {
    let words: Vec<_> = SectionType::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(
        words,
        ["preamble", "part", "chapter", "section", "article", "clause", "point", "heading"]
    );
    for kind in SectionType::ALL {
        assert_eq!(serde_json::to_string(kind).expect("a word"), format!("\"{kind}\""));
    }
}
