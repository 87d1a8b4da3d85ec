//! What can be done is shown as such. What the caller can bring is a need, with its field and its values; what the door makes true by
//! itself is nothing to bring; and what stands against a call stays a problem.

use chancery_store::access::Action;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_moves::{audited, in_progress};
use crate::flow_world::{CHIEF, DESK, Flow, human, single};

async fn action(flow: &Flow, kind: &str, id: Uuid, name: &str, reader: &str) -> Action {
    let actions = flow.store.fn_actions(kind, id, reader).await.expect("actions");
    let found = actions.iter().find(|one| one.name == name).cloned();
    found.unwrap_or_else(|| panic!("{name}: {actions:?}"))
}

fn need<'a>(action: &'a Action, field: &str) -> &'a Value {
    let found = action.needs.iter().find(|need| need["field"] == field);
    found.unwrap_or_else(|| panic!("{field}: {action:?}"))
}

fn fields(action: &Action) -> Vec<&str> {
    let mut fields: Vec<&str> =
        action.needs.iter().map(|need| need["field"].as_str().expect("a field")).collect();
    fields.sort_unstable();
    fields.dedup();
    fields
}

/// A step in progress: each call of who is in charge can be made, and says what it takes.
#[tokio::test]
async fn what_can_be_brought_is_a_need() {
    let contract = json!({ "type": "object", "required": ["pages"], "properties": { "pages": { "type": "integer" } } });
    let (flow, _, id) = in_progress(json!({ "output": contract })).await;
    let block = action(&flow, "step", id, "step_block", "desk").await;
    assert!(block.allowed, "{block:?}");
    assert_eq!(fields(&block), ["audit_ref", "block_reason"]);
    let values = need(&block, "block_reason")["values"].as_array().expect("the vocabulary");
    let missing = values.iter().find(|one| one["value"] == "missing_input").expect("a reason");
    assert_eq!(
        missing["label"],
        json!({ "en": "something to work with is missing", "vi": "thiếu dữ liệu đầu vào" })
    );
    assert_eq!(values.len(), 4, "{values:?}");

    let complete = action(&flow, "step", id, "step_complete", "desk").await;
    assert!(complete.allowed, "{complete:?}");
    assert_eq!(fields(&complete), ["audit_ref", "document"]);
    assert_eq!(need(&complete, "document")["schema"], contract);
    let wait = action(&flow, "step", id, "step_wait", "desk").await;
    assert!(wait.allowed, "{wait:?}");
    assert_eq!(fields(&wait), ["waits"]);
    assert_eq!(need(&wait, "waits")["values"].as_array().expect("facets").len(), 4);
    let declare = action(&flow, "step", id, "declare_cannot_complete", "desk").await;
    assert_eq!((declare.allowed, fields(&declare)), (true, vec!["audit_ref", "declaration_ref"]));

    // Somebody else is told what stands against it.
    let others = action(&flow, "step", id, "step_block", "tess").await;
    assert!(!others.allowed && !others.problems.is_empty(), "{others:?}");
    // What was said to be enough is enough.
    let said = audited(json!({ "block_reason": "missing_input" }));
    flow.call(id, "step_block", said, None, DESK).await.expect("blocked");
    let resolve = action(&flow, "step", id, "blocker_resolved", "desk").await;
    assert_eq!((resolve.allowed, fields(&resolve)), (true, vec!["audit_ref", "resolution_ref"]));
}

/// RUN-6: a block that was lifted is over. Its reason is not shown any more, and the next block asks for one of its own: what answered
/// for the first does not answer for the second.
#[tokio::test]
async fn an_unblocked_step_can_be_blocked_again() {
    let (flow, _, id) = in_progress(json!({})).await;
    for reason in ["missing_input", "config_error"] {
        let block = action(&flow, "step", id, "step_block", "desk").await;
        assert_eq!((block.allowed, fields(&block)), (true, vec!["audit_ref", "block_reason"]));
        let said = audited(json!({ "block_reason": reason }));
        flow.call(id, "step_block", said, None, DESK).await.expect("blocked");
        let held = flow.store.work(id).await.expect("work").expect("a step");
        assert_eq!(
            (held.block_reason.as_deref(), held.blocked_since.is_some()),
            (Some(reason), true)
        );

        let said = audited(json!({ "resolution_ref": "ticket 7" }));
        flow.call(id, "blocker_resolved", said, None, DESK).await.expect("unblocked");
        let free = flow.store.work(id).await.expect("work").expect("a step");
        assert_eq!((free.block_reason, free.blocked_since), (None, None));
    }
    // Without a reason nothing is blocked, whatever it was blocked for before.
    let refused = flow.call(id, "step_block", audited(json!({})), None, DESK).await;
    assert!(refused.is_err(), "{refused:?}");
    let free = flow.store.work(id).await.expect("work").expect("a step");
    assert_eq!(free.state_code, "in_progress");
}

/// A late step can be completed: how late it was is for the door to write down. One whose tasks are not done can't.
#[tokio::test]
async fn what_the_door_makes_true_is_nothing_to_bring() {
    let (flow, _, id) = in_progress(json!({ "deadline": "1 minute" })).await;
    flow.later(60_000).await;
    flow.ring().await;
    assert_eq!(flow.state_of(id).await, "overdue");
    let complete = action(&flow, "step", id, "step_complete", "desk").await;
    assert!(complete.allowed, "{complete:?}");
    assert_eq!(fields(&complete), ["audit_ref", "document"]);
    flow.complete(id, json!({})).await.expect("completed");

    // Closed, and opened again by a reviewer with somebody's approval.
    let reopen = action(&flow, "step", id, "step_reopen_for_correction", "chief").await;
    assert!(reopen.allowed, "{reopen:?}");
    assert_eq!(fields(&reopen), ["approval_id", "audit_ref", "correction_reason"]);
    assert_eq!(need(&reopen, "approval_id")["approval_kind"], "step_reopen");
    assert_eq!(need(&reopen, "correction_reason")["values"].as_array().expect("reasons").len(), 4);
    let approval = flow.approved("step_reopen", &id.to_string()).await;
    let said = audited(json!({ "approval_id": approval, "correction_reason": "data_error" }));
    flow.call(id, "step_reopen_for_correction", said, None, CHIEF).await.expect("reopened");

    let mut with_task = human("work");
    with_task["tasks"] = json!([{ "key": "part", "title": { "en": "Part", "vi": "Phần" }, "pic": { "starter": true } }]);
    let mut more = with_task.clone();
    let fields_of_step = more.as_object_mut().expect("a step");
    fields_of_step.remove("key");
    let run = flow.begun(single("two", more)).await;
    let id = flow.claimed(run, "work").await;
    let complete = action(&flow, "step", id, "step_complete", "desk").await;
    assert!(!complete.allowed, "{complete:?}");
    assert_eq!(complete.problems[0]["guard"], "G-TASKS-DONE");
}

/// A change that was approved can be merged, and says so.
#[tokio::test]
async fn an_approved_change_can_be_merged() {
    let flow = Flow::new().await;
    let id = flow.approved_change(&single("three", json!({}))).await;
    let merge = action(&flow, "workflow_change", id, "merge", "petra").await;
    assert!(merge.allowed, "{merge:?}");
    assert!(fields(&merge).iter().all(|field| *field == "audit_ref"), "{merge:?}");
    flow.merge(id).await.expect("merged");
}
