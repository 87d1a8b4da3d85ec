//! Which profile fits a text.

use chancery_document::Profile::{self, LegalEn, LegalVi, Markdown};

#[test]
fn a_profile_is_detected() {
    let cases = [
        ("# One\n", Some(Markdown)),
        ("One\n===\n", Some(Markdown)),
        ("Điều 1. A\nĐiều 2. B\n", Some(LegalVi)),
        ("Article 1. A\nArticle 2. B\n", Some(LegalEn)),
        ("Section 1. A\nSection 2. B\n", Some(LegalEn)),
        // A law dressed as Markdown is a law; a page that quotes one is not.
        ("# Luật\n\n## Điều 1. A\n\n## Điều 2. B\n", Some(LegalVi)),
        ("# One\n## Two\n## Three\n\nArticle 1. A\n\nArticle 2. B\n", Some(Markdown)),
        ("# One\n\nArticle 1. A\n", Some(Markdown)),
        ("Article 1. A\nĐiều 1. A\nArticle 2. B\nĐiều 2. B\n", Some(LegalVi)),
        ("Article 1. A\n", None),
        ("- # listed\n", None),
        ("1. one\n2. two\n", None),
        ("words\n", None),
        ("", None),
    ];
    for (text, expected) in cases {
        assert_eq!(Profile::detect(text), expected, "{text:?}");
    }
}

#[test]
fn a_profile_reads_back_from_its_name() {
    for &profile in Profile::ALL {
        assert_eq!(profile.to_string().parse(), Ok(profile));
        let json = serde_json::to_string(&profile).expect("a name");
        assert_eq!(json, format!("\"{profile}\""));
        assert_eq!(serde_json::from_str::<Profile>(&json).expect("the same name"), profile);
    }
    let error = "Markdown".parse::<Profile>().expect_err("names are lower case");
    assert_eq!(
        error.to_string(),
        "\"Markdown\" is no profile; there are markdown, legal-en and legal-vi"
    );
}
