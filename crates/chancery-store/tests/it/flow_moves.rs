//! RUN-3: each row of the machine of steps taken, as its log row, its event and the facts on the row say; and each of its guards
//! refusing when exactly what it asks for is missing, with nothing changed.
//!
//! A door never asks for a move of the loops without reason, so what guards say to those is asked by a preview, which is the
//! engine's own judgement.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_world::{
    By, CHIEF, DESK, Flow, human, noop, plus, single, step, way, when, workflow,
};

pub(crate) const DORA: By<'static> = By { principal: "dora", class: "pic_human" };

pub(crate) fn audited(more: Value) -> Value {
    plus(json!({ "audit_ref": "A-1" }), more)
}

/// A step in progress of a person's, with these fields.
pub(crate) async fn in_progress(more: Value) -> (Flow, Uuid, Uuid) {
    let (flow, run) = Flow::with(single("one", more)).await;
    let id = flow.claimed(run, "work").await;
    (flow, run, id)
}

/// birth, T1: born with its run, ready when the ways here and its precondition let it.
#[tokio::test]
async fn t1_ready_when_its_precondition_holds() {
    let definition = workflow(
        "ready",
        vec![
            human("a"),
            human("b"),
            step("c", json!({ "precondition": "$.outputs.a.go == true" })),
        ],
        vec![way("a > b"), way("a > c")],
    );
    let (flow, run) = Flow::with(definition).await;
    let [a, b, c] =
        [flow.step(run, "a").await, flow.step(run, "b").await, flow.step(run, "c").await];
    assert_eq!(
        flow.told(b).await,
        "birth ∅>not_started chancery/mow_orchestrator condition_resolved:run_created | step.created {}"
    );
    assert_eq!(
        flow.told(a).await,
        "T1 not_started>ready chancery/mow_orchestrator condition_resolved:precondition_resolved | step.ready {}"
    );
    assert_eq!(flow.row_of(a).await["pic_id"], "desk");
    let asked = "condition_resolved:precondition_resolved";
    assert_eq!(
        flow.preview(b, "ready", "mow_orchestrator", asked, json!({})).await,
        ["G-PRECONDITION"],
        "a is not done"
    );
    flow.do_step(run, "a", json!({ "go": false })).await;
    assert_eq!(flow.states(run).await, "a completed, b ready, c not_started");
    assert_eq!(
        flow.preview(c, "ready", "mow_orchestrator", asked, json!({})).await,
        ["G-PRECONDITION"],
        "the condition is false"
    );
}

/// T0s: a step that no way leads to is skipped: a mark, a log row, an event; the state stays.
#[tokio::test]
async fn t0s_skipped_when_no_way_leads_here() {
    let definition = workflow(
        "fork",
        vec![human("a"), human("yes"), human("no")],
        vec![
            when("a", "yes", "$.outputs.a.go == true"),
            when("a", "no", "$.outputs.a.go == false"),
        ],
    );
    let (flow, run) = Flow::with(definition).await;
    let [yes, no] = [flow.step(run, "yes").await, flow.step(run, "no").await];
    let asked = "condition_resolved:branch_not_taken";
    assert_eq!(
        flow.preview(no, "not_started", "mow_orchestrator", asked, json!({})).await,
        ["G-NOT-TAKEN"]
    );
    flow.do_step(run, "a", json!({ "go": true })).await;
    assert_eq!(
        flow.told(no).await,
        "T0s not_started>not_started chancery/mow_orchestrator condition_resolved:branch_not_taken | step.skipped {}"
    );
    assert_eq!(flow.row_of(no).await["skipped"], true);
    assert_eq!(flow.state_of(yes).await, "ready");
    let row = flow.row_of(run).await;
    assert_eq!((&row["skipped_count"], &row["mandatory_count"]), (&json!(1), &json!(2)));
}

/// T2: taken up by the person in charge, and by nobody else; its input is kept.
#[tokio::test]
async fn t2_claimed_by_the_person_in_charge() {
    let (flow, run) = Flow::with(workflow(
        "two",
        vec![human("work"), noop("job")],
        vec![way("work parallel> job")],
    ))
    .await;
    let id = flow.step(run, "work").await;
    let claim = |by: By<'static>, evidence: Value| flow.call(id, "step_claim", evidence, None, by);
    assert_eq!(flow.refuses(claim(DORA, audited(json!({})))).await, ["G-PIC-RESOLVES"]);
    assert_eq!(flow.refuses(claim(DESK, json!({}))).await, ["RS007"]);
    assert_eq!(
        flow.refuses(claim(CHIEF, audited(json!({})))).await,
        ["RS004"],
        "a reviewer takes no step up"
    );
    claim(DESK, audited(json!({}))).await.expect("claimed");
    assert_eq!(
        flow.told(id).await,
        "T2 ready>in_progress desk/pic_human rpc:step_claim A-1 | step.started {}"
    );
    let row = flow.row_of(id).await;
    assert_eq!(row["pic_id"], "desk");
    assert!(row["started_at"].is_string());
    let kept: i64 = flow.number(&format!("select count(*) from workflow.step_run_snapshot where run_id = '{id}' and snapshot_kind = 'input'")).await;
    assert_eq!(kept, 1);
    // A person does not take up a worker's step.
    flow.complete(id, json!({})).await.expect("completed");
    flow.turn().await;
    let job = flow.step(run, "job").await;
    assert_eq!(
        flow.refuses(flow.call(job, "step_claim", audited(json!({})), None, DESK)).await,
        ["G-EXECUTOR-CLASS"]
    );
}

/// T2 by a worker: under the lease of its job, while its class is there; a class of people may be in charge.
#[tokio::test]
async fn t2_claimed_by_a_worker() {
    let (flow, run) =
        Flow::with(single("auto", json!({ "executor": "noop", "pic": { "class": "reviewer" } })))
            .await;
    let id = flow.step(run, "work").await;
    let job = flow.leased().await;
    flow.as_owner(
        "update queue.executor_class_registry set active = false where executor_class = 'noop'",
    )
    .await;
    assert_eq!(flow.refuses(flow.begin(&job)).await, ["G-EXECUTOR-CLASS"]);
    flow.as_owner(
        "update queue.executor_class_registry set active = true where executor_class = 'noop'",
    )
    .await;
    let assignment = flow.begin(&job).await.expect("begun");
    assert_eq!((assignment.run_id, assignment.attempt), (Some(id), Some(1)));
    let audit = format!("job:{}#{}", job.job_id, job.lease_no);
    assert_eq!(
        flow.told(id).await,
        format!(
            "T2 ready>in_progress hall/executor_worker rpc:step_claim {audit} | step.started {{}}"
        )
    );
}

/// T2r: given back by the person in charge; whoever the definition names can take it up next.
#[tokio::test]
async fn t2r_released_by_the_person_in_charge() {
    let (flow, _, id) = in_progress(json!({ "pic": { "class": "pic_human" } })).await;
    assert_eq!(flow.row_of(id).await["pic_id"], "desk");
    assert_eq!(
        flow.refuses(flow.call(id, "step_release", audited(json!({})), None, DORA)).await,
        ["G-CURRENT-PIC"]
    );
    flow.call(id, "step_release", audited(json!({})), None, DESK).await.expect("released");
    assert_eq!(
        flow.told(id).await,
        "T2r in_progress>ready desk/pic_human rpc:step_release A-1 | step.released {}"
    );
    assert_eq!(flow.row_of(id).await["pic_id"], Value::Null);
    flow.claim_by(id, DORA).await;
    assert_eq!(flow.row_of(id).await["pic_id"], "dora");
}

/// T3, T3r: waits with a facet, and goes on when that came; by the system.
#[tokio::test]
async fn t3_waits_with_a_facet_and_goes_on() {
    let (flow, run, id) = in_progress(json!({})).await;
    for evidence in [
        json!({}),
        json!({ "facets": [], "waits": [] }),
        json!({ "facets": ["waiting_time_gate"] }),
    ] {
        assert_eq!(flow.refuses(flow.call(id, "step_wait", evidence, None, DESK)).await, ["RW007"]);
    }
    let unknown =
        json!({ "facets": ["waiting_luck"], "waits": [{ "facet": "waiting_luck", "of": "x" }] });
    assert_eq!(flow.refuses(flow.call(id, "step_wait", unknown, None, DESK)).await, ["RW007"]);
    let said =
        json!({ "facets": ["waiting_human"], "event": { "waiting_facet": "waiting_human" } });
    assert_eq!(
        flow.preview(id, "waiting", "pic_human", "rpc:step_wait", said).await,
        ["G-FACET-VOCAB"],
        "no wait is on record"
    );
    flow.wait_for(id, json!([{ "facet": "waiting_human", "of": "rita" }])).await.expect("waits");
    assert_eq!(
        flow.told(id).await,
        "T3 in_progress>waiting desk/pic_human rpc:step_wait | step.waiting {\"waiting_facet\": \"waiting_human\"}"
    );
    assert_eq!(
        (flow.row_of(id).await["facet"].clone(), flow.colour(run).await),
        (json!("waiting_human"), "yellow".to_owned())
    );
    assert_eq!(
        flow.preview(id, "in_progress", "system", "event:facet_resolved", json!({})).await,
        ["G-FACET-RESOLVED"]
    );
    let wait: Uuid =
        flow.one(&format!("select wait_id from workflow.wait where run_id = '{id}'")).await;
    flow.store
        .fn_wait_resolve(wait, &json!({ "answer": 42 }), "rita", "reviewer")
        .await
        .expect("resolved");
    assert_eq!(
        flow.told(id).await,
        "T3r waiting>in_progress chancery/system event:facet_resolved | step.resumed {}"
    );
    assert_eq!(
        (flow.row_of(id).await["facet"].clone(), flow.colour(run).await),
        (Value::Null, "green".to_owned())
    );
}

/// T4, T4r: blocked for a reason of the vocabulary; free again with what removed the blocker.
#[tokio::test]
async fn t4_blocked_with_a_reason_and_freed_with_evidence() {
    let (flow, run, id) = in_progress(json!({})).await;
    for reason in [json!({ "block_reason": "bad_mood" }), json!({})] {
        assert_eq!(
            flow.refuses(flow.call(id, "step_block", audited(reason), None, DESK)).await,
            ["G-BLOCK-REASON"]
        );
    }
    let unaudited = json!({ "block_reason": "missing_iu" });
    assert_eq!(flow.refuses(flow.call(id, "step_block", unaudited, None, DESK)).await, ["RS007"]);
    flow.call(id, "step_block", audited(json!({ "block_reason": "missing_iu" })), None, DESK)
        .await
        .expect("blocked");
    assert_eq!(
        flow.told(id).await,
        "T4 in_progress>blocked desk/pic_human rpc:step_block A-1 | step.blocked {}"
    );
    let row = flow.row_of(id).await;
    assert_eq!(
        (&row["block_reason"], row["blocked_since"].is_string()),
        (&json!("missing_iu"), true)
    );
    assert_eq!(flow.colour(run).await, "yellow");
    let free = |evidence: Value| flow.call(id, "blocker_resolved", evidence, None, DESK);
    assert_eq!(flow.refuses(free(audited(json!({})))).await, ["G-BLOCK-EVIDENCE"]);
    assert_eq!(flow.refuses(free(json!({ "resolution_ref": "unit 7" }))).await, ["RS007"]);
    free(audited(json!({ "resolution_ref": "unit 7" }))).await.expect("freed");
    assert_eq!(
        flow.told(id).await,
        "T4r blocked>in_progress desk/pic_human event:blocker_resolved A-1 | step.unblocked {}"
    );
    assert_eq!(flow.colour(run).await, "green");
}
