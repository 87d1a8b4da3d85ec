//! RUN-3, RUN-8, RUN-9, RUN-10: the rows of the machine of steps that have to do with time, endings, failures and corrections.
//! Each taken, and each guard refusing when exactly what it asks for is missing, with nothing changed. See `flow_moves`.

use chancery_store::workflow::WorkCall;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_moves::{DORA, audited, in_progress};
use crate::flow_world::{By, CHIEF, DESK, ESME, Flow, TESS, hex, plus, sha, single};

/// A worker's step whose job the hall works on.
async fn at_work(more: Value) -> (Flow, Uuid, Uuid, chancery_store::queue::LeasedJob) {
    let fields = plus(json!({ "executor": "noop" }), more);
    let (flow, run) = Flow::with(single("auto", fields)).await;
    let id = flow.step(run, "work").await;
    let job = flow.working().await;
    (flow, run, id, job)
}

/// In progress with a deadline of a minute, which passed.
async fn overdue(more: Value) -> (Flow, Uuid, Uuid) {
    let fields = plus(json!({ "deadline": "1 minute" }), more);
    let (flow, run, id) = in_progress(fields).await;
    flow.later(61_000).await;
    flow.ring().await;
    (flow, run, id)
}

async fn extend(
    flow: &Flow,
    id: Uuid,
    seconds: i64,
    by: By<'_>,
) -> Result<String, chancery_store::Error> {
    let deadline: String = flow
        .one(&format!("select to_char((internal.now() + interval '{seconds} seconds') at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"))
        .await;
    let key = Uuid::now_v7().to_string();
    let call = WorkCall {
        run_kind: "step",
        run_id: id,
        call: "extend",
        evidence: &json!({}),
        document: None,
        principal: by.principal,
        actor_class: by.class,
        idempotency_key: &key,
        reason: Some("the mail is late"),
        signed: None,
    };
    flow.store.fn_work_extend(&call, &deadline).await.map(|extended| extended.state)
}

/// T5: overdue by the clock of the database, and not before.
#[tokio::test]
async fn t5_overdue_when_the_deadline_passed() {
    let (flow, run, id) = in_progress(json!({ "deadline": "1 minute" })).await;
    let asked = "timer:deadline_passed";
    assert_eq!(
        flow.preview(id, "overdue", "system", asked, json!({})).await,
        ["G-DEADLINE-PASSED"]
    );
    assert_eq!(flow.ring().await, []);
    flow.later(61_000).await;
    let fired = flow.ring().await;
    assert_eq!(fired.len(), 1, "{fired:?}");
    assert_eq!(
        flow.told(id).await,
        "T5 in_progress>overdue chancery/system timer:deadline_passed | step.overdue {}"
    );
    assert!(flow.row_of(id).await["overdue_first_at"].is_string());
    assert_eq!(flow.colour(run).await, "red");
}

/// T6: back to work on a later deadline, by a decision on record; that it was overdue stays on the row.
#[tokio::test]
async fn t6_recovers_on_a_later_deadline() {
    let (flow, run, id) = overdue(json!({})).await;
    let asked = "condition_resolved:deadline_extended";
    assert_eq!(
        flow.preview(id, "in_progress", "system", asked, audited(json!({}))).await,
        ["G-DEADLINE-EXTENDED"]
    );
    assert_eq!(flow.refuses(extend(&flow, id, -1, DESK)).await, ["RW016"], "not in the past");
    assert_eq!(
        flow.refuses(extend(&flow, id, 60, By { principal: "hall", class: "executor_worker" }))
            .await,
        ["RI003"]
    );
    let first = flow.row_of(id).await["overdue_first_at"].clone();
    assert_eq!(extend(&flow, id, 60, DESK).await.expect("extended"), "in_progress");
    let decision: Uuid = flow
        .one(&format!("select decision_id from workflow.step_decision where run_id = '{id}'"))
        .await;
    assert_eq!(
        flow.told(id).await,
        format!(
            "T6 overdue>in_progress chancery/system condition_resolved:deadline_extended decision:{decision} | step.recovered_from_overdue {{}}"
        )
    );
    assert_eq!(flow.row_of(id).await["overdue_first_at"], first);
    assert_eq!(flow.colour(run).await, "green");
}

/// T6p: back to work by the word of the person in charge. The deadline that passed does not ring a second time.
#[tokio::test]
async fn t6p_taken_up_again_by_the_person_in_charge() {
    let (flow, _, id) = overdue(json!({})).await;
    assert_eq!(
        flow.refuses(flow.call(id, "step_reengage", audited(json!({})), None, DORA)).await,
        ["G-CURRENT-PIC"]
    );
    assert_eq!(
        flow.refuses(flow.call(id, "step_reengage", json!({}), None, DESK)).await,
        ["RS007"]
    );
    flow.call(id, "step_reengage", audited(json!({})), None, DESK).await.expect("taken up again");
    assert_eq!(
        flow.told(id).await,
        "T6p overdue>in_progress desk/pic_human rpc:step_reengage A-1 | step.recovered_from_overdue {}"
    );
    assert_eq!(flow.ring().await, []);
    assert_eq!(flow.state_of(id).await, "in_progress");
}

/// T7: completed late: the breach stands on the row and in the event.
#[tokio::test]
async fn t7_completed_after_its_deadline() {
    let contract = json!({ "type": "object", "required": ["sum"], "properties": { "sum": { "type": "number" } } });
    let (flow, run, id) = overdue(json!({ "output": contract })).await;
    assert_eq!(flow.refuses(flow.complete(id, json!({}))).await, ["RW008"]);
    let other = audited(json!({ "output_sha256": hex(&sha(&json!({}))) }));
    assert_eq!(
        flow.refuses(flow.call(id, "step_complete", other, Some(json!({ "sum": 1 })), DESK)).await,
        ["RW009"]
    );
    let said = audited(json!({ "output_sha256": hex(&sha(&json!({ "sum": 1 }))) }));
    assert_eq!(
        flow.preview(id, "completed", "pic_human", "rpc:step_complete", said).await,
        ["G-OUTPUT-CONTRACT", "G-LATE-COMPLETION"],
        "no output is kept and no breach is written"
    );
    flow.later(9_000).await;
    flow.complete(id, json!({ "sum": 1 })).await.expect("completed");
    let row = flow.row_of(id).await;
    let told = flow.told(id).await;
    let (head, payload) = told.split_once(" | step.completed ").expect("the event");
    assert_eq!(head, "T7 overdue>completed desk/pic_human rpc:step_complete A-done");
    assert_eq!(
        serde_json::from_str::<Value>(payload).expect("JSON"),
        json!({ "completed_after_deadline": true, "overdue_first_at": row["overdue_first_at"], "sla_breach_duration": "00:00:10" })
    );
    assert_eq!(
        (&row["completed_after_deadline"], &row["sla_breach_duration"]),
        (&json!(true), &json!("00:00:10"))
    );
    flow.turn().await;
    assert_eq!(flow.state_of(run).await, "completed");
}

/// RUN-3, T7: work that is late meets the same contract and postcondition as work in time; a task too.
#[tokio::test]
async fn t7_meets_the_postcondition_as_t8_does() {
    let part = json!({ "key": "part", "title": { "en": "p", "vi": "p" }, "pic": { "principal": "tess" },
        "deadline": "1 minute", "postcondition": "$.output.sum > 0",
        "output": { "type": "object", "required": ["sum"], "properties": { "sum": { "type": "number" } } } });
    let (flow, run, id) = overdue(json!({
        "postcondition": "$.output.sum > 0", "tasks": [part],
        "output": { "type": "object", "required": ["sum"], "properties": { "sum": { "type": "number" } } },
    }))
    .await;
    let task = flow.task(run, "part").await;
    flow.claim_by(task, TESS).await;
    flow.ring().await;
    assert_eq!(flow.state_of(task).await, "overdue");
    assert_eq!(
        flow.refuses(flow.complete_by(task, json!({ "sum": 0 }), TESS)).await,
        ["G-POSTCONDITION"]
    );
    flow.complete_by(task, json!({ "sum": 1 }), TESS).await.expect("the task is done");
    assert_eq!(flow.refuses(flow.complete(id, json!({}))).await, ["RW008"]);
    assert_eq!(flow.refuses(flow.complete(id, json!({ "sum": 0 }))).await, ["G-POSTCONDITION"]);
    flow.complete(id, json!({ "sum": 1 })).await.expect("completed");
    assert!(flow.told(id).await.starts_with("T7 overdue>completed desk/pic_human"));
}

/// T7, T8: not while a task of the step is open.
#[tokio::test]
async fn t8_not_while_a_task_is_open() {
    let tasks = json!({ "tasks": [{ "key": "sign", "title": { "en": "s", "vi": "s" }, "pic": { "principal": "tess" } }] });
    let (flow, run, id) = overdue(tasks).await;
    assert_eq!(flow.refuses(flow.complete(id, json!({}))).await, ["G-TASKS-DONE"], "T7");
    flow.call(id, "step_reengage", audited(json!({})), None, DESK).await.expect("taken up again");
    assert_eq!(flow.refuses(flow.complete(id, json!({}))).await, ["G-TASKS-DONE"], "T8");
    let task = flow.task(run, "sign").await;
    flow.claim_by(task, TESS).await;
    flow.complete_by(task, json!({}), TESS).await.expect("signed");
    flow.complete(id, json!({})).await.expect("completed");
}

/// T8: completed with an output that meets its contract and postcondition; it is kept.
#[tokio::test]
async fn t8_completed_with_its_output() {
    let contract = json!({ "type": "object", "required": ["sum"], "properties": { "sum": { "type": "number" } } });
    let (flow, run, id) =
        in_progress(json!({ "output": contract, "postcondition": "$.output.sum > 0" })).await;
    assert_eq!(flow.refuses(flow.complete(id, json!({ "sum": "one" }))).await, ["RW008"]);
    assert_eq!(flow.refuses(flow.complete(id, json!({ "sum": 0 }))).await, ["G-POSTCONDITION"]);
    let unaudited = json!({ "output_sha256": hex(&sha(&json!({ "sum": 1 }))) });
    assert_eq!(
        flow.refuses(flow.call(id, "step_complete", unaudited, Some(json!({ "sum": 1 })), DESK))
            .await,
        ["RS007"]
    );
    let missing = audited(json!({ "output_sha256": hex(&sha(&json!({ "sum": 1 }))) }));
    assert_eq!(flow.refuses(flow.call(id, "step_complete", missing, None, DESK)).await, ["RW009"]);
    flow.complete(id, json!({ "sum": 1 })).await.expect("completed");
    assert_eq!(
        flow.told(id).await,
        "T8 in_progress>completed desk/pic_human rpc:step_complete A-done | step.completed {}"
    );
    let row = flow.row_of(id).await;
    assert_eq!(
        (&row["completion_actor_id"], row["completed_at"].is_string()),
        (&json!("desk"), true)
    );
    let kept: Value = flow
        .one(&format!(
            "select document::jsonb from workflow.step_run_output_snapshot where run_id = '{id}'"
        ))
        .await;
    assert_eq!(kept, json!({ "sum": 1 }));
    flow.turn().await;
    assert_eq!(
        (flow.state_of(run).await, flow.colour(run).await),
        ("completed".to_owned(), "green".to_owned())
    );
}

fn reopened(approval: Option<Uuid>, reason: &str) -> Value {
    let mut evidence = audited(json!({ "correction_reason": reason }));
    if let Some(approval) = approval {
        evidence["approval_id"] = json!(approval);
    }
    evidence
}

/// T8r, T12r: a closed step is opened again by a reviewer, on an approval for exactly this, for a reason of the vocabulary.
#[tokio::test]
async fn t8r_and_t12r_opened_again_on_an_approval() {
    for ending in ["completed", "cannot_complete"] {
        let (flow, _, id) = in_progress(json!({})).await;
        if ending == "completed" {
            flow.complete(id, json!({ "n": 1 })).await.expect("completed");
        } else {
            let declared = audited(json!({ "declaration_ref": "D-1" }));
            flow.call(id, "declare_cannot_complete", declared, None, DESK).await.expect("declared");
        }
        let prior: Uuid = flow.one(&format!("select log_id from fsm.transition_log where run_id = '{id}' order by seq desc limit 1")).await;
        let reopen =
            |evidence: Value| flow.call(id, "step_reopen_for_correction", evidence, None, CHIEF);
        assert_eq!(flow.refuses(reopen(reopened(None, "data_error"))).await, ["RA002"]);
        let other = flow.approved("step_reopen", &Uuid::now_v7().to_string()).await;
        assert_eq!(
            flow.refuses(reopen(reopened(Some(other), "data_error"))).await,
            ["RA003"],
            "for another step"
        );
        let wrong = flow.approved("step_cancel", &id.to_string()).await;
        assert_eq!(
            flow.refuses(reopen(reopened(Some(wrong), "data_error"))).await,
            ["RA003"],
            "for something else"
        );
        let asked = flow.asked("step_reopen", "medium", &id.to_string()).await;
        assert_eq!(
            flow.refuses(reopen(reopened(Some(asked), "data_error"))).await,
            ["RA006"],
            "not granted"
        );
        let approval = flow.approved("step_reopen", &id.to_string()).await;
        assert_eq!(
            flow.refuses(reopen(reopened(Some(approval), "boredom"))).await,
            ["G-CORRECTION-REASON"]
        );
        let by_desk = flow.call(
            id,
            "step_reopen_for_correction",
            reopened(Some(approval), "data_error"),
            None,
            DESK,
        );
        assert_eq!(flow.refuses(by_desk).await, ["RS004"], "who completes does not reopen");
        let row = if ending == "completed" { "T8r" } else { "T12r" };
        let mut missing = vec!["G-APPROVAL", "G-PRIOR-AUDIT"];
        if ending == "completed" {
            missing.push("G-OUTPUT-SNAPSHOT");
        }
        let mut said = reopened(Some(approval), "data_error");
        said["event"] =
            json!({ "prior_audit_id": "x", "correction_reason": "x", "approval_id": "x" });
        assert_eq!(
            flow.preview(id, "in_progress", "reviewer", "rpc:step_reopen_for_correction", said)
                .await,
            missing,
            "the approval is unused and no cycle is written"
        );
        reopen(reopened(Some(approval), "data_error")).await.expect("reopened");
        let told = flow.told(id).await;
        let (head, payload) =
            told.split_once(" | step.reopened_for_correction ").expect("the event");
        assert_eq!(
            head,
            format!("{row} {ending}>in_progress chief/reviewer rpc:step_reopen_for_correction A-1")
        );
        let payload: Value = serde_json::from_str(payload).expect("JSON");
        assert_eq!(
            (&payload["prior_audit_id"], &payload["correction_reason"], &payload["approval_id"]),
            (&json!(prior), &json!("data_error"), &json!(approval))
        );
        assert_eq!(payload.get("original_output_snapshot_id").is_some(), ending == "completed");
        assert_eq!(flow.row_of(id).await["cycle_no"], 1);
    }
}

/// T9, T9o: a failure from each state in which an executor may report one, with a known class that is classified as it is.
#[tokio::test]
async fn t9_failed_with_a_classification() {
    for from in ["in_progress", "waiting", "blocked", "overdue"] {
        let (flow, run, id, job) = at_work(json!({ "deadline": "1 minute" })).await;
        match from {
            "waiting" => drop(
                flow.wait_for(id, json!([{ "facet": "waiting_human", "of": "rita" }]))
                    .await
                    .expect("waits"),
            ),
            "blocked" => flow.block(id).await,
            "overdue" => {
                flow.later(61_000).await;
                flow.ring().await;
            }
            _ => {}
        }
        assert_eq!(flow.state_of(id).await, from);
        for evidence in [
            json!({ "classification": "permanent", "failure_class": "timeout" }),
            json!({ "classification": "sometimes", "failure_class": "timeout" }),
            json!({ "classification": "transient", "failure_class": "gremlins" }),
            json!({}),
        ] {
            assert_eq!(
                flow.refuses(flow.report(&job, "executor_failure", evidence, None)).await,
                ["RW024"],
                "{from}"
            );
        }
        let said = audited(json!({ "event": { "classification": "transient" } }));
        // A preview also sees what the event of the last move said, so only the guard is looked for.
        let found =
            flow.preview(id, "failed", "executor_worker", "event:executor_failure", said).await;
        assert_eq!(found.first().map(String::as_str), Some("G-FAILURE-CLASS"), "{from}: {found:?}");
        flow.report_failed(&job, "transient", "timeout").await;
        let row = if from == "overdue" { "T9o" } else { "T9" };
        let audit = format!("job:{}#{}", job.job_id, job.lease_no);
        assert_eq!(
            flow.told(id).await,
            format!(
                "{row} {from}>failed hall/executor_worker event:executor_failure {audit} | step.failed {{\"classification\": \"transient\"}}"
            )
        );
        let fields = flow.row_of(id).await;
        assert_eq!(
            (&fields["failure_classification"], &fields["failure_class"]),
            (&json!("transient"), &json!("timeout"))
        );
        assert_eq!(flow.colour(run).await, "red");
        assert_eq!(
            flow.number(&format!(
                "select count(*) from workflow.wait where run_id = '{id}' and resolved_at is null"
            ))
            .await,
            0
        );
    }
}

/// T10, T11: tried again while the policy has tries left; then handed up. A permanent failure is handed up at once.
#[tokio::test]
async fn t10_retried_within_the_budget_and_t11_handed_up() {
    let (flow, _, id, first) = at_work(json!({})).await;
    flow.report_failed(&first, "transient", "timeout").await;
    let escalate = |by: By<'static>| flow.call(id, "escalate", audited(json!({})), None, by);
    assert_eq!(flow.refuses(escalate(ESME)).await, ["G-ESCALATABLE"], "tries are left");
    let retry = "event:retry_attempt";
    assert_eq!(
        flow.preview(id, "in_progress", "executor_worker", retry, json!({})).await,
        ["G-RETRY-KEY"]
    );
    for attempt in 2..=5 {
        flow.later(3_600_000).await;
        let job = flow.working().await;
        assert_eq!(
            flow.told(id).await,
            "T10 failed>in_progress hall/executor_worker event:retry_attempt job:ID#N | step.retry {}"
                .replace("job:ID#N", &format!("job:{}#{}", job.job_id, job.lease_no))
        );
        assert_eq!(flow.row_of(id).await["retry_count"], attempt - 1);
        flow.report_failed(&job, "transient", "timeout").await;
    }
    flow.turn().await;
    assert_eq!(flow.state_of(id).await, "failed");
    assert_eq!(flow.refuses(flow.call(id, "escalate", json!({}), None, ESME)).await, ["RS007"]);
    assert_eq!(flow.refuses(escalate(DESK)).await, ["RS004"]);
    escalate(ESME).await.expect("handed up");
    assert_eq!(
        flow.told(id).await,
        "T11 failed>cannot_complete esme/escalation_handler rpc:escalate A-1 | step.escalated {}"
    );

    let (flow, _, id, job) = at_work(json!({})).await;
    flow.report_failed(&job, "permanent", "bad_request").await;
    let keyed = json!({ "idempotency_key": "k" });
    assert_eq!(
        flow.preview(id, "in_progress", "executor_worker", retry, keyed).await,
        ["G-RETRY-BUDGET"]
    );
    flow.call(id, "escalate", audited(json!({})), None, ESME).await.expect("handed up");
}

/// T12: declared impossible from each state in which somebody works on it.
#[tokio::test]
async fn t12_declared_impossible() {
    for from in ["in_progress", "waiting", "blocked"] {
        let (flow, run, id) = in_progress(json!({})).await;
        match from {
            "waiting" => drop(
                flow.wait_for(id, json!([{ "facet": "waiting_human", "of": "rita" }]))
                    .await
                    .expect("waits"),
            ),
            "blocked" => flow.block(id).await,
            _ => {}
        }
        let declare =
            |evidence: Value| flow.call(id, "declare_cannot_complete", evidence, None, DESK);
        assert_eq!(flow.refuses(declare(audited(json!({})))).await, ["G-DECLARATION"]);
        assert_eq!(flow.refuses(declare(json!({ "declaration_ref": "D-1" }))).await, ["RS007"]);
        declare(audited(json!({ "declaration_ref": "D-1" }))).await.expect("declared");
        assert_eq!(
            flow.told(id).await,
            format!(
                "T12 {from}>cannot_complete desk/pic_human rpc:declare_cannot_complete A-1 | step.cannot_complete {{}}"
            )
        );
        assert_eq!(flow.colour(run).await, "red");
    }
}

/// T13: called off by a reviewer with an approval, from every state that is open or failed; never from a closed one.
#[tokio::test]
async fn t13_called_off_with_an_approval() {
    for from in [
        "not_started",
        "ready",
        "in_progress",
        "waiting",
        "blocked",
        "overdue",
        "failed",
        "cannot_complete",
    ] {
        let fields = json!({ "deadline": "1 minute", "executor": "noop", "precondition": "$.inputs.go == true" });
        let flow = Flow::new().await;
        flow.install(single("auto", fields)).await;
        let run = flow.start("auto", json!({ "go": from != "not_started" })).await;
        let id = flow.step(run, "work").await;
        if !["not_started", "ready"].contains(&from) {
            let job = flow.working().await;
            match from {
                "waiting" => drop(
                    flow.wait_for(id, json!([{ "facet": "waiting_human", "of": "rita" }]))
                        .await
                        .expect("waits"),
                ),
                "blocked" => flow.block(id).await,
                "overdue" => {
                    flow.later(61_000).await;
                    flow.ring().await;
                }
                "failed" => flow.report_failed(&job, "transient", "timeout").await,
                "cannot_complete" => {
                    let declared = audited(json!({ "declaration_ref": "D-1" }));
                    flow.call(id, "declare_cannot_complete", declared, None, DESK)
                        .await
                        .map(drop)
                        .expect("declared");
                }
                _ => {}
            }
        }
        assert_eq!(flow.state_of(id).await, from);
        let cancel =
            |evidence: Value, by: By<'static>| flow.call(id, "step_cancel", evidence, None, by);
        assert_eq!(flow.refuses(cancel(audited(json!({})), CHIEF)).await, ["RA002"]);
        let approval = flow.approved("step_cancel", &id.to_string()).await;
        let granted = audited(json!({ "approval_id": approval }));
        assert_eq!(flow.refuses(cancel(granted.clone(), DESK)).await, ["RS004"]);
        assert_eq!(
            flow.preview(id, "cancelled", "reviewer", "rpc:step_cancel", granted.clone()).await,
            ["G-APPROVAL"]
        );
        cancel(granted.clone(), CHIEF).await.expect("called off");
        assert_eq!(
            flow.told(id).await,
            format!(
                "T13 {from}>cancelled chief/reviewer rpc:step_cancel A-1 | step.cancelled {{}}"
            )
        );
        assert_eq!(flow.refuses(cancel(granted, CHIEF)).await, ["RA006"], "used once");
    }
}
