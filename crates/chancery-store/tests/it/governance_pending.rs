//! Events that cannot be emitted wait, are tried again, and end as a finding, never lost (EVT-3, ADM-7).

use chancery_model::refusal::Code::{RE001, RI003};
use chancery_store::{Role, Store};
use chancery_testkit::TestDb;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::governance_world::{as_a_room, ask, clock_ahead, governed, setting};
use crate::outbox::{METER, new_meter, tick};
use crate::support::codes;

/// A meter whose ticks are not an active type of event.
async fn a_mute_meter() -> (TestDb, Store, Uuid) {
    let (db, store) = governed().await;
    db.service("writer", &["executor_worker"]).await;
    db.machine(METER).await;
    as_a_room(&db).await;
    let meter = store.fn_run_start(&new_meter()).await.expect("a meter").run_id;
    active(&db, false).await;
    (db, store, meter)
}

async fn active(db: &TestDb, active: bool) {
    let mut admin = db.superuser().await;
    admin.execute("set role chancery_owner").await.expect("the superuser may");
    let statement = format!(
        "update event.event_type_registry set active = {active} where event_type = 'meter.ticked'"
    );
    admin.execute(AssertSqlSafe(statement)).await.expect("a type is switched");
}

async fn capture(db: &TestDb, meter: Uuid, key: &str, evidence: &str) -> Value {
    let statement = format!(
        "select event.capture_pending('meter.ticked', 'custom', '{meter}', 'running', 'executor_worker', 'timer', 'meter_tick',
                                      '{evidence}', '{key}', 'the type is not active', 'writer')::text"
    );
    let answer = ask(db, &statement).await.expect("an answer").expect("a report");
    serde_json::from_str(&answer).expect("JSON")
}

async fn states(db: &TestDb) -> Vec<String> {
    db.texts("select state || ' ' || attempts from event.event_pending order by pending_id")
        .await
        .into_iter()
        .flatten()
        .collect()
}

/// ADM-7: what waits is emitted by the move it stands for, once, when its type becomes active.
#[tokio::test]
async fn a_pending_event_is_emitted_when_it_can_be() {
    let (db, store, meter) = a_mute_meter().await;
    assert_eq!(codes(store.fn_state_transition_apply(&tick(meter)).await), [RE001]);
    let captured = capture(&db, meter, "k1", "{}").await;
    assert_eq!(captured["captured"], json!(true));
    let again = capture(&db, meter, "k1", "{}").await;
    assert_eq!(
        (&again["captured"], &again["pending_id"]),
        (&json!(false), &captured["pending_id"]),
        "kept once"
    );

    let tried = store.fn_event_pending_retry(10, "chancery").await.expect("a pass");
    assert_eq!((tried.emitted, tried.waiting, tried.dead), (0, 1, 0));
    let problem = db.text("select last_problems -> 0 ->> 'code' from event.event_pending").await;
    assert_eq!(problem, "RE001");
    let tried = store.fn_event_pending_retry(10, "chancery").await.expect("a pass");
    assert_eq!((tried.emitted, tried.waiting, tried.dead), (0, 0, 0), "not before its time");

    active(&db, true).await;
    clock_ahead(&db, "1 minute").await;
    let tried = store.fn_event_pending_retry(10, "chancery").await.expect("a pass");
    assert_eq!((tried.emitted, tried.waiting, tried.dead), (1, 0, 0));
    assert_eq!(states(&db).await, ["emitted 2"]);
    let told = db
        .text("select o.event_type || ' ' || o.subject_seq from event.event_outbox o join event.event_pending p on p.emitted_event_id = o.event_id")
        .await;
    assert_eq!(told, "meter.ticked 2");
    clock_ahead(&db, "1 day").await;
    let tried = store.fn_event_pending_retry(10, "chancery").await.expect("a pass");
    assert_eq!(tried.emitted, 0, "once");
    assert_eq!(db.count("event.event_outbox where event_type = 'meter.ticked'").await, 1);
}

/// ADM-6, ADM-7: an event that never can be emitted is dead after its tries, with a finding, and stays to be looked at.
#[tokio::test]
async fn a_pending_event_dies_as_a_finding() {
    let (db, store, meter) = a_mute_meter().await;
    setting(&db, "event_pending.max_attempts", "3").await;
    capture(&db, meter, "k1", "{}").await;
    // The move of the second one is impossible for another reason: its run does not exist. One does not stop the other.
    capture(&db, Uuid::nil(), "k2", "{}").await;
    for round in 1..=3 {
        clock_ahead(&db, &format!("{round} hours")).await;
        let tried = store.fn_event_pending_retry(10, "chancery").await.expect("a pass");
        assert_eq!((tried.waiting, tried.dead), if round < 3 { (2, 0) } else { (0, 2) });
    }
    assert_eq!(states(&db).await, ["dead 3", "dead 3"]);
    let issues = store
        .issues(chancery_store::governance::IssueFilter::default(), 10)
        .await
        .expect("findings");
    assert_eq!(issues.len(), 2);
    assert!(
        issues.iter().all(|issue| issue.issue_type == "handoff_dlq" && issue.issue_class == "dlq")
    );
    let reasons: Vec<&Value> = issues.iter().map(|issue| &issue.evidence["codes"]).collect();
    assert!(
        reasons.contains(&&json!(["RE001"])) && reasons.contains(&&json!(["RS001"])),
        "{reasons:?}"
    );
    clock_ahead(&db, "1 week").await;
    let tried = store.fn_event_pending_retry(10, "chancery").await.expect("a pass");
    assert_eq!((tried.emitted, tried.waiting, tried.dead), (0, 0, 0), "dead is dead");
}

/// EVT-1: what may not stand in an event may not wait for one either; nothing is kept of it.
#[tokio::test]
async fn a_denied_payload_is_not_captured() {
    let (db, store, meter) = a_mute_meter().await;
    let large = format!(r#"{{"event": {{"text": "{}"}}}}"#, "x".repeat(17_000));
    for evidence in [
        r#"{"event": {"token": "t0p"}}"#,
        r#"{"note": {"deep": [{"Secret": "t0p"}]}}"#,
        large.as_str(),
    ] {
        let report = capture(&db, meter, "k", evidence).await;
        assert_eq!(
            (&report["ok"], &report["problems"][0]["code"]),
            (&json!(false), &json!("RE002"))
        );
        assert!(!report.to_string().contains("t0p"));
    }
    assert_eq!(db.count("event.event_pending").await, 0);
    assert_eq!(codes(store.fn_event_pending_retry(10, "writer").await), [RI003]);
    assert!(
        db.store(Role::CutterExec).fn_event_pending_retry(10, "chancery").await.is_err(),
        "not its door"
    );
}

/// ADM-7: two passes at once take each event once.
#[tokio::test]
async fn passes_at_once_share_the_pending() {
    let (db, store, meter) = a_mute_meter().await;
    for n in 0..20 {
        capture(&db, meter, &format!("k{n}"), "{}").await;
    }
    active(&db, true).await;
    let passes: Vec<_> = (0..4)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                store.fn_event_pending_retry(10, "chancery").await.expect("a pass").emitted
            })
        })
        .collect();
    let mut emitted = 0;
    for pass in passes {
        emitted += pass.await.expect("no panic");
    }
    emitted += store.fn_event_pending_retry(100, "chancery").await.expect("the rest").emitted;
    assert_eq!(emitted, 20);
    assert_eq!(db.count("event.event_outbox where event_type = 'meter.ticked'").await, 20);
}
