//! The transition engine: what it does, what it refuses, and that a refusal changes nothing.

use chancery_model::refusal::Code::{self, *};
use chancery_store::Role;
use chancery_store::fsm::Move;
use serde_json::json;
use uuid::Uuid;

use crate::support::{a_move, birth, check, codes, draft, letters, post, start};

/// FSM-6, EVT-2: state, log row and outbox event come together, linked by hash and id.
#[tokio::test]
async fn a_move_writes_state_log_and_event_in_one_transaction() {
    let (db, store) = letters().await;
    let run = draft(&store).await;
    let report = store.fn_state_transition_apply(&check(run)).await.expect("the reader may check");
    assert_eq!(
        (report.from.as_deref(), report.to.as_str(), report.seq),
        (Some("draft"), "checked", Some(2))
    );
    assert_eq!(report.emitted_event_type.as_deref(), Some("letter.checked"));

    let row = store.run(run).await.expect("an answer").expect("the run");
    assert_eq!((row.state.as_str(), row.seq), ("checked", 2));
    let log = store.log_page(None, 10).await.expect("the log");
    assert_eq!(log.len(), 2);
    assert_eq!(log[1].prev_hash.as_deref(), Some(log[0].hash.as_slice()));
    for row in &log {
        assert_eq!(row.hash, row.expected_hash(), "Rust and PostgreSQL compute the same hash");
    }
    let events = store.events_of_run(run).await.expect("events");
    assert_eq!(events.len(), 2);
    assert_eq!(events[1].cloudevent["id"], json!(log[1].log_id), "the event is the log row's");
    assert_eq!(events[1].cloudevent["data"]["to"], json!("checked"));
    drop(db);
}

/// FSM-5: every problem is reported, not just the first, and nothing changes.
#[tokio::test]
async fn a_refusal_names_all_problems_and_changes_nothing() {
    let (db, store) = letters().await;
    let run = start(&store, "letter", json!({ "words": 0 })).await.expect("begun").run_id;
    let before = db.fingerprint().await;

    // The writer holds no reviewer class, checks an empty letter of their own, by the wrong trigger, from a stale state.
    let bad = a_move(run, "checked", "writer", "reviewer", "rpc:letter_post", json!({}));
    assert_eq!(codes(store.fn_state_transition_apply(&bad).await), [RS005, RS006, RS006, RI003]);
    let stale = Move { from: Some("held".to_owned()), ..check(run) };
    assert_eq!(codes(store.fn_state_transition_apply(&stale).await), [RS004, RS009]);
    assert_eq!(before, db.fingerprint().await);
}

/// FSM-5: one refusal each, by name.
#[tokio::test]
async fn each_bad_move_has_its_own_refusal() {
    let (db, store) = letters().await;
    let run = draft(&store).await;
    let checked = draft(&store).await;
    store.fn_state_transition_apply(&check(checked)).await.expect("checked");
    let before = db.fingerprint().await;
    let hold =
        |evidence| a_move(checked, "held", "reader", "reviewer", "rpc:letter_hold", evidence);
    let cases: Vec<(&str, Move, &[Code])> = vec![
        ("unknown run", check(Uuid::now_v7()), &[RS001]),
        ("unknown kind", Move { run_kind: "nonsense".to_owned(), ..check(run) }, &[RS002]),
        ("unknown state", Move { to: "burnt".to_owned(), ..check(run) }, &[RS003]),
        ("no such transition", Move { to: "held".to_owned(), ..check(run) }, &[RS004]),
        (
            "class without a row",
            Move { actor_class: "executor_worker".to_owned(), ..check(run) },
            &[RS004],
        ),
        ("wrong trigger", Move { trigger_ref: "letter_burn".to_owned(), ..check(run) }, &[RS005]),
        ("guard over history", Move { principal: "reader".to_owned(), ..post(checked) }, &[RS006]),
        (
            "audit missing",
            Move { evidence: json!({ "event": { "carrier": "post" } }), ..post(checked) },
            &[RS007],
        ),
        (
            "audit blank",
            Move {
                evidence: json!({ "audit_ref": " ", "event": { "carrier": "post" } }),
                ..post(checked)
            },
            &[RS007],
        ),
        ("stale", Move { from: Some("sent".to_owned()), ..check(run) }, &[RS004, RS009]),
        ("facet missing", hold(json!({})), &[RS010]),
        ("facet unknown", hold(json!({ "facet": "waiting_moon" })), &[RS010]),
        (
            "one of two facets unknown",
            hold(json!({ "facets": ["waiting_stamp", "waiting_moon"] })),
            &[RS010],
        ),
        ("proposed", post(run), &[RS011]),
        ("no key", Move { idempotency_key: " ".to_owned(), ..check(run) }, &[RS013]),
        ("evidence is a list", Move { evidence: json!([1]), ..check(run) }, &[RS014]),
        (
            "evidence too deep",
            Move { evidence: json!({ "deep": nested(70) }), ..check(run) },
            &[RS014],
        ),
        ("event is text", Move { evidence: json!({ "event": "x" }), ..check(run) }, &[RS014]),
        (
            "evidence too large",
            Move { evidence: json!({ "t": "x".repeat(70_000) }), ..check(run) },
            &[RS014],
        ),
        (
            "payload breaks its schema",
            Move {
                evidence: json!({ "audit_ref": "A", "event": { "carrier": "dove" } }),
                ..post(checked)
            },
            &[RE002],
        ),
        (
            "payload misses a member",
            Move { evidence: json!({ "audit_ref": "A" }), ..post(checked) },
            &[RE002],
        ),
        (
            "payload with a secret",
            Move { evidence: json!({ "event": { "deep": [{ "Password": 1 }] } }), ..check(run) },
            &[RE002],
        ),
        ("unknown principal", Move { principal: "nobody".to_owned(), ..check(run) }, &[RI001]),
        ("class not held", Move { principal: "bystander".to_owned(), ..check(run) }, &[RI003]),
    ];
    for (name, bad, expected) in cases {
        assert_eq!(codes(store.fn_state_transition_apply(&bad).await), expected, "{name}");
        if !["no key", "evidence too large"].contains(&name) {
            let preview = store.fn_state_transition_validate(&bad).await.expect("a preview");
            assert!(!preview.ok, "{name}");
            let previewed: Vec<Code> = preview.problems.iter().map(|p| p.code).collect();
            assert_eq!(previewed, expected, "preview and apply agree: {name}");
        }
    }
    assert_eq!(before, db.fingerprint().await, "nothing changed");
}

/// FSM-4: the preview says what apply would say, and changes nothing, in a READ ONLY transaction.
#[tokio::test]
async fn a_preview_changes_nothing() {
    let (db, store) = letters().await;
    let run = draft(&store).await;
    let before = db.fingerprint().await;
    let preview = store.fn_state_transition_validate(&check(run)).await.expect("a preview");
    assert!(preview.ok && preview.problems.is_empty());
    assert_eq!(preview.emitted_event_type.as_deref(), Some("letter.checked"));
    assert_eq!(before, db.fingerprint().await);
    let made = store.fn_state_transition_apply(&check(run)).await.expect("the same move");
    assert_eq!(made.transition_id, preview.transition_id);
}

/// FSM-7: the same key gives the first answer, also when the run has moved on; another payload is refused by name.
#[tokio::test]
async fn a_key_repeats_its_answer_and_nothing_else() {
    let (db, store) = letters().await;
    let run = draft(&store).await;
    let first = check(run);
    let report = store.fn_state_transition_apply(&first).await.expect("checked");
    let hold = a_move(
        run,
        "held",
        "reader",
        "executor_worker",
        "rpc:letter_hold",
        json!({ "facet": "waiting_stamp" }),
    );
    store.fn_state_transition_apply(&hold).await.expect("held");
    // Back to where the key's move would be allowed once more: it must still not be made twice.
    let release = a_move(run, "checked", "poster", "executor_worker", "event:held_over", json!({}));
    store.fn_state_transition_apply(&release).await.expect("released");
    let before = db.fingerprint().await;

    let again = store.fn_state_transition_apply(&first).await.expect("the first answer");
    assert!(again.replayed && !report.replayed);
    assert_eq!(
        (again.seq, again.hash.clone(), again.from.clone()),
        (report.seq, report.hash, report.from)
    );
    let held_again = store.fn_state_transition_apply(&hold).await.expect("the first answer");
    assert!(held_again.replayed, "also when the move would be allowed again");

    for other in [
        Move { evidence: json!({ "other": 1 }), ..first.clone() },
        Move { reason: Some("because".to_owned()), ..first.clone() },
        Move { to: "held".to_owned(), ..first.clone() },
        Move { from: Some("held".to_owned()), ..first.clone() },
        Move { principal: "writer".to_owned(), ..first.clone() },
    ] {
        assert_eq!(codes(store.fn_state_transition_apply(&other).await), [RS012]);
    }
    assert_eq!(before, db.fingerprint().await);
}

/// FSM-7: a run's birth can be repeated too.
#[tokio::test]
async fn a_birth_can_be_repeated_but_not_changed() {
    let (db, store) = letters().await;
    let born = birth("letter", json!({ "words": 1 }));
    let first = store.fn_run_start(&born).await.expect("born");
    let before = db.fingerprint().await;
    let again = store.fn_run_start(&born).await.expect("the first answer");
    assert!(again.replayed);
    assert_eq!(first.hash, again.hash);
    let mut other = born.clone();
    other.data = json!({ "words": 2 });
    assert_eq!(codes(store.fn_run_start(&other).await), [RS023]);
    let mut other = born.clone();
    other.idempotency_key = "another".to_owned();
    assert_eq!(codes(store.fn_run_start(&other).await), [RS023]);
    let mut nowhere = birth("nothing", json!({}));
    assert_eq!(codes(store.fn_run_start(&nowhere).await), [RS018]);
    nowhere.machine = "letter".to_owned();
    nowhere.data = json!([]);
    assert_eq!(codes(store.fn_run_start(&nowhere).await), [RS014]);
    let mut stranger = birth("letter", json!({}));
    stranger.actor_class = "reviewer".to_owned();
    assert_eq!(codes(store.fn_run_start(&stranger).await), [RS004, RI003]);
    assert_eq!(before, db.fingerprint().await, "a refused birth leaves no run");
}

/// FSM-6: a batch gives a verdict each, in order; a refused move stops no other.
#[tokio::test]
async fn a_batch_gives_a_verdict_each() {
    let (_db, store) = letters().await;
    let runs = [draft(&store).await, draft(&store).await, draft(&store).await];
    let moves = vec![
        check(runs[2]),
        Move { principal: "nobody".to_owned(), ..check(runs[1]) },
        check(runs[0]),
        post(runs[2]),
    ];
    let reports = store.fn_state_transition_apply_batch(&moves).await.expect("verdicts");
    let summary: Vec<(bool, Vec<Code>)> =
        reports.iter().map(|r| (r.ok, r.problems.iter().map(|p| p.code).collect())).collect();
    assert_eq!(summary, [(true, vec![]), (false, vec![RI001]), (true, vec![]), (true, vec![])]);
    let states: Vec<String> = [
        store.run(runs[0]).await.expect("an answer").expect("a run").state,
        store.run(runs[1]).await.expect("an answer").expect("a run").state,
        store.run(runs[2]).await.expect("an answer").expect("a run").state,
    ]
    .into();
    assert_eq!(states, ["checked", "draft", "sent"]);
}

/// FSM-5: facets of a mixed wait pick the one with the lowest ordinal as primary.
#[tokio::test]
async fn the_primary_facet_has_the_lowest_ordinal() {
    let (_db, store) = letters().await;
    let run = draft(&store).await;
    store.fn_state_transition_apply(&check(run)).await.expect("checked");
    let facets = json!({ "facets": ["waiting_person", "waiting_stamp"] });
    let hold = a_move(run, "held", "reader", "reviewer", "rpc:letter_hold", facets);
    store.fn_state_transition_apply(&hold).await.expect("held");
    assert_eq!(
        store.run(run).await.expect("an answer").expect("a run").facet.as_deref(),
        Some("waiting_stamp")
    );
    let release = a_move(run, "checked", "poster", "executor_worker", "event:held_over", json!({}));
    store.fn_state_transition_apply(&release).await.expect("released");
    assert_eq!(
        store.run(run).await.expect("an answer").expect("a run").facet,
        None,
        "a facet goes with its state"
    );
}

/// EVT-1: a refused event is recorded by the refused caller.
#[tokio::test]
async fn a_refused_event_is_recorded() {
    let (db, store) = letters().await;
    let facts = json!({ "event_type": "letter.posted" });
    store.fn_event_validation_record("letter.posted", "RE002", &facts).await.expect("recorded");
    assert_eq!(
        codes(store.fn_event_validation_record("letter.posted", "RS004", &facts).await),
        [RE004]
    );
    let mut admin = db.superuser().await;
    let rows: i64 = sqlx::query_scalar("select count(*) from event.event_validation_audit")
        .fetch_one(&mut admin)
        .await
        .expect("a count");
    assert_eq!(rows, 1);
}

/// EVT-1: an event type that was switched off is refused at the move.
#[tokio::test]
async fn an_inactive_event_type_is_refused() {
    let (db, store) = letters().await;
    let run = draft(&store).await;
    let mut admin = db.superuser().await;
    for statement in [
        "set role chancery_owner",
        "update event.event_type_registry set active = false where event_type = 'letter.checked'",
    ] {
        sqlx::query(statement).execute(&mut admin).await.expect("the operator's own change");
    }
    assert_eq!(codes(store.fn_state_transition_apply(&check(run)).await), [RE001]);
}

/// SEC-3: the login decides for whom it can act; another duty's class is refused although the principal holds it.
#[tokio::test]
async fn a_login_acts_only_for_its_own_duty() {
    let (db, store) = letters().await;
    let run = draft(&store).await;
    for role in [Role::CutterExec, Role::CutterVerify, Role::CutterReview] {
        let other = db.store(role);
        assert_eq!(codes(other.fn_state_transition_apply(&check(run)).await), [RI004], "{role:?}");
    }
}

/// An array in an array, so many levels deep.
fn nested(levels: usize) -> serde_json::Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}
