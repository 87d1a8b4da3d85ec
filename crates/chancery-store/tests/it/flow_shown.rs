//! RUN-2, RUN-10, UIG-1: what is shown of a step beside its state: that a failure was handed up, why it failed, what it waits for; and that a
//! dead letter whose work is over by another way is no alarm any more.

use serde_json::{Value, json};

use crate::flow_moves::audited;
use crate::flow_world::{CHIEF, DESK, ESME, Flow, single};

async fn shown(flow: &Flow, id: uuid::Uuid, column: &str) -> Value {
    flow.one(&format!(
        "select coalesce(to_jsonb({column}), 'null') from workflow.v_step_run where step_run_id = '{id}'"
    ))
    .await
}

/// "Escalated" is shown after T11 and not after T12, with the reason of the failure; a dead letter is critical until its step is completed.
#[tokio::test]
async fn a_failure_that_was_handed_up_is_shown_as_such() {
    let (flow, run) = Flow::with(single("auto", json!({ "executor": "noop" }))).await;
    let id = flow.step(run, "work").await;
    let job = flow.working().await;
    let evidence = json!({ "classification": "permanent", "failure_class": "bad_request",
                           "detail": "mail server refused" });
    flow.report(&job, "executor_failure", evidence, None).await.expect("failed");
    assert_eq!(shown(&flow, id, "failure_detail").await, "mail server refused");
    assert_eq!(shown(&flow, id, "escalated").await, false);
    let severity = format!(
        "select severity from governance.vw_governance_dlq_count where item_id = '{}'",
        job.job_id
    );
    assert_eq!(flow.one::<String>(&severity).await, "critical");

    flow.call(id, "escalate", audited(json!({})), None, ESME).await.expect("handed up");
    assert_eq!(shown(&flow, id, "escalated").await, true);
    assert_eq!(shown(&flow, id, "failure_detail").await, "mail server refused");
    let approval = flow.approved("step_reopen", &id.to_string()).await;
    let evidence =
        audited(json!({ "approval_id": approval, "correction_reason": "policy_change" }));
    flow.call(id, "step_reopen_for_correction", evidence, None, CHIEF).await.expect("reopened");
    assert_eq!(shown(&flow, id, "escalated").await, false);
    assert_eq!(flow.one::<String>(&severity).await, "critical", "it is not done yet");
    let next = flow.working().await;
    flow.report_done(&next, json!({})).await.expect("completed");
    assert_eq!(flow.one::<String>(&severity).await, "info");
    assert_eq!(shown(&flow, id, "failure_detail").await, Value::Null);
}

/// What was declared impossible was not escalated; what waits shows its facet by the name that the seeds give it, to readers of the store too.
#[tokio::test]
async fn a_declaration_is_no_escalation() {
    let (flow, run) = Flow::with(single("one", json!({}))).await;
    let id = flow.claimed(run, "work").await;
    flow.wait_for(id, json!([{ "facet": "waiting_human", "of": "rita" }])).await.expect("waits");
    let work = flow.store.work(id).await.expect("an answer").expect("the step");
    assert_eq!(work.waiting_facet.as_deref(), Some("waiting_human"));
    let declared = audited(json!({ "declaration_ref": "D" }));
    flow.call(id, "declare_cannot_complete", declared, None, DESK).await.expect("declared");
    let work = flow.store.work(id).await.expect("an answer").expect("the step");
    assert_eq!((work.escalated, work.failure_detail), (false, None));
}
