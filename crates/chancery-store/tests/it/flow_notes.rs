//! RUN-11: checkpoints and comments beside the work.

use chancery_store::workflow::WorkCall;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_moves::in_progress;
use crate::flow_world::{CHIEF, DESK, Flow};

fn note<'a>(id: Uuid, text: Option<&'a str>, facts: &'a Value, key: &'a str) -> WorkCall<'a> {
    WorkCall {
        run_kind: "step",
        run_id: id,
        call: "note",
        evidence: facts,
        document: None,
        principal: DESK.principal,
        actor_class: DESK.class,
        idempotency_key: key,
        reason: text,
        signed: None,
    }
}

async fn notes(flow: &Flow, id: Uuid) -> Vec<(String, i32, String)> {
    let notes = flow.store.work_notes(id).await.expect("notes");
    notes.into_iter().map(|note| (note.kind, note.no, note.text)).collect()
}

/// A note is kept once under its key, by whom it is from, and moves nothing.
#[tokio::test]
async fn notes_stand_beside_the_work_once_a_key() {
    let (flow, _, id) = in_progress(json!({})).await;
    let before = flow.row_of(id).await;
    let facts = json!({ "page": 12 });
    let far = note(id, Some("half of it read"), &facts, "k1");
    assert_eq!(flow.store.fn_task_checkpoint(&far).await.expect("noted").no, 1);
    flow.later(1_000).await;
    let said = note(id, Some("the annex is missing"), &Value::Null, "k2");
    assert_eq!(flow.store.fn_task_comment(&said).await.expect("noted").no, 1);
    for again in
        [flow.store.fn_task_checkpoint(&far).await, flow.store.fn_task_comment(&said).await]
    {
        assert!(again.expect("the first answer").replayed);
    }
    let expected = [("checkpoint", 1, "half of it read"), ("comment", 1, "the annex is missing")];
    let expected = expected.map(|(kind, no, text)| (kind.to_owned(), no, text.to_owned()));
    assert_eq!(notes(&flow, id).await, expected);
    assert_eq!(flow.row_of(id).await, before, "the work did not move");

    // Also after the work has ended.
    flow.complete(id, json!({})).await.expect("completed");
    flow.later(1_000).await;
    let late = note(id, Some("it was on page 3"), &Value::Null, "k3");
    assert_eq!(flow.store.fn_task_comment(&late).await.expect("noted").no, 2);
}

/// What is no note is refused by name, and nothing is kept.
#[tokio::test]
async fn what_is_no_note_is_refused() {
    let (flow, run, id) = in_progress(json!({})).await;
    let (facts, long) = (json!({}), "x".repeat(16_385));
    let (other, list) = (json!({ "page": 1 }), json!([]));
    let first = note(id, Some("here"), &facts, "k");
    flow.store.fn_task_checkpoint(&first).await.expect("noted");
    let far = |text, facts, key| flow.refuses_note(true, note(id, text, facts, key));
    let said = |text, key| flow.refuses_note(false, note(id, text, &Value::Null, key));
    assert_eq!(far(None, &facts, "a").await, ["RW027"]);
    assert_eq!(far(Some(" "), &facts, "a").await, ["RW027"]);
    assert_eq!(far(Some("here"), &list, "a").await, ["RW027"]);
    assert_eq!(far(Some("here"), &facts, "").await, ["RW027"]);
    assert_eq!(far(Some("here"), &other, "k").await, ["RS012"]);
    assert_eq!(said(Some(""), "a").await, ["RW027"]);
    assert_eq!(said(Some(&long), "a").await, ["RW027"]);
    let nowhere = note(Uuid::now_v7(), Some("here"), &facts, "a");
    assert_eq!(flow.refuses_note(false, nowhere).await, ["RW001"]);
    let chiefs = WorkCall { actor_class: CHIEF.class, ..note(id, Some("here"), &facts, "a") };
    assert_eq!(flow.refuses_note(false, chiefs).await, ["RI003"]);
    flow.cancel_run(run).await;
    assert_eq!(far(Some("there"), &facts, "b").await, ["RW006"]);
    assert_eq!(notes(&flow, id).await.len(), 1);
}

impl Flow {
    async fn refuses_note(&self, is_checkpoint: bool, call: WorkCall<'_>) -> Vec<String> {
        let before = notes(self, call.run_id).await;
        let names = self
            .refuses(async {
                if is_checkpoint {
                    self.store.fn_task_checkpoint(&call).await
                } else {
                    self.store.fn_task_comment(&call).await
                }
            })
            .await;
        assert_eq!(notes(self, call.run_id).await, before);
        names
    }
}
