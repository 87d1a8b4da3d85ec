//! SEC-1: what rests on a signature whose key was revoked before it was used carries nothing any more, and the refusal names it. What was used
//! before the revocation stays.

use chancery_engine::kb::{self, Writer};
use chancery_model::refusal::Code::{RA030, RS006};
use chancery_store::{Role, Store};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::approval_world::refusal;
use crate::cutter_world::World;
use crate::orchestrator_world::{World as Orchestra, block};
use crate::support::codes;

async fn revoke(operator: &Store, key_id: Uuid) {
    operator.fn_key_revoke(key_id, "the laptop was lost", None).await.expect("revoked");
}

/// The facts of the one problem with this code.
fn named(answer: Result<Value, chancery_store::Error>) -> Value {
    let error = answer.expect_err("a refusal");
    let problems = &error.refusal().unwrap_or_else(|| panic!("{error:?}")).problems;
    let mut facts = problems.iter().filter(|p| p.code == RA030).map(|p| p.facts.clone());
    let found = facts.next().unwrap_or_else(|| panic!("{problems:?}"));
    assert!(facts.next().is_none());
    json!(found)
}

/// SEC-1, CUT-7: an approved manifest is not cut by a decision whose key was revoked meanwhile; made again with a live key, it is.
#[tokio::test]
async fn a_decision_whose_key_is_revoked_is_not_cut() {
    let world = World::new().await;
    let operator = world.db.store(Role::Migrator);
    let document = world.document("one", "ONE").await;
    let done = world.document("two", "TWO").await;
    let entry = world.approved(&document, "one").await;
    let before_it = world.cut(&done, "two").await;
    let cut = world.a_cut(&document, entry, "executor").await;
    revoke(&operator, world.key("authority")).await;

    let before = world.db.fingerprint().await;
    assert_eq!(codes(world.exec.fn_cut(&cut).await), [RA030, RS006]);
    let answer = world.exec.fn_cut(&cut).await.map(|report| json!(report));
    let facts = named(answer);
    assert_eq!(
        (&facts["what"], &facts["id"], &facts["signer"], &facts["key_id"]),
        (
            &json!("review_decision"),
            &json!(cut.review_decision_id),
            &json!("authority"),
            &json!(world.key("authority"))
        )
    );
    assert_eq!(before, world.db.fingerprint().await);
    // What was cut before the revocation is answered as it was, and verified.
    let again = world.a_cut(&done, before_it, "executor").await;
    assert!(world.exec.fn_cut(&again).await.expect("told").replayed);
    let verdict = world.a_verdict(before_it, "pass", "verifier").await;
    world.verify.fn_verify(&verdict).await.expect("verified");

    // Somebody whose key lives defers it, and decides again after the next sweep.
    for verdict in ["defer", "approve"] {
        let mut review = world.a_review(&document, entry, verdict).await;
        review.principal = "authority_2".to_owned();
        world.sign_review(&mut review);
        world.review.fn_review(&review).await.expect("decided");
        world.swept().await;
    }
    let cut = world.a_cut(&document, entry, "executor").await;
    world.exec.fn_cut(&cut).await.expect("cut");
}

/// SEC-1, IU-3: units are not enacted by a decision whose key was revoked meanwhile.
#[tokio::test]
async fn a_decision_whose_key_is_revoked_enacts_nothing() {
    let world = World::new().await;
    let operator = world.db.store(Role::Migrator);
    let document = world.document("one", "ONE").await;
    let entry = world.verified(&document, "one").await;
    let decision = world.a_lifecycle_review(entry, "approve").await;
    world.review.fn_lifecycle_review(&decision).await.expect("decided");
    let units = world.manifest(&document).units;
    world.enact(&units[0].address, decision.review_decision_id).await.expect("enacted");
    revoke(&operator, world.key(&decision.principal)).await;
    let before = world.db.fingerprint().await;
    let facts = named(world.enact(&units[1].address, decision.review_decision_id).await);
    assert_eq!(facts["id"], json!(decision.review_decision_id));
    // What is enacted is told as it was.
    world.enact(&units[0].address, decision.review_decision_id).await.expect("told");
    assert_eq!(before, world.db.fingerprint().await);
}

/// SEC-1, ORC-2: a document by which a run was to be voided does not void it once its key is revoked.
#[tokio::test]
async fn a_document_whose_key_is_revoked_voids_nothing() {
    let world = Orchestra::new().await;
    let run = world.started("alpha").await;
    world.drive(&run, "IG_mark").await;
    let sara = world.cutter.actor("sara");
    let path = run.path("void").replacen("orchestrator/", "voids/", 1);
    let writer = Writer { principal: "sara", actor_class: "sovereign" };
    let body = block(&json!({ "run_id": run.name, "voids": true }));
    kb::put(&world.cutter.review, writer, &path, "void", body.as_bytes(), None)
        .await
        .expect("written");
    kb::sign(&world.cutter.review, sara, "sovereign", &path, None, "void").await.expect("signed");
    let key: Uuid = world
        .text("select key_id::text from identity.signing_key where principal = 'sara'")
        .await
        .parse()
        .expect("a key");
    revoke(&world.cutter.db.store(Role::Migrator), key).await;
    let before = world.cutter.db.fingerprint().await;
    let void = format!(
        "select orchestrator.fn_orchestrate_void('{}', '{{\"void_kb_id\": \"{path}\"}}', 'the wrong document', 'sara', null, null, '{{}}', null)",
        run.id
    );
    let answer = sqlx::query_scalar::<_, Value>(AssertSqlSafe(void))
        .fetch_one(&mut world.login(Role::CutterReview).await)
        .await;
    let (code, facts) = refusal(answer.map_err(Into::into));
    assert_eq!((code, &facts["what"], &facts["id"]), (RA030, &json!("document"), &json!(path)));
    assert_eq!((&facts["signer"], &facts["key_id"]), (&json!("sara"), &json!(key)));
    assert_eq!(before, world.cutter.db.fingerprint().await);
}

/// SEC-1, ORC-4: a run that was authorized goes on to its ledger: its decision was used with the authorization.
#[tokio::test]
async fn a_run_that_was_authorized_goes_on() {
    let world = Orchestra::new().await;
    let run = world.started("alpha").await;
    world.drive(&run, "SG_cut_authz_received").await;
    let operator = world.cutter.db.store(Role::Migrator);
    let keys =
        "select string_agg(key_id::text, ' ') from identity.signing_key where principal = 'sara'";
    for key in world.text(keys).await.split(' ') {
        revoke(&operator, key.parse().expect("an id")).await;
    }
    world.pass(&run, "IG_structural_verify").await;
    world.pass(&run, "IG_leg_b_record").await;
    assert_eq!(world.state(&run).await, "leg_b_recorded");
}
