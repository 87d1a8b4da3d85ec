//! CUT-12: what fails for a passing reason is tried again, then handed on.

use chancery_engine::Error;
use chancery_engine::audit::{self, Pins};
use chancery_engine::cutter;
use chancery_model::refusal::Code;

use crate::scene::{ONE, Scene, codes};

/// A cut that keeps meeting a lock is given up after the attempts that the settings allow; an entry asks for somebody to look, and
/// asks once.
#[tokio::test]
async fn exhausted_attempts_become_an_escalation_entry() {
    let scene = Scene::new().await;
    let entry = scene.approved("rules", "RULES", ONE).await;
    scene
        .db
        .forge(&[
            "update config.dot_config set value = '1' where key = 'cutter.retry.backoff_ms'",
            // Every cut now fails as if another transaction were in the way.
            "create function iu.in_the_way() returns trigger language plpgsql as
               $$ begin raise exception 'in the way' using errcode = '55P03'; end $$",
            "create trigger in_the_way before insert on iu.information_unit execute function iu.in_the_way()",
            "alter table iu.information_unit enable always trigger in_the_way",
        ])
        .await;
    let mut handed_on = Vec::new();
    for _ in 0..2 {
        let error = scene.cut(entry).await.expect_err("given up");
        let Error::Exhausted { attempts, escalation, .. } = &error else { panic!("{error}") };
        assert_eq!(*attempts, 3);
        handed_on.push(escalation.expect("handed on"));
        assert!(error.to_string().contains("asks for somebody to look at it"), "{error}");
    }
    assert_eq!(handed_on[0], handed_on[1], "asked once");
    assert_eq!(scene.status(entry).await, "reviewed_approved", "nothing was cut");
    let shown = cutter::show(&scene.app, handed_on[0]).await.expect("shown");
    assert_eq!(shown.detail.entry.kind, "escalation");
    assert_eq!(shown.detail.entry.escalation_of, Some(entry));
    assert_eq!(shown.detail.entry.payload["signal_source"], "executor");

    scene.db.forge(&["drop trigger in_the_way on iu.information_unit"]).await;
    scene.cut(entry).await.expect("cut at last");
    assert!(scene.verify(entry).await.expect("verified").passed());
}

/// CUT-12: a verification that keeps failing for a passing reason is given up and asks for somebody, once; the cut waits as before, and
/// what was asked replays.
#[tokio::test]
async fn an_exhausted_verification_becomes_an_escalation_entry() {
    let scene = Scene::new().await;
    let entry = scene.applied("rules", "RULES", ONE).await;
    scene
        .db
        .forge(&[
            "update config.dot_config set value = '1' where key = 'cutter.retry.backoff_ms'",
            "create function iu.in_the_way() returns trigger language plpgsql as
               $$ begin raise exception 'in the way' using errcode = '55P03'; end $$",
            "create trigger in_the_way before insert on cutter_governance.verify_result execute function iu.in_the_way()",
            "alter table cutter_governance.verify_result enable always trigger in_the_way",
        ])
        .await;
    let mut handed_on = Vec::new();
    for _ in 0..2 {
        let error = scene.verify(entry).await.expect_err("given up");
        let Error::Exhausted { attempts: 3, escalation: Some(escalation), .. } = &error else {
            panic!("{error}")
        };
        handed_on.push(*escalation);
    }
    assert_eq!(handed_on[0], handed_on[1], "asked once");
    assert_eq!(scene.status(entry).await, "cut_applied", "it still waits");
    let shown = cutter::show(&scene.app, handed_on[0]).await.expect("shown");
    assert_eq!(shown.detail.entry.kind, "escalation");
    assert_eq!(shown.detail.entry.escalation_of, Some(entry));
    assert_eq!(shown.detail.entry.payload["signal_source"], "verify");

    scene
        .db
        .forge(&[
            "drop trigger in_the_way on cutter_governance.verify_result",
            "drop function iu.in_the_way()",
        ])
        .await;
    assert!(scene.verify(entry).await.expect("verified at last").passed());
    let refused = scene.verify.fn_escalate_verification(entry, "late", "vera").await;
    assert_eq!(codes(refused.map_err(Error::from)), [Code::RC019], "it has its verdict");
    let auditor = scene.db.store(chancery_store::Role::Auditor);
    let report = audit::verify(&auditor, Pins::default(), |_| ()).await.expect("an audit");
    assert_eq!(report.mismatches, []);
    let file = audit::export(&auditor, handed_on[0]).await.expect("an answer").expect("a file");
    let report = audit::verify_bundle(&file, Pins::default()).await.expect("a report");
    assert_eq!(report.mismatches, []);
}

/// A cut that is given up because somebody holds the entry's row is handed on as well: what says that an entry is stuck does not wait for it.
#[tokio::test]
async fn a_held_entry_is_escalated_as_well() {
    let scene = Scene::new().await;
    let entry = scene.approved("rules", "RULES", ONE).await;
    scene
        .db
        .forge(&[
            "update config.dot_config set value = '1' where key = 'cutter.retry.backoff_ms'",
            // Of this database alone: who waits for a lock waits long enough.
            "do $$ begin execute format('alter role cutter_exec in database %I set lock_timeout = 200', current_database()); end $$",
        ])
        .await;
    let exec = scene.db.fresh_store(chancery_store::Role::CutterExec);
    let held =
        scene.db.hold("select from cutter_governance.decision_backlog_entry for update").await;
    let error = cutter::cut(&exec, &scene.dora, entry).await.expect_err("given up");
    let Error::Exhausted { attempts: 3, escalation: Some(escalation), .. } = &error else {
        panic!("{error}")
    };
    let shown = cutter::show(&scene.app, *escalation).await.expect("shown");
    assert_eq!(shown.detail.entry.escalation_of, Some(entry));
    assert_eq!(scene.status(entry).await, "reviewed_approved", "nothing was cut");
    held.let_go().await;
    scene.cut(entry).await.expect("cut at last");
}
