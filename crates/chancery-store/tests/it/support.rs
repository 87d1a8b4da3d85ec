//! What several modules of this binary need.

use chancery_model::refusal::Code;
use chancery_store::fsm::{Move, MoveReport, Start};
use chancery_store::{Error, Role, Store};
use chancery_testkit::TestDb;
use serde_json::{Value, json};
use uuid::Uuid;

/// A small machine with one of everything the engine judges.
pub(crate) const LETTER: &str = r#"
machine: letter
scope: custom
version: 1.0.0
description: A letter that is written, checked and sent.
data: { type: object, properties: { words: {} } }
events:
  - { type: letter.drafted, description: A letter was begun. }
  - { type: letter.checked, description: Somebody read it. }
  - type: letter.posted
    description: It left the house.
    schema: { type: object, required: [carrier], properties: { carrier: { type: string, enum: [post, courier] } }, additionalProperties: false }
guards:
  - { name: has_text, kind: config, rule: '$.run.data.words > 0', reads: [], description: The letter has words. }
  - { name: reader_is_not_writer, kind: config, rule: '$.actor.principal != $.run.started_by', reads: [], description: Nobody checks their own letter. }
  - { name: poster_is_not_reader, kind: config, rule: '$.actor.principal != $.run.movers.check', reads: [history], description: The reader does not post it. }
states:
  - { code: draft, class: idle, initial: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Draft, vi: Nháp }, message: { en: being written, vi: đang viết } }
  - { code: checked, class: active, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Checked, vi: Đã đọc }, message: { en: read, vi: đã đọc } }
  - code: held
    class: wait
    color: ui.traffic_light.gray
    icon: icon.circle_hollow
    label: { en: Held, vi: Giữ lại }
    message: { en: waits, vi: chờ }
    facets:
      - { code: waiting_stamp, ordinal: 10, icon: icon.circle_hollow, label: { en: stamp, vi: tem } }
      - { code: waiting_person, ordinal: 20, icon: icon.circle_hollow, label: { en: person, vi: người } }
  - { code: sent, class: terminal, terminal: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Sent, vi: Đã gửi }, message: { en: gone, vi: đã đi } }
transitions:
  - { id: begin, from: "∅", to: draft, actors: [pic_human, executor_worker], trigger: { kind: rpc, ref: letter_begin }, event: letter.drafted }
  - { id: check, from: draft, to: checked, actors: [reviewer], trigger: { kind: rpc, ref: letter_check }, guards: [has_text, reader_is_not_writer], event: letter.checked }
  - { id: hold, from: checked, to: held, actors: [reviewer, executor_worker], trigger: { kind: rpc, ref: letter_hold } }
  - { id: release, from: held, to: checked, actors: [executor_worker], trigger: { kind: event, ref: held_over } }
  - { id: post, from: checked, to: sent, actors: [executor_worker], trigger: { kind: rpc, ref: letter_post }, guards: [poster_is_not_reader], event: letter.posted, audit: true }
  - { id: shortcut, from: draft, to: sent, actors: [executor_worker], trigger: { kind: rpc, ref: letter_post }, event: letter.posted, proposed: true }
"#;

/// A database with the letter machine and four services: writer, reader, poster, and one without any class.
pub(crate) async fn letters() -> (TestDb, Store) {
    let db = TestDb::new().await;
    db.service("writer", &["executor_worker", "pic_human"]).await;
    db.service("reader", &["reviewer", "executor_worker"]).await;
    db.service("poster", &["executor_worker"]).await;
    db.service("bystander", &[]).await;
    db.machine(LETTER).await;
    let store = db.store(Role::App);
    (db, store)
}

/// A letter in draft, begun by the writer.
pub(crate) async fn draft(store: &Store) -> Uuid {
    start(store, "letter", json!({ "words": 3 })).await.expect("a letter can be begun").run_id
}

pub(crate) async fn start(store: &Store, machine: &str, data: Value) -> Result<MoveReport, Error> {
    store.fn_run_start(&birth(machine, data)).await
}

pub(crate) fn birth(machine: &str, data: Value) -> Start {
    Start {
        run_id: Uuid::now_v7(),
        machine: machine.to_owned(),
        data,
        actor_class: "executor_worker".to_owned(),
        trigger_kind: "rpc".to_owned(),
        trigger_ref: "letter_begin".to_owned(),
        evidence: json!({}),
        principal: "writer".to_owned(),
        idempotency_key: "birth".to_owned(),
        reason: None,
        parent: None,
        trace_id: None,
        signed: None,
    }
}

/// A move by a service; the key is fresh.
pub(crate) fn a_move(
    run_id: Uuid,
    to: &str,
    principal: &str,
    class: &str,
    trigger: &str,
    evidence: Value,
) -> Move {
    let (kind, reference) = trigger.split_once(':').expect("kind:ref");
    Move {
        run_id,
        run_kind: "custom".to_owned(),
        from: None,
        to: to.to_owned(),
        actor_class: class.to_owned(),
        trigger_kind: kind.to_owned(),
        trigger_ref: reference.to_owned(),
        evidence,
        principal: principal.to_owned(),
        idempotency_key: Uuid::now_v7().to_string(),
        reason: None,
        signed: None,
    }
}

pub(crate) fn check(run_id: Uuid) -> Move {
    a_move(run_id, "checked", "reader", "reviewer", "rpc:letter_check", json!({}))
}

pub(crate) fn post(run_id: Uuid) -> Move {
    let evidence = json!({ "audit_ref": "A-1", "event": { "carrier": "post" } });
    a_move(run_id, "sent", "poster", "executor_worker", "rpc:letter_post", evidence)
}

/// The codes of a refusal, in the order in which they were reported.
pub(crate) fn codes<T: std::fmt::Debug>(answer: Result<T, Error>) -> Vec<Code> {
    let error = answer.expect_err("a refusal");
    let refusal = error.refusal().unwrap_or_else(|| panic!("a refusal, not {error:?}"));
    assert_eq!(
        refusal.problems.first().map(|p| p.code),
        Some(refusal.code),
        "the SQLSTATE is the first problem's"
    );
    refusal.problems.iter().map(|problem| problem.code).collect()
}
