//! Workflows, changes, proposals, runs, steps and tasks, search and words.

use serde_json::{Value, json};

use super::{Part, Row, SAID, row};
use crate::matrix::world::{Who, World};

pub(super) fn rows() -> Vec<Row> {
    [definitions(), runs(), work("step"), work("task"), words()].into_iter().flatten().collect()
}

fn nothing(_: &World) -> Value {
    json!({})
}

fn definition(_: &World) -> Value {
    let title = json!({ "en": "Other", "vi": "Khác" });
    let step = json!({ "key": "first", "title": title, "pic": { "starter": true } });
    json!({ "definition": { "workflow": "other", "title": title, "steps": [step], "relations": [] } })
}

fn definitions() -> Vec<Row> {
    let workflow = |route| row(route).part("workflow", Part::Fixed("everything"));
    let change = |route| row(route).id("change", "chg", "change");
    let proposal = |route| row(route).id("proposal", "prp", "proposal");
    let proposed = |_: &World| json!({ "kind": "no_action", "proposer_class": "kg_feedback", "title": "Leave it", "action": { "why": "enough" } });
    vec![
        row("list_workflows"),
        workflow("show_workflow"),
        workflow("workflow_graph"),
        workflow("start_workflow_run").body(nothing).there(SAID),
        row("list_changes"),
        row("propose_change").body(definition).there(SAID),
        change("revise_change").body(definition).there(SAID),
        change("show_change"),
        change("change_diff"),
        change("change_graph"),
        change("submit_change").body(nothing).there(SAID),
        change("withdraw_change").body(nothing).there(SAID),
        change("merge_change").body(nothing).there(SAID),
        row("list_proposals"),
        row("propose").body(proposed).there(SAID),
        proposal("show_proposal"),
        proposal("submit_proposal").body(nothing).there(SAID),
        proposal("withdraw_proposal").body(nothing).there(SAID),
        proposal("carry_out_proposal").body(|_| json!({ "outcome": { "n": 1 } })).there(SAID),
    ]
}

fn runs() -> Vec<Row> {
    let run = |route| row(route).id("run", "wfr", "wfr");
    vec![
        row("list_workflow_runs"),
        run("show_workflow_run"),
        run("workflow_run_snapshot"),
        run("workflow_run_graph"),
        run("workflow_run_rollup"),
        run("workflow_run_downstream"),
        run("pause_workflow_run").body(nothing).there(SAID),
        run("resume_workflow_run").body(nothing).there(SAID),
        run("cancel_workflow_run")
            .body(|world| json!({ "approval_id": world.find("approval") }))
            .there(SAID),
    ]
}

fn work(kind: &'static str) -> Vec<Row> {
    let (names, prefix, claim): ([&'static str; 6], _, _) = if kind == "step" {
        let names = [
            "show_step",
            "move_step",
            "extend_step",
            "escalate_step_block",
            "comment_step",
            "checkpoint_step",
        ];
        (names, "stp", "step_claim")
    } else {
        let names = [
            "show_task",
            "move_task",
            "extend_task",
            "escalate_task_block",
            "comment_task",
            "checkpoint_task",
        ];
        (names, "tsk", "task_claim")
    };
    let bodies: [fn(&World) -> Value; 5] = [
        if claim == "step_claim" {
            |_| json!({ "call": "step_claim" })
        } else {
            |_| json!({ "call": "task_claim" })
        },
        |_| json!({ "until": "2999-01-02T00:00:00Z", "reason": "later" }),
        |_| json!({ "reason": "stuck" }),
        |_| json!({ "text": "seen" }),
        |_| json!({ "label": "half" }),
    ];
    let mut rows = vec![row(names[0]).id(kind, prefix, kind)];
    for (name, body) in names[1..].iter().zip(bodies) {
        rows.push(row(name).id(kind, prefix, kind).body(body).there(SAID));
    }
    if kind == "step" {
        // The definition shows its first step to reviewers alone; nobody else learns that it is there.
        rows.push(row("show_step").id("step", "stp", "hidden step").told(if_reviewer));
    }
    rows
}

fn if_reviewer(who: &Who) -> &'static [u16] {
    if who.name == "reviewer" { &[200] } else { &[404] }
}

fn words() -> Vec<Row> {
    vec![
        row("answer_wait")
            .id("wait", "wai", "wait")
            .body(|_| json!({ "proof": { "n": 1 } }))
            .there(SAID),
        row("search").query("q=everything"),
        row("headline").part("page", Part::Fixed("keys")).query("locale=vi"),
        row("words").query("locale=vi"),
        row("state_tokens"),
        row("events").query("topics=inbox"),
    ]
}
