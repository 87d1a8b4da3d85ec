//! SEC-1, SEC-3: whoever holds a login and nobody's key stores no signature. Each door that stores one is given what is not one: 64 zeros,
//! another person's signature, the person's own under something else. All are refused by the database with RI051, and nothing is written.

use chancery_model::envelope::{Birth, Move as Signable, Statement};
use chancery_model::refusal::Code::RI051;
use chancery_store::cutter::{Abandon, LaneSignature};
use chancery_store::fsm::{Move, Signed, Start};
use chancery_store::queue::JobMove;
use chancery_store::{Error, Role, Store};
use chancery_testkit::{TestDb, keys};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::approval_world::{Change, Panel, ask_with, mark_with, vote_with};
use crate::cutter_world::World;
use crate::flow_world::Flow;
use crate::queue_world::Yard;
use crate::support::{LETTER, birth, check, codes};

/// What is no signature of this person under `right`: `other` is something else that they did sign.
fn forgeries(person: &str, right: &Statement, other: &Statement) -> Vec<(&'static str, Vec<u8>)> {
    let good = keys::sign(person, right);
    let flipped = {
        let mut bytes = good.clone();
        bytes[40] ^= 1;
        bytes
    };
    let plain = chancery_model::envelope::Statement::kb(right.payload());
    let of_another_type = if plain.payload_type() == right.payload_type() {
        Statement::lane(right.payload())
    } else {
        plain
    };
    vec![
        ("zero bytes", vec![0; 64]),
        ("no bytes", vec![]),
        ("half of it", good[..32].to_vec()),
        ("one bit of it", flipped),
        ("another person's key", keys::sign("somebody else", right)),
        ("their signature under something else", keys::sign(person, other)),
        (
            "their signature under the text as one of another type",
            keys::sign(person, &of_another_type),
        ),
    ]
}

/// The statement of a move of this person.
fn of_move(m: &Move) -> Statement {
    Signable {
        run_kind: &m.run_kind,
        run_id: m.run_id,
        to: &m.to,
        principal: &m.principal,
        actor_class: &m.actor_class,
        trigger_kind: &m.trigger_kind,
        trigger_ref: &m.trigger_ref,
        evidence: &m.evidence,
        reason: m.reason.as_deref(),
        idempotency_key: &m.idempotency_key,
        birth: None,
    }
    .statement()
}

/// Each forgery is refused and changes nothing; the true signature is taken.
async fn only_the_true_one<T: std::fmt::Debug>(
    db: &TestDb,
    what: &str,
    person: &str,
    right: &Statement,
    other: &Statement,
    store: impl AsyncFn(Vec<u8>) -> Result<T, Error>,
) {
    let before = db.fingerprint().await;
    for (how, signature) in forgeries(person, right, other) {
        assert_eq!(codes(store(signature).await), [RI051], "{what}: {how}");
        assert_eq!(before, db.fingerprint().await, "{what}: {how}");
    }
    store(keys::sign(person, right)).await.unwrap_or_else(|error| panic!("{what}: {error:?}"));
    assert_ne!(before, db.fingerprint().await, "{what}");
}

async fn letters_with_people() -> (Panel, Store) {
    let db = TestDb::new().await;
    db.service("writer", &["executor_worker", "pic_human"]).await;
    db.machine(LETTER).await;
    let panel = Panel::on(db).await;
    let store = panel.db.store(Role::App);
    (panel, store)
}

async fn a_letter(store: &Store) -> Uuid {
    store.fn_run_start(&birth("letter", json!({ "words": 3 }))).await.expect("a letter").run_id
}

/// Rita reads a letter.
fn reads(run: Uuid) -> Move {
    Move {
        principal: "rita".to_owned(), reason: Some("đã đọc \"kỹ\"".to_owned()), ..check(run)
    }
}

/// SEC-1: a move, by itself and in a batch.
#[tokio::test]
async fn a_move_is_signed_by_whoever_it_names() {
    let (panel, store) = letters_with_people().await;
    let key_id = panel.key("rita");
    let signed = |m: &Move, signature: Vec<u8>| Move {
        signed: Some(Signed { key_id, signature }),
        ..m.clone()
    };
    let (run, other) = (a_letter(&store).await, a_letter(&store).await);
    let (m, of_the_other) = (reads(run), reads(other));
    let (right, wrong) = (of_move(&m), of_move(&of_the_other));
    only_the_true_one(&panel.db, "a move", "rita", &right, &wrong, async |signature| {
        store.fn_state_transition_apply(&signed(&m, signature)).await
    })
    .await;
    // What stands is told again, whatever comes with the question: nothing is stored.
    let before = panel.db.fingerprint().await;
    let again = store.fn_state_transition_apply(&signed(&m, vec![0; 64])).await.expect("told");
    assert!(again.replayed);
    assert_eq!(before, panel.db.fingerprint().await);

    // In a batch each is judged by itself.
    let moves =
        [signed(&of_the_other, vec![0; 64]), signed(&of_the_other, keys::sign("rita", &wrong))];
    let told = store.fn_state_transition_apply_batch(&moves[..1]).await.expect("reports");
    assert_eq!(told[0].problems.iter().map(|p| p.code).collect::<Vec<_>>(), [RI051]);
    assert_eq!(before, panel.db.fingerprint().await);
    let told = store.fn_state_transition_apply_batch(&moves).await.expect("reports");
    assert_eq!(told.iter().map(|report| report.ok).collect::<Vec<_>>(), [false, true]);

    // Each field of the move is signed.
    let third = a_letter(&store).await;
    let base = reads(third);
    let signature = keys::sign("rita", &of_move(&base));
    let before = panel.db.fingerprint().await;
    let changes: [Change<Move>; 3] = [
        ("evidence", |m| m.evidence = json!({ "seen": 1 })),
        ("reason", |m| m.reason = None),
        ("idempotency key", |m| m.idempotency_key.push('x')),
    ];
    for (field, change) in changes {
        let mut changed = base.clone();
        change(&mut changed);
        let answer = store.fn_state_transition_apply(&signed(&changed, signature.clone())).await;
        assert_eq!(codes(answer), [RI051], "{field}");
    }
    assert_eq!(before, panel.db.fingerprint().await);
}

/// SEC-1: a birth is signed with what the run is born with; agents sign as people do, and a service's signature counts as well.
#[tokio::test]
async fn a_birth_is_signed_with_its_data() {
    let (panel, store) = letters_with_people().await;
    for (person, class) in
        [("petra", "pic_human"), ("agata", "executor_worker"), ("wanda", "executor_worker")]
    {
        let start = Start {
            principal: person.to_owned(),
            actor_class: class.to_owned(),
            evidence: json!({ "é": [1.5, 1e21, -0.0, "\u{1f600}\n"], "a": { "b": null } }),
            ..birth("letter", json!({ "words": 3 }))
        };
        let statement = |data: &Value| {
            Signable {
                run_kind: "custom",
                run_id: start.run_id,
                to: "draft",
                principal: person,
                actor_class: class,
                trigger_kind: &start.trigger_kind,
                trigger_ref: &start.trigger_ref,
                evidence: &start.evidence,
                reason: None,
                idempotency_key: &start.idempotency_key,
                birth: Some(Birth { machine: "letter", data }),
            }
            .statement()
        };
        let (right, wrong) = (statement(&start.data), statement(&json!({ "words": 4 })));
        only_the_true_one(&panel.db, person, person, &right, &wrong, async |signature| {
            let signed = Some(Signed { key_id: panel.key(person), signature });
            store.fn_run_start(&Start { signed, ..start.clone() }).await
        })
        .await;
    }
}

/// SEC-1, APR-1: a request, a vote of a sovereign, and a name under a document, with the login of the server.
#[tokio::test]
async fn approvals_are_signed_by_whoever_they_name() {
    let panel = Panel::new().await;
    let app = panel.db.connect(Role::App).await;
    let app = tokio::sync::Mutex::new(app);
    let (ask, other) =
        (panel.an_ask("note", "medium", "n").await, panel.an_ask("note", "medium", "m").await);
    let [right, wrong] = [&ask, &other].map(|ask| Statement::approval(&ask.payload));
    only_the_true_one(&panel.db, "a request", "petra", &right, &wrong, async |signature| {
        ask_with(&mut *app.lock().await, &ask, &signature).await
    })
    .await;

    let second = panel.asked("note", "medium", "o").await;
    let (vote, other) = (
        panel.a_vote(ask.approval_id, "sofia", "approve").await,
        panel.a_vote(second, "sofia", "approve").await,
    );
    let [right, wrong] = [&vote, &other].map(|vote| Statement::approval(&vote.payload));
    only_the_true_one(&panel.db, "a vote", "sofia", &right, &wrong, async |signature| {
        vote_with(&mut *app.lock().await, &vote, &signature).await
    })
    .await;
    assert_eq!(panel.state(ask.approval_id).await, "approved");
    assert_eq!(panel.state(second).await, "pending");

    panel.put("policies/one", "a text", None).await.expect("a revision");
    let (mark, other) = (
        panel.a_mark("policies/one", 1, "read").await,
        panel.a_mark("policies/one", 1, "approved").await,
    );
    let [right, wrong] = [&mark, &other].map(|mark| Statement::kb(&mark.payload));
    only_the_true_one(&panel.db, "a name", "petra", &right, &wrong, async |signature| {
        mark_with(&mut *app.lock().await, &mark, &signature).await
    })
    .await;
}

/// SEC-1, CUT-7: decisions of the review authority and the attestations of both lanes, each with the login of its duty.
#[tokio::test]
async fn the_lanes_are_signed_by_whoever_they_name() {
    let world = World::new().await;
    let document = world.document("one", "ONE").await;
    let entry = world.pending(&document, "one").await;
    let something_else = Statement::review("{}");
    let review = world.a_review(&document, entry, "approve").await;
    let right = Statement::review(&review.decision_payload);
    only_the_true_one(
        &world.db,
        "a review",
        "authority",
        &right,
        &something_else,
        async |signature| {
            let mut review = review.clone();
            review.decision.as_mut().expect("signed").signature = signature;
            world.review.fn_review(&review).await
        },
    )
    .await;

    let of = |signature: &LaneSignature, bytes: Vec<u8>| {
        let mut signature = signature.clone();
        signature.signed.as_mut().expect("signed").signature = bytes;
        signature
    };
    let cut = world.a_cut(&document, entry, "executor").await;
    let right = Statement::lane(&cut.signature.payload);
    only_the_true_one(
        &world.db,
        "a cut",
        "executor",
        &right,
        &Statement::lane("{}"),
        async |bytes| {
            let mut cut = cut.clone();
            cut.signature = of(&cut.signature, bytes);
            world.exec.fn_cut(&cut).await
        },
    )
    .await;

    let verdict = world.a_verdict(entry, "pass", "verifier").await;
    let right = Statement::lane(&verdict.signature.payload);
    only_the_true_one(
        &world.db,
        "a verdict",
        "verifier",
        &right,
        &Statement::lane("{}"),
        async |bytes| {
            let mut verdict = verdict.clone();
            verdict.signature = of(&verdict.signature, bytes);
            world.verify.fn_verify(&verdict).await
        },
    )
    .await;

    let review = world.a_lifecycle_review(entry, "approve").await;
    let right = Statement::review(&review.decision_payload);
    only_the_true_one(
        &world.db,
        "an enactment",
        "authority",
        &right,
        &something_else,
        async |signature| {
            let mut review = review.clone();
            review.decision.as_mut().expect("signed").signature = signature;
            world.review.fn_lifecycle_review(&review).await
        },
    )
    .await;

    // A move of an entry, whose phase signs nothing besides.
    let another = world.pending(&world.document("two", "TWO").await, "two").await;
    let abandon = world.an_abandonment(another);
    let evidence = json!({ "reason": abandon.reason, "audit_ref": abandon.audit_ref, "event": { "reason": abandon.reason } });
    let statement = |run_id| {
        Signable {
            run_kind: "cut_request",
            run_id,
            to: "abandoned",
            principal: "sovereign",
            actor_class: "sovereign",
            trigger_kind: "rpc",
            trigger_ref: "abandon",
            evidence: &evidence,
            reason: Some(&abandon.reason),
            idempotency_key: &abandon.idempotency_key,
            birth: None,
        }
        .statement()
    };
    only_the_true_one(
        &world.db,
        "an end",
        "sovereign",
        &statement(another),
        &statement(entry),
        async |signature| {
            let signed = Some(Signed { key_id: world.key("sovereign"), signature });
            world.app.fn_abandon(&Abandon { signed, ..abandon.clone() }).await
        },
    )
    .await;
}

/// SEC-1: what is born or moved through the doors of the queue and of workflows.
#[tokio::test]
async fn proposals_are_signed_by_whoever_they_name() {
    let yard = Yard::new().await;
    let dead = yard.dead("a", 2).await;
    let proposal = yard.proposal(Uuid::now_v7(), &dead, 0);
    let before = yard.db.fingerprint().await;
    let mut swapped = proposal.clone();
    swapped.signatures.as_mut().expect("signed").swap(0, 1);
    let mut zeros = proposal.clone();
    zeros.signatures.as_mut().expect("signed")[1] = vec![0; 64];
    for forged in [swapped, zeros] {
        assert_eq!(codes(yard.store.fn_dlq_replay_propose(&forged).await), [RI051]);
        assert_eq!(before, yard.db.fingerprint().await);
    }
    yard.store.fn_dlq_replay_propose(&proposal).await.expect("a batch");

    // A person cancels a job with their key, or not at all.
    let job = yard.put("b").await;
    let cancel = JobMove {
        id: job,
        reason: "no".to_owned(),
        actor_class: "pic_human".to_owned(),
        principal: "petra".to_owned(),
        idempotency_key: "k".to_owned(),
        signed: None,
    };
    let evidence = json!({ "reason": "no" });
    let statement = |run_id| {
        Signable {
            run_kind: "job",
            run_id,
            to: "cancelled",
            principal: "petra",
            actor_class: "pic_human",
            trigger_kind: "rpc",
            trigger_ref: "job_cancel",
            evidence: &evidence,
            reason: Some("no"),
            idempotency_key: "k",
            birth: None,
        }
        .statement()
    };
    only_the_true_one(
        &yard.db,
        "a job",
        "petra",
        &statement(job),
        &statement(Uuid::nil()),
        async |signature| {
            let signed = Some(Signed { key_id: yard.key("petra"), signature });
            yard.store.fn_job_cancel(&JobMove { signed, ..cancel.clone() }).await
        },
    )
    .await;
}

/// SEC-1, WF-1: a person's call on a run of a workflow.
#[tokio::test]
async fn a_call_on_a_workflow_is_signed_by_whoever_it_names() {
    let flow = Flow::new().await;
    let run = flow.begun(crate::flow_world::single("doc", json!({}))).await;
    let evidence = json!({ "audit_ref": "A-pause" });
    let call = chancery_store::workflow::RunCall {
        workflow_run_id: run,
        call: "workflow_pause",
        evidence: &evidence,
        principal: "rita",
        actor_class: "reviewer",
        idempotency_key: "pause",
        reason: None,
        signed: None,
    };
    let to = flow
        .db
        .text(
            "select t.to_state from fsm.transition_def t join fsm.state_machine_def m using (state_machine_id)
              where m.scope = 'workflow_run' and m.active and t.trigger_ref = 'workflow_pause' and t.from_state = 'in_progress' and t.actor_class = 'reviewer'",
        )
        .await;
    let statement = |run_id| {
        Signable {
            run_kind: "workflow_run",
            run_id,
            to: &to,
            principal: "rita",
            actor_class: "reviewer",
            trigger_kind: "rpc",
            trigger_ref: "workflow_pause",
            evidence: &evidence,
            reason: None,
            idempotency_key: "pause",
            birth: None,
        }
        .statement()
    };
    only_the_true_one(
        &flow.db,
        "a pause",
        "rita",
        &statement(run),
        &statement(Uuid::nil()),
        async |signature| {
            let signed = Some(Signed { key_id: flow.key("rita"), signature });
            flow.store
                .fn_workflow_move(&chancery_store::workflow::RunCall { signed, ..call.clone() })
                .await
        },
    )
    .await;
}
