//! RUN-9, RUN-12, RUN-15: a run whose work is opened again for correction is not completed. It goes back to work in the same transaction, with
//! the approval that opened the step, and completes again when the correction is done.

use chancery_store::Error;
use chancery_store::fsm::MoveReport;
use chancery_testkit::repo_path;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_moves::audited;
use crate::flow_world::{CHIEF, Flow, facts, human, step, way, workflow};

const BACK: &str = "event:step_reopened";

async fn reopen(flow: &Flow, id: Uuid, approval: Uuid) -> Result<MoveReport, Error> {
    let evidence = audited(json!({ "approval_id": approval, "correction_reason": "data_error" }));
    let key = approval.to_string();
    flow.call_keyed(id, "step_reopen_for_correction", evidence, None, CHIEF, &key).await
}

async fn reopened(flow: &Flow, id: Uuid) -> Uuid {
    let approval = flow.approved("step_reopen", &id.to_string()).await;
    reopen(flow, id, approval).await.expect("reopened");
    approval
}

async fn inbox(flow: &Flow, reader: &str) -> Vec<Value> {
    let inbox = flow.store.fn_inbox(reader, 50).await.expect("an inbox");
    inbox["waiting"].as_array().expect("a list").iter().map(|item| item["id"].clone()).collect()
}

fn two() -> Value {
    workflow("pair", vec![human("a"), human("b")], vec![way("a > b")])
}

/// W6: the run is in progress again with the approval of the step, its counts and colour follow, the step is in the inbox of its person;
/// and the run completes a second time. The same call again changes nothing.
#[tokio::test]
async fn a_reopened_step_takes_its_run_back_to_work() {
    let (flow, run) = Flow::with(two()).await;
    let a = flow.do_step(run, "a", json!({ "n": 1 })).await;
    flow.do_step(run, "b", json!({})).await;
    assert_eq!(flow.state_of(run).await, "completed");
    assert_eq!(inbox(&flow, "desk").await, Vec::<Value>::new());

    let approval = reopened(&flow, a).await;
    assert_eq!(
        flow.told(run).await,
        format!(
            "W6 completed>in_progress chancery/system {BACK} step:{a} | workflow.reopened {{}}"
        )
    );
    let named: Value = flow
        .one(&format!("select evidence::jsonb from fsm.transition_log where run_id = '{run}' order by seq desc limit 1"))
        .await;
    assert_eq!(
        named,
        json!({ "audit_ref": format!("step:{a}"), "step_run_id": a, "approval_id": approval })
    );
    let row = flow.row_of(run).await;
    assert_eq!(
        (&row["completed_count"], &row["mandatory_count"], &row["rollup_state_code"]),
        (&json!(1), &json!(2), &json!("green"))
    );
    assert_eq!(inbox(&flow, "desk").await, [json!(a)]);
    let again = flow.unchanged(reopen(&flow, a, approval)).await.expect("the same");
    assert!(again.replayed);
    flow.turn().await;
    assert_eq!(flow.state_of(run).await, "in_progress", "a is open");

    flow.block(a).await;
    assert_eq!(flow.colour(run).await, "yellow");
    let freed = audited(json!({ "resolution_ref": "R" }));
    flow.call(a, "blocker_resolved", freed, None, crate::flow_world::DESK).await.expect("freed");
    flow.complete(a, json!({ "n": 2 })).await.expect("completed");
    flow.turn().await;
    assert!(flow.told(run).await.starts_with("W2 in_progress>completed chancery/system"));
    assert_eq!(flow.colour(run).await, "green");
    assert_eq!(inbox(&flow, "desk").await, Vec::<Value>::new());
    reopened(&flow, a).await;
    assert_eq!(flow.state_of(run).await, "in_progress", "and once more");
}

/// Nobody takes a completed run back but the reopening of one of its steps: not a person by the call, and not the system without it.
#[tokio::test]
async fn only_a_reopened_step_takes_a_run_back() {
    let (flow, run) = Flow::with(two()).await;
    let a = flow.do_step(run, "a", json!({})).await;
    let b = flow.do_step(run, "b", json!({})).await;
    let approval = flow.approved("step_reopen", &a.to_string()).await;
    let evidence = audited(json!({ "step_run_id": a, "approval_id": approval }));
    assert_eq!(
        flow.preview(run, "in_progress", "system", BACK, evidence.clone()).await,
        ["G-STEP-REOPENED"],
        "the step is closed"
    );
    for (call, code) in [("step_reopened", "RS004"), ("workflow_resume", "RS004")] {
        let moved = flow.run_move(run, call, evidence.clone(), CHIEF);
        assert_eq!(flow.refuses(moved).await, [code], "{call}");
    }
    // A run that was called off stays so, whatever is opened below it.
    let (flow, run) = Flow::with(two()).await;
    let a = flow.do_step(run, "a", json!({})).await;
    flow.cancel_run(run).await;
    let approval = flow.approved("step_reopen", &a.to_string()).await;
    assert_eq!(flow.refuses(reopen(&flow, a, approval)).await, ["RW006"]);
    assert_ne!(a, b);
}

/// A run that is not over has nothing to go back to; and an optional step takes no run back, yet its person sees it.
#[tokio::test]
async fn other_reopenings_leave_the_run_where_it_is() {
    let (flow, run) = Flow::with(two()).await;
    let a = flow.do_step(run, "a", json!({})).await;
    reopened(&flow, a).await;
    assert!(flow.told(run).await.starts_with("W1 "), "it went on all the time");

    let (flow, run) = Flow::with(workflow(
        "side",
        vec![human("a"), step("extra", json!({ "optional": true })), human("b")],
        vec![way("a > extra"), way("extra > b")],
    ))
    .await;
    flow.do_step(run, "a", json!({})).await;
    let extra = flow.do_step(run, "extra", json!({})).await;
    flow.do_step(run, "b", json!({})).await;
    assert_eq!(flow.state_of(run).await, "completed");
    reopened(&flow, extra).await;
    flow.turn().await;
    assert_eq!(flow.state_of(run).await, "completed", "nothing that has to be done is open");
    assert_eq!(inbox(&flow, "desk").await, [json!(extra)]);
}

/// A run of nothing but optional steps is open while one of them is.
#[tokio::test]
async fn a_run_of_optional_steps_goes_back_too() {
    let optional = json!({ "optional": true });
    let (flow, run) = Flow::with(workflow("loose", vec![step("only", optional)], vec![])).await;
    let only = flow.do_step(run, "only", json!({})).await;
    assert_eq!(flow.state_of(run).await, "completed");
    reopened(&flow, only).await;
    assert_eq!(flow.state_of(run).await, "in_progress");
}

/// A completed step that stands for a sub-workflow is marked as stale while that run is corrected, and until it has the new outputs.
#[tokio::test]
async fn the_step_above_a_corrected_run_is_stale() {
    let flow = Flow::new().await;
    flow.install(workflow("inner", vec![human("x")], vec![])).await;
    let outer = workflow("outer", vec![step("sub", json!({ "sub_workflow": "inner" }))], vec![]);
    let run = flow.begun(outer).await;
    let sub = flow.step(run, "sub").await;
    let inner: Uuid = flow
        .one(&format!(
            "select workflow_run_id from workflow.workflow_run where parent_step_run_id = '{sub}'"
        ))
        .await;
    let x = flow.do_step(inner, "x", json!({ "n": 1 })).await;
    flow.turn().await;
    assert_eq!(flow.state_of(run).await, "completed");
    assert_eq!(flow.row_of(sub).await["stale_since"], Value::Null);

    reopened(&flow, x).await;
    flow.turn().await;
    let stale = flow.row_of(sub).await["stale_since"].clone();
    assert!(stale.is_string());
    assert_eq!(
        (flow.state_of(inner).await, flow.state_of(sub).await, flow.state_of(run).await),
        ("in_progress".to_owned(), "completed".to_owned(), "completed".to_owned()),
        "what was completed stays so until somebody opens it"
    );
    flow.complete(x, json!({ "n": 2 })).await.expect("completed");
    flow.turn().await;
    assert_eq!(flow.row_of(sub).await["stale_since"], stale, "it has the old outputs still");
    let shown: Value = flow
        .one(&format!(
            "select to_jsonb(stale_since) from workflow.v_step_run where step_run_id = '{sub}'"
        ))
        .await;
    assert_eq!(shown, stale);

    reopened(&flow, sub).await;
    flow.turn().await;
    let row = flow.row_of(sub).await;
    assert_eq!((&row["state_code"], &row["stale_since"]), (&json!("completed"), &Value::Null));
    let output: Value = flow
        .one(&format!(
            "select o.document::jsonb from workflow.step_run s join workflow.step_run_snapshot o on o.snapshot_id = s.output_snapshot_id
              where s.step_run_id = '{sub}'"
        ))
        .await;
    assert_eq!(output["outputs"], json!({ "x": { "n": 2 } }));
    assert_eq!(flow.state_of(run).await, "completed");
}

/// A machine file without some items of its lists: those that have one of the words.
fn without(text: &str, words: &[&str]) -> String {
    let mut items: Vec<Vec<&str>> = vec![Vec::new()];
    for line in text.lines() {
        if line.starts_with("  - ") || !line.starts_with("    ") {
            items.push(Vec::new());
        }
        items.last_mut().expect("one").push(line);
    }
    items.retain(|item| !words.iter().any(|word| item.iter().any(|line| line.contains(word))));
    items.concat().join("\n")
}

/// A run that was started on a machine that has no way back stays as it is, and so does the step: refused with that reason.
#[tokio::test]
async fn a_run_without_a_way_back_refuses_the_reopening() {
    let flow = Flow::new().await;
    let path = repo_path("machines/workflow_run.yaml");
    let shipped = std::fs::read_to_string(path).expect("the shipped machine");
    let old = without(&shipped, &["W6", "workflow.reopened", "G-STEP-REOPENED"]);
    let old = old.replace("version: 1.1.0", "version: 1.1.1");
    assert!(old.contains("version: 1.1.1"), "{old}");
    flow.db.machine(&old).await;
    let run = flow.begun(two()).await;
    let a = flow.do_step(run, "a", json!({})).await;
    let approval = flow.approved("step_reopen", &a.to_string()).await;
    reopen(&flow, a, approval).await.expect("the run goes on, so the step can be opened");
    flow.complete(a, json!({})).await.expect("completed");
    flow.do_step(run, "b", json!({})).await;
    let approval = flow.approved("step_reopen", &a.to_string()).await;
    assert_eq!(flow.refuses(reopen(&flow, a, approval)).await, ["RW029"]);
    assert_eq!(
        facts(reopen(&flow, a, approval).await),
        json!({ "run_id": a, "workflow_run_id": run, "machine": "workflow_run@1.1.1" })
    );
    assert_eq!(flow.states(run).await, "a completed, b completed");
}
