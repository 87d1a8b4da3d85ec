//! What a machine file may not even say.

use chancery_model::machine::{File, ParseError};

use super::fixture::{PURCHASE, replace_once};

fn refusal(old: &str, new: &str) -> ParseError {
    File::parse(&replace_once(PURCHASE, old, new)).expect_err("the file should be refused")
}

#[track_caller]
fn refused(old: &str, new: &str, message: &str) {
    let error = refusal(old, new);
    assert!(error.message.contains(message), "{error}");
}

#[test]
fn a_refusal_says_where_and_what() {
    let error = refusal("scope: custom\n", "scope: customs\n");
    assert_eq!((error.line, error.column), (Some(4), Some(8)), "{error}");
    assert_eq!(
        error.to_string(),
        "line 4, column 8: scope: unknown variant `customs`, expected one of `step`, `task`, \
         `workflow_run`, `cut_request`, `orchestrator_run`, `birth_permit`, `governance_candidate`, `job`, `dlq_replay`, `finding`, `proposal`, `custom`"
    );
}

#[test]
fn a_refusal_deep_in_the_file_names_the_way_to_it() {
    let error = refusal("actors: [system]", "actors: [systems]");
    assert!(error.message.starts_with("transitions[5].actors"), "{error}");
    assert_eq!(error.line, Some(1 + line_of("id: pay,")), "{error}");
}

#[test]
fn unknown_fields_are_refused_at_every_level() {
    refused("scope: custom\n", "scope: custom\nowner: me\n", "unknown field `owner`");
    refused("{ code: draft,", "{ code: draft, colour: gray,", "unknown field `colour`");
    refused("{ code: waiting_chief,", "{ code: waiting_chief, big: 1,", "unknown field `big`");
    refused("id: pay, ", "id: pay, guard: four_eyes, ", "unknown field `guard`");
    refused("{ kind: timer,", "{ kind: timer, every: 1,", "unknown field `every`");
    refused("name: four_eyes\n", "name: four_eyes\n    sql: x\n", "unknown field `sql`");
    refused("lane: delayed\n", "lane: delayed\n    topic: x\n", "unknown field `topic`");
    refused("{ id: P-4,", "{ id: P-4, severity: high,", "unknown field `severity`");
    refused("{ from: paid,", "{ from: paid, except: [draft],", "unknown field `except`");
}

#[test]
fn words_outside_the_vocabularies_are_refused() {
    refused("stream: review", "stream: reviews", "unknown variant `reviews`");
    refused("lane: delayed", "lane: slow", "unknown variant `slow`");
    refused("kind: timer", "kind: cron", "unknown variant `cron`");
    refused("class: wait", "class: yellow", "unknown variant `yellow`");
    refused(
        "actors: [observer, escalation_handler]",
        "actors: [reader]",
        "unknown variant `reader`",
    );
}

#[test]
fn an_invariant_has_exactly_one_form() {
    let one = "always_via: { to: paid, visits: approved }";
    refused(&format!(", {one}"), "", "invariant P-5 needs exactly one of never_edge");
    let two = format!("{one}, never_path: {{ from: paid, to: draft }}");
    refused(one, &two, "invariant P-5 needs exactly one of never_edge");
}

#[test]
fn a_transition_that_would_make_no_row_is_refused() {
    refused("from: approved, to: paid", "from: [], to: paid", "the list is empty");
    refused("actors: [system]", "actors: []", "at least one actor");
}

/// 0-based.
fn line_of(text: &str) -> usize {
    PURCHASE.lines().position(|line| line.contains(text)).expect("the text is in the fixture")
}
