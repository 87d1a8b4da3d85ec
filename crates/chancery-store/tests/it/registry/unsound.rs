//! FSM-9, FSM-10: the checker stands in front of the door, and whoever walks past it meets the same rules behind it. Each
//! document here was made unsound by hand and given to the door itself: refused by name, nothing changed.

use chancery_model::refusal::Code::*;
use chancery_store::Role;
use chancery_testkit::TestDb;
use serde_json::{Value, json};

use super::{apply, document, refused, shipped_document};
use crate::support::{LETTER, letters};

fn list<'a>(document: &'a mut Value, name: &str) -> &'a mut Vec<Value> {
    document[name].as_array_mut().expect("a list of the document")
}

fn state<'a>(document: &'a mut Value, code: &str) -> &'a mut Value {
    list(document, "states").iter_mut().find(|state| state["code"] == code).expect("a state")
}

fn guard<'a>(document: &'a mut Value, name: &str) -> &'a mut Value {
    list(document, "guards").iter_mut().find(|guard| guard["name"] == name).expect("a guard")
}

fn without_rows(document: &mut Value, label: &str) {
    list(document, "transitions").retain(|row| row["label"] != label);
}

fn set_on_rows(document: &mut Value, label: &str, member: &str, value: &Value) {
    for row in list(document, "transitions").iter_mut().filter(|row| row["label"] == label) {
        row[member] = value.clone();
    }
}

/// A state and every row that touches it.
fn without_state(document: &mut Value, code: &str) {
    list(document, "states").retain(|state| state["code"] != code);
    list(document, "transitions").retain(|row| row["from"] != code && row["to"] != code);
    for row in list(document, "transitions") {
        if row["rollback_to"] == code {
            row["rollback_to"] = Value::Null;
        }
    }
}

type Break = fn(&mut Value);

/// FSM-9: each way in which a machine fails to hold together has a fact of its own.
#[tokio::test]
async fn an_unsound_machine_is_refused_by_what_is_wrong_with_it() {
    let cases: [(&str, Break, Value); 16] = [
        (
            "an actor that only reads",
            |d| set_on_rows(d, "release", "actor", &json!("observer")),
            json!({ "actors_that_can_never_act": ["observer"] }),
        ),
        (
            "an actor whose login moves no runs of one's own",
            |d| set_on_rows(d, "release", "actor", &json!("review_authority")),
            json!({ "actors_that_can_never_act": ["review_authority"] }),
        ),
        (
            "a colour that the palette does not have",
            |d| state(d, "held")["color"] = json!("ui.traffic_light.mauve"),
            json!({ "colours_unknown": ["ui.traffic_light.mauve"] }),
        ),
        (
            "icons without a silhouette",
            |d| {
                state(d, "draft")["icon"] = json!("icon.unicorn");
                state(d, "held")["facets"][0]["icon"] = json!("stamp");
            },
            json!({ "icons_unknown": ["icon.unicorn", "stamp"] }),
        ),
        (
            "a state that no row leads to",
            |d| without_rows(d, "hold"),
            json!({ "unreachable": ["held"] }),
        ),
        (
            "a state that is reached only from one that is not",
            |d| {
                without_rows(d, "check");
                without_rows(d, "shortcut");
                // Its rule asks who checked.
                set_on_rows(d, "post", "guards", &json!([]));
            },
            json!({ "unreachable": ["checked", "held", "sent"], "dead_ends": ["draft"] }),
        ),
        ("a dead end", |d| without_rows(d, "release"), json!({ "dead_ends": ["held"] })),
        ("nothing is ever born", |d| without_rows(d, "begin"), json!({ "no_birth_row": true })),
        (
            "born into another state than the initial one",
            |d| set_on_rows(d, "begin", "to", &json!("checked")),
            json!({ "no_birth_row": true }),
        ),
        (
            "rows into and out of a state that is never stored",
            |d| state(d, "held")["conceptual"] = json!(true),
            json!({ "rows_into_conceptual_states": [
                "letter@1.0.0#hold:checked>held/executor_worker",
                "letter@1.0.0#hold:checked>held/reviewer",
                "letter@1.0.0#release:held>checked/executor_worker",
            ] }),
        ),
        (
            "a predicate in a user's machine",
            |d| {
                guard(d, "has_text")["kind"] = json!("predicate_fn");
                guard(d, "has_text")["rule"] = Value::Null;
            },
            json!({ "predicate_guards_in_a_custom_machine": ["letter@1.0.0#check:draft>checked/reviewer"] }),
        ),
        (
            "a guard that is not declared",
            |d| set_on_rows(d, "release", "guards", &json!(["nobody_declared_it"])),
            json!({ "predicate_guards_in_a_custom_machine": ["letter@1.0.0#release:held>checked/executor_worker"] }),
        ),
        (
            "a guard that is not declared, beside one that is",
            |d| set_on_rows(d, "release", "guards", &json!(["has_text", "nobody_declared_it"])),
            json!({ "predicate_guards_in_a_custom_machine": ["letter@1.0.0#release:held>checked/executor_worker"] }),
        ),
        (
            "a rule that is no JSON path",
            |d| guard(d, "has_text")["rule"] = json!("$.run.data.words >"),
            json!({ "rules_that_are_no_json_path": ["has_text"] }),
        ),
        (
            "a rule that is not there",
            |d| guard(d, "has_text")["rule"] = Value::Null,
            json!({ "rules_that_are_no_json_path": ["has_text"] }),
        ),
        (
            "a derived state that stands for no floor state",
            |d| {
                state(d, "held")["derived"] =
                    json!({ "floor_equivalent": "levitating", "justification": "none" })
            },
            json!({ "floor_equivalents_unknown": ["held"] }),
        ),
    ];
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    let before = db.fingerprint().await;
    for (name, break_it, expected) in cases {
        let mut broken = document(LETTER);
        break_it(&mut broken);
        for activate in [false, true] {
            let mut facts = refused(apply(&operator, &broken, activate).await, RS020);
            assert_eq!(facts["machine"], "letter@1.0.0", "{name}");
            facts.as_object_mut().expect("facts").remove("machine");
            for names in
                facts.as_object_mut().expect("facts").values_mut().filter_map(Value::as_array_mut)
            {
                names.sort_by_key(Value::to_string);
            }
            assert_eq!(facts, expected, "{name}");
        }
    }
    assert_eq!(before, db.fingerprint().await, "nothing changed");
}

/// FSM-9: a document whose references lead nowhere, or that is no machine at all, is not stored either.
#[tokio::test]
async fn a_document_that_does_not_fit_is_not_stored() {
    let cases: [(&str, Break); 12] = [
        ("a row to a state that is not there", |d| set_on_rows(d, "hold", "to", &json!("limbo"))),
        ("a row from a state that is not there", |d| {
            set_on_rows(d, "hold", "from", &json!("limbo"))
        }),
        ("a way back to a state that is not there", |d| {
            set_on_rows(d, "hold", "rollback_to", &json!("limbo"))
        }),
        ("an actor class that is not there", |d| set_on_rows(d, "hold", "actor", &json!("ghost"))),
        ("a trigger of another kind", |d| set_on_rows(d, "hold", "trigger_kind", &json!("whim"))),
        ("an event that is not declared", |d| {
            set_on_rows(d, "hold", "event", &json!("letter.vanished"))
        }),
        ("a state twice", |d| {
            let again = state(d, "held").clone();
            list(d, "states").push(again);
        }),
        ("a semantic class that is not there", |d| state(d, "held")["class"] = json!("bored")),
        ("a derived state without its reason", |d| {
            state(d, "held")["derived"] =
                json!({ "floor_equivalent": "waiting", "justification": " " });
        }),
        ("a version that is none", |d| d["version"] = json!("newest")),
        ("no name", |d| d["machine"] = Value::Null),
        ("the name of the product's own texts", |d| d["machine"] = json!("state")),
    ];
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    let before = db.fingerprint().await;
    for (name, break_it) in cases {
        let mut broken = document(LETTER);
        break_it(&mut broken);
        let answer = apply(&operator, &broken, true).await;
        assert!(answer.is_err(), "{name}: {answer:?}");
    }
    for nonsense in [
        json!(null),
        json!([]),
        json!("letter"),
        json!({}),
        json!({ "machine": "letter", "version": "1.0.0" }),
    ] {
        assert!(apply(&operator, &nonsense, true).await.is_err(), "{nonsense}");
    }
    assert_eq!(before, db.fingerprint().await, "nothing changed");
}

/// FSM-10: a step or task machine holds each of the nine floor states verbatim.
#[tokio::test]
async fn the_floor_is_whole() {
    const FLOOR: [&str; 9] = [
        "not_started",
        "ready",
        "in_progress",
        "waiting",
        "blocked",
        "overdue",
        "failed",
        "cannot_complete",
        "completed",
    ];
    type Change = fn(&mut Value, &str);
    let changes: [(&str, Change); 4] = [
        ("is missing", without_state),
        ("is of another class", |d, code| {
            let other = if state(d, code)["class"] == "red" { "wait" } else { "red" };
            state(d, code)["class"] = json!(other);
        }),
        ("has another colour", |d, code| {
            state(d, code)["color"] = json!("ui.traffic_light.purple")
        }),
        ("is said to be derived", |d, code| {
            state(d, code)["derived"] =
                json!({ "floor_equivalent": code, "justification": "it is itself" });
        }),
    ];
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    let before = db.fingerprint().await;
    for machine in ["step", "task"] {
        for code in FLOOR {
            for (what, change) in changes {
                let mut broken = shipped_document(machine);
                change(&mut broken, code);
                let facts = refused(apply(&operator, &broken, false).await, RS020);
                assert_eq!(
                    facts["floor_states_missing"],
                    json!([code]),
                    "{machine}: {code} {what}"
                );
            }
        }
    }
    assert_eq!(before, db.fingerprint().await, "nothing changed");
    for machine in ["step", "task"] {
        apply(&operator, &shipped_document(machine), false).await.expect("whole as it ships");
    }
}

/// FSM-9: beyond the floor a step, task or workflow machine has derived states only.
#[tokio::test]
async fn an_extra_state_is_derived() {
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    let before = db.fingerprint().await;
    for (machine, code) in
        [("step", "cancelled"), ("task", "cancelled"), ("workflow_run", "paused")]
    {
        let mut broken = shipped_document(machine);
        assert!(!state(&mut broken, code)["derived"].is_null(), "{machine}: {code} ships derived");
        state(&mut broken, code)["derived"] = Value::Null;
        let facts = refused(apply(&operator, &broken, false).await, RS020);
        assert_eq!(
            facts,
            json!({ "machine": format!("{machine}@{}", broken["version"].as_str().expect("a version")), "underived_extra_states": [code] })
        );
    }
    assert_eq!(before, db.fingerprint().await, "nothing changed");
}

/// FSM-2: a name belongs to one scope; a user's machine cannot pass for the product's.
#[tokio::test]
async fn a_name_belongs_to_one_scope() {
    let (db, _store) = letters().await;
    let operator = db.store(Role::Migrator);
    apply(&operator, &shipped_document("birth_permit"), false).await.expect("stored");
    let before = db.fingerprint().await;
    let posing = document(&LETTER.replace("machine: letter", "machine: birth_permit"));
    for version in ["1.0.0", "2.0.0"] {
        let mut posing = posing.clone();
        posing["version"] = json!(version);
        let facts = refused(apply(&operator, &posing, true).await, RS020);
        assert_eq!(
            facts,
            json!({ "machine": format!("birth_permit@{version}"), "name_is_taken_by_scope": "birth_permit" })
        );
    }
    let mut swallowing = shipped_document("birth_permit");
    swallowing["machine"] = json!("letter");
    assert_eq!(
        refused(apply(&operator, &swallowing, false).await, RS020)["name_is_taken_by_scope"],
        "custom"
    );
    assert_eq!(before, db.fingerprint().await, "nothing changed");
}

/// EVT-1: an event type keeps its meaning: schema, stream and lane. The same words again are no change.
#[tokio::test]
async fn an_event_type_keeps_its_meaning() {
    let (db, _store) = letters().await;
    let operator = db.store(Role::Migrator);
    let before = db.fingerprint().await;
    let other = document(&LETTER.replace("machine: letter", "machine: postcard"));
    let changes: [Break; 4] = [
        |event| event["schema"] = json!({ "type": "object", "required": ["stamp"] }),
        |event| {
            event["schema"]["properties"]["carrier"]["enum"] = json!(["post", "courier", "dove"])
        },
        |event| event["stream"] = json!("alert"),
        |event| event["lane"] = json!("delayed"),
    ];
    for (differs, change) in ["schema", "schema", "stream", "lane"].into_iter().zip(changes) {
        let mut other = other.clone();
        let event = list(&mut other, "events")
            .iter_mut()
            .find(|event| event["type"] == "letter.posted")
            .expect("an event");
        let mut registered = event.clone();
        change(event);
        let facts = refused(apply(&operator, &other, true).await, RE005);
        for name in ["stream", "lane", "schema"] {
            assert_eq!(facts[name], registered[name].take(), "as it is registered");
        }
        assert_eq!(facts["event_type"], "letter.posted");
        assert_eq!(facts["differs_in"], json!([differs]), "what to mend is named");
    }
    assert_eq!(before, db.fingerprint().await, "nothing changed");
    apply(&operator, &other, true).await.expect("the same meaning");
}

/// EVT-1: a schema that the validator would not understand is refused when the type is registered, by place.
#[tokio::test]
async fn an_event_type_has_a_schema_of_the_subset() {
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    let before = db.fingerprint().await;
    let mut document = document(LETTER);
    list(&mut document, "events")[1]["schema"] = json!({ "type": "object", "properties": { "n": { "type": "number", "multipleOf": 2 } }, "oneOf": [] });
    let facts = refused(apply(&operator, &document, true).await, RE003);
    let at = json!([
        { "at": "/oneOf", "why": "outside the subset" },
        { "at": "/properties/n/multipleOf", "why": "outside the subset" },
    ]);
    assert_eq!(facts, json!({ "event_type": "letter.checked", "at": at }));
    assert_eq!(before, db.fingerprint().await, "nothing changed");
}
