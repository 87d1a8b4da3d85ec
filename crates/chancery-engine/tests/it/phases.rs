//! CUT-1 … CUT-9: the four phases, what each of them writes, and that doing it again writes nothing.

use chancery_engine::cutter::{self, AbandonRequest, MarkRequest, ReviewRequest, Verdict};
use chancery_engine::iu;
use chancery_model::refusal::Code;
use uuid::Uuid;

use crate::scene::{ONE, SEVERAL, Scene, codes};

/// COMPANIONS §2.14: fifteen rows for one unit, and none more when every phase is done again.
#[tokio::test]
async fn one_unit_makes_fifteen_rows_and_a_repetition_none() {
    let scene = Scene::new().await;
    let added = scene.add("rules", "RULES", ONE).await;
    assert_eq!(added.cut.units.len(), 1);
    let entry = scene.mark("rules").await;
    assert_eq!(scene.sweep().await, [entry]);
    let reviewed = scene.review(entry, Verdict::Approve).await.expect("approved");
    let cut = scene.cut(entry).await.expect("cut");
    assert_eq!((cut.status.as_str(), cut.units, cut.replayed), ("cut_applied", Some(1), false));
    let verified = scene.verify(entry).await.expect("verified");
    assert!(verified.passed(), "{:?}", verified.findings);
    assert_eq!(verified.report.status, "verified_complete");
    let expected = [
        ("decision_backlog_entry", 1),
        ("decision_backlog_history", 5),
        ("decision_backlog_dependency", 0),
        ("decision_backlog_sweep_log", 1),
        ("manifest_envelope", 1),
        ("manifest_unit_block", 1),
        ("review_decision", 1),
        ("dot_pair_signature", 2),
        ("cut_change_set", 1),
        ("cut_change_set_affected_row", 1),
        ("verify_result", 1),
        ("canonical_address_alias", 0),
    ];
    assert_eq!(scene.counts().await, expected);
    assert_eq!(scene.counts().await.iter().map(|(_, n)| n).sum::<i64>(), 15);

    let before = scene.db.fingerprint().await;
    assert_eq!(scene.mark("rules").await, entry);
    let again = scene.review(entry, Verdict::Approve).await.expect("the same decision");
    assert!(again.replayed);
    assert_eq!(again.review_decision_id, reviewed.review_decision_id);
    let again = scene.cut(entry).await.expect("the same cut");
    assert!(again.replayed);
    assert_eq!(again.change_set_id, cut.change_set_id);
    let again = scene.verify(entry).await.expect("the same verdict");
    assert!(again.report.replayed && again.passed());
    assert_eq!(again.report.verify_result_id, verified.report.verify_result_id);
    assert_eq!(scene.db.fingerprint().await, before, "nothing was written twice");
}

/// The same shape for N units, and the units are the source.
#[tokio::test]
async fn several_units_make_the_same_shape_and_are_the_source() {
    let scene = Scene::new().await;
    let added = scene.add("several", "SEV", SEVERAL).await;
    let n = i64::try_from(added.cut.units.len()).expect("few");
    assert_eq!(n, 5);
    let entry = scene.mark("several").await;
    scene.sweep().await;
    scene.review(entry, Verdict::Approve).await.expect("approved");
    scene.cut(entry).await.expect("cut");
    let verified = scene.verify(entry).await.expect("verified");
    assert!(verified.passed(), "{:?}", verified.findings);
    let counts: Vec<i64> = scene.counts().await.into_iter().map(|(_, count)| count).collect();
    assert_eq!(counts, [1, 5, 0, 1, 1, n, 1, 2, 1, n, 1, 0]);
    assert_eq!(iu::cat(&scene.app, "several").await.expect("an answer").as_deref(), Some(SEVERAL));
    let units = iu::units(&scene.app, "several").await.expect("an answer").expect("a document");
    assert_eq!(units.len(), added.cut.units.len());
    assert!(units.iter().all(|unit| unit.owner_ref == "alice" && unit.lifecycle_status == "draft"));
    let shown = cutter::show(&scene.app, entry).await.expect("shown");
    assert_eq!(shown.detail.history.len(), 5);
    assert_eq!(
        shown.ways_on.iter().map(|way| way.to.as_str()).collect::<Vec<_>>(),
        ["abandoned"],
        "success is terminal but for its bookkeeping"
    );
}

/// A legal text is cut by its own structure, with the words of law.
#[tokio::test]
async fn a_law_is_cut_into_law_units() {
    let scene = Scene::new().await;
    let law = "Chương I\nQUY ĐỊNH CHUNG\n\nĐiều 1. Phạm vi\n\n1. Luật này.\n\na) Một;\n\nb) Hai.\n\nĐiều 2. Đối tượng\n\nTất cả.\n";
    let entry = scene.applied("luat", "LUAT", law).await;
    let verified = scene.verify(entry).await.expect("verified");
    assert!(verified.passed(), "{:?}", verified.findings);
    let units = iu::units(&scene.app, "luat").await.expect("an answer").expect("a document");
    assert!(units.iter().all(|unit| unit.unit_kind == "law_unit"));
    assert!(units.iter().any(|unit| unit.section_type == "article"));
    assert_eq!(iu::cat(&scene.app, "luat").await.expect("an answer").as_deref(), Some(law));
}

/// CUT-6: deferred, swept again and approved without a change; each decision supersedes the one before.
#[tokio::test]
async fn a_deferred_request_comes_back_and_can_be_approved_unchanged() {
    let scene = Scene::new().await;
    scene.add("rules", "RULES", ONE).await;
    let entry = scene.mark("rules").await;
    scene.sweep().await;
    let deferred = scene.review(entry, Verdict::Defer).await.expect("deferred");
    assert_eq!(deferred.status, "reviewed_deferred");
    let again = scene.review(entry, Verdict::Defer).await.expect("the same decision");
    assert!(again.replayed);
    assert_eq!(scene.sweep().await, [entry]);
    let approved = scene.review(entry, Verdict::Approve).await.expect("approved");
    assert_eq!(approved.status, "reviewed_approved");
    let shown = cutter::show(&scene.app, entry).await.expect("shown");
    let [first, second] = shown.detail.decisions.as_slice() else { panic!("two decisions") };
    assert_eq!(first.superseded_by, Some(second.review_decision_id));
    assert_eq!(second.prior_review_decision_id, Some(first.review_decision_id));
    assert_eq!(first.manifest_digest, second.manifest_digest, "the same plan");
    scene.cut(entry).await.expect("cut");
    assert!(scene.verify(entry).await.expect("verified").passed());
}

/// CUT-6: an approval can be taken back before it is used; then there is nothing to cut.
#[tokio::test]
async fn an_approval_that_was_superseded_cannot_be_cut() {
    let scene = Scene::new().await;
    let entry = scene.approved("rules", "RULES", ONE).await;
    scene.review(entry, Verdict::Defer).await.expect("deferred after all");
    assert_eq!(scene.status(entry).await, "reviewed_deferred");
    let before = scene.db.fingerprint().await;
    assert_eq!(codes(scene.cut(entry).await)[0], Code::RS004);
    assert_eq!(scene.db.fingerprint().await, before);
}

/// CUT-6: reject is terminal.
#[tokio::test]
async fn a_rejected_request_is_neither_swept_nor_cut_nor_reviewed_again() {
    let scene = Scene::new().await;
    scene.add("rules", "RULES", ONE).await;
    let entry = scene.mark("rules").await;
    scene.sweep().await;
    scene.review(entry, Verdict::Reject).await.expect("rejected");
    assert_eq!(scene.sweep().await, Vec::<Uuid>::new());
    assert_eq!(codes(scene.review(entry, Verdict::Approve).await)[0], Code::RS004);
    assert_eq!(codes(scene.cut(entry).await)[0], Code::RS004);
    assert_eq!(scene.status(entry).await, "reviewed_rejected");
}

/// CUT-5: a pass that finds nothing has its row as well.
#[tokio::test]
async fn every_pass_of_the_sweep_is_on_record() {
    let scene = Scene::new().await;
    assert_eq!(scene.sweep().await, Vec::<Uuid>::new());
    scene.add("rules", "RULES", ONE).await;
    let entry = scene.mark("rules").await;
    assert_eq!(scene.sweep().await, [entry]);
    assert_eq!(scene.db.count("cutter_governance.decision_backlog_sweep_log").await, 2);
}

/// CUT-7: what a request waits for is verified first.
#[tokio::test]
async fn a_request_waits_for_what_it_depends_on() {
    let scene = Scene::new().await;
    scene.add("base", "BASE", ONE).await;
    scene.add("annex", "ANNEX", SEVERAL).await;
    let base = scene.mark("base").await;
    let request = MarkRequest {
        document_id: "annex".to_owned(),
        depends_on: vec![base],
        ..MarkRequest::default()
    };
    let annex = scene.mark_with(&request).await.expect("marked").entry_id;
    assert_eq!(scene.mark_with(&request).await.expect("marked before").entry_id, annex);
    scene.sweep().await;
    for entry in [base, annex] {
        scene.review(entry, Verdict::Approve).await.expect("approved");
    }
    let before = scene.db.fingerprint().await;
    let refused = scene.cut(annex).await;
    assert_eq!(codes(refused), [Code::RS006]);
    assert_eq!(scene.db.fingerprint().await, before);
    scene.cut(base).await.expect("cut");
    assert_eq!(codes(scene.cut(annex).await), [Code::RS006], "cut is not verified");
    assert!(scene.verify(base).await.expect("verified").passed());
    scene.cut(annex).await.expect("cut");
    assert!(scene.verify(annex).await.expect("verified").passed());
}

/// A verdict on a completed request is chained to the one before and moves nothing.
#[tokio::test]
async fn a_second_verification_is_chained() {
    let scene = Scene::new().await;
    let entry = scene.applied("several", "SEV", SEVERAL).await;
    let first = scene.verify(entry).await.expect("verified");
    let second =
        cutter::verify_again(&scene.verify, &scene.vera, entry).await.expect("verified again");
    assert!(second.passed() && !second.report.replayed);
    assert_eq!(second.report.status, "verified_complete");
    let shown = cutter::show(&scene.app, entry).await.expect("shown");
    assert_eq!(shown.detail.verify_results.len(), 2);
    assert_eq!(
        shown.detail.verify_results[1].prior_verify_result_id,
        first.report.verify_result_id
    );
    assert_eq!(shown.detail.history.len(), 5, "nothing moved");
}

/// CUT-1: the sovereign gives up; what was cut and not verified is taken back.
#[tokio::test]
async fn an_abandoned_cut_is_taken_back_and_its_addresses_are_free() {
    let scene = Scene::new().await;
    let entry = scene.applied("several", "SEV", SEVERAL).await;
    let request = AbandonRequest { reason: "withdrawn".to_owned(), ..AbandonRequest::default() };
    let abandoned =
        cutter::abandon(&scene.app, &scene.sam, entry, &request).await.expect("abandoned");
    assert_eq!(abandoned.status, "abandoned");
    assert!(abandoned.rollback_change_set_id.is_some());
    assert_eq!(scene.db.count("iu.information_unit where deleted_at is null").await, 0);
    let before = scene.db.fingerprint().await;
    let again = cutter::abandon(&scene.app, &scene.sam, entry, &request).await.expect("the same");
    assert!(again.replayed);
    assert_eq!(scene.db.fingerprint().await, before);
    assert_eq!(codes(scene.verify(entry).await)[0], Code::RC019);

    // The same version again is another request.
    let request = MarkRequest {
        document_id: "several".to_owned(),
        idempotency_key: Some("second try".to_owned()),
        ..MarkRequest::default()
    };
    let second = scene.mark_with(&request).await.expect("marked").entry_id;
    scene.sweep().await;
    scene.review(second, Verdict::Approve).await.expect("approved");
    scene.cut(second).await.expect("cut");
    let verified = scene.verify(second).await.expect("verified");
    assert!(verified.passed(), "{:?}", verified.findings);
}

/// A decision names the plan that was looked at.
#[tokio::test]
async fn the_plan_that_was_looked_at_can_be_named() {
    let scene = Scene::new().await;
    scene.add("rules", "RULES", ONE).await;
    let entry = scene.mark("rules").await;
    scene.sweep().await;
    let plan = cutter::plan(&scene.reviewer, entry).await.expect("a plan");
    let mut request = ReviewRequest::new(Verdict::Approve);
    request.manifest_digest = Some([7; 32]);
    let before = scene.db.fingerprint().await;
    let refused = cutter::review(&scene.reviewer, &scene.rita, entry, &request).await;
    assert_eq!(codes(refused), [Code::RC006]);
    assert_eq!(scene.db.fingerprint().await, before);
    request.manifest_digest = Some(plan.digest);
    cutter::review(&scene.reviewer, &scene.rita, entry, &request).await.expect("approved");
}

/// A key that is revoked later does not void what it signed before, neither for the executor nor for the verifier.
#[tokio::test]
async fn a_key_revoked_later_does_not_void_what_it_signed() {
    let scene = Scene::new().await;
    let entry = scene.approved("rules", "RULES", ONE).await;
    scene.cut(entry).await.expect("cut");
    let key = scene.rita.key.as_ref().expect("a key").key_id;
    scene.operator.fn_key_revoke(key, "lost", None).await.expect("revoked");
    let key = scene.dora.key.as_ref().expect("a key").key_id;
    scene.operator.fn_key_revoke(key, "lost", None).await.expect("revoked");
    let verified = scene.verify(entry).await.expect("verified");
    assert!(verified.passed(), "{:?}", verified.findings);
}
