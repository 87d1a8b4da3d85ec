//! RUN-3, RUN-12, RUN-14: the rows of runs (W1–W5), of the bridge between a step and the run of its sub-workflow (B0–B7), and what
//! is different for tasks. Each taken, and each guard refusing; see `flow_moves`.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_moves::audited;
use crate::flow_world::{
    By, CHIEF, DESK, ESME, Flow, TESS, hex, human, plus, sha, single, step, way, workflow,
};

const BRIDGE: &str = "event:sub_workflow_rollup";

/// W1, W2: a run is started by the loop and completed by the system, when everything mandatory is.
#[tokio::test]
async fn w1_and_w2_started_and_completed() {
    let flow = Flow::new().await;
    flow.install(workflow("pair", vec![human("a"), human("b")], vec![way("a > b")])).await;
    let run = Uuid::now_v7();
    flow.start_as(run, "pair", json!({})).await.expect("a run");
    assert_eq!(
        flow.told(run).await,
        "W1 not_started>in_progress chancery/mow_orchestrator rpc:workflow_start | workflow.started {}"
    );
    let again = flow.start_as(run, "pair", json!({})).await.expect("the same run");
    assert!(again.replayed);
    assert_eq!(flow.refuses(flow.start_as(run, "pair", json!({ "other": 1 }))).await, ["RW019"]);
    assert_eq!(flow.refuses(flow.start_as(Uuid::now_v7(), "nothing", json!({}))).await, ["RW001"]);
    flow.turn().await;
    flow.do_step(run, "a", json!({})).await;
    let asked = "condition_resolved:all_mandatory_steps_completed";
    assert_eq!(
        flow.preview(run, "completed", "system", asked, audited(json!({}))).await,
        ["G-MANDATORY-DONE"]
    );
    flow.do_step(run, "b", json!({})).await;
    assert_eq!(
        flow.told(run).await,
        "W2 in_progress>completed chancery/system condition_resolved:all_mandatory_steps_completed rollup | workflow.completed {}"
    );
}

/// W3: called off by a reviewer with an approval, from on hold as well. None of its steps moves any more, by any door.
#[tokio::test]
async fn w3_called_off_with_an_approval() {
    for from in ["in_progress", "paused"] {
        let mut definition = workflow(
            "two",
            vec![human("a"), human("b"), human("c")],
            vec![way("a > c"), way("b > c")],
        );
        definition["start"] = json!(["a", "b"]);
        let (flow, run) = Flow::with(definition).await;
        let [a, b] = [flow.claimed(run, "a").await, flow.claimed(run, "b").await];
        flow.wait_for(a, json!([{ "facet": "waiting_human", "of": "rita" }])).await.expect("waits");
        flow.block(b).await;
        if from == "paused" {
            flow.pause(run).await;
        }
        let cancel =
            |evidence: Value, by: By<'static>| flow.run_move(run, "workflow_cancel", evidence, by);
        assert_eq!(flow.refuses(cancel(audited(json!({})), CHIEF)).await, ["RA002"]);
        let approval = flow.approved("workflow_cancel", &run.to_string()).await;
        let granted = audited(json!({ "approval_id": approval }));
        assert_eq!(flow.refuses(cancel(granted.clone(), DESK)).await, ["RS004"]);
        let other = flow.approved("workflow_cancel", &a.to_string()).await;
        assert_eq!(
            flow.refuses(cancel(audited(json!({ "approval_id": other })), CHIEF)).await,
            ["RA003"]
        );
        assert_eq!(
            flow.preview(run, "cancelled", "reviewer", "rpc:workflow_cancel", granted.clone())
                .await,
            ["G-APPROVAL"]
        );
        cancel(granted, CHIEF).await.expect("called off");
        assert_eq!(
            flow.told(run).await,
            format!(
                "W3 {from}>cancelled chief/reviewer rpc:workflow_cancel A-1 | workflow.cancelled {{}}"
            )
        );
        let wait: Uuid =
            flow.one(&format!("select wait_id from workflow.wait where run_id = '{a}'")).await;
        let proof = json!({ "answer": 1 });
        assert_eq!(
            flow.refuses(flow.store.fn_wait_resolve(wait, &proof, "rita", "reviewer")).await,
            ["RW006"]
        );
        let freed = audited(json!({ "resolution_ref": "R" }));
        assert_eq!(
            flow.refuses(flow.call(b, "blocker_resolved", freed, None, DESK)).await,
            ["RW006"]
        );
        assert_eq!(
            flow.number(&format!(
                "select count(*) from workflow.timer where workflow_run_id = '{run}'"
            ))
            .await,
            0
        );
        flow.turn().await;
        assert_eq!(flow.states(run).await, "a waiting, b blocked, c not_started");
    }
}

/// W4, W5: on hold and on again, by a reviewer; the colour stands still meanwhile.
#[tokio::test]
async fn w4_and_w5_on_hold_and_on_again() {
    let (flow, run) = Flow::with(single("one", json!({}))).await;
    let id = flow.claimed(run, "work").await;
    for (call, by, code) in [
        ("workflow_pause", DESK, "RS004"),
        ("workflow_resume", CHIEF, "RS004"),
        ("workflow_start", CHIEF, "RS004"),
        ("workflow_explode", CHIEF, "RW002"),
        ("workflow_pause", By { principal: "chancery", class: "system" }, "RW020"),
    ] {
        assert_eq!(
            flow.refuses(flow.run_move(run, call, audited(json!({})), by)).await[0],
            code,
            "{call}"
        );
    }
    assert_eq!(
        flow.refuses(flow.run_move(run, "workflow_pause", json!({}), CHIEF)).await,
        ["RS007"]
    );
    flow.run_move(run, "workflow_pause", audited(json!({})), CHIEF).await.expect("paused");
    assert_eq!(
        flow.told(run).await,
        "W4 in_progress>paused chief/reviewer rpc:workflow_pause A-1 | workflow.paused {}"
    );
    assert!(flow.row_of(run).await["frozen_at"].is_string());
    flow.block(id).await;
    assert_eq!(flow.colour(run).await, "green", "it stands still");
    assert_eq!(
        flow.refuses(flow.run_move(run, "workflow_resume", audited(json!({})), DESK)).await,
        ["RS004"]
    );
    flow.run_move(run, "workflow_resume", audited(json!({})), CHIEF).await.expect("resumed");
    assert_eq!(
        flow.told(run).await,
        "W5 paused>in_progress chief/reviewer rpc:workflow_resume A-1 | workflow.resumed {}"
    );
    assert_eq!(
        (flow.row_of(run).await["frozen_at"].clone(), flow.colour(run).await),
        (Value::Null, "yellow".to_owned())
    );
}

/// A run whose one step stands for a run of two steps; gives the outer step and the inner run.
async fn bridged(more: Value) -> (Flow, Uuid, Uuid, Uuid) {
    let flow = Flow::new().await;
    flow.install(workflow("inner", vec![human("x"), human("y")], vec![way("x > y")])).await;
    let fields = plus(json!({ "sub_workflow": "inner" }), more);
    let run = flow.begun(workflow("outer", vec![step("sub", fields)], vec![])).await;
    let id = flow.step(run, "sub").await;
    let inner: Uuid = flow
        .one(&format!(
            "select workflow_run_id from workflow.workflow_run where parent_step_run_id = '{id}'"
        ))
        .await;
    (flow, run, id, inner)
}

/// B0–B4, B6, B7: a step that stands for a sub-workflow is where that run is, in each colour; and nobody says otherwise.
#[tokio::test]
async fn b0_to_b7_follow_the_sub_workflow() {
    let (flow, run, id, inner) = bridged(json!({})).await;
    let told = |row: &str, event: &str| {
        format!("{row} chancery/mow_orchestrator {BRIDGE} workflow_run:{inner} | {event}")
    };
    assert_eq!(flow.told(id).await, told("B0 ready>in_progress", "step.started {}"));
    // Nothing else is asked for now, by anybody.
    for to in ["failed", "waiting", "completed"] {
        let said = audited(json!({ "to": to, "facets": ["waiting_dependency"],
            "event": match to { "failed" => json!({ "classification": "permanent" }), "waiting" => json!({ "waiting_facet": "waiting_dependency" }), _ => json!({}) } }));
        assert_eq!(
            flow.preview(id, to, "mow_orchestrator", BRIDGE, said).await,
            ["G-BRIDGE"],
            "{to}"
        );
    }
    assert_eq!(
        flow.refuses(flow.complete(id, json!({}))).await,
        ["G-TASKS-DONE"],
        "nobody declares it done"
    );
    let x = flow.claimed(inner, "x").await;
    flow.wait_for(x, json!([{ "facet": "waiting_human", "of": "rita" }])).await.expect("waits");
    flow.turn().await;
    assert_eq!(
        flow.told(id).await,
        told("B2 in_progress>waiting", "step.waiting {\"waiting_facet\": \"waiting_dependency\"}")
    );
    assert_eq!(flow.colour(run).await, "yellow");
    let wait: Uuid =
        flow.one(&format!("select wait_id from workflow.wait where run_id = '{x}'")).await;
    flow.store
        .fn_wait_resolve(wait, &json!({ "n": 1 }), "rita", "reviewer")
        .await
        .expect("resolved");
    flow.turn().await;
    assert_eq!(flow.told(id).await, told("B3 waiting>in_progress", "step.resumed {}"));
    // Red: failed; and green again: tried again, without any budget.
    let declared = audited(json!({ "declaration_ref": "D" }));
    flow.call(x, "declare_cannot_complete", declared, None, DESK).await.expect("declared");
    flow.turn().await;
    assert_eq!(
        flow.told(id).await,
        told("B1 in_progress>failed", "step.failed {\"classification\": \"permanent\"}")
    );
    assert_eq!(flow.colour(run).await, "red");
    let approval = flow.approved("step_reopen", &x.to_string()).await;
    let reopened = audited(json!({ "approval_id": approval, "correction_reason": "data_error" }));
    flow.call(x, "step_reopen_for_correction", reopened, None, CHIEF).await.expect("reopened");
    flow.turn().await;
    assert_eq!(flow.told(id).await, told("B5 failed>in_progress", "step.retry {}"));
    assert_eq!(flow.row_of(id).await["retry_count"], 0);
    flow.complete(x, json!({})).await.expect("completed");
    flow.turn().await;
    flow.do_step(inner, "y", json!({ "n": 7 })).await;
    assert_eq!(flow.told(id).await, told("B4 in_progress>completed", "step.completed {}"));
    let output: Value = flow
        .one(&format!(
            "select document::jsonb from workflow.step_run_output_snapshot where run_id = '{id}'"
        ))
        .await;
    assert_eq!(output, json!({ "workflow_run_id": inner, "outputs": { "y": { "n": 7 } } }));
    flow.turn().await;
    assert_eq!(flow.state_of(run).await, "completed");
}

/// B2, B3, B6, B7: the sub-workflow on hold, on again, called off while on hold; and completed behind a wait.
#[tokio::test]
async fn b6_and_b7_leave_a_wait() {
    let (flow, run, id, inner) = bridged(json!({})).await;
    flow.pause(inner).await;
    flow.turn().await;
    assert!(flow.told(id).await.starts_with("B2 in_progress>waiting"));
    flow.resume(inner).await;
    flow.turn().await;
    assert!(flow.told(id).await.starts_with("B3 waiting>in_progress"));
    flow.pause(inner).await;
    flow.turn().await;
    flow.cancel_run(inner).await;
    flow.turn().await;
    assert_eq!(
        flow.told(id).await,
        format!(
            "B6 waiting>failed chancery/mow_orchestrator {BRIDGE} workflow_run:{inner} | step.failed {{\"classification\": \"permanent\"}}"
        )
    );
    assert_eq!(flow.colour(run).await, "red");

    // The loop of the outer run looks only after the inner one is done.
    let (flow, run, id, inner) = bridged(json!({})).await;
    flow.pause(inner).await;
    flow.turn().await;
    flow.resume(inner).await;
    for key in ["x", "y"] {
        let step = flow.claimed(inner, key).await;
        flow.complete(step, json!({})).await.expect("completed");
        flow.store.fn_mow_turn(inner, "chancery").await.expect("a turn");
    }
    assert_eq!(flow.state_of(id).await, "waiting");
    flow.turn().await;
    assert_eq!(
        flow.told(id).await,
        format!(
            "B7 waiting>completed chancery/mow_orchestrator {BRIDGE} workflow_run:{inner} | step.completed {{}}"
        )
    );
    flow.turn().await;
    assert_eq!(flow.state_of(run).await, "completed");
}

/// RUN-3, RUN-14: what a sub-workflow gives meets the contract and the postcondition of the step that stands for it, as what a person gives
/// would have to. What does not is a failure that says what it breaks, and is mended where it was made.
#[tokio::test]
async fn a_bridge_meets_contract_and_postcondition() {
    let contract = json!({ "type": "object", "properties": { "outputs": { "type": "object", "properties": { "y": {
        "type": "object", "properties": { "n": { "type": "integer", "minimum": 5 } }, "required": ["n"] } }, "required": ["y"] } }, "required": ["outputs"] });
    for (more, row, why) in [
        (json!({ "output": contract }), "B1 in_progress>failed", "output_contract"),
        (
            json!({ "postcondition": "$.output.outputs.y.n >= 5" }),
            "B1 in_progress>failed",
            "postcondition",
        ),
        (
            json!({ "postcondition": "$.output.outputs.y.m >= 5" }),
            "B2 in_progress>waiting",
            "unanswered",
        ),
    ] {
        let (flow, run, id, inner) = bridged(more.clone()).await;
        flow.do_step(inner, "x", json!({})).await;
        let y = flow.do_step(inner, "y", json!({ "n": 4 })).await;
        flow.turn().await;
        assert_eq!(flow.state_of(inner).await, "completed");
        assert!(flow.told(id).await.starts_with(row), "{more}: {}", flow.told(id).await);
        assert_eq!(flow.state_of(run).await, "in_progress", "{more}");
        let evidence: Value = flow
            .one(&format!("select evidence::jsonb from fsm.transition_log where run_id = '{id}' order by seq desc limit 1"))
            .await;
        assert_eq!(evidence["why"], why, "{evidence}");
        let outputs: i64 = flow
            .one(&format!(
                "select count(*) from workflow.step_run_output_snapshot where run_id = '{id}'"
            ))
            .await;
        assert_eq!(outputs, 0, "it has no output");
        let said = audited(json!({ "to": "completed" }));
        let refused = flow.preview(id, "completed", "mow_orchestrator", BRIDGE, said).await;
        // From failed no way leads there; from a wait one does, and is closed.
        assert_eq!(refused, [if why == "unanswered" { "G-BRIDGE" } else { "RS004" }], "{more}");
        // Mended where it was made, it goes on by itself.
        let approval = flow.approved("step_reopen", &y.to_string()).await;
        let reopened =
            audited(json!({ "approval_id": approval, "correction_reason": "data_error" }));
        flow.call(y, "step_reopen_for_correction", reopened, None, CHIEF).await.expect("reopened");
        flow.turn().await;
        flow.complete(y, json!({ "n": 5, "m": 5 })).await.expect("completed");
        flow.turn().await;
        flow.turn().await;
        assert_eq!(
            (flow.state_of(id).await, flow.state_of(run).await),
            ("completed".to_owned(), "completed".to_owned()),
            "{more}"
        );
    }
}

/// RUN-14: a postcondition that asks for the output of another step of the run is answered once that one has ended.
#[tokio::test]
async fn a_bridge_waits_for_what_its_postcondition_reads() {
    let flow = Flow::new().await;
    flow.install(workflow("inner", vec![human("x")], vec![])).await;
    let sub = step(
        "sub",
        json!({ "sub_workflow": "inner", "postcondition": "$.outputs.aside.ok == true" }),
    );
    let mut outer = workflow("outer", vec![human("aside"), sub], vec![]);
    outer["start"] = json!(["aside", "sub"]);
    let run = flow.begun(outer).await;
    let id = flow.step(run, "sub").await;
    let inner: Uuid = flow
        .one(&format!(
            "select workflow_run_id from workflow.workflow_run where parent_step_run_id = '{id}'"
        ))
        .await;
    flow.do_step(inner, "x", json!({})).await;
    flow.turn().await;
    assert_eq!(flow.state_of(id).await, "waiting");
    flow.do_step(run, "aside", json!({ "ok": true })).await;
    flow.turn().await;
    assert_eq!(
        (flow.state_of(id).await, flow.state_of(run).await),
        ("completed".to_owned(), "completed".to_owned())
    );
}

/// RUN-11, RUN-14: a step that stands for a sub-workflow and has tasks completes when both are done; one that was blocked follows
/// when it is freed.
#[tokio::test]
async fn the_bridge_waits_for_tasks_and_follows_after_a_block() {
    let tasks = json!({ "tasks": [{ "key": "sign", "title": { "en": "s", "vi": "s" }, "pic": { "principal": "tess" } }] });
    let (flow, run, id, inner) = bridged(tasks).await;
    flow.block(id).await;
    flow.do_step(inner, "x", json!({})).await;
    flow.do_step(inner, "y", json!({})).await;
    assert_eq!(flow.state_of(id).await, "blocked");
    flow.call(id, "blocker_resolved", audited(json!({ "resolution_ref": "R" })), None, DESK)
        .await
        .expect("freed");
    flow.turn().await;
    assert_eq!(flow.state_of(id).await, "in_progress", "a task is open");
    let task = flow.task(run, "sign").await;
    flow.claim_by(task, TESS).await;
    flow.complete_by(task, json!({}), TESS).await.expect("signed");
    flow.turn().await;
    assert_eq!(
        (flow.state_of(id).await, flow.state_of(run).await),
        ("completed".to_owned(), "completed".to_owned())
    );
}

/// RUN-11: a step that was called off takes its tasks along: none of them moves any more.
#[tokio::test]
async fn tasks_of_a_cancelled_step_stay_as_they_are() {
    let definition = single(
        "called_off",
        json!({ "tasks": [step("sign", json!({ "pic": { "principal": "tess" } }))] }),
    );
    let (flow, run) = Flow::with(definition).await;
    let (id, sign) = (flow.step(run, "work").await, flow.task(run, "sign").await);
    let approval = flow.approved("step_cancel", &id.to_string()).await;
    let granted = audited(json!({ "approval_id": approval }));
    flow.call(id, "step_cancel", granted, None, CHIEF).await.expect("cancelled");
    assert_eq!(
        flow.refuses(flow.call(sign, "task_claim", audited(json!({})), None, TESS)).await,
        ["RW006"]
    );
}

/// RUN-11: tasks: T2 by the person in charge of the task, T2x by a worker without one, the rest as for steps; skipped where their
/// condition does not hold.
#[tokio::test]
async fn tasks_have_the_life_of_steps() {
    let task = |key: &str, more: Value| step(key, more);
    let definition = single(
        "tasks",
        json!({ "tasks": [
        task("sign", json!({ "pic": { "principal": "tess" }, "deadline": "1 minute" })),
        task("auto", json!({ "executor": "noop" })),
        task("never", json!({ "precondition": "$.run.workflow == \"another\"" })),
    ] }),
    );
    let (flow, run) = Flow::with(definition).await;
    let [sign, auto, never] =
        [flow.task(run, "sign").await, flow.task(run, "auto").await, flow.task(run, "never").await];
    assert_eq!(
        flow.told(never).await,
        "T0s not_started>not_started chancery/mow_orchestrator condition_resolved:branch_not_taken | task.skipped {}"
    );
    assert_eq!(
        flow.told(sign).await,
        "T1 not_started>ready chancery/mow_orchestrator condition_resolved:precondition_resolved | task.ready {}"
    );
    let dora = By { principal: "dora", class: "task_pic_human" };
    assert_eq!(
        flow.refuses(flow.call(sign, "task_claim", audited(json!({})), None, dora)).await,
        ["G-PIC-RESOLVES"]
    );
    assert_eq!(
        flow.refuses(flow.call(sign, "task_claim", audited(json!({})), None, DESK)).await,
        ["RS004"]
    );
    assert_eq!(
        flow.refuses(flow.call(auto, "task_claim", audited(json!({})), None, TESS))
            .await
            .last()
            .map(String::as_str),
        Some("G-EXECUTOR-CLASS")
    );
    assert_eq!(
        flow.refuses(flow.call(sign, "step_claim", audited(json!({})), None, TESS)).await,
        ["RW002"],
        "the call of another machine"
    );
    flow.call(sign, "task_claim", audited(json!({})), None, TESS).await.expect("claimed");
    assert_eq!(
        flow.told(sign).await,
        "T2 ready>in_progress tess/task_pic_human rpc:task_claim A-1 | task.started {}"
    );
    flow.call(sign, "task_release", audited(json!({})), None, TESS).await.expect("released");
    assert_eq!(
        flow.told(sign).await,
        "T2r in_progress>ready tess/task_pic_human rpc:task_release A-1 | task.released {}"
    );
    flow.claim_by(sign, TESS).await;
    let waits = json!({ "facets": ["waiting_human"], "waits": [{ "facet": "waiting_human", "of": "rita" }] });
    flow.call(sign, "task_wait", waits, None, DESK).await.expect("the step's person may say so");
    assert!(
        flow.told(sign).await.starts_with("T3 in_progress>waiting desk/pic_human rpc:task_wait")
    );
    let wait: Uuid =
        flow.one(&format!("select wait_id from workflow.wait where run_id = '{sign}'")).await;
    flow.store
        .fn_wait_resolve(wait, &json!({ "n": 1 }), "rita", "reviewer")
        .await
        .expect("resolved");
    flow.call(sign, "task_block", audited(json!({ "block_reason": "missing_iu" })), None, TESS)
        .await
        .expect("blocked");
    assert!(flow.told(sign).await.ends_with("| task.blocked {}"));
    flow.call(sign, "blocker_resolved", audited(json!({ "resolution_ref": "R" })), None, TESS)
        .await
        .expect("freed");
    flow.later(61_000).await;
    flow.ring().await;
    assert_eq!(
        flow.told(sign).await,
        "T5 in_progress>overdue chancery/system timer:deadline_passed | task.overdue {}"
    );
    flow.call(sign, "task_reengage", audited(json!({})), None, TESS).await.expect("taken up again");
    assert!(flow.told(sign).await.starts_with("T6p overdue>in_progress tess/task_pic_human"));
    flow.complete_by(sign, json!({}), TESS).await.expect("completed");
    assert_eq!(flow.row_of(sign).await["completed_after_deadline"], true);

    let job = flow.working().await;
    assert_eq!(
        flow.told(auto).await,
        format!(
            "T2x ready>in_progress hall/executor_worker rpc:task_claim job:{}#{} | task.started {{}}",
            job.job_id, job.lease_no
        )
    );
    flow.report_failed(&job, "permanent", "bad_request").await;
    flow.call(auto, "escalate", audited(json!({})), None, ESME).await.expect("handed up");
    let id = flow.claimed(run, "work").await;
    assert_eq!(
        flow.refuses(flow.complete(id, json!({}))).await,
        ["G-TASKS-DONE"],
        "what cannot be done is not done"
    );
    let approval = flow.approved("step_reopen", &auto.to_string()).await;
    let reopened =
        audited(json!({ "approval_id": approval, "correction_reason": "policy_change" }));
    flow.call(auto, "task_reopen_for_correction", reopened, None, CHIEF).await.expect("reopened");
    assert!(flow.told(auto).await.starts_with("T12r cannot_complete>in_progress chief/reviewer"));
    let job = flow.working().await;
    let evidence = json!({ "output_sha256": hex(&sha(&json!({}))) });
    flow.report(&job, "task_complete", evidence, Some(json!({}))).await.expect("completed");
    assert!(
        flow.told(auto)
            .await
            .starts_with("T8 in_progress>completed hall/executor_worker rpc:task_complete")
    );
    flow.complete(id, json!({})).await.expect("completed");
}
