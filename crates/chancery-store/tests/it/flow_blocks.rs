//! RUN-6, RUN-7: how bad a block is. Its state code never changes for it; the colour of its run follows.

use chancery_store::workflow::{Severity, WorkCall};
use chancery_store::{Error, Role};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_moves::{audited, in_progress};
use crate::flow_world::{By, DESK, ESME, Flow, human, step, way, workflow};

const HOUR: i64 = 3_600_000;

async fn severity(flow: &Flow, id: Uuid) -> Option<String> {
    flow.store.fn_step_blocked_severity(id).await.expect("an answer")
}

/// The severity, the state and the colour of the run; the view and the full computation say the same.
async fn standing(flow: &Flow, run: Uuid, id: Uuid) -> (Option<String>, String, String) {
    let shown: Option<String> = flow
        .one(&format!(
            "select blocked_severity from workflow.v_step_run where step_run_id = '{id}'"
        ))
        .await;
    let severity = severity(flow, id).await;
    assert_eq!(shown, severity, "the view shows what the function says");
    (severity, flow.state_of(id).await, flow.colour(run).await)
}

fn is(severity: &str, colour: &str) -> (Option<String>, String, String) {
    (Some(severity.to_owned()), "blocked".to_owned(), colour.to_owned())
}

async fn escalate(
    flow: &Flow,
    id: Uuid,
    approval: Option<Uuid>,
    by: By<'_>,
) -> Result<Severity, Error> {
    let key = Uuid::now_v7().to_string();
    escalate_keyed(flow, id, approval, by, &key).await
}

async fn escalate_keyed(
    flow: &Flow,
    id: Uuid,
    approval: Option<Uuid>,
    by: By<'_>,
    key: &str,
) -> Result<Severity, Error> {
    let call = WorkCall {
        run_kind: "step",
        run_id: id,
        call: "escalate",
        evidence: &json!({}),
        document: None,
        principal: by.principal,
        actor_class: by.class,
        idempotency_key: key,
        reason: Some("the customer waits"),
        signed: None,
    };
    flow.store.fn_step_block_escalate(&call, approval).await
}

/// A block is yellow until it is older than its class of workflow bears, which a timer notices.
#[tokio::test]
async fn a_block_is_red_after_the_threshold_of_its_class() {
    let (flow, run, id) = in_progress(json!({})).await;
    flow.block(id).await;
    assert_eq!(standing(&flow, run, id).await, is("yellow_dark", "yellow"));
    flow.later(4 * HOUR - 1).await;
    assert_eq!(flow.ring().await, []);
    assert_eq!(standing(&flow, run, id).await, is("yellow_dark", "yellow"));
    flow.later(1).await;
    let fired = flow.ring().await;
    assert_eq!(fired[0].done.as_deref(), Some("severity"));
    assert_eq!(standing(&flow, run, id).await, is("red", "red"));
    assert_eq!(flow.row_of(run).await["decisive_step_run_id"], json!(id));
    flow.call(id, "blocker_resolved", audited(json!({ "resolution_ref": "R" })), None, DESK)
        .await
        .expect("freed");
    assert_eq!(
        standing(&flow, run, id).await,
        (None, "in_progress".to_owned(), "green".to_owned())
    );
    flow.block(id).await;
    assert_eq!(
        standing(&flow, run, id).await,
        is("yellow_dark", "yellow"),
        "a new block begins anew"
    );
}

/// Thresholds are rows, one for each class of workflows that wants its own.
#[tokio::test]
async fn a_class_of_workflows_has_its_own_threshold() {
    let flow = Flow::new().await;
    flow.as_owner(
        "insert into config.dot_config (key, value, description) values ('block_severity.threshold_seconds.urgent', '60', 'Urgent work waits a minute.')",
    )
    .await;
    let mut definition = workflow("urgent", vec![human("work")], vec![]);
    definition["class"] = json!("urgent");
    let run = flow.begun(definition).await;
    let id = flow.claimed(run, "work").await;
    flow.block(id).await;
    flow.later(59_000).await;
    flow.ring().await;
    assert_eq!(standing(&flow, run, id).await, is("yellow_dark", "yellow"));
    flow.later(1_000).await;
    flow.ring().await;
    assert_eq!(standing(&flow, run, id).await, is("red", "red"));
}

/// On the critical path a block is red at once, and no longer when it is off it.
#[tokio::test]
async fn a_block_on_the_critical_path_is_red() {
    let mut definition = workflow(
        "path",
        vec![human("a"), human("b"), human("c"), human("d")],
        vec![way("a > c"), way("b > c"), way("c > d")],
    );
    definition["start"] = json!(["a", "b"]);
    let (flow, run) = Flow::with(definition).await;
    let [a, b] = [flow.claimed(run, "a").await, flow.claimed(run, "b").await];
    flow.block(b).await;
    assert_eq!(standing(&flow, run, b).await, is("yellow_dark", "yellow"));
    flow.complete(a, json!({})).await.expect("completed");
    flow.turn().await;
    flow.later(1_000).await;
    flow.turn().await;
    assert_eq!(flow.row_of(b).await["on_critical_path"], true);
    assert_eq!(standing(&flow, run, b).await, is("red", "red"));
}

/// Past its deadline a block is red; it stays blocked and shows the breach beside it. A later deadline makes it yellow again.
#[tokio::test]
async fn a_block_past_its_deadline_is_red() {
    let (flow, run, id) = in_progress(json!({ "deadline": "1 minute" })).await;
    flow.block(id).await;
    flow.later(61_000).await;
    flow.ring().await;
    assert_eq!(standing(&flow, run, id).await, is("red", "red"));
    assert!(flow.row_of(id).await["overdue_first_at"].is_string());
    assert!(flow.told(id).await.starts_with("T4 "), "no move");
    let until: String = flow
        .one("select to_char((internal.now() + interval '1 hour') at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')")
        .await;
    let call = WorkCall {
        run_kind: "step",
        run_id: id,
        call: "extend",
        evidence: &json!({}),
        document: None,
        principal: "desk",
        actor_class: "pic_human",
        idempotency_key: "extend",
        reason: Some("more time"),
        signed: None,
    };
    flow.store.fn_work_extend(&call, &until).await.expect("extended");
    assert_eq!(standing(&flow, run, id).await, is("yellow_dark", "yellow"));
}

/// Escalated by hand: a decision on record; beyond so many hours only with an approval, which is used once.
#[tokio::test]
async fn a_block_is_escalated_by_hand() {
    let (flow, run, id) = in_progress(json!({})).await;
    assert_eq!(flow.refuses(escalate(&flow, id, None, DESK)).await, ["RW018"], "it is not blocked");
    flow.block(id).await;
    let worker = By { principal: "hall", class: "executor_worker" };
    assert_eq!(flow.refuses(escalate(&flow, id, None, worker)).await, ["RI003"]);
    let done = escalate_keyed(&flow, id, None, ESME, "once").await.expect("escalated");
    assert_eq!((done.severity.as_deref(), done.replayed), (Some("red"), false));
    assert!(escalate_keyed(&flow, id, None, ESME, "once").await.expect("the same").replayed);
    assert_eq!(flow.refuses(escalate_keyed(&flow, id, None, DESK, "once")).await, ["RS012"]);
    assert_eq!(standing(&flow, run, id).await, is("red", "red"));
    assert!(flow.told(id).await.starts_with("T4 "), "its state did not move");

    let (flow, run, id) = in_progress(json!({})).await;
    flow.as_owner("update config.dot_config set value = '1000000' where key = 'block_severity.threshold_seconds.default'").await;
    flow.block(id).await;
    flow.later(8 * HOUR + 1).await;
    flow.ring().await;
    assert_eq!(standing(&flow, run, id).await, is("yellow_dark", "yellow"));
    assert_eq!(flow.refuses(escalate(&flow, id, None, DESK)).await, ["RW017"]);
    assert_eq!(flow.refuses(escalate(&flow, id, Some(Uuid::now_v7()), DESK)).await, ["RA002"]);
    let other = flow.asked("block_escalation", "low", &Uuid::now_v7().to_string()).await;
    flow.votes(other, "rita", "approve").await.expect("a vote");
    assert_eq!(flow.refuses(escalate(&flow, id, Some(other), DESK)).await, ["RA003"]);
    let approval = flow.asked("block_escalation", "low", &id.to_string()).await;
    flow.votes(approval, "rita", "approve").await.expect("a vote");
    escalate(&flow, id, Some(approval), DESK).await.expect("escalated");
    assert_eq!(standing(&flow, run, id).await, is("red", "red"));
    assert_eq!(
        flow.refuses(escalate(&flow, id, Some(approval), DESK)).await,
        ["RA006"],
        "used once"
    );
}

/// By the policy that is active a red block counts as red; without it the block stays red to see, and yellow for the run.
#[tokio::test]
async fn the_policy_says_whether_a_red_block_counts_as_red() {
    let (flow, run, id) = in_progress(json!({})).await;
    flow.as_owner(
        "update fsm.rollup_policy_def set policy_config_jsonb = policy_config_jsonb || '{\"blocked_escalation_treats_as_red\": false}'",
    )
    .await;
    flow.block(id).await;
    escalate(&flow, id, None, ESME).await.expect("escalated");
    assert_eq!(standing(&flow, run, id).await, is("red", "yellow"));
}

/// An optional step's block counts for nothing, however bad.
#[tokio::test]
async fn the_block_of_an_optional_step_does_not_colour_the_run() {
    let definition = workflow(
        "opt",
        vec![human("a"), step("b", json!({ "optional": true }))],
        vec![way("a parallel> b")],
    );
    let (flow, run) = Flow::with(definition).await;
    flow.do_step(run, "a", json!({})).await;
    let b = flow.claimed(run, "b").await;
    let colour = flow.colour(run).await;
    flow.block(b).await;
    escalate(&flow, b, None, ESME).await.expect("escalated");
    assert_eq!(
        (severity(&flow, b).await.as_deref(), flow.colour(run).await),
        (Some("red"), colour)
    );
    let said: Value =
        flow.db.store(Role::App).fn_workflow_rollup_compute(run).await.expect("computed");
    assert_eq!(said["red_count"], 0, "{said}");
}
