//! Bad input and the wrong person: a clear refusal each, and nothing written.

use chancery_engine::Error;
use chancery_engine::cutter::{self, AbandonRequest, MarkRequest, ReviewRequest, Verdict};
use chancery_engine::identity::new_key;
use chancery_engine::iu::{NewDocument, add_document};
use chancery_engine::run::Actor;
use chancery_model::cutter::entry_id;
use chancery_model::refusal::Code;
use uuid::Uuid;

use crate::scene::{ONE, SEVERAL, Scene, codes, facts};

fn request(document: &str) -> MarkRequest {
    MarkRequest { document_id: document.to_owned(), ..MarkRequest::default() }
}

/// IU-1: what cannot be cut is not stored.
#[tokio::test]
async fn a_document_that_cannot_be_cut_is_refused_with_the_place() {
    let scene = Scene::new().await;
    scene.add("taken", "TAKEN", ONE).await;
    let before = scene.db.fingerprint().await;
    let add = async |prefix: Option<&str>, body: &[u8]| {
        let document = NewDocument {
            document_id: "doc",
            prefix,
            media_type: "text/markdown",
            body,
            profile: None,
        };
        add_document(&scene.app, "alice", &document).await
    };
    for (reason, line, body) in [
        ("not_utf8", Some(2), &b"# A\n\xff\n"[..]),
        ("nul_character", Some(3), b"# A\n\na\0b\n"),
        ("empty", None, b""),
        ("empty", None, b" \n\t\n"),
        ("no_structure", None, b"Only words.\n"),
        ("address_collision", Some(3), b"# A\n\n# A\n"),
    ] {
        let facts = facts(add(Some("DOC"), body).await);
        assert_eq!(facts["reason"], reason, "{facts}");
        assert_eq!(facts["line"].as_u64(), line, "{facts}");
        assert_eq!(facts["document"], "doc");
    }
    assert_eq!(codes(add(Some("DOC"), b"").await), [Code::RI022]);
    assert_eq!(codes(add(Some("TAKEN"), ONE.as_bytes()).await), [Code::RI021]);
    for prefix in [Some("low"), Some("X"), None] {
        assert_eq!(codes(add(prefix, ONE.as_bytes()).await), [Code::RI020], "{prefix:?}");
    }
    assert_eq!(scene.db.fingerprint().await, before);
    add(Some("DOC"), ONE.as_bytes()).await.expect("a document");
    let again = add(None, ONE.as_bytes()).await.expect("the same bytes");
    assert!(again.source.replayed);
    assert_eq!(add(None, SEVERAL.as_bytes()).await.expect("the next").source.version_seq, 2);
}

#[tokio::test]
async fn a_malformed_request_is_refused() {
    let scene = Scene::new().await;
    scene.add("rules", "RULES", ONE).await;
    scene.mark("rules").await;
    let before = scene.db.fingerprint().await;
    assert_eq!(codes(scene.mark_with(&request("nothing")).await), [Code::RC002]);
    let missing = MarkRequest { version: Some(9), ..request("rules") };
    assert_eq!(codes(scene.mark_with(&missing).await), [Code::RC002]);
    let own_key = "around".to_owned();
    let circle = MarkRequest {
        depends_on: vec![entry_id(&own_key)],
        idempotency_key: Some(own_key),
        ..request("rules")
    };
    assert_eq!(codes(scene.mark_with(&circle).await), [Code::RC003]);
    let unknown = MarkRequest {
        depends_on: vec![Uuid::nil()],
        idempotency_key: Some("other".to_owned()),
        ..request("rules")
    };
    assert_eq!(codes(scene.mark_with(&unknown).await), [Code::RC004]);
    let other = MarkRequest { signal_source: Some("router".to_owned()), ..request("rules") };
    assert_eq!(
        codes(scene.mark_with(&other).await),
        [Code::RC015],
        "the same key, another request"
    );
    assert_eq!(scene.db.fingerprint().await, before);
}

#[tokio::test]
async fn an_unknown_entry_is_refused_by_every_phase() {
    let scene = Scene::new().await;
    let nowhere = Uuid::now_v7();
    assert_eq!(codes(scene.review(nowhere, Verdict::Approve).await), [Code::RC001]);
    assert_eq!(codes(scene.cut(nowhere).await), [Code::RC001]);
    assert_eq!(codes(scene.verify(nowhere).await), [Code::RC001]);
    assert_eq!(codes(cutter::show(&scene.app, nowhere).await), [Code::RC001]);
    let request = AbandonRequest { reason: "x".to_owned(), ..AbandonRequest::default() };
    let abandoned = cutter::abandon(&scene.app, &scene.sam, nowhere, &request).await;
    assert_eq!(codes(abandoned), [Code::RC001]);
}

/// G-REVIEW-AUTH: nobody approves a request of their own.
#[tokio::test]
async fn a_reviewer_does_not_approve_what_they_marked() {
    let scene = Scene::new().await;
    scene.add("rules", "RULES", ONE).await;
    let entry =
        cutter::mark(&scene.app, &scene.ruth, &request("rules")).await.expect("marked").entry_id;
    scene.sweep().await;
    let before = scene.db.fingerprint().await;
    let approve = ReviewRequest::new(Verdict::Approve);
    let refused = cutter::review(&scene.reviewer, &scene.ruth, entry, &approve).await;
    let facts = facts(refused);
    assert_eq!(facts["guard"], "G-REVIEW-AUTH", "{facts}");
    assert_eq!(scene.db.fingerprint().await, before);
    scene.review(entry, Verdict::Approve).await.expect("somebody else may");
}

/// Each duty has its login and its class.
#[tokio::test]
async fn a_phase_by_the_wrong_person_or_login_is_refused() {
    let scene = Scene::new().await;
    scene.add("rules", "RULES", ONE).await;
    let entry = scene.mark("rules").await;
    scene.sweep().await;
    let approve = ReviewRequest::new(Verdict::Approve);
    let before = scene.db.fingerprint().await;
    let by_alice = cutter::review(&scene.reviewer, &scene.alice, entry, &approve).await;
    assert_eq!(codes(by_alice), [Code::RI003]);
    let at_the_app = cutter::review(&scene.app, &scene.rita, entry, &approve).await;
    let at_the_app = at_the_app.expect_err("denied");
    assert!(is_denied(&at_the_app), "{at_the_app:?}");
    assert_eq!(scene.db.fingerprint().await, before);

    scene.review(entry, Verdict::Approve).await.expect("approved");
    let before = scene.db.fingerprint().await;
    let by_verifier = cutter::cut(&scene.verify, &scene.vera, entry).await;
    assert!(is_denied(&by_verifier.expect_err("denied")), "cutter_verify does not cut");
    assert_eq!(codes(cutter::cut(&scene.exec, &scene.vera, entry).await), [Code::RI003]);
    let unsigned = Actor::new("dora".to_owned(), None);
    assert_eq!(codes(cutter::cut(&scene.exec, &unsigned, entry).await), [Code::RI008]);
    assert_eq!(codes(scene.verify(entry).await), [Code::RC019], "there is nothing to verify");
    assert_eq!(scene.db.fingerprint().await, before);

    scene.cut(entry).await.expect("cut");
    let before = scene.db.fingerprint().await;
    let by_executor = cutter::verify(&scene.exec, &scene.dora, entry).await;
    assert!(is_denied(&by_executor.expect_err("denied")), "cutter_exec does not verify");
    assert_eq!(codes(cutter::verify(&scene.verify, &scene.dora, entry).await), [Code::RI003]);
    let unsigned = Actor::new("vera".to_owned(), None);
    assert_eq!(codes(cutter::verify(&scene.verify, &unsigned, entry).await), [Code::RI008]);
    let request = AbandonRequest { reason: "x".to_owned(), ..AbandonRequest::default() };
    let abandoned = cutter::abandon(&scene.app, &scene.alice, entry, &request).await;
    assert_eq!(codes(abandoned), [Code::RI003]);
    assert_eq!(scene.db.fingerprint().await, before);
}

/// G-VERIFY-SOD: nobody verifies a cut of their own, whatever classes they hold.
#[tokio::test]
async fn nobody_verifies_a_cut_of_their_own() {
    let scene = Scene::new().await;
    let classes = ["executor_dot991".to_owned(), "verifier_dot992".to_owned()];
    scene.operator.fn_principal_add("both", "service", &classes, None).await.expect("a service");
    new_key(&scene.operator, &scene.keystore, "both", None).await.expect("a key");
    let both = Actor::open(&scene.app, &scene.keystore, "both").await.expect("an actor");
    let entry = scene.approved("rules", "RULES", ONE).await;
    cutter::cut(&scene.exec, &both, entry).await.expect("cut");
    let before = scene.db.fingerprint().await;
    assert_eq!(codes(cutter::verify(&scene.verify, &both, entry).await), [Code::RC020]);
    assert_eq!(scene.db.fingerprint().await, before);
    assert!(scene.verify(entry).await.expect("verified").passed());
}

/// F-3, F-8: no phase is skipped.
#[tokio::test]
async fn a_phase_out_of_turn_is_refused() {
    let scene = Scene::new().await;
    scene.add("rules", "RULES", ONE).await;
    let entry = scene.mark("rules").await;
    let before = scene.db.fingerprint().await;
    assert_eq!(codes(scene.cut(entry).await)[0], Code::RS004);
    assert_eq!(codes(scene.review(entry, Verdict::Approve).await)[0], Code::RS004);
    scene.db.text("select 1::text").await;
    assert_eq!(scene.db.fingerprint().await, before);
    scene.sweep().await;
    let before = scene.db.fingerprint().await;
    assert_eq!(codes(scene.cut(entry).await)[0], Code::RS004);
    assert_eq!(scene.db.fingerprint().await, before);
}

/// A document is cut once: a second request for another version finds the addresses taken.
#[tokio::test]
async fn an_address_that_is_taken_is_not_cut_again() {
    let scene = Scene::new().await;
    let first = scene.applied("rules", "RULES", ONE).await;
    assert!(scene.verify(first).await.expect("verified").passed());
    let second = scene.approved("rules", "RULES", &format!("{ONE}\nMore.\n")).await;
    let before = scene.db.fingerprint().await;
    assert_eq!(codes(scene.cut(second).await), [Code::RC011]);
    assert_eq!(scene.db.fingerprint().await, before);
}

/// The executor acts on no decision that it cannot prove: a plan, a source or a signature that was changed after the approval.
#[tokio::test]
async fn the_executor_does_not_act_on_a_decision_that_does_not_hold() {
    let scene = Scene::new().await;
    let entry = scene.approved("several", "SEV", SEVERAL).await;
    // Constraints hold for a superuser as well, who can drop them.
    scene.db.forge(&["alter table iu.source_version drop constraint source_is_what_its_digest_says, drop constraint source_length_is_its_length"]).await;
    for (table, change, expected) in [
        ("cutter_governance.manifest_unit_block", "title = title || '!'", "decision_differs"),
        (
            "cutter_governance.manifest_unit_block",
            "region_sha = sha256('x')",
            "manifest_hash_differs",
        ),
        ("cutter_governance.manifest_envelope", "unit_kind = 'law_unit'", "decision_differs"),
        (
            "cutter_governance.review_decision",
            "signature = set_byte(signature, 3, get_byte(signature, 3) # 1)",
            "signature_bad",
        ),
        ("cutter_governance.review_decision", "reviewer_identity = 'alice'", "decision_by_marker"),
        (
            "cutter_governance.review_decision",
            "verdict_rationale = 'I never said so'",
            "decision_payload_differs",
        ),
        (
            "cutter_governance.review_decision",
            "decision_payload = replace(decision_payload, 'low', 'high')",
            "decision_payload_differs",
        ),
        ("iu.source_version", "body = body || ' '::bytea", "source_differs"),
        (
            "identity.signing_key",
            "revoked_at = '2020-01-01', revoke_reason = 'lost' where principal = 'rita'",
            "key_revoked",
        ),
        (
            "identity.signing_key",
            "principal = 'ruth' where principal = 'rita'",
            "key_of_somebody_else",
        ),
    ] {
        let (set, condition) = change.split_once(" where ").unwrap_or((change, "true"));
        let copy = format!("create table public.kept as table {table}");
        let forged = format!("update {table} set {set} where {condition}");
        assert!(scene.db.forge(&[&copy, &forged]).await > 0);
        let before = scene.db.fingerprint().await;
        let error = scene.cut(entry).await.expect_err("not trusted");
        let Error::Untrusted { findings, .. } = &error else { panic!("{change}: {error}") };
        assert!(findings.iter().any(|f| f.finding == expected), "{change}: {error}");
        assert_eq!(scene.db.fingerprint().await, before);
        let (emptied, restored) = (
            format!("delete from {table}"),
            format!("insert into {table} select * from public.kept"),
        );
        scene.db.forge(&[&emptied, &restored, "drop table public.kept"]).await;
    }
    scene.cut(entry).await.expect("as approved");
    assert!(scene.verify(entry).await.expect("verified").passed());
}

fn is_denied(error: &Error) -> bool {
    matches!(error, Error::Store(chancery_store::Error::Denied(_)))
}
