//! RUN-3, RUN-11: the rows of a task that its step has as well, taken by the task itself, each with what its guards refuse.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_moves::audited;
use crate::flow_world::{By, CHIEF, ESME, Flow, TESS, hex, sha, single, step};

/// A run whose one step is in progress and has one task.
async fn with_task(more: Value) -> (Flow, Uuid) {
    let definition = single("tasks", json!({ "tasks": [step("part", more)] }));
    let (flow, run) = Flow::with(definition).await;
    flow.claimed(run, "work").await;
    let task = flow.task(run, "part").await;
    (flow, task)
}

/// A task of Tess's, taken up by her.
async fn of_tess(more: Value) -> (Flow, Uuid) {
    let mut definition = json!({ "pic": { "principal": "tess" } });
    for (name, value) in more.as_object().expect("an object") {
        definition[name] = value.clone();
    }
    let (flow, task) = with_task(definition).await;
    flow.claim_by(task, TESS).await;
    (flow, task)
}

/// The row that moved the task last, and where it led.
async fn row(flow: &Flow, task: Uuid) -> String {
    flow.told(task).await.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// T5, T6, T6p, T7: the deadline of a task, a later one, who takes it up again, and a late ending that stays late.
#[tokio::test]
async fn a_late_task_recovers_or_ends_late() {
    let contract = json!({ "type": "object", "required": ["n"] });
    let (flow, task) = of_tess(json!({ "deadline": "1 minute", "output": contract })).await;
    flow.later(61_000).await;
    flow.ring().await;
    assert_eq!(row(&flow, task).await, "T5 in_progress>overdue");
    let dora = By { principal: "dora", class: "task_pic_human" };
    let again = flow.call(task, "task_reengage", audited(json!({})), None, dora);
    assert_eq!(flow.refuses(again).await, ["G-CURRENT-PIC"]);
    flow.call(task, "task_reengage", audited(json!({})), None, TESS).await.expect("taken up");
    assert_eq!(row(&flow, task).await, "T6p overdue>in_progress");
    assert!(flow.ring().await.is_empty(), "the same deadline does not ring at once");

    let (flow, task) = of_tess(json!({ "deadline": "1 minute" })).await;
    flow.later(61_000).await;
    flow.ring().await;
    let until = "2999-01-01T00:00:00Z";
    let extend = chancery_store::workflow::WorkCall {
        run_kind: "task",
        run_id: task,
        call: "extend",
        evidence: &Value::Null,
        document: None,
        principal: CHIEF.principal,
        actor_class: CHIEF.class,
        idempotency_key: "later",
        reason: Some("the client was away"),
        signed: None,
    };
    flow.store.fn_work_extend(&extend, until).await.expect("extended");
    assert_eq!(row(&flow, task).await, "T6 overdue>in_progress");

    let (flow, task) = of_tess(
        json!({ "deadline": "1 minute", "output": { "type": "object", "required": ["n"] } }),
    )
    .await;
    flow.later(61_000).await;
    flow.ring().await;
    assert_eq!(flow.refuses(flow.complete_by(task, json!({}), TESS)).await, ["RW008"]);
    flow.complete_by(task, json!({ "n": 1 }), TESS).await.expect("completed");
    assert_eq!(row(&flow, task).await, "T7 overdue>completed");
    let late = flow.row_of(task).await;
    assert_eq!(late["completed_after_deadline"], true);
    assert!(!late["overdue_first_at"].is_null() && !late["sla_breach_duration"].is_null());
}

/// T8r, T12, T12r, T13: closed and opened again with an approval, declared impossible, and called off.
#[tokio::test]
async fn a_closed_task_is_opened_again_and_an_open_one_called_off() {
    let (flow, task) = of_tess(json!({})).await;
    flow.complete_by(task, json!({ "n": 1 }), TESS).await.expect("completed");
    let reopen = |approval: Option<Uuid>, reason: &str| {
        let evidence = audited(json!({ "approval_id": approval, "correction_reason": reason }));
        flow.call(task, "task_reopen_for_correction", evidence, None, CHIEF)
    };
    assert_eq!(flow.refuses(reopen(None, "data_error")).await, ["RA002"]);
    let approval = flow.approved("step_reopen", &task.to_string()).await;
    assert_eq!(flow.refuses(reopen(Some(approval), "boredom")).await, ["G-CORRECTION-REASON"]);
    reopen(Some(approval), "data_error").await.expect("opened again");
    assert_eq!(row(&flow, task).await, "T8r completed>in_progress");

    let declare =
        |evidence: Value| flow.call(task, "declare_cannot_complete", audited(evidence), None, TESS);
    assert_eq!(flow.refuses(declare(json!({}))).await, ["G-DECLARATION"]);
    declare(json!({ "declaration_ref": "D-1" })).await.expect("declared");
    assert_eq!(row(&flow, task).await, "T12 in_progress>cannot_complete");
    assert_eq!(flow.refuses(reopen(Some(approval), "data_error")).await, ["RA006"], "used");
    let approval = flow.approved("step_reopen", &task.to_string()).await;
    reopen(Some(approval), "data_error").await.expect("opened again");
    assert_eq!(row(&flow, task).await, "T12r cannot_complete>in_progress");

    let cancel = |approval: Option<Uuid>| {
        let evidence = audited(json!({ "approval_id": approval }));
        flow.call(task, "task_cancel", evidence, None, CHIEF)
    };
    assert_eq!(flow.refuses(cancel(None)).await, ["RA002"]);
    let wrong = flow.approved("step_reopen", &task.to_string()).await;
    assert_eq!(flow.refuses(cancel(Some(wrong))).await, ["RA003"]);
    let approval = flow.approved("step_cancel", &task.to_string()).await;
    cancel(Some(approval)).await.expect("called off");
    assert_eq!(row(&flow, task).await, "T13 in_progress>cancelled");
}

/// T9, T9o, T10, T11: a worker's task fails, is tried again within its budget, and is handed up when no try is left.
#[tokio::test]
async fn a_failing_task_is_tried_again_and_handed_up() {
    let (flow, task) = with_task(json!({ "executor": "noop", "deadline": "1 minute" })).await;
    let mut job = flow.working().await;
    flow.report_failed(&job, "transient", "timeout").await;
    assert_eq!(row(&flow, task).await, "T9 in_progress>failed");
    let escalate = || flow.call(task, "escalate", audited(json!({})), None, ESME);
    assert_eq!(flow.refuses(escalate()).await, ["G-ESCALATABLE"]);
    flow.later(10_000).await;
    job = flow.working().await;
    assert_eq!(row(&flow, task).await, "T10 failed>in_progress");
    assert_eq!(flow.row_of(task).await["retry_count"], 1);
    flow.later(61_000).await;
    flow.ring().await;
    assert_eq!(row(&flow, task).await, "T5 in_progress>overdue");
    let unknown = json!({ "classification": "transient", "failure_class": "bad_request" });
    assert_eq!(
        flow.refuses(flow.report(&job, "executor_failure", unknown, None)).await,
        ["RW024"],
        "a class that is classified otherwise"
    );
    flow.report_failed(&job, "permanent", "bad_request").await;
    assert_eq!(row(&flow, task).await, "T9o overdue>failed");
    escalate().await.expect("handed up");
    assert_eq!(row(&flow, task).await, "T11 failed>cannot_complete");
    let late = json!({ "output_sha256": hex(&sha(&json!({}))) });
    let done = flow.report(&job, "task_complete", late, Some(json!({}))).await;
    assert!(done.is_err(), "its job is dead");
}

/// RUN-5, RUN-11, RUN-18: a step of a worker's waits for its tasks before it is worked on, with the facet that says so; the last task
/// lets it go on, and its worker gets the next job.
#[tokio::test]
async fn a_workers_step_waits_for_its_tasks() {
    let part = |key: &str| step(key, json!({ "pic": { "principal": "tess" } }));
    let definition =
        single("sent", json!({ "executor": "noop", "tasks": [part("sign"), part("seal")] }));
    let (flow, run) = Flow::with(definition).await;
    let id = flow.step(run, "work").await;
    let job = flow.leased().await;
    let nothing = flow.begin(&job).await.expect("an answer");
    assert!(nothing.nothing_to_do && nothing.state == "waiting", "{nothing:?}");
    assert_eq!(
        flow.told(id).await,
        "T3 in_progress>waiting chancery/executor_worker rpc:step_wait | step.waiting {\"waiting_facet\": \"waiting_dependency\"}"
    );
    assert_eq!(
        (flow.row_of(id).await["facet"].clone(), flow.colour(run).await),
        (json!("waiting_dependency"), "yellow".to_owned())
    );
    assert!(flow.claim(10).await.is_empty(), "its job is settled");

    for key in ["sign", "seal"] {
        assert_eq!(flow.state_of(id).await, "waiting", "{key} is open");
        let task = flow.task(run, key).await;
        flow.claim_by(task, TESS).await;
        flow.complete_by(task, json!({}), TESS).await.expect("done");
    }
    assert_eq!(
        flow.told(id).await,
        "T3r waiting>in_progress chancery/system event:facet_resolved | step.resumed {}"
    );
    let job = flow.working().await;
    flow.report_done(&job, json!({ "n": 1 })).await.expect("completed");
    flow.turn().await;
    assert_eq!(
        (flow.state_of(id).await, flow.state_of(run).await),
        ("completed".to_owned(), "completed".to_owned())
    );
}

/// A task that is opened again while its step is worked on: the result is refused, nothing fails, and the work is taken up again when
/// the task is done. Late work cannot wait; it is taken up again all the same.
#[tokio::test]
async fn a_task_that_is_opened_again_holds_its_step_up() {
    for late in [false, true] {
        let part = step("sign", json!({ "pic": { "principal": "tess" } }));
        let fields = json!({ "executor": "noop", "deadline": "1 minute", "tasks": [part] });
        let (flow, run) = Flow::with(single("sent", fields)).await;
        let (id, task) = (flow.step(run, "work").await, flow.task(run, "sign").await);
        flow.claim_by(task, TESS).await;
        flow.complete_by(task, json!({}), TESS).await.expect("signed");
        let job = flow.working().await;
        let approval = flow.approved("step_reopen", &task.to_string()).await;
        let evidence =
            audited(json!({ "approval_id": approval, "correction_reason": "data_error" }));
        flow.call(task, "task_reopen_for_correction", evidence, None, CHIEF).await.expect("opened");
        if late {
            flow.later(61_000).await;
            flow.ring().await;
        }
        assert_eq!(flow.refuses(flow.report_done(&job, json!({}))).await, ["G-TASKS-DONE"]);
        let nothing = flow.begin(&job).await.expect("an answer");
        let state = if late { "overdue" } else { "waiting" };
        assert!(nothing.nothing_to_do && nothing.state == state, "{nothing:?}");
        flow.complete_by(task, json!({}), TESS).await.expect("signed again");
        let job = flow.working().await;
        flow.report_done(&job, json!({})).await.expect("completed");
        assert_eq!(flow.state_of(id).await, "completed");
    }
}
