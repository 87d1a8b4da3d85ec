//! CUT-8, CUT-9: a verification that can fail. As a superuser with the triggers off, one thing is forged at a time; VERIFY finds and
//! names it, takes the cut back, opens an escalation, and the failed entry stays as it is.

use chancery_engine::audit::{self, Pins};
use chancery_engine::cutter::{self, Verdict};
use chancery_engine::{Error, iu};
use chancery_model::cutter::{
    LaneSigner, VERIFIER_LANE, Verification, lane_payload, verifier_attested,
};
use chancery_model::envelope::Statement;
use chancery_model::refusal::Code;
use chancery_store::cutter::{LaneSignature, Verify};
use chancery_store::fsm::Signed;
use serde_json::json;
use uuid::Uuid;

use crate::scene::{ONE, SEVERAL, Scene, codes, findings};

/// What is forged, in `{entry}`, `{set}` (the change set) and `{prefix}`, and the finding that must name it.
const FORGERIES: &[(&str, &str)] = &[
    // the live rows
    ("update iu.unit_version set body = body || '!' where unit_id = {unit}", "text_differs"),
    ("update iu.unit_version set content_hash = repeat('0', 64) where unit_id = {unit}", "text_differs"),
    ("update iu.unit_version set body = 'other', content_hash = encode(sha256('other'), 'hex') where unit_id = {unit}", "text_differs"),
    ("update iu.unit_version set title = 'Other' where unit_id = {unit}", "text_differs"),
    ("update iu.unit_version set content_profile = '{}' where unit_id = {unit}", "text_differs"),
    ("update iu.unit_version set version_seq = 2 where unit_id = {unit}", "text_differs"),
    ("update iu.unit_version set created_at = created_at - interval '1 second' where unit_id = {unit}", "row_digest_differs"),
    ("update iu.unit_version set row_digest = sha256('x') where unit_id = {unit}", "row_digest_differs"),
    ("update iu.information_unit set owner_ref = 'rita' where id = {unit}", "unit_differs"),
    ("update iu.information_unit set unit_kind = 'law_unit' where id = {unit}", "unit_differs"),
    ("update iu.information_unit set section_type = 'article' where id = {unit}", "unit_differs"),
    ("update iu.information_unit set sort_order = 77 where id = {unit}", "unit_differs"),
    ("update iu.information_unit set parent_or_container_ref = id where id = {unit}", "unit_differs"),
    ("update iu.information_unit set canonical_address = canonical_address || 'x' where id = {unit}", "unit_differs"),
    ("update iu.information_unit set identity_profile = replace(identity_profile, 'alice', 'rita') where id = {unit}", "unit_differs"),
    ("update iu.information_unit set created_at = created_at - interval '1 second' where id = {unit}", "row_digest_differs"),
    ("update iu.information_unit set row_digest = sha256('x') where id = {unit}", "row_digest_differs"),
    ("update iu.information_unit set content_anchor_ref = 'elsewhere' where id = {unit}", "anchor_differs"),
    ("update iu.unit_version set lifecycle_status = 'enacted', enacted_at = now() where unit_id = {unit}", "lifecycle_differs"),
    ("update iu.iu_lifecycle_log set actor = 'vera' where unit_id = {unit}", "lifecycle_log_differs"),
    ("update iu.iu_lifecycle_log set unit_digest = sha256('x') where unit_id = {unit}", "lifecycle_log_differs"),
    // the ledger and its header
    ("update cutter_governance.cut_change_set_affected_row set after_state_snapshot = '{}' where target_row_id = {unit}", "affected_row_differs"),
    ("update cutter_governance.cut_change_set_affected_row set lifecycle_digest = sha256('x') where target_row_id = {unit}", "lifecycle_log_differs"),
    ("update cutter_governance.cut_change_set_affected_row set operation_kind = 'retire' where target_row_id = {unit}", "affected_row_differs"),
    ("delete from cutter_governance.cut_change_set_affected_row where target_row_id = {unit}", "affected_row_missing"),
    ("update cutter_governance.cut_change_set set writer_digest = sha256('x') where change_set_id = {set}", "change_set_differs"),
    ("update cutter_governance.cut_change_set set effect_digest = sha256('x') where change_set_id = {set}", "change_set_differs"),
    ("update cutter_governance.cut_change_set set change_set_digest = sha256('x') where change_set_id = {set}", "change_set_differs"),
    ("update cutter_governance.cut_change_set set emitted_by = 'rita' where change_set_id = {set}", "signature_differs"),
    ("update cutter_governance.cut_change_set set executor_tool_revision = 'x' where change_set_id = {set}", "signature_differs"),
    // the signatures
    ("update cutter_governance.dot_pair_signature set signature = set_byte(signature, 9, get_byte(signature, 9) # 1) where cross_reference_change_set_id = {set}", "signature_bad"),
    ("update cutter_governance.dot_pair_signature set signature_payload = replace(signature_payload, 'cut applied', 'cut allowed') where cross_reference_change_set_id = {set}", "signature_payload_differs"),
    ("update cutter_governance.dot_pair_signature set signed_at = signed_at - interval '1 second' where cross_reference_change_set_id = {set}", "signature_payload_differs"),
    ("update cutter_governance.dot_pair_signature set key_id = (select key_id from identity.signing_key where principal = 'rita') where cross_reference_change_set_id = {set}", "key_of_somebody_else"),
    ("update cutter_governance.dot_pair_signature set prior_signature_id = null where cross_reference_change_set_id = {set}", "signature_chain_broken"),
    ("update cutter_governance.cut_change_set set executor_signature_id = (select signature_id from cutter_governance.dot_pair_signature
        where signer_dot_id = 'DOT-991' and lane_seq = 1) where change_set_id = {set}", "signature_differs"),
    // the plan and the decision on it
    ("update cutter_governance.manifest_unit_block set title = title || '!' where envelope_id = {manifest} and render_order = 1", "manifest_unit_differs"),
    ("update cutter_governance.manifest_unit_block set region_sha = sha256('x') where envelope_id = {manifest} and render_order = 1", "manifest_unit_differs"),
    ("update cutter_governance.manifest_envelope set unit_kind = 'law_unit' where envelope_id = {manifest}", "manifest_differs"),
    ("update cutter_governance.manifest_envelope set profile = 'legal-en' where envelope_id = {manifest}", "recut_failed"),
    ("update cutter_governance.manifest_envelope set manifest_digest = sha256('x') where envelope_id = {manifest}", "manifest_differs"),
    ("update cutter_governance.review_decision set signature = set_byte(signature, 9, get_byte(signature, 9) # 1) where entry_id = {entry}", "signature_bad"),
    ("update cutter_governance.review_decision set verdict = 'defer' where entry_id = {entry}", "decision_differs"),
    ("update cutter_governance.review_decision set verdict_rationale = 'x' where entry_id = {entry}", "decision_payload_differs"),
    // the source
    ("update iu.source_version set body = overlay(body placing 'X' from octet_length(body) - 1) where source_version_id = (
        select source_version_id from cutter_governance.decision_backlog_entry where entry_id = {entry})", "source_differs"),
    ("update iu.source_version set content_sha256 = sha256('x') where source_version_id = (
        select source_version_id from cutter_governance.decision_backlog_entry where entry_id = {entry})", "source_differs"),
    ("update cutter_governance.decision_backlog_entry set scenario_ref = 'x' where entry_id = {entry}", "row_digest_differs"),
    // Last, because it breaks the chain that the next cut would be signed in.
    ("update cutter_governance.dot_pair_signature set signer_principal = 'rita' where cross_reference_change_set_id = {set}", "key_of_somebody_else"),
];

#[tokio::test]
async fn every_forgery_is_found_named_and_taken_back() {
    let scene = Scene::new().await;
    // So that a signature to chain to, and to swap with, exists.
    let honest = scene.applied("honest", "HONEST", ONE).await;
    assert!(scene.verify(honest).await.expect("verified").passed());
    // Constraints hold for a superuser as well, who can drop them.
    scene
        .db
        .forge(&[
            "alter table iu.source_version drop constraint source_is_what_its_digest_says",
            "alter table cutter_governance.dot_pair_signature drop constraint signature_hash_is_of_its_payload,
               drop constraint signature_chain_starts_at_one",
        ])
        .await;
    let mut wrong = Vec::new();
    for (n, (forgery, expected)) in FORGERIES.iter().enumerate() {
        let (id, prefix) = (format!("doc{n}"), format!("DOC{n}"));
        let entry = scene.applied(&id, &prefix, SEVERAL).await;
        let forged = statement(&scene, forgery, entry, &prefix).await;
        assert!(scene.db.forge(&[&forged]).await > 0, "{forged} changes something");
        match scene.verify(entry).await {
            Err(error) => wrong.push(format!("{forgery}: {error} {:?}", error.refusal())),
            Ok(verified) => {
                let found = findings(&verified);
                if verified.passed() || !found.iter().any(|f| f == expected) {
                    wrong.push(format!("{forgery}: {:?}", verified.findings));
                }
                let live = format!(
                    "iu.information_unit where doc_code = '{prefix}' and deleted_at is null"
                );
                let escalation = verified.report.escalation_ref.unwrap_or_default();
                if verified.report.status != "verify_failed_escalated"
                    || verified.report.rollback_change_set_id.is_none()
                    || scene.db.count(&live).await != 0
                    || scene.status(escalation).await != "marked"
                {
                    wrong.push(format!("{forgery}: not taken back: {:?}", verified.report));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

async fn statement(scene: &Scene, forgery: &str, entry: Uuid, prefix: &str) -> String {
    let set = scene
        .db
        .text(&format!("select change_set_id::text from cutter_governance.cut_change_set where decision_backlog_entry_id = '{entry}'"))
        .await;
    let manifest = scene
        .db
        .text(&format!("select manifest_id::text from cutter_governance.cut_change_set where change_set_id = '{set}'"))
        .await;
    let unit = scene
        .db
        .text(&format!("select id::text from iu.information_unit where doc_code = '{prefix}' and sort_order = 4"))
        .await;
    forgery
        .replace("{entry}", &format!("'{entry}'"))
        .replace("{set}", &format!("'{set}'"))
        .replace("{manifest}", &format!("'{manifest}'"))
        .replace("{unit}", &format!("'{unit}'"))
}

/// A unit that is gone, and one that nobody asked for.
#[tokio::test]
async fn a_missing_and_an_extra_unit_are_found() {
    let scene = Scene::new().await;
    let entry = scene.applied("several", "SEV", SEVERAL).await;
    let unit = "(select id from iu.information_unit where sort_order = 5 and doc_code = 'SEV')";
    scene
        .db
        .forge(&[
            &format!("delete from iu.iu_lifecycle_log where unit_id = {unit}"),
            &format!("delete from iu.unit_version where unit_id = {unit}"),
            "delete from iu.information_unit where sort_order = 5 and doc_code = 'SEV'",
        ])
        .await;
    let verified = scene.verify(entry).await.expect("a verdict");
    assert_eq!(findings(&verified), ["unit_missing"]);
    let found = &verified.findings["findings"][0];
    assert_eq!(found["address"], "SEV/end", "{found}");
    assert_eq!(scene.db.count("iu.information_unit where deleted_at is null").await, 0);

    let entry = scene.applied("rules", "RULES", ONE).await;
    let extra = "insert into iu.information_unit select (jsonb_populate_record(u, jsonb_build_object(
                   'id', gen_random_uuid(), 'canonical_address', u.canonical_address || '-extra'))).*
                   from iu.information_unit u where u.doc_code = 'RULES'";
    assert_eq!(scene.db.forge(&[extra]).await, 1);
    let verified = scene.verify(entry).await.expect("a verdict");
    assert_eq!(findings(&verified), ["unit_unexpected"]);
    assert_eq!(verified.findings["findings"][0]["address"], "RULES/rules-extra");
}

/// Two cuts whose signatures were swapped: neither is good for the other.
#[tokio::test]
async fn swapped_signatures_are_found() {
    let scene = Scene::new().await;
    let first = scene.applied("first", "FIRST", ONE).await;
    let second = scene.applied("second", "SECOND", SEVERAL).await;
    let swap = "update cutter_governance.cut_change_set c set executor_signature_id = o.executor_signature_id
                  from cutter_governance.cut_change_set o where o.change_set_id <> c.change_set_id";
    assert_eq!(scene.db.forge(&[swap]).await, 2);
    for entry in [first, second] {
        let verified = scene.verify(entry).await.expect("a verdict");
        assert!(!verified.passed());
        assert!(
            findings(&verified).contains(&"signature_differs".to_owned()),
            "{:?}",
            verified.findings
        );
        assert_eq!(verified.report.status, "verify_failed_escalated");
    }
    assert_eq!(scene.db.count("iu.information_unit where deleted_at is null").await, 0);
}

/// CUT-9: the failed entry is frozen; its escalation goes the whole way, to success.
#[tokio::test]
async fn the_escalation_succeeds_and_the_failed_entry_stays_failed() {
    let scene = Scene::new().await;
    let entry = scene.applied("several", "SEV", SEVERAL).await;
    scene.db.forge(&["update iu.unit_version set body = body || '!' where title = 'Scope'"]).await;
    let failed = scene.verify(entry).await.expect("a verdict");
    assert!(!failed.passed());
    let escalation = failed.report.escalation_ref.expect("an escalation");
    let set = failed.report.rollback_change_set_id.expect("a compensation");
    let shown = cutter::show(&scene.app, entry).await.expect("shown");
    assert_eq!(shown.detail.escalations, [escalation]);
    let compensation =
        shown.detail.change_sets.iter().find(|c| c.change_set_id == set).expect("the compensation");
    assert_eq!((compensation.change_kind.as_str(), compensation.units), ("compensate", 5));
    assert_eq!(
        scene.db.count("iu.iu_lifecycle_log where change_kind = 'compensated'").await,
        5,
        "every unit says that it was taken back"
    );

    // Nothing moves the failed entry on.
    let before = scene.db.fingerprint().await;
    assert!(scene.verify(entry).await.expect("the same verdict").report.replayed);
    assert_eq!(codes(scene.cut(entry).await), [Code::RC021], "it does not stand any more");
    assert!(scene.review(entry, Verdict::Approve).await.expect("the same decision").replayed);
    assert_eq!(scene.db.fingerprint().await, before);

    assert_eq!(scene.sweep().await, [escalation]);
    scene.review(escalation, Verdict::Approve).await.expect("approved");
    scene.cut(escalation).await.expect("cut");
    let verified = scene.verify(escalation).await.expect("verified");
    assert!(verified.passed(), "{:?}", verified.findings);
    assert_eq!(scene.status(escalation).await, "verified_complete");
    assert_eq!(scene.status(entry).await, "verify_failed_escalated");
    assert_eq!(iu::cat(&scene.app, "several").await.expect("an answer").as_deref(), Some(SEVERAL));
}

/// A unit that is changed after it was verified is found by the next verification, which moves nothing but opens an escalation.
#[tokio::test]
async fn a_later_forgery_is_found_by_a_later_verification() {
    let scene = Scene::new().await;
    let entry = scene.applied("rules", "RULES", ONE).await;
    assert!(scene.verify(entry).await.expect("verified").passed());
    scene.db.forge(&["update iu.unit_version set body = 'x'"]).await;
    let again = cutter::verify_again(&scene.verify, &scene.vera, entry).await.expect("a verdict");
    assert!(!again.passed());
    assert_eq!(again.report.status, "verified_complete");
    assert_eq!(again.report.rollback_change_set_id, None);
    assert_eq!(scene.status(again.report.escalation_ref.expect("an escalation")).await, "marked");
}

/// CUT-9, seed A §5: what is wrong with an entry asks for somebody once, however often it is looked at, and again when that was settled.
#[tokio::test]
async fn one_difference_is_escalated_once() {
    let scene = Scene::new().await;
    let entry = scene.applied("rules", "RULES", ONE).await;
    scene.db.forge(&["update iu.unit_version set body = 'x'"]).await;
    let first = scene.verify(entry).await.expect("a verdict").report.escalation_ref;
    assert_eq!(scene.status(entry).await, "verify_failed_escalated");
    // The units are taken back; now the record of that is forged as well.
    scene.db.forge(&["update iu.information_unit set deleted_at = null"]).await;
    for _ in 0..2 {
        let again = cutter::verify_again(&scene.verify, &scene.vera, entry).await;
        let again = again.expect("a verdict");
        assert!(!again.passed(), "{:?}", again.findings);
        assert_eq!(again.report.escalation_ref, first, "escalated once more");
    }
    let escalations = "cutter_governance.decision_backlog_entry where kind = 'escalation'";
    assert_eq!(scene.db.count(escalations).await, 1);
    let reason = cutter::AbandonRequest {
        reason: "looked at".to_owned(),
        audit_ref: None,
        idempotency_key: None,
    };
    let escalation = first.expect("an escalation");
    cutter::abandon(&scene.app, &scene.sam, escalation, &reason).await.expect("settled");
    let again = cutter::verify_again(&scene.verify, &scene.vera, entry).await.expect("a verdict");
    assert_ne!(again.report.escalation_ref, first, "what was settled asks for nobody");
    assert_eq!(scene.db.count(escalations).await, 2);
}

/// CUT-9, AUD-1: a verification that joins the escalation of an earlier one replays, in the database and from the file about the entry;
/// one that names another escalation is found.
#[tokio::test]
async fn a_joined_escalation_replays() {
    let scene = Scene::new().await;
    let entry = scene.applied("rules", "RULES", ONE).await;
    // Seen by the verifier, and mended behind it: what is left is the evidence of a failure, and nothing else is wrong.
    scene.db.forge(&["update iu.unit_version set body = body || '!'"]).await;
    let first = scene.verify(entry).await.expect("a verdict").report.escalation_ref;
    scene.db.forge(&["update iu.unit_version set body = left(body, -1)"]).await;
    let other = scene.applied("other", "OTHER", ONE).await;
    scene.db.forge(&["update iu.unit_version set body = body || '!' where unit_id in (select id from iu.information_unit where doc_code = 'OTHER')"]).await;
    let foreign = scene.verify(other).await.expect("a verdict").report.escalation_ref;
    scene.db.forge(&["update iu.unit_version set body = left(body, -1) where unit_id in (select id from iu.information_unit where doc_code = 'OTHER')"]).await;
    scene
        .db
        .forge(&[
            "create table public.kept as select id, deleted_at from iu.information_unit",
            "update iu.information_unit set deleted_at = null where doc_code = 'RULES'",
        ])
        .await;
    let again = cutter::verify_again(&scene.verify, &scene.vera, entry).await.expect("a verdict");
    scene
        .db
        .forge(&[
            "update iu.information_unit u set deleted_at = k.deleted_at from public.kept k where k.id = u.id",
            "drop table public.kept",
        ])
        .await;
    assert!(!again.passed(), "what was taken back lives");
    assert_eq!(again.report.escalation_ref, first, "it joins");

    let auditor = scene.db.store(chancery_store::Role::Auditor);
    let look = async || audit::verify(&auditor, Pins::default(), |_| ()).await.expect("an audit");
    assert_eq!(look().await.mismatches, []);
    let file = audit::export(&auditor, entry).await.expect("an answer").expect("a file");
    let report = audit::verify_bundle(&file, Pins::default()).await.expect("a report");
    assert_eq!(report.mismatches, []);

    let (joined, foreign) =
        (again.report.verify_result_id.expect("a result"), foreign.expect("one"));
    scene
        .db
        .forge(&[&format!(
            "update cutter_governance.verify_result set escalation_ref = '{foreign}' where verify_result_id = '{joined}'"
        )])
        .await;
    let found = look().await.mismatches;
    assert!(
        found
            .iter()
            .any(|one| one.rule == "result_is_of_the_cut" && one.key.contains(&joined.to_string())),
        "{found:?}"
    );
}

/// A door that is told of a pass looks itself: nobody can sign a forgery off.
#[tokio::test]
async fn a_pass_that_the_tables_contradict_is_refused() {
    let scene = Scene::new().await;
    let entry = scene.applied("rules", "RULES", ONE).await;
    scene.db.forge(&["update iu.unit_version set body = 'x'"]).await;
    let evidence = scene.verify.cut_evidence(entry).await.expect("an answer").expect("a cut");
    let set = &evidence.change_sets[0];
    let findings = json!({ "findings": [], "checks": {}, "rule": "rfc8785" });
    let digest = set.bytes("change_set_digest").expect("a digest");
    let verification = Verification {
        verify_result_id: Uuid::now_v7(),
        change_set_id: set.uuid("change_set_id").expect("an id"),
        change_set_digest: &digest,
        executor_signature_id: set.uuid("executor_signature_id").expect("an id"),
        verdict: "pass",
        findings: &findings,
        prior_verify_result_id: None,
        rollback_change_set_id: None,
        escalation_ref: None,
    };
    let own = scene.vera.key.as_ref().expect("a key");
    let signer = LaneSigner {
        lane: VERIFIER_LANE,
        signature_id: Uuid::now_v7(),
        principal: "vera",
        key_id: own.key_id,
        tool_revision: "a liar/1",
        prior: None,
        signed_at: scene
            .db
            .text("select internal.micros(internal.now())::text")
            .await
            .parse()
            .expect("a time"),
    };
    let payload = lane_payload(
        &signer,
        &verifier_attested(entry, &verification, set.text("manifest_version")),
    );
    let before = scene.db.fingerprint().await;
    let refused = scene
        .verify
        .fn_verify(&Verify {
            entry_id: entry,
            verify_result_id: verification.verify_result_id,
            change_set_id: verification.change_set_id,
            verdict: "pass".to_owned(),
            findings: findings.clone(),
            prior_verify_result_id: None,
            tool_revision: signer.tool_revision.to_owned(),
            principal: "vera".to_owned(),
            signature: LaneSignature {
                signature_id: signer.signature_id,
                prior_signature_id: None,
                signed_at: signer.signed_at,
                signed: Some(Signed {
                    key_id: own.key_id,
                    signature: Statement::lane(payload.clone()).sign(&own.key).to_vec(),
                }),
                payload,
            },
        })
        .await;
    assert_eq!(codes(refused.map_err(Error::from)), [Code::RC013]);
    assert_eq!(scene.db.fingerprint().await, before);
}

/// A ledger that was made to name another document's unit does not take that one back.
#[tokio::test]
async fn a_compensation_takes_back_what_the_cut_made_and_nothing_else() {
    let scene = Scene::new().await;
    let innocent = scene.applied("rules", "RULES", ONE).await;
    assert!(scene.verify(innocent).await.expect("verified").passed());
    let entry = scene.applied("several", "SEV", SEVERAL).await;
    let forged = "update cutter_governance.cut_change_set_affected_row set target_row_id = (
                    select id from iu.information_unit where doc_code = 'RULES')
                   where target_row_id = (select id from iu.information_unit where doc_code = 'SEV' and sort_order = 2)";
    assert_eq!(scene.db.forge(&[forged]).await, 1);
    let verified = scene.verify(entry).await.expect("a verdict");
    assert!(findings(&verified).contains(&"affected_row_differs".to_owned()));
    let live = |prefix: &str| {
        format!("iu.information_unit where doc_code = '{prefix}' and deleted_at is null")
    };
    assert_eq!(scene.db.count(&live("SEV")).await, 0);
    assert_eq!(scene.db.count(&live("RULES")).await, 1);
}

/// F-7: the forgery is undone and the next look finds a cut that was properly taken back; the entry stays failed all the same.
#[tokio::test]
async fn a_failed_entry_is_not_promoted_by_a_later_pass() {
    let scene = Scene::new().await;
    let entry = scene.applied("several", "SEV", SEVERAL).await;
    let unit = "(select id from iu.information_unit where sort_order = 2)";
    scene
        .db
        .forge(&[&format!("update iu.unit_version set body = body || '!' where unit_id = {unit}")])
        .await;
    assert!(!scene.verify(entry).await.expect("a verdict").passed());
    scene
        .db
        .forge(&[&format!(
            "update iu.unit_version set body = left(body, -1) where unit_id = {unit}"
        )])
        .await;
    let again = cutter::verify_again(&scene.verify, &scene.vera, entry).await.expect("a verdict");
    assert!(again.passed(), "{:?}", again.findings);
    assert_eq!(again.report.status, "verify_failed_escalated");
    assert_eq!(scene.db.count("cutter_governance.verify_result").await, 2);
    assert_eq!(scene.db.count("cutter_governance.cut_change_set").await, 2, "taken back once");
}
