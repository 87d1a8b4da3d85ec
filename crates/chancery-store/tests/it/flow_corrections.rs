//! RUN-9: what was closed and is opened again. The first ending is never erased; each correction is a cycle with its own ending.

use chancery_store::Error;
use chancery_store::fsm::MoveReport;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_moves::{audited, in_progress};
use crate::flow_world::{By, CHIEF, DESK, Flow, human, way, workflow};

const DORA: By<'static> = By { principal: "dora", class: "pic_human" };

async fn reopen(flow: &Flow, id: Uuid, approval: Uuid, key: &str) -> Result<MoveReport, Error> {
    let evidence = audited(json!({ "approval_id": approval, "correction_reason": "data_error" }));
    flow.call_keyed(id, "step_reopen_for_correction", evidence, None, CHIEF, key).await
}

async fn cycles(flow: &Flow, id: Uuid) -> Value {
    flow.one(&format!(
        "select coalesce(jsonb_agg(jsonb_build_object('cycle', cycle_no, 'prior', prior_state, 'by', prior_actor, 'reason', correction_reason, 'reopened_by', reopened_by,
                  'ended_by', completion_actor_id,
                  'had', (select document::jsonb from workflow.step_run_snapshot o where o.snapshot_id = c.original_output_snapshot_id),
                  'gave', (select document::jsonb from workflow.step_run_snapshot o where o.snapshot_id = c.output_snapshot_id)) order by cycle_no), '[]')
           from workflow.step_run_correction_cycle c where run_id = '{id}'"
    ))
    .await
}

/// Two corrections of a completed step, by another person: each has the output before and after it; the row keeps the first ending.
#[tokio::test]
async fn two_corrections_keep_the_first_ending() {
    let (flow, _, id) = in_progress(json!({ "pic": { "class": "pic_human" } })).await;
    flow.complete(id, json!({ "n": 1 })).await.expect("completed");
    let first = flow.row_of(id).await;
    for n in 2..=3 {
        flow.later(1_000).await;
        let approval = flow.approved("step_reopen", &id.to_string()).await;
        reopen(&flow, id, approval, &format!("reopen {n}")).await.expect("reopened");
        assert_eq!(flow.row_of(id).await["state_code"], "in_progress");
        let done = flow.complete(id, json!({ "n": n })).await;
        done.expect("completed");
    }
    let last = flow.row_of(id).await;
    for field in ["completed_at", "completion_actor_id", "completed_after_deadline"] {
        assert_eq!(first[field], last[field], "{field}");
    }
    assert_eq!(last["cycle_no"], 2);
    let cycle = |n: i64| {
        json!({ "cycle": n, "prior": "completed", "by": "desk", "reason": "data_error", "reopened_by": "chief", "ended_by": "desk",
                "had": { "n": n }, "gave": { "n": n + 1 } })
    };
    assert_eq!(cycles(&flow, id).await, json!([cycle(1), cycle(2)]));
    let outputs: i64 = flow
        .number(&format!(
            "select count(*) from workflow.step_run_output_snapshot where run_id = '{id}'"
        ))
        .await;
    assert_eq!(outputs, 3, "every output is kept");
    // Both endings are linked by the correlation id, in the log and in the events.
    let linked: i64 = flow
        .number(&format!(
            "select count(distinct correlation_id) from event.event_outbox where subject_id = '{id}' and event_type in ('step.completed', 'step.reopened_for_correction')"
        ))
        .await;
    let told: i64 = flow
        .number(&format!("select count(*) from event.event_outbox where subject_id = '{id}' and event_type in ('step.completed', 'step.reopened_for_correction')"))
        .await;
    assert_eq!((linked, told), (1, 5));
    let prior: bool = flow
        .one(&format!(
            "select bool_and(exists (select from fsm.transition_log l where l.log_id = c.prior_audit_id and l.run_id = c.run_id and l.to_state = c.prior_state))
               from workflow.step_run_correction_cycle c where run_id = '{id}'"
        ))
        .await;
    assert!(prior, "each cycle names the log row of the ending it reopened");
}

/// What was declared impossible and then done: its cycle ends, and so does the step, for the first time.
#[tokio::test]
async fn a_declaration_is_corrected() {
    let (flow, run, id) = in_progress(json!({})).await;
    flow.call(
        id,
        "declare_cannot_complete",
        audited(json!({ "declaration_ref": "D" })),
        None,
        DESK,
    )
    .await
    .expect("declared");
    let approval = flow.approved("step_reopen", &id.to_string()).await;
    reopen(&flow, id, approval, "one").await.expect("reopened");
    flow.complete(id, json!({ "n": 1 })).await.expect("completed");
    assert_eq!(
        cycles(&flow, id).await,
        json!([{ "cycle": 1, "prior": "cannot_complete", "by": "desk", "reason": "data_error", "reopened_by": "chief", "ended_by": "desk",
                 "had": null, "gave": { "n": 1 } }])
    );
    assert!(flow.row_of(id).await["completed_at"].is_string());
    flow.turn().await;
    assert_eq!(flow.state_of(run).await, "completed");
}

/// An approval opens once: the same call again gives the same answer, another call is refused.
#[tokio::test]
async fn an_approval_opens_once() {
    let (flow, _, id) = in_progress(json!({})).await;
    flow.complete(id, json!({})).await.expect("completed");
    let approval = flow.approved("step_reopen", &id.to_string()).await;
    let first = reopen(&flow, id, approval, "one").await.expect("reopened");
    assert!(!first.replayed);
    let again = flow.unchanged(reopen(&flow, id, approval, "one")).await.expect("the same");
    assert_eq!((again.replayed, again.seq), (true, first.seq));
    flow.complete(id, json!({})).await.expect("completed");
    assert_eq!(flow.refuses(reopen(&flow, id, approval, "two")).await, ["RA006"]);
    let again = flow.unchanged(reopen(&flow, id, approval, "one")).await.expect("still the same");
    assert!(again.replayed);
}

/// A corrected step does not decide its ways a second time; who corrects is in charge as before.
#[tokio::test]
async fn a_correction_leaves_what_came_after() {
    let (flow, run) =
        Flow::with(workflow("pair", vec![human("a"), human("b")], vec![way("a > b")])).await;
    let a = flow.do_step(run, "a", json!({ "n": 1 })).await;
    let b = flow.claimed(run, "b").await;
    let approval = flow.approved("step_reopen", &a.to_string()).await;
    reopen(&flow, a, approval, "one").await.expect("reopened");
    let row = flow.row_of(run).await;
    assert_eq!((&row["completed_count"], &row["mandatory_count"]), (&json!(0), &json!(2)));
    flow.complete(b, json!({})).await.expect("b goes on");
    flow.turn().await;
    assert_eq!(flow.state_of(run).await, "in_progress", "a is open");
    let by_dora = flow.call(a, "step_release", audited(json!({})), None, DORA);
    assert_eq!(flow.refuses(by_dora).await, ["G-CURRENT-PIC"]);
    flow.complete(a, json!({ "n": 2 })).await.expect("completed");
    flow.turn().await;
    assert_eq!(
        (flow.states(run).await, flow.state_of(run).await),
        ("a completed, b completed".to_owned(), "completed".to_owned())
    );
    assert_eq!(
        flow.number(&format!(
            "select count(*) from workflow.relation_outcome where workflow_run_id = '{run}'"
        ))
        .await,
        1
    );
}
