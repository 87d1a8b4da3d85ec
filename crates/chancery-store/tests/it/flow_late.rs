//! RUN-8, RUN-15, UIG-1: late work is seen. What is past its deadline now is in the list of overdue work, counts as red, and lies in the
//! inbox of who can do something about it, whatever state it is in; what was late once and no longer is, is called that.

use chancery_store::workflow::WorkCall;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_moves::{audited, in_progress};
use crate::flow_world::{DESK, Flow, human, single, step, workflow};

/// How a step or task is seen: `past its deadline`, `was late`, in the list of overdue work, and what the inbox of the desk offers.
async fn seen(flow: &Flow, id: Uuid) -> (bool, bool, i64, Option<String>) {
    let kind: String = flow
        .one(&format!("select run_kind from fsm.transition_log where run_id = '{id}' limit 1"))
        .await;
    let told: Value = flow
        .one(&format!(
            "select jsonb_build_array(past_deadline, was_late) from workflow.v_{kind}_run where {kind}_run_id = '{id}'"
        ))
        .await;
    let listed = flow
        .number(&format!(
            "select count(*) from governance.vw_governance_overdue where run_id = '{id}'"
        ))
        .await;
    (told[0] == true, told[1] == true, listed, offered(flow, id, "desk").await)
}

/// What the inbox of somebody offers to do about a step or task; nothing when it is not there.
async fn offered(flow: &Flow, id: Uuid, reader: &str) -> Option<String> {
    let inbox = flow.store.fn_inbox(reader, 50).await.expect("an inbox");
    let waiting = inbox["waiting"].as_array().expect("a list");
    let item = waiting.iter().find(|item| item["id"] == json!(id))?;
    assert_eq!(item["action"]["allowed"], true, "{item}");
    // In words, and in the words of either language.
    let [label, label_vi] =
        ["label", "label_vi"].map(|name| item["action"][name].as_str().expect("a label"));
    for label in [label, label_vi] {
        assert!(!label.contains(|c: char| c.is_ascii_digit() || c == '_'), "in words: {label}");
    }
    assert_ne!(label, label_vi, "each language has its own");
    item["action"]["name"].as_str().map(ToOwned::to_owned)
}

async fn extend(flow: &Flow, id: Uuid) {
    let until: String = flow
        .one("select to_char((internal.now() + interval '1 hour') at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
        .await;
    let call = WorkCall {
        run_kind: "step",
        run_id: id,
        call: "extend",
        evidence: &json!({}),
        document: None,
        principal: "desk",
        actor_class: "pic_human",
        idempotency_key: "later",
        reason: Some("the mail is late"),
        signed: None,
    };
    flow.store.fn_work_extend(&call, &until).await.expect("extended");
}

/// A step past its deadline in each state in which it keeps that state: listed, red, and in the inbox of who is in charge; with a later
/// deadline it is none of these, and was late.
#[tokio::test]
async fn late_work_is_seen_in_every_state() {
    for (state, offer) in [
        ("ready", "step_claim"),
        ("waiting", "extend"),
        ("blocked", "blocker_resolved"),
        ("in_progress", "step_complete"),
    ] {
        let (flow, run) = Flow::with(single("one", json!({ "deadline": "1 minute" }))).await;
        let id = flow.step(run, "work").await;
        if state != "ready" {
            flow.claim_by(id, DESK).await;
        }
        match state {
            "waiting" => {
                let waits = json!([{ "facet": "waiting_human", "of": "rita" }]);
                drop(flow.wait_for(id, waits).await.expect("waits"));
            }
            "blocked" => flow.block(id).await,
            _ => {}
        }
        let before = flow.colour(run).await;
        assert!(!seen(&flow, id).await.0, "{state}");
        flow.later(61_000).await;
        flow.ring().await;
        if state == "in_progress" {
            flow.call(id, "step_reengage", audited(json!({})), None, DESK).await.expect("taken up");
        }
        assert_eq!(flow.state_of(id).await, state);
        assert_eq!(seen(&flow, id).await, (true, true, 1, Some(offer.to_owned())), "{state}");
        assert_eq!(flow.colour(run).await, "red", "{state}");
        same_colour(&flow, run, id).await;
        extend(&flow, id).await;
        let (past, was, listed, _) = seen(&flow, id).await;
        assert_eq!((past, was, listed), (false, true, 0), "{state}");
        assert_eq!(flow.colour(run).await, before, "{state}");
    }
}

/// What is stored is what is computed from all rows, and says which step is decisive.
async fn same_colour(flow: &Flow, run: Uuid, id: Uuid) {
    let computed: Value =
        flow.one(&format!("select workflow.fn_workflow_rollup_compute('{run}')")).await;
    assert_eq!(
        (&computed["rollup_state_code"], &computed["decisive_step_run_id"]),
        (&json!("red"), &json!(id))
    );
    let row = flow.row_of(run).await;
    assert_eq!(
        (&row["rollup_state_code"], &row["decisive_step_run_id"]),
        (&json!("red"), &json!(id))
    );
}

/// What nobody works on by hand is in the inbox of who is in charge as well: a worker's step that no worker takes up, and a step that
/// stands for a sub-workflow. Others do not have it.
#[tokio::test]
async fn late_work_of_workers_and_sub_workflows_has_somebody() {
    let flow = Flow::new().await;
    flow.install(workflow("inner", vec![human("x")], vec![])).await;
    let mut definition = workflow(
        "outer",
        vec![
            step("sub", json!({ "sub_workflow": "inner", "deadline": "1 minute" })),
            step("auto", json!({ "executor": "noop", "deadline": "1 minute" })),
        ],
        vec![],
    );
    definition["start"] = json!(["sub", "auto"]);
    let run = flow.begun(definition).await;
    let [sub, auto] = [flow.step(run, "sub").await, flow.step(run, "auto").await];
    for id in [sub, auto] {
        assert_eq!(offered(&flow, id, "desk").await, None, "in time it is not a person's");
    }
    flow.later(61_000).await;
    flow.ring().await;
    for (id, state) in [(sub, "in_progress"), (auto, "ready")] {
        assert_eq!(flow.state_of(id).await, state);
        assert_eq!(seen(&flow, id).await, (true, true, 1, Some("extend".to_owned())), "{state}");
        assert_eq!(offered(&flow, id, "dora").await, None, "somebody else is in charge");
    }
    assert_eq!(flow.colour(run).await, "red");
    extend(&flow, sub).await;
    assert_eq!(flow.colour(run).await, "red", "the other one is late still");
    extend(&flow, auto).await;
    assert_eq!(flow.colour(run).await, "green");
}

/// It is late as soon as the clock says so, before any timer rang; and not when it is over.
#[tokio::test]
async fn late_is_a_matter_of_now() {
    let (flow, _, id) = in_progress(json!({ "deadline": "1 minute" })).await;
    flow.later(61_000).await;
    let (past, was, listed, _) = seen(&flow, id).await;
    assert_eq!((past, was, listed), (true, false, 1), "no timer rang");
    flow.ring().await;
    flow.complete(id, json!({})).await.expect("completed");
    let (past, was, listed, offer) = seen(&flow, id).await;
    assert_eq!((past, was, listed, offer), (false, true, 0, None));
}

/// A correction has a deadline of its own: one that passed counts, whatever the first ending was.
#[tokio::test]
async fn a_late_correction_is_late() {
    let (flow, run, id) = in_progress(json!({ "deadline": "1 minute" })).await;
    flow.complete(id, json!({})).await.expect("in time");
    let approval = flow.approved("step_reopen", &id.to_string()).await;
    let evidence = audited(json!({ "approval_id": approval, "correction_reason": "data_error" }));
    flow.call(id, "step_reopen_for_correction", evidence, None, crate::flow_world::CHIEF)
        .await
        .expect("reopened");
    assert!(!seen(&flow, id).await.0);
    flow.later(61_000).await;
    flow.ring().await;
    assert_eq!(flow.state_of(id).await, "overdue");
    assert_eq!(seen(&flow, id).await, (true, true, 1, Some("step_reengage".to_owned())));
    assert_eq!(flow.colour(run).await, "red");
}
