//! From the file to the rows.

use chancery_model::machine::{Definition, File};

use super::fixture::{FLOOR, PURCHASE, definition};

/// FSM-3: the same file is the same document, so applying it again changes nothing.
#[test]
fn the_same_file_gives_the_same_document() {
    let document = || serde_json::to_string(&definition(PURCHASE)).expect("serialisable");
    assert_eq!(document(), document());
    let reordered_texts = PURCHASE.replace("en: Draft, vi: Bản nháp", "vi: Bản nháp, en: Draft");
    assert_ne!(reordered_texts, PURCHASE);
    let reordered = serde_json::to_string(&definition(&reordered_texts)).expect("serialisable");
    assert_eq!(document(), reordered);
}

/// The document PostgreSQL receives; its keys are a contract with `sql/`.
#[test]
fn the_document_of_a_machine() {
    let document = serde_json::to_string_pretty(&definition(PURCHASE)).expect("serialisable");
    insta::assert_snapshot!(document);
}

#[test]
fn one_row_for_each_from_to_and_actor() {
    let definition = definition(PURCHASE);
    let ids: Vec<_> = definition.transitions.iter().map(|row| row.transition_id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "purchase@1.0.0#open:∅>draft/pic_human",
            "purchase@1.0.0#submit:draft>submitted/pic_human",
            "purchase@1.0.0#submit:draft>submitted/executor_worker",
            "purchase@1.0.0#revise:submitted>draft/pic_human",
            "purchase@1.0.0#approve:submitted>approved/reviewer",
            "purchase@1.0.0#reject:submitted>rejected/reviewer",
            "purchase@1.0.0#reject:approved>rejected/reviewer",
            "purchase@1.0.0#pay:approved>paid/system",
            "purchase@1.0.0#reopen:rejected>draft/sovereign",
            "purchase@1.0.0#reopen:approved>draft/sovereign",
        ]
    );
    assert_eq!(definition.transitions[0].from, None);
    assert_eq!(definition.id(), "purchase@1.0.0");
}

/// Steps, tasks and workflow runs share their texts; every other machine has its own.
#[test]
fn text_keys_follow_the_scope() {
    let key = |definition: Definition| definition.states[0].label_key.clone();
    assert_eq!(key(definition(PURCHASE)), "purchase.draft.label");
    assert_eq!(key(definition(FLOOR)), "state.not_started.label");
}

#[test]
fn defaults_are_filled_in() {
    let file = File::parse(PURCHASE).expect("the fixture is well formed");
    let event = &file.events[3];
    assert_eq!((event.stream.code(), event.lane.code()), ("update", "immediate"));
    assert_eq!(event.schema, serde_json::json!({ "type": "object" }));
}
