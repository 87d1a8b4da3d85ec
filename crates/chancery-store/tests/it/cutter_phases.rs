//! What each phase refuses, by code, with nothing changed; and what a repetition answers.

use chancery_model::envelope::Statement;
use chancery_model::refusal::Code;
use chancery_model::refusal::Code::{
    RC001, RC002, RC003, RC004, RC005, RC006, RC007, RC008, RC009, RC010, RC011, RC012, RC013,
    RC014, RC015, RC016, RC017, RC018, RC019, RC020, RC021, RI001, RI003, RI004, RI005, RI006,
    RI008, RS004, RS005, RS006, RS007,
};
use chancery_store::cutter::{Mark, Review, Verify};
use chancery_store::{Error, Role};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::cutter_world::World;
use crate::support::codes;

/// The guards that a refusal names.
fn guards<T: std::fmt::Debug>(answer: Result<T, Error>) -> Vec<String> {
    let error = answer.expect_err("a refusal");
    let refusal = error.refusal().unwrap_or_else(|| panic!("a refusal, not {error:?}"));
    assert!(refusal.problems.iter().all(|problem| problem.code == RS006), "{refusal:?}");
    refusal.problems.iter().map(|p| p.facts["guard"].as_str().expect("a name").to_owned()).collect()
}

/// The facts of a refusal with one problem.
fn facts<T: std::fmt::Debug>(answer: Result<T, Error>, code: Code) -> Value {
    let error = answer.expect_err("a refusal");
    let refusal = error.refusal().unwrap_or_else(|| panic!("a refusal, not {error:?}"));
    assert_eq!(refusal.problems.iter().map(|p| p.code).collect::<Vec<_>>(), [code], "{refusal:?}");
    json!(refusal.problems[0].facts)
}

/// Compares what stands afterwards with what stood before.
macro_rules! unchanged {
    ($world:expr, $($body:tt)*) => {{
        let before = $world.db.fingerprint().await;
        $($body)*
        assert_eq!(before, $world.db.fingerprint().await, "a refusal changed something");
    }};
}

/// CUT-4: a request that lacks something, or whose parts do not fit what is stored, is not marked; the facts name the field.
#[tokio::test]
async fn a_malformed_request_is_not_marked() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let good = world.a_mark(&document, "k");
    let with = |path: &str, value: Value| {
        let mut mark = good.clone();
        *mark.payload.pointer_mut(path).expect("a member") = value;
        mark
    };
    let without = |name: &str| {
        let mut mark = good.clone();
        mark.payload.as_object_mut().expect("an object").remove(name);
        mark
    };
    let escalation = |of: Value| {
        let mut mark = Mark { kind: "escalation".to_owned(), ..good.clone() };
        mark.payload["escalation_of"] = of;
        mark
    };
    let spec = "payload.proposed_cut_spec";
    let cases: Vec<(String, Mark)> = vec![
        ("kind".into(), Mark { kind: "wish".to_owned(), ..good.clone() }),
        ("payload".into(), Mark { payload: json!([]), ..good.clone() }),
        ("payload.idempotency_key".into(), without("idempotency_key")),
        ("payload.idempotency_key".into(), with("/idempotency_key", json!(" "))),
        ("payload.idempotency_key".into(), with("/idempotency_key", json!("x".repeat(201)))),
        ("payload.signal_source".into(), without("signal_source")),
        ("payload.iu_ref".into(), with("/iu_ref", json!(""))),
        ("payload.proposed_cut_spec".into(), without("proposed_cut_spec")),
        ("payload.proposed_cut_spec".into(), with("/proposed_cut_spec", json!("all of it"))),
        (
            format!("{spec}.source_version_id"),
            with("/proposed_cut_spec/source_version_id", json!("no id")),
        ),
        (
            format!("{spec}.source_version_id"),
            with("/proposed_cut_spec/source_version_id", json!(Uuid::now_v7())),
        ),
        (format!("{spec}.document_id"), with("/proposed_cut_spec/document_id", json!("another"))),
        (format!("{spec}.content_sha256"), with("/proposed_cut_spec/content_sha256", json!("00"))),
        ("payload.escalation_of".into(), Mark { kind: "escalation".to_owned(), ..good.clone() }),
        (
            "payload.escalation_of".into(),
            Mark { kind: "cut_request".to_owned(), ..escalation(json!(Uuid::now_v7())) },
        ),
        ("payload.escalation_of".into(), escalation(json!("nobody"))),
        ("payload.escalation_of".into(), escalation(json!(Uuid::now_v7()))),
        ("trace_id".into(), Mark { trace_id: Some("0".repeat(32)), ..good.clone() }),
        ("trace_id".into(), Mark { trace_id: Some("trace".to_owned()), ..good.clone() }),
    ];
    unchanged!(world, {
        for (field, mark) in cases {
            let told = facts(world.exec.fn_mark(&mark).await, RC002);
            assert_eq!(told["field"], json!(field), "{mark:?}");
        }
    });
}

/// CUT-4: one key, one entry: the same request is answered with it, another one under the key or the id is refused.
#[tokio::test]
async fn a_key_marks_once() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let mark = world.a_mark(&document, "k");
    let first = world.exec.fn_mark(&mark).await.expect("marked");
    assert!(!first.replayed);
    unchanged!(world, {
        let again = world.exec.fn_mark(&mark).await.expect("the same again");
        assert_eq!((again.entry_id, again.replayed), (first.entry_id, true));
        let mut other = mark.clone();
        other.payload["iu_ref"] = json!("another");
        assert_eq!(codes(world.exec.fn_mark(&other).await), [RC015], "another payload");
        let elsewhere = Mark { entry_id: Uuid::now_v7(), ..mark.clone() };
        assert_eq!(
            codes(world.exec.fn_mark(&elsewhere).await),
            [RC015],
            "the key under another id"
        );
        let mut rekeyed = mark.clone();
        rekeyed.payload["idempotency_key"] = json!("another");
        assert_eq!(codes(world.exec.fn_mark(&rekeyed).await), [RC015], "the id under another key");
        let waiting = Mark { depends_on: vec![first.entry_id], ..mark.clone() };
        assert_eq!(codes(world.exec.fn_mark(&waiting).await), [RC015], "waiting for something now");
    });
}

/// CUT-4, CUT-11: an edge leads to an entry that is there and closes no circle; a mark comes from who may make one.
#[tokio::test]
async fn a_mark_has_its_edges_and_its_actor() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let mark = world.a_mark(&document, "k");
    unchanged!(world, {
        let itself = Mark { depends_on: vec![mark.entry_id], ..mark.clone() };
        assert_eq!(
            facts(world.exec.fn_mark(&itself).await, RC003)["cycle"],
            json!([mark.entry_id, mark.entry_id])
        );
        let nowhere = Uuid::now_v7();
        let unknown = Mark { depends_on: vec![nowhere], ..mark.clone() };
        assert_eq!(facts(world.exec.fn_mark(&unknown).await, RC004)["unknown"], json!([nowhere]));
        let nobody = Mark { principal: "nobody".to_owned(), ..mark.clone() };
        assert_eq!(codes(world.exec.fn_mark(&nobody).await), [RI001]);
        assert_eq!(
            codes(world.app.fn_mark(&mark).await),
            [RI004],
            "the executor's class has its own login"
        );
        let observer = Mark { actor_class: "observer".to_owned(), ..mark.clone() };
        assert_eq!(codes(world.exec.fn_mark(&observer).await), [RS004, RI003, RI004], "F-6");
        let verifier = Mark {
            actor_class: "verifier_dot992".to_owned(),
            principal: "verifier".to_owned(),
            ..mark.clone()
        };
        assert_eq!(
            codes(world.exec.fn_mark(&verifier).await),
            [RS005, RS006, RI004],
            "an escalation comes with its verification"
        );
        let human = Mark {
            actor_class: "pic_human".to_owned(),
            principal: "everyone".to_owned(),
            ..mark.clone()
        };
        assert_eq!(codes(world.exec.fn_mark(&human).await), [RI004]);
    });
    // A circle of two, by hand: the trigger stands before the one that refuses hands.
    let first = world.exec.fn_mark(&mark).await.expect("marked").entry_id;
    let second = Mark { depends_on: vec![first], ..world.a_mark(&document, "l") };
    let second = world.exec.fn_mark(&second).await.expect("marked").entry_id;
    let back = format!(
        "insert into cutter_governance.decision_backlog_dependency (dependency_id, from_entry_id, to_entry_id, created_by, created_at)
         values (gen_random_uuid(), '{first}', '{second}', 'executor', now())"
    );
    for role in ["chancery_owner", "chancery_definer"] {
        let mut admin = world.db.superuser().await;
        sqlx::Executor::execute(&mut admin, sqlx::AssertSqlSafe(format!("set role {role}")))
            .await
            .expect("a superuser may");
        assert_eq!(
            crate::hardening::attempt(&mut admin, &back).await.as_deref(),
            Some("RC003"),
            "{role}"
        );
    }
}

/// CUT-5: each pass has its row, also an empty one; the same id is the same pass; a malformed one is no pass.
#[tokio::test]
async fn a_pass_is_logged_once() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let empty = world.swept().await;
    assert_eq!((empty.scanned, empty.promoted), (0, 0));
    let entry = world.marked(&document, "k").await;
    let id = Uuid::now_v7();
    let sweep = async |id, class, principal, trigger, limit| {
        world.exec.fn_sweep(id, class, principal, trigger, limit).await
    };
    let first = sweep(id, "executor_dot991", "executor", "timer", None).await.expect("swept");
    assert_eq!((first.entries.as_slice(), first.replayed), ([entry].as_slice(), false));
    unchanged!(world, {
        let again =
            sweep(id, "executor_dot991", "executor", "timer", None).await.expect("the pass");
        assert_eq!((again.entries.as_slice(), again.replayed), ([entry].as_slice(), true));
        for (trigger, limit) in [("manual", Some(0)), ("manual", Some(-1)), ("whim", None)] {
            let answer = sweep(Uuid::now_v7(), "executor_dot991", "executor", trigger, limit).await;
            assert_eq!(codes(answer), [RC016], "{trigger} {limit:?}");
        }
        let answer = sweep(Uuid::now_v7(), "executor_dot991", "verifier", "manual", None).await;
        assert_eq!(codes(answer), [RI003]);
        let answer = sweep(Uuid::now_v7(), "system", "sweeper", "manual", None).await;
        assert_eq!(codes(answer), [RI004], "the application's class");
    });
    let chained: bool = world
        .one("select bool_and(s.prev_digest is not distinct from p.row_digest) from cutter_governance.decision_backlog_sweep_log s
              left join cutter_governance.decision_backlog_sweep_log p on p.sweep_seq = s.sweep_seq - 1")
        .await;
    assert!(chained, "each pass carries the digest of the one before");
}

/// CUT-6: a decision is kept with a manifest that fits its source, under the digest that was looked at, or not at all.
#[tokio::test]
async fn a_manifest_that_does_not_fit_is_not_decided_on() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let entry = world.pending(&document, "k").await;
    let good = world.a_review(&document, entry, "approve").await;
    let with = |path: &str, value: Value| {
        let mut review = good.clone();
        *review.manifest.pointer_mut(path).expect("a member") = value;
        review
    };
    let cases: Vec<(&str, Review)> = vec![
        ("number_of_units", with("/units", json!([]))),
        ("number_of_units", with("/units", json!("many"))),
        ("profile", with("/profile", json!(" "))),
        ("unit_kind", with("/unit_kind", json!("poem"))),
        ("publication_type", with("/publication_type", json!("poem"))),
        ("gap_or_overlap", with("/units/0/start", json!(1))),
        ("gap_or_overlap", with("/units/1/start", json!(11))),
        ("gap_or_overlap", with("/units/1/start", json!("x"))),
        ("span", with("/units/2/end", json!(9_999))),
        ("span", with("/units/0/end", json!(0))),
        ("source_not_covered", with("/units/2/end", json!(30))),
        ("region_sha", with("/units/1/sha256", json!("00"))),
        ("local_id", with("/units/1/local_id", json!("u1"))),
        ("local_id", with("/units/1/local_id", Value::Null)),
        ("address", with("/units/1/address", json!("OTHER/one"))),
        ("address", with("/units/1/address", json!("POL/One a"))),
        ("address_twice", with("/units/1/address", json!("POL/one"))),
        ("section_type", with("/units/1/section_type", json!("verse"))),
        ("title", with("/units/1/title", json!(" "))),
        ("parent", with("/units/0/parent", json!("u2"))),
        ("parent", with("/units/1/parent", json!("u9"))),
    ];
    unchanged!(world, {
        for (reason, review) in cases {
            let told = facts(world.review.fn_review(&review).await, RC005);
            assert_eq!(told["reason"], json!(reason), "{told}");
        }
        let mut other = good.clone();
        other.manifest_digest = [7; 32];
        world.sign_review(&mut other);
        assert_eq!(codes(world.review.fn_review(&other).await), [RC006]);
        let retitled = with("/units/1/title", json!("Another title"));
        assert_eq!(codes(world.review.fn_review(&retitled).await), [RC006], "the manifest changed");
    });
}

/// CUT-6: a decision says what was signed, after the newest one, in time, by a live key of a review authority that did not mark.
#[tokio::test]
async fn a_decision_is_what_was_signed() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let entry = world.pending(&document, "k").await;
    let good = world.a_review(&document, entry, "approve").await;
    let own = Mark { principal: "everyone".to_owned(), ..world.a_mark(&document, "own") };
    let own = world.exec.fn_mark(&own).await.expect("marked").entry_id;
    world.swept().await;
    let changed = |change: &dyn Fn(&mut Review)| {
        let mut review = good.clone();
        change(&mut review);
        review
    };
    let mut by_marker = world.a_review(&document, own, "approve").await;
    by_marker.principal = "everyone".to_owned();
    world.sign_review(&mut by_marker);
    unchanged!(world, {
        let ask = async |review: Review| world.review.fn_review(&review).await;
        assert_eq!(codes(ask(changed(&|r| r.entry_id = Uuid::now_v7())).await), [RC001]);
        assert_eq!(codes(ask(changed(&|r| r.verdict = "perhaps".to_owned())).await), [RC017]);
        assert_eq!(codes(ask(changed(&|r| r.risk = "none".to_owned())).await), [RC017]);
        assert_eq!(codes(ask(changed(&|r| r.findings = json!([]))).await), [RC017]);
        assert_eq!(codes(ask(changed(&|r| r.rationale = None)).await), [RC007], "another text");
        assert_eq!(codes(ask(changed(&|r| r.risk = "high".to_owned())).await), [RC007]);
        assert_eq!(codes(ask(changed(&|r| r.envelope_id = Uuid::now_v7())).await), [RC007]);
        assert_eq!(
            codes(ask(changed(&|r| r.verdict = "reject".to_owned())).await),
            [RC007],
            "approved, not rejected"
        );
        assert_eq!(
            codes(ask(changed(&|r| r.prior_review_decision_id = Some(Uuid::now_v7()))).await),
            [RC008]
        );
        assert_eq!(codes(ask(changed(&|r| r.signed_at -= 301_000_000)).await), [RC010]);
        assert_eq!(codes(ask(changed(&|r| r.signed_at += 400_000_000)).await), [RC010]);
        assert_eq!(
            codes(ask(changed(&|r| r.decision = None)).await),
            [RI008],
            "a service signs its decisions too"
        );
        assert_eq!(
            codes(ask(changed(&|r| r.principal = "authority_2".to_owned())).await),
            [RI005],
            "somebody else's key"
        );
        assert_eq!(
            codes(ask(changed(&|r| r.principal = "executor".to_owned())).await),
            [RI003, RI005]
        );
        assert_eq!(
            guards(ask(by_marker).await),
            ["G-REVIEW-AUTH"],
            "nobody approves a request of their own"
        );
    });
    let operator = world.db.store(Role::Migrator);
    operator.fn_key_revoke(world.key("authority"), "lost", None).await.expect("revoked");
    assert_eq!(codes(world.review.fn_review(&good).await), [RI006]);
}

/// CUT-6: the same decision again changes nothing; another one supersedes it, once.
#[tokio::test]
async fn a_decision_is_superseded_and_stays() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let entry = world.approved(&document, "k").await;
    let again = world.a_review(&document, entry, "approve").await;
    unchanged!(world, {
        let answer = world.review.fn_review(&again).await.expect("a repetition");
        assert!(answer.replayed && Some(again.review_decision_id) != answer.review_decision_id);
    });
    let defer = world.a_review(&document, entry, "defer").await;
    world.review.fn_review(&defer).await.expect("deferred");
    assert_eq!(world.status(entry).await, "reviewed_deferred");
    let stamped: Option<Uuid> = world
        .one(&format!(
            "select superseded_by_review_decision_id from cutter_governance.review_decision where entry_id = '{entry}' and verdict = 'approve'"
        ))
        .await;
    assert_eq!(stamped, Some(defer.review_decision_id));
    unchanged!(world, {
        let mut stale = world.a_review(&document, entry, "approve").await;
        stale.prior_review_decision_id = None;
        world.sign_review(&mut stale);
        assert_eq!(codes(world.review.fn_review(&stale).await), [RC008]);
        let mut early = world.a_review(&document, entry, "approve").await;
        early.principal = "authority_2".to_owned();
        world.sign_review(&mut early);
        assert_eq!(
            codes(world.review.fn_review(&early).await),
            [RS004],
            "a sweep brings it back first"
        );
    });
}

/// CUT-7, F-3: no cut without an approval that stands, of this entry, by somebody else, with everything it waits for verified.
#[tokio::test]
async fn no_cut_without_its_guards() {
    let world = World::new().await;
    let [first, second, third] =
        [("a", "AA"), ("b", "BB"), ("c", "CC")].map(|(name, prefix)| (name, prefix));
    let first = world.document(first.0, first.1).await;
    let second = world.document(second.0, second.1).await;
    let third = world.document(third.0, third.1).await;
    let blocker = world.approved(&first, "blocker").await;
    let waiting = Mark { depends_on: vec![blocker], ..world.a_mark(&second, "waiting") };
    let waiting = world.exec.fn_mark(&waiting).await.expect("marked").entry_id;
    let pending = world.pending(&third, "pending").await;
    let review = world.a_review(&second, waiting, "approve").await;
    world.review.fn_review(&review).await.expect("approved");
    unchanged!(world, {
        let cut = world.a_cut(&third, pending, "executor").await;
        assert_eq!(codes(world.exec.fn_cut(&cut).await), [RS004], "F-3: not approved");
        let mut borrowed = world.a_cut(&third, pending, "executor").await;
        borrowed.review_decision_id = Some(review.review_decision_id);
        assert_eq!(codes(world.exec.fn_cut(&borrowed).await), [RS004]);
        let cut = world.a_cut(&second, waiting, "executor").await;
        assert_eq!(guards(world.exec.fn_cut(&cut).await), ["G-CUT-DEPS"]);
        let mut borrowed = world.a_cut(&first, blocker, "executor").await;
        borrowed.review_decision_id = Some(review.review_decision_id);
        assert_eq!(
            guards(world.exec.fn_cut(&borrowed).await),
            ["G-CUT-APPROVED"],
            "another entry's decision"
        );
        let mut none = world.a_cut(&first, blocker, "executor").await;
        none.review_decision_id = None;
        assert_eq!(guards(world.exec.fn_cut(&none).await), ["G-CUT-APPROVED"]);
        let mut nowhere = world.a_cut(&first, blocker, "executor").await;
        nowhere.entry_id = Uuid::now_v7();
        assert_eq!(codes(world.exec.fn_cut(&nowhere).await), [RC001]);
    });
    // Who approved does not cut.
    let fourth = world.document("d", "DD").await;
    let entry = world.pending(&fourth, "own").await;
    let mut review = world.a_review(&fourth, entry, "approve").await;
    review.principal = "everyone".to_owned();
    world.sign_review(&mut review);
    world.review.fn_review(&review).await.expect("approved");
    unchanged!(world, {
        let cut = world.a_cut(&fourth, entry, "everyone").await;
        assert_eq!(guards(world.exec.fn_cut(&cut).await), ["G-CUT-APPROVED"]);
    });
}

/// CUT-7, F-5: what is cut is what was signed, at the end of the signer's chain; a second cut is the first one's answer.
#[tokio::test]
async fn a_cut_is_what_was_signed_and_happens_once() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let entry = world.approved(&document, "k").await;
    let good = world.a_cut(&document, entry, "executor").await;
    let manifest = world.manifest(&document);
    unchanged!(world, {
        let mut other = good.clone();
        other.change_set_digest = [7; 32];
        world.sign_cut(&manifest, &mut other).await;
        assert_eq!(codes(world.exec.fn_cut(&other).await), [RC012]);
        let mut renamed = good.clone();
        renamed.change_set_id = Uuid::now_v7();
        assert_eq!(codes(world.exec.fn_cut(&renamed).await), [RC012], "ids are part of the effect");
        let mut unsaid = good.clone();
        unsaid.signature.payload.push(' ');
        unsaid.signature.signed =
            world.signed("executor", &Statement::lane(&unsaid.signature.payload));
        assert_eq!(codes(world.exec.fn_cut(&unsaid).await), [RC007]);
        let mut retold = good.clone();
        retold.tool_revision = "another".to_owned();
        assert_eq!(codes(world.exec.fn_cut(&retold).await), [RC007]);
        let mut late = good.clone();
        late.signature.signed_at -= 301_000_000;
        assert_eq!(codes(world.exec.fn_cut(&late).await), [RC010]);
        let mut unchained = good.clone();
        unchained.signature.prior_signature_id = Some(Uuid::now_v7());
        assert_eq!(codes(world.exec.fn_cut(&unchained).await), [RC009]);
        let mut unsigned = good.clone();
        unsigned.signature.signed = None;
        assert_eq!(codes(world.exec.fn_cut(&unsigned).await), [RI008]);
        let mut foreign = good.clone();
        foreign.principal = "verifier".to_owned();
        assert_eq!(codes(world.exec.fn_cut(&foreign).await), [RI003, RI005]);
    });
    let first = world.exec.fn_cut(&good).await.expect("cut");
    assert_eq!(
        (first.status.as_str(), first.units, first.replayed),
        ("cut_applied", Some(3), false)
    );
    unchanged!(world, {
        for principal in ["executor", "executor_2"] {
            let again = world.a_cut(&document, entry, principal).await;
            let answer = world.exec.fn_cut(&again).await.expect("the first one's answer");
            assert_eq!((answer.change_set_id, answer.replayed), (first.change_set_id, true), "F-5");
        }
    });
    // The next entry of the same document finds its addresses taken, and the chain moved on.
    let next = world.approved(&document, "next").await;
    unchanged!(world, {
        let cut = world.a_cut(&document, next, "executor").await;
        assert_eq!(facts(world.exec.fn_cut(&cut).await, RC011)["address"], json!("POL/one"));
        let mut stale = world.a_cut(&document, next, "executor").await;
        stale.signature.prior_signature_id = None;
        assert_eq!(codes(world.exec.fn_cut(&stale).await), [RC009]);
    });
}

/// CUT-8: a verdict is what was signed, about what was cut, by somebody else; and a pass does not contradict the tables.
#[tokio::test]
async fn a_verdict_is_independent_and_what_was_signed() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let entry = world.approved(&document, "k").await;
    let cut = world.a_cut(&document, entry, "everyone").await;
    world.exec.fn_cut(&cut).await.expect("cut");
    let approved = world.approved(&world.document("other", "OTH").await, "other").await;
    let good = world.a_verdict(entry, "pass", "verifier").await;
    unchanged!(world, {
        let ask = async |change: &dyn Fn(&mut chancery_store::cutter::Verify)| {
            let mut verify = good.clone();
            change(&mut verify);
            world.verify.fn_verify(&verify).await
        };
        assert_eq!(codes(ask(&|v| v.entry_id = Uuid::now_v7()).await), [RC001]);
        assert_eq!(codes(ask(&|v| v.verdict = "perhaps".to_owned()).await), [RC014]);
        assert_eq!(
            codes(ask(&|v| v.verdict = "fail".to_owned()).await),
            [RC014],
            "a fail has findings"
        );
        assert_eq!(codes(ask(&|v| v.findings = json!({ "findings": [1] })).await), [RC014]);
        assert_eq!(codes(ask(&|v| v.findings = json!({})).await), [RC014]);
        assert_eq!(codes(ask(&|v| v.change_set_id = Uuid::now_v7()).await), [RC019]);
        assert_eq!(codes(ask(&|v| v.prior_verify_result_id = Some(Uuid::now_v7())).await), [RC019]);
        assert_eq!(codes(ask(&|v| v.entry_id = approved).await), [RC019], "F-4: nothing was cut");
        let unsaid = |v: &mut Verify| {
            v.signature.payload.push(' ');
            v.signature.signed = world.signed("verifier", &Statement::lane(&v.signature.payload));
        };
        assert_eq!(codes(ask(&unsaid).await), [RC007]);
        assert_eq!(codes(ask(&|v| v.findings["rule"] = json!("none")).await), [RC007]);
        assert_eq!(codes(ask(&|v| v.signature.signed_at += 400_000_000).await), [RC010]);
        assert_eq!(
            codes(ask(&|v| v.signature.prior_signature_id = Some(Uuid::now_v7())).await),
            [RC009]
        );
        assert_eq!(codes(ask(&|v| v.signature.signed = None).await), [RI008]);
        assert_eq!(codes(ask(&|v| v.principal = "executor".to_owned()).await), [RI003, RI005]);
        let own = world.a_verdict(entry, "pass", "everyone").await;
        assert_eq!(codes(world.verify.fn_verify(&own).await), [RC020]);
    });
    world
        .tamper(
            "iu.unit_version",
            "update iu.unit_version set body = 'forged' where title = 'One a'",
        )
        .await;
    unchanged!(world, {
        let pass = world.a_verdict(entry, "pass", "verifier").await;
        let told = facts(world.verify.fn_verify(&pass).await, RC013);
        assert_eq!(
            told["differences"],
            json!([{ "finding": "text_differs", "address": "POL/one-one-a" }])
        );
    });
}

/// CUT-9, F-7: a failure takes the cut back, opens an escalation and freezes the entry; a later pass is kept and moves nothing.
#[tokio::test]
async fn a_failure_is_compensated_escalated_and_final() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let (entry, report) = world.failed(&document, "k").await;
    assert_eq!(report.status, "verify_failed_escalated");
    let escalation = report.escalation_ref.expect("an escalation");
    assert_eq!(world.status(escalation).await, "marked");
    let live: i64 =
        world.one("select count(*) from iu.information_unit where deleted_at is null").await;
    assert_eq!(live, 0, "every unit was taken back");
    let taken_back: i64 = world
        .one("select affected_unit_count::bigint from cutter_governance.cut_change_set where change_kind = 'compensate'")
        .await;
    assert_eq!(taken_back, 3);
    let later = world.a_verdict(entry, "pass", "verifier_2").await;
    assert!(later.prior_verify_result_id.is_some());
    let answer = world.verify.fn_verify(&later).await.expect("kept");
    assert_eq!(answer.status, "verify_failed_escalated", "F-7");
    unchanged!(world, {
        let again = world.verify.fn_verify(&later).await.expect("the same again");
        assert!(again.replayed);
        let mut stale = world.a_verdict(entry, "pass", "verifier_2").await;
        stale.prior_verify_result_id = None;
        world.sign_verdict(&mut stale).await;
        assert_eq!(codes(world.verify.fn_verify(&stale).await), [RC019]);
        let cut = world.a_cut(&document, entry, "executor").await;
        let told = facts(world.exec.fn_cut(&cut).await, RC021);
        assert_eq!(told["status"], "verify_failed_escalated");
        assert_eq!(told["reason"], "verification failed");
        assert_eq!(told["rollback_change_set_id"], json!(report.rollback_change_set_id));
    });
    // What failed can be cut again: the addresses are free.
    world.verified(&document, "anew").await;
}

/// CUT-1: only the sovereign gives up, with a reason and a reference; what was cut and not verified is taken back.
#[tokio::test]
async fn only_the_sovereign_abandons() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let entry = world.cut(&document, "k").await;
    let good = world.an_abandonment(entry);
    unchanged!(world, {
        let mut nobody = good.clone();
        nobody.principal = "executor".to_owned();
        assert_eq!(codes(world.app.fn_abandon(&nobody).await), [RI003]);
        let mut silent = good.clone();
        silent.audit_ref = " ".to_owned();
        assert_eq!(codes(world.app.fn_abandon(&silent).await), [RS007]);
        let mut unknown = good.clone();
        unknown.entry_id = Uuid::now_v7();
        assert_eq!(codes(world.app.fn_abandon(&unknown).await), [RC001]);
    });
    world.app.fn_abandon(&good).await.expect("abandoned");
    let live: i64 =
        world.one("select count(*) from iu.information_unit where deleted_at is null").await;
    assert_eq!((world.status(entry).await.as_str(), live), ("abandoned", 0));
    unchanged!(world, {
        assert!(world.app.fn_abandon(&good).await.expect("the same again").replayed);
        let mut another = good.clone();
        another.idempotency_key = "another".to_owned();
        assert_eq!(codes(world.app.fn_abandon(&another).await), [RS004]);
        let verdict = world.a_verdict(entry, "pass", "verifier").await;
        assert_eq!(codes(world.verify.fn_verify(&verdict).await), [RC019]);
    });
}

/// IU-3: an enactment is decided on for a verified cut only, by somebody else than who marked; a later decision supersedes.
#[tokio::test]
async fn an_enactment_is_decided_on_by_itself() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let mark = Mark { principal: "everyone".to_owned(), ..world.a_mark(&document, "k") };
    let entry = world.exec.fn_mark(&mark).await.expect("marked").entry_id;
    world.swept().await;
    let review = world.a_review(&document, entry, "approve").await;
    world.review.fn_review(&review).await.expect("approved");
    let cut = world.a_cut(&document, entry, "executor").await;
    world.exec.fn_cut(&cut).await.expect("cut");
    let early = world.a_lifecycle_review(entry, "approve").await;
    unchanged!(world, {
        assert_eq!(codes(world.review.fn_lifecycle_review(&early).await), [RC018], "not verified");
    });
    let verdict = world.a_verdict(entry, "pass", "verifier").await;
    world.verify.fn_verify(&verdict).await.expect("verified");
    let reject = world.a_lifecycle_review(entry, "reject").await;
    unchanged!(world, {
        let mut deferred = reject.clone();
        deferred.verdict = "defer".to_owned();
        assert_eq!(codes(world.review.fn_lifecycle_review(&deferred).await), [RC017]);
        let mut unsaid = reject.clone();
        unsaid.risk = "high".to_owned();
        assert_eq!(codes(world.review.fn_lifecycle_review(&unsaid).await), [RC007]);
        let mut stale = reject.clone();
        stale.prior_review_decision_id = None;
        assert_eq!(codes(world.review.fn_lifecycle_review(&stale).await), [RC008]);
        let mut own = reject.clone();
        own.principal = "everyone".to_owned();
        own.decision = world.signed("everyone", &Statement::review(&own.decision_payload));
        assert_eq!(
            codes(world.review.fn_lifecycle_review(&own).await),
            [RC018],
            "who marked does not enact"
        );
    });
    world.review.fn_lifecycle_review(&reject).await.expect("decided");
    unchanged!(world, {
        assert!(world.review.fn_lifecycle_review(&reject).await.expect("again").replayed);
        let mut other = reject.clone();
        other.decision_payload.push(' ');
        other.decision = world.signed("authority", &Statement::review(&other.decision_payload));
        assert_eq!(codes(world.review.fn_lifecycle_review(&other).await), [RC015]);
    });
    let approve = world.a_lifecycle_review(entry, "approve").await;
    assert_eq!(approve.prior_review_decision_id, Some(reject.review_decision_id));
    world.review.fn_lifecycle_review(&approve).await.expect("decided anew");
    world.enact("POL/one", approve.review_decision_id).await.expect("enacted");
}
