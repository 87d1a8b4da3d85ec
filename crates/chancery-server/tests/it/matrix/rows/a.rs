//! Machines, runs, principals, documents, the knowledge base, approvals, requests to cut, the orchestrator.

use serde_json::json;

use super::{Part, Row, SAID, row};

pub(super) fn rows() -> Vec<Row> {
    [machines(), documents(), approvals(), cuts()].into_iter().flatten().collect()
}

fn machines() -> Vec<Row> {
    let run = |route| row(route).id("run", "run", "run");
    vec![
        row("machines"),
        row("machine").part("name", Part::Fixed("job")),
        row("machine_diagram").part("name", Part::Fixed("job")),
        row("runs"),
        row("start_run")
            .body(|_| json!({ "machine": "purchase_approval", "data": { "amount": 1 } }))
            .there(SAID),
        run("run"),
        run("run_history"),
        run("move_run").body(|_| json!({ "to": "submitted" })).there(SAID),
        run("preview_move").body(|_| json!({ "to": "submitted" })),
        row("principals"),
        row("principal").part("name", Part::Fixed("m-nobody")),
    ]
}

fn documents() -> Vec<Row> {
    let document = |route| row(route).part("document", Part::Fixed("luat"));
    let new = |_: &super::World| json!({ "document_id": "luat", "prefix": "LUAT", "text": "# Một\n\nhai\n" });
    vec![
        row("documents"),
        row("add_document").body(new).there(SAID),
        document("document"),
        document("document_units"),
        document("document_source"),
        row("unit").id("unit", "unt", "unit"),
        row("kb"),
        row("kb_document").query("path=notes/one"),
        row("put_kb_document").body(|_| json!({ "path": "notes/one", "body": "hai" })).there(SAID),
        row("sign_kb_document")
            .body(|_| json!({ "path": "notes/one", "revision": 1, "meaning": "read" }))
            .there(SAID),
        row("verify_kb"),
    ]
}

fn approvals() -> Vec<Row> {
    let approval = |route| row(route).id("approval", "apr", "approval");
    vec![
        row("approvals"),
        row("request_approval")
            .body(|world| {
                let subject = world.find("step").to_owned();
                json!({ "kind": "step_reopen", "subject_ref": subject, "title": "Again", "expires_in_seconds": 3600 })
            })
            .there(SAID),
        approval("approval"),
        approval("vote").body(|_| json!({ "decision": "approve" })).there(SAID),
        row("inbox"),
    ]
}

fn cuts() -> Vec<Row> {
    let entry = |route| row(route).id("entry", "ent", "entry");
    // No run of the orchestrator is there: it takes a backup and a gate to make one.
    let run = |route| row(route).id("run", "orc", "").there(&[404]);
    vec![
        row("entries"),
        row("mark").body(|_| json!({ "document_id": "luat" })).there(SAID),
        entry("entry"),
        entry("abandon_entry").body(|_| json!({ "reason": "enough" })).there(SAID),
        row("orchestrator_runs"),
        run("orchestrator_run"),
        run("stop_orchestrator_run").body(|_| json!({ "reason": "enough" })),
        run("approve_orchestrator_run"),
    ]
}
