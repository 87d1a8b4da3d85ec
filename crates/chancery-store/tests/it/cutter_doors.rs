//! F-1…F-8 of the cutter through every door there is: no phase is skipped, repeated or faked by asking nicely.

use chancery_store::Store;
use chancery_store::fsm::Move;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::cutter_world::{Document, World};

/// An entry in each state that is ever stored, and one more in each that can be taken for evidence.
struct Entries {
    world: World,
    by_state: Vec<(&'static str, Uuid)>,
}

/// Every state, as the log may hold it, and the two that it never holds.
const STATES: [&str; 11] = [
    "marked",
    "review_pending",
    "reviewed_approved",
    "reviewed_deferred",
    "reviewed_rejected",
    "cut_in_progress",
    "cut_applied",
    "verify_in_progress",
    "verified_complete",
    "verify_failed_escalated",
    "abandoned",
];

async fn entries() -> Entries {
    let world = World::new().await;
    let mut documents: Vec<Document> = Vec::new();
    for n in 0..9 {
        documents.push(world.document(&format!("doc-{n}"), &format!("DOC-{n}")).await);
    }
    let review = async |n: usize, verdict: &str| {
        let entry = world.pending(&documents[n], &format!("k{n}")).await;
        let review = world.a_review(&documents[n], entry, verdict).await;
        world.review.fn_review(&review).await.expect("decided");
        entry
    };
    // What a sweep would promote comes after the sweeps.
    let rejected = review(0, "reject").await;
    let cut = world.cut(&documents[1], "k1").await;
    let verified = world.verified(&documents[2], "k2").await;
    let (failed, _) = world.failed(&documents[3], "k3").await;
    let abandoned = world.marked(&documents[4], "k4").await;
    world.app.fn_abandon(&world.an_abandonment(abandoned)).await.expect("abandoned");
    let approved = world.approved(&documents[5], "k5").await;
    let pending = world.pending(&documents[6], "k6").await;
    let deferred = review(7, "defer").await;
    let marked = world.marked(&documents[8], "k8").await;
    let by_state = vec![
        ("marked", marked),
        ("review_pending", pending),
        ("reviewed_approved", approved),
        ("reviewed_deferred", deferred),
        ("reviewed_rejected", rejected),
        ("cut_applied", cut),
        ("verified_complete", verified),
        ("verify_failed_escalated", failed),
        ("abandoned", abandoned),
    ];
    for (state, entry) in &by_state {
        assert_eq!(world.status(*entry).await, *state);
    }
    Entries { world, by_state }
}

/// The evidence that would serve each phase best, taken from the entry itself and then from another one.
async fn evidences(world: &World, entry: Uuid) -> Vec<Value> {
    let of = |which: String| async move {
        world
            .one::<Value>(&format!(
                "select jsonb_build_object(
                   'review_decision_id', coalesce(c.review_decision_id, d.review_decision_id), 'manifest_id', d.manifest_id,
                   'manifest_digest', d.manifest_version, 'verdict', d.verdict, 'change_set_id', c.change_set_id,
                   'executor_signature_id', c.executor_signature_id, 'verify_result_id', v.verify_result_id,
                   'verifier_signature_id', v.verifier_signature_id,
                   'sweep_id', (select sweep_id from cutter_governance.decision_backlog_sweep_log order by sweep_seq desc limit 1),
                   'reason', 'because', 'audit_ref', 'A-1')
                 from (select 1) one
                 left join lateral (select * from cutter_governance.review_decision d where {which} order by created_at desc limit 1) d on true
                 left join cutter_governance.cut_change_set c on c.decision_backlog_entry_id = d.entry_id and c.change_kind = 'apply'
                 left join cutter_governance.verify_result v on v.change_set_id = c.change_set_id"
            ))
            .await
    };
    let own = of(format!("d.entry_id = '{entry}'")).await;
    let foreign = of(format!(
        "d.entry_id <> '{entry}' and d.verdict = 'approve' and exists (select from cutter_governance.cut_change_set c where c.decision_backlog_entry_id = d.entry_id)"
    ))
    .await;
    let mut invented = own.clone();
    invented["change_set_id"] = json!(Uuid::now_v7());
    vec![own, foreign, invented, json!({ "reason": "because", "audit_ref": "A-1" })]
}

/// Who could ask for a move with some right: login, principal, class, trigger.
fn askers(world: &World) -> [(&Store, &'static str, &'static str, &'static [&'static str]); 8] {
    [
        (&world.exec, "executor", "executor_dot991", &["mark", "sweep", "cut"]),
        (&world.exec, "everyone", "executor_dot991", &["mark", "sweep", "cut"]),
        (&world.verify, "verifier", "verifier_dot992", &["verify", "escalate"]),
        (&world.review, "authority", "review_authority", &["review"]),
        (&world.review, "authority_2", "review_authority", &["review"]),
        (&world.app, "sweeper", "system", &["sweep"]),
        (&world.app, "sovereign", "sovereign", &["abandon"]),
        (&world.app, "everyone", "pic_human", &["mark"]),
    ]
}

fn a_move(
    entry: Uuid,
    to: &str,
    principal: &str,
    class: &str,
    trigger: &str,
    evidence: &Value,
) -> Move {
    Move {
        run_id: entry,
        run_kind: "cut_request".to_owned(),
        from: None,
        to: to.to_owned(),
        actor_class: class.to_owned(),
        trigger_kind: "rpc".to_owned(),
        trigger_ref: trigger.to_owned(),
        evidence: evidence.clone(),
        principal: principal.to_owned(),
        idempotency_key: Uuid::now_v7().to_string(),
        reason: None,
        signed: None,
    }
}

/// CUT-1, F-1…F-8: the general door moves no entry, whatever it is asked, by whom, and with whose evidence.
#[tokio::test]
async fn the_general_door_is_no_way_round_the_phases() {
    let Entries { world, by_state } = entries().await;
    let before = world.db.fingerprint().await;
    let mut went_through = Vec::new();
    for (from, entry) in by_state {
        for evidence in evidences(&world, entry).await {
            for (login, principal, class, triggers) in askers(&world) {
                for trigger in triggers {
                    for to in STATES {
                        let m = a_move(entry, to, principal, class, trigger, &evidence);
                        let answer = login.fn_state_transition_apply(&m).await;
                        if answer.is_ok() {
                            went_through.push(format!(
                                "{from} → {to} by {principal} as {class}: {evidence}"
                            ));
                        }
                    }
                }
            }
        }
    }
    assert_eq!(went_through, Vec::<String>::new());
    assert_eq!(before, world.db.fingerprint().await, "nothing changed");
}
