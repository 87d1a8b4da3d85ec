//! RUN-6, RUN-9, FSM-5: evidence that is asked for says something. What a machine declares as evidence is held to one rule, by
//! whichever call it comes; what people give without a move is held to the same.

use chancery_model::refusal::Code;
use chancery_store::workflow::WorkCall;
use serde_json::{Value, json};

use crate::flow_moves::{audited, in_progress};
use crate::flow_world::{DESK, facts};
use crate::support::{LETTER, check, codes, draft, letters};

const BLANKS: [&str; 3] = ["", "   ", "\n\t"];

/// `unblock --by ''`, `cannot-complete --declaration ''` and an audit reference of spaces are refused, and nothing is written; what says
/// something is taken.
#[tokio::test]
async fn blank_evidence_is_refused() {
    let (flow, _, id) = in_progress(json!({})).await;
    let declare = |said: &str| {
        let evidence = audited(json!({ "declaration_ref": said }));
        flow.call(id, "declare_cannot_complete", evidence, None, DESK)
    };
    for blank in BLANKS {
        assert_eq!(flow.refuses(declare(blank)).await, ["RS027"], "{blank:?}");
    }
    let refusal = facts(declare(" ").await);
    assert_eq!(
        (&refusal["document"], &refusal["breaks"][0]["at"], &refusal["breaks"][0]["rule"]),
        (&json!("evidence"), &json!("/declaration_ref"), &json!("not_blank"))
    );
    flow.block(id).await;
    for blank in BLANKS {
        let evidence = audited(json!({ "resolution_ref": blank }));
        let freed = flow.call(id, "blocker_resolved", evidence, None, DESK);
        assert_eq!(flow.refuses(freed).await, ["RS027"], "{blank:?}");
        let unaudited = json!({ "audit_ref": blank, "resolution_ref": "R" });
        let freed = flow.call(id, "blocker_resolved", unaudited, None, DESK);
        assert_eq!(flow.refuses(freed).await, ["RS007"], "{blank:?}");
    }
    let evidence = audited(json!({ "resolution_ref": "ticket 117" }));
    flow.call(id, "blocker_resolved", evidence, None, DESK).await.expect("freed");
    declare("letter of 3 May").await.expect("declared");
}

/// A proof that says nothing ends no wait, and a reason of spaces escalates no block.
#[tokio::test]
async fn a_blank_proof_or_reason_is_refused() {
    let (flow, _, id) = in_progress(json!({})).await;
    let nobody = flow.wait_for(id, json!([{ "facet": "waiting_human", "of": "\n" }]));
    assert_eq!(flow.refuses(nobody).await, ["RW007"]);
    flow.wait_for(id, json!([{ "facet": "waiting_human", "of": "rita" }])).await.expect("waits");
    let wait = flow.one(&format!("select wait_id from workflow.wait where run_id = '{id}'")).await;
    for proof in
        [json!({}), json!({ "answer": "" }), json!({ "answer": " ", "more": { "text": [] } })]
    {
        let resolved = flow.store.fn_wait_resolve(wait, &proof, "rita", "reviewer");
        assert_eq!(flow.refuses(resolved).await, ["RW015"], "{proof}");
    }
    let proof = json!({ "answer": "", "amount": 0 });
    flow.store
        .fn_wait_resolve(wait, &proof, "rita", "reviewer")
        .await
        .expect("a number says something");

    flow.block(id).await;
    let said = |reason: &'static str, key: &'static str| WorkCall {
        run_kind: "step",
        run_id: id,
        call: "block_escalate",
        evidence: &Value::Null,
        document: None,
        principal: "desk",
        actor_class: "pic_human",
        idempotency_key: key,
        reason: Some(reason),
        signed: None,
    };
    let blank = said(" ", "a");
    assert_eq!(flow.refuses(flow.store.fn_step_block_escalate(&blank, None)).await, ["RS027"]);
    let spoken = said("the client waits", "b");
    flow.store.fn_step_block_escalate(&spoken, None).await.expect("escalated");
}

/// The rule is of the engine: a machine of a user's that declares evidence is held to it, also where one look judges the move. A shape
/// that allows a blank text says so with minLength 0.
#[tokio::test]
async fn the_rule_holds_for_machines_of_users() {
    let (db, store) = letters().await;
    for (version, schema, refused) in
        [("5.0.0", "{ type: string }", true), ("6.0.0", "{ type: string, minLength: 0 }", false)]
    {
        let evidence = format!(
            "evidence: {{ type: object, properties: {{ note: {schema} }} }}, event: letter.checked }}"
        );
        let machine = LETTER
            .replace("version: 1.0.0", &format!("version: {version}"))
            .replace("event: letter.checked }", &evidence);
        db.machine(&machine).await;
        let run = draft(&store).await;
        let mut blank = check(run);
        blank.evidence = json!({ "note": " " });
        let answer = store.fn_state_transition_apply(&blank).await;
        if refused {
            assert_eq!(codes(answer), [Code::RS027]);
            let left: Option<String> = db
                .texts(&format!(
                    "select state_code from fsm.run where run_id = '{run}' and seq = 1"
                ))
                .await
                .swap_remove(0);
            assert_eq!(left.as_deref(), Some("draft"), "nothing was written");
            let mut said = check(run);
            said.evidence = json!({ "note": "read" });
            store.fn_state_transition_apply(&said).await.expect("checked");
        } else {
            answer.expect("a blank note is allowed");
        }
    }
}
