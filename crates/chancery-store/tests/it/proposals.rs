//! PRO-1: proposals that are not about workflows. Written with evidence, decided by others, carried out by the doors of what they are
//! about: a proposal never writes a registry.

use chancery_store::Error;
use chancery_store::workflow::{Act, NewProposal, ProposalReport};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_words::{human, workflow};
use crate::flow_world::{Flow, facts, hex, sha};

struct Proposal {
    kind: &'static str,
    class: &'static str,
    title: &'static str,
    units: Vec<Uuid>,
    action: Value,
    usage: Value,
}

fn edge() -> Proposal {
    Proposal {
        kind: "kg_edge",
        class: "kg_feedback",
        title: "These belong together",
        units: vec![],
        action: json!({ "from": "A/one", "to": "A/two", "edge": "supports" }),
        usage: json!([{ "kind": "read_together", "facts": { "times": 12 } }]),
    }
}

async fn create(flow: &Flow, id: Uuid, proposal: &Proposal) -> Result<ProposalReport, Error> {
    create_as(flow, id, proposal, "petra", "pic_human").await
}

async fn create_as(
    flow: &Flow,
    id: Uuid,
    proposal: &Proposal,
    principal: &str,
    class: &str,
) -> Result<ProposalReport, Error> {
    let evidence = json!({ "action_sha256": hex(&sha(&proposal.action)) });
    let act = Act {
        run_kind: "proposal",
        run_id: id,
        call: "propose",
        evidence: &evidence,
        principal,
        actor_class: class,
        idempotency_key: "propose",
        reason: None,
        signed: None,
    };
    let new = NewProposal {
        kind: proposal.kind,
        proposer_class: proposal.class,
        title: proposal.title,
        affected_iu_ids: &proposal.units,
        action: &proposal.action,
        usage: &proposal.usage,
    };
    flow.store.fn_proposal_create(&flow.signed(act).await, &new).await
}

async fn carry_out(
    flow: &Flow,
    id: Uuid,
    outcome: &Value,
    evidence: Value,
) -> Result<ProposalReport, Error> {
    let act = Act {
        run_kind: "proposal",
        run_id: id,
        call: "merge",
        evidence: &evidence,
        principal: "petra",
        actor_class: "pic_human",
        idempotency_key: "done",
        reason: None,
        signed: None,
    };
    flow.store.fn_proposal_carry_out(&flow.signed(act).await, outcome).await
}

/// The whole way: a draft with its evidence, handed in, decided by another, carried out once with what came of it.
#[tokio::test]
async fn a_proposal_is_carried_out_when_others_approve() {
    let flow = Flow::new().await;
    let id = Uuid::now_v7();
    let proposal = edge();
    let report = create(&flow, id, &proposal).await.expect("a draft");
    assert_eq!((report.state.as_str(), report.replayed), ("draft", false));
    assert!(flow.unchanged(create(&flow, id, &proposal)).await.expect("the same").replayed);
    let other = Proposal { action: json!({ "edge": "none" }), ..edge() };
    assert_eq!(flow.refuses(create(&flow, id, &other)).await, ["RW019"]);
    assert_eq!(
        flow.number(&format!(
            "select count(*) from governance.iu_usage_evidence where proposal_id = '{id}'"
        ))
        .await,
        1
    );
    let done = json!({ "audit_ref": "A-1" });
    let came = json!({ "edge_id": 7 });
    assert_eq!(flow.refuses(carry_out(&flow, id, &came, done.clone())).await, ["RS004"], "a draft");
    let digest = json!({ "digest": hex(&sha(&proposal.action)) });
    let wrong = json!({ "digest": hex(&sha(&json!({}))) });
    assert_eq!(
        flow.refuses(flow.proposal_move("proposal", id, "submit", wrong, "petra")).await,
        ["G-DIGEST-PINNED"]
    );
    assert_eq!(
        flow.refuses(flow.proposal_move("proposal", id, "submit", digest.clone(), "rita")).await,
        ["G-PROPOSER"]
    );
    flow.proposal_move("proposal", id, "submit", digest, "petra").await.expect("submitted");
    let approval = flow.review_asked("proposal", id, &sha(&proposal.action)).await;
    assert_eq!(flow.settle("proposal", id).await, "review");
    assert_eq!(
        flow.refuses(flow.votes(approval, "petra", "approve")).await.len(),
        1,
        "not one's own"
    );
    assert_eq!(
        flow.refuses(carry_out(&flow, id, &came, done.clone())).await,
        ["RS004"],
        "in review"
    );
    flow.votes(approval, "sofia", "approve").await.expect("a vote");
    flow.ring().await;
    assert_eq!(flow.settle("proposal", id).await, "approved");
    assert_eq!(flow.refuses(carry_out(&flow, id, &came, json!({}))).await, ["RS007"]);
    let report = carry_out(&flow, id, &came, done.clone()).await.expect("carried out");
    assert_eq!((report.state.as_str(), report.outcome), ("merged", Some(came.clone())));
    assert!(flow.unchanged(carry_out(&flow, id, &came, done)).await.expect("the same").replayed);
    let told: Vec<Option<String>> = flow
        .db
        .texts(&format!("select event_type from event.event_outbox where subject_id = '{id}' order by subject_seq"))
        .await;
    let told: Vec<&str> = told.iter().flatten().map(String::as_str).collect();
    assert_eq!(
        told,
        [
            "proposal.created",
            "proposal.submitted",
            "proposal.in_review",
            "proposal.approved",
            "proposal.merged"
        ]
    );
    assert_eq!(flow.number("select count(*) from workflow.timer").await, 0);
}

/// What a proposal needs: a kind of the vocabulary, a class of proposers, units that there are, an action, evidence.
#[tokio::test]
async fn a_proposal_has_what_it_needs() {
    let flow = Flow::new().await;
    for (proposal, expected) in [
        (Proposal { kind: "world_peace", ..edge() }, "a kind of the vocabulary"),
        (Proposal { class: "A Person", ..edge() }, "a class of proposers, as a word"),
        (Proposal { title: " ", ..edge() }, "an id and a title"),
        (Proposal { units: vec![Uuid::now_v7()], ..edge() }, "units that there are"),
        (Proposal { action: json!([]), ..edge() }, "an action: an object of at most 65536 bytes"),
        (
            Proposal { action: json!({ "x": "x".repeat(70_000) }), ..edge() },
            "an action: an object of at most 65536 bytes",
        ),
        (
            Proposal { usage: json!([]), ..edge() },
            "evidence: a list of {kind, facts, iu_id}, not empty",
        ),
        (
            Proposal { usage: json!({}), ..edge() },
            "evidence: a list of {kind, facts, iu_id}, not empty",
        ),
        (
            Proposal { usage: json!([7]), ..edge() },
            "evidence: a list of {kind, facts, iu_id}, not empty",
        ),
        (
            Proposal { usage: json!([{ "kind": "read" }]), ..edge() },
            "evidence: a list of {kind, facts, iu_id}, not empty",
        ),
        (
            Proposal { usage: json!([{ "kind": "read", "facts": {}, "iu_id": "x" }]), ..edge() },
            "evidence: a list of {kind, facts, iu_id}, not empty",
        ),
    ] {
        let answer = flow.unchanged(create(&flow, Uuid::now_v7(), &proposal)).await;
        assert_eq!(facts(answer)["expected"], expected);
    }
    let id = Uuid::now_v7();
    assert_eq!(
        flow.refuses(create_as(&flow, id, &edge(), "guest", "observer")).await[0],
        "RI004",
        "who only reads proposes nothing"
    );
    create_as(&flow, id, &edge(), "hall", "executor_worker").await.expect("a program may");
}

/// Rejected stays so; taken back it is a draft again; undecided it goes back to its writer.
#[tokio::test]
async fn a_proposal_is_rejected_withdrawn_or_returned() {
    let flow = Flow::new().await;
    let proposal = edge();
    let digest = json!({ "digest": hex(&sha(&proposal.action)) });
    let id = Uuid::now_v7();
    create(&flow, id, &proposal).await.expect("a draft");
    flow.proposal_move("proposal", id, "submit", digest.clone(), "petra").await.expect("submitted");
    flow.proposal_move("proposal", id, "withdraw", json!({}), "petra").await.expect("taken back");
    flow.proposal_move("proposal", id, "submit", digest.clone(), "petra").await.expect("submitted");
    flow.review_asked("proposal", id, &sha(&proposal.action)).await;
    assert_eq!(flow.settle("proposal", id).await, "review");
    let late = flow.proposal_move("proposal", id, "withdraw", json!({}), "petra");
    assert_eq!(flow.refuses(late).await, ["RS004"], "not from a review");
    flow.later(60_000).await;
    flow.ring().await;
    assert_eq!(flow.settle("proposal", id).await, "draft");
    flow.proposal_move("proposal", id, "submit", digest, "petra").await.expect("submitted");
    let approval = flow.review_asked("proposal", id, &sha(&proposal.action)).await;
    flow.votes(approval, "sofia", "reject").await.expect("a vote");
    assert_eq!(flow.settle("proposal", id).await, "rejected");
    assert_eq!(
        flow.refuses(carry_out(&flow, id, &json!({}), json!({ "audit_ref": "A" }))).await,
        ["RS004"]
    );
}

/// PRO-1, UIW-7: a draft is given up by who wrote it, and stays so. Given up twice with one key it is once; nobody else gives it up.
#[tokio::test]
async fn a_draft_is_given_up_by_its_writer() {
    let flow = Flow::new().await;
    let definition = workflow("doc", vec![human("a")], vec![]);
    let change = Uuid::now_v7();
    flow.propose(change, &definition).await.expect("a draft");
    let other = Uuid::now_v7();
    create(&flow, other, &edge()).await.expect("a draft");
    for (kind, id) in [("workflow_change", change), ("proposal", other)] {
        let by_another = flow.proposal_move(kind, id, "withdraw", json!({}), "rita");
        assert_eq!(flow.refuses(by_another).await, ["G-PROPOSER"], "who wrote it");
        let given_up = flow.proposal_move(kind, id, "withdraw", json!({}), "petra").await;
        assert_eq!(given_up.expect("given up")["state"], "withdrawn");
        for call in ["submit", "withdraw"] {
            let again = flow.proposal_move(kind, id, call, json!({ "digest": "" }), "petra");
            assert!(!flow.refuses(again).await.is_empty(), "{call} of what was given up");
        }
    }
    assert_eq!(
        flow.refuses(flow.propose(change, &workflow("doc", vec![human("b")], vec![]))).await,
        ["RW005"]
    );
    // A new one of the same workflow stands by itself.
    flow.propose(Uuid::now_v7(), &definition).await.expect("another draft");
}
