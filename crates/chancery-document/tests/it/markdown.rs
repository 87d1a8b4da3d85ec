//! Markdown, case by case.

use chancery_document::{CutError, Profile, cut};

/// The addresses without the prefix, and the titles.
fn check(text: &str, expected: &[(&str, &str)]) {
    let found = cut(text, "DOC", Some(Profile::Markdown)).expect("it can be cut");
    let found: Vec<_> = found
        .units
        .iter()
        .map(|unit| (unit.address.strip_prefix("DOC/").expect("the prefix"), unit.title.as_str()))
        .collect();
    assert_eq!(found, expected, "{text:?}");
}

#[test]
fn only_headings_at_the_top_level_divide() {
    check(
        "# One\n> # Quoted\n\n- # Listed\n\n      # Code\n\n```\n# Code\n```\n<div>\n# Html\n</div>\n\n## Two\n",
        &[("one", "One"), ("one-two", "Two")],
    );
}

#[test]
fn both_kinds_of_headings_divide() {
    check(
        "One\n===\n\nTwo\nlines\n---\n\n   ### Three ###\n",
        &[("one", "One"), ("one-two_lines", "Two lines"), ("one-two_lines-three", "Three")],
    );
}

#[test]
fn a_skipped_level_is_no_level() {
    let text = "# One\n### Deep\n## Two\n";
    check(text, &[("one", "One"), ("one-deep", "Deep"), ("one-two", "Two")]);
    let cut = cut(text, "DOC", Some(Profile::Markdown)).expect("it can be cut");
    assert_eq!(cut.units.iter().map(|unit| unit.level).collect::<Vec<_>>(), [1, 2, 2]);
    assert_eq!(
        cut.units.iter().map(|unit| unit.parent).collect::<Vec<_>>(),
        [None, Some(0), Some(0)]
    );
}

#[test]
fn a_heading_without_text_divides_nothing() {
    check("# One\n#\n## ![](picture.png)\n# {#id}\ntext\n", &[("one", "One")]);
}

#[test]
fn a_title_is_read_without_its_markup() {
    check(
        "# **Bold** `code` [link](x) ![alt](y) <i>html</i> a&amp;b \\* x[^1]\n",
        &[("bold_code_link_alt_html_a_b_x", "Bold code link alt html a&b * x")],
    );
    check(
        "# Pattern `[^a]` of [brackets]\n",
        &[("pattern_a_of_brackets", "Pattern [^a] of [brackets]")],
    );
}

/// A definition far away must not change what a heading is called.
#[test]
fn a_reference_is_read_the_same_with_and_without_its_definition() {
    let heading = "# See [the rules][1] and note[^1]\n";
    let defined = format!("{heading}\n[1]: http://example.org\n\n[^1]: Note.\n");
    check(heading, &[("see_the_rules_and_note", "See the rules and note")]);
    check(&defined, &[("see_the_rules_and_note", "See the rules and note")]);
}

#[test]
fn what_stands_before_the_first_heading_is_a_preamble() {
    check("Lead.\n\n# One\n", &[("preamble", "Preamble"), ("one", "One")]);
    check("\u{feff}\n \t\r\n# One\n", &[("one", "One")]);
    check("Lead.\n\n# Preamble\n", &[("preamble", "Preamble"), ("preamble.heading", "Preamble")]);
}

#[test]
fn metadata_is_no_heading() {
    check("---\ntitle: x\n# y\n---\n# One\n", &[("preamble", "Preamble"), ("one", "One")]);
    check(
        "---\rtitle: 1\r---\r# One\r\rText\r\r## Two\r\r```\r# no heading\r```\r",
        &[("preamble", "Preamble"), ("one", "One"), ("one-two", "Two")],
    );
    check("One\r===\r\rText\r\rTwo\r---\rText\r", &[("one", "One"), ("one-two", "Two")]);
    check("+++\r\ntitle = 1\r\n+++\r\n# One\r\n", &[("preamble", "Preamble"), ("one", "One")]);
    // A break, and a heading that is underlined.
    check("---\n\nOne\n---\n", &[("preamble", "Preamble"), ("one", "One")]);
}

#[test]
fn equal_headings_collide_only_below_the_same_heading() {
    check(
        "# A\n## Examples\n# B\n## Examples\n",
        &[("a", "A"), ("a-examples", "Examples"), ("b", "B"), ("b-examples", "Examples")],
    );
    let text = "# A\n\n## Examples\n\n## Other\n\n## *examples*\n";
    assert_eq!(
        cut(text, "DOC", Some(Profile::Markdown)),
        Err(CutError::AddressCollision {
            address: String::from("DOC/a-examples"),
            first_line: 3,
            first_offset: 5,
            second_line: 7,
            second_offset: 28,
        })
    );
}

#[test]
fn an_id_keeps_equal_headings_apart() {
    check(
        "# A\n## Examples\n## Examples {#more-Examples}\n## Set {a, b}\n",
        &[
            ("a", "A"),
            ("a-examples", "Examples"),
            ("a-more_examples", "Examples"),
            ("a-set_a_b", "Set {a, b}"),
        ],
    );
}
