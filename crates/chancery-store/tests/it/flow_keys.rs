//! Keys of people and of the loop stand in one list, a run each.

use chancery_store::Role;
use chancery_store::workflow::{RunCall, WorkCall};
use chancery_testkit::TestDb;
use chancery_testkit::flows::{Flow, REVIEWER, WRITER, sha256};
use serde_json::json;

/// FSM-7, RUN-12: whatever keys people choose, none is in the way of a move that the loop makes later: the start of a run, the end of
/// a wait, the end of the run.
#[tokio::test]
async fn no_key_of_a_person_stops_the_loop() {
    let db = TestDb::new().await;
    let flow = Flow::install(&db).await;
    let app = db.store(Role::App);
    let run = flow.start("start").await;

    // It is ready by its second move, claimed by the third and waits by the fourth.
    flow.work(run.first, "step_claim", json!({}), None, "resume:4").await;
    let gate = json!({ "facets": ["waiting_time_gate"], "waits": [{ "facet": "waiting_time_gate", "until": "2020-01-01T00:00:00Z" }] });
    flow.work(run.first, "step_wait", gate, None, "resume:3").await;
    let due = app.fn_timer_due(10, "chancery").await.expect("timers");
    assert_eq!(due.len(), 1, "the gate");
    let fired = app.fn_timer_fire(due[0], "chancery").await.expect("nothing is in the way");
    assert_eq!((fired.fired, fired.done.as_deref()), (true, Some("resumed")));
    flow.complete(run.first, json!({}), "ready").await;

    let audit = json!({ "audit_ref": "A-1" });
    for (call, key, state) in
        [("workflow_pause", "complete", "paused"), ("workflow_resume", "start:1", "in_progress")]
    {
        let call = RunCall {
            workflow_run_id: run.run,
            call,
            evidence: &audit,
            principal: REVIEWER,
            actor_class: "reviewer",
            idempotency_key: key,
            reason: None,
            signed: None,
        };
        assert_eq!(app.fn_workflow_move(&call).await.expect("as asked").state, state);
    }
    flow.turn(run.run).await;

    let task = db.text("select task_run_id::text from workflow.task_run").await;
    let evidence = json!({ "audit_ref": "A-1", "output_sha256": sha256(&json!({})) });
    for (call, document) in [("task_claim", None), ("task_complete", Some(json!({})))] {
        let call = WorkCall {
            run_kind: "task",
            run_id: task.parse().expect("an id"),
            call,
            evidence: &evidence,
            document: document.as_ref(),
            principal: WRITER,
            actor_class: "task_pic_human",
            idempotency_key: call,
            reason: None,
            signed: None,
        };
        app.fn_work_move(&call).await.expect("as asked");
    }
    flow.work(run.second, "step_claim", json!({}), None, "claim").await;
    flow.complete(run.second, json!({}), "complete").await;
    flow.turn(run.run).await;
    let ended = db.text("select state_code from workflow.workflow_run").await;
    assert_eq!(ended, "completed");
}
