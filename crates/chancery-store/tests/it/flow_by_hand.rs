//! Runs, steps, tasks, proposals and their evidence as hand-written SQL: by every login, by the owners, and by a superuser who takes
//! their roles or plays a replica. Nothing goes through, and nothing is changed.

use serde_json::json;
use sqlx::Executor as _;
use uuid::Uuid;

use crate::cutter_by_hand::impostors;
use crate::flow_moves::audited;
use crate::flow_world::{CHIEF, DESK, Flow, human, noop, single, step, way, when, workflow};
use crate::hardening::{attempt, is_refusal};

/// A database with a row in every table of the room, and a step in each state that can be had together.
async fn lived_in() -> Flow {
    let flow = Flow::new().await;
    flow.install(single("inner", json!({}))).await;
    let tasks = json!([step("sign", json!({ "pic": { "principal": "tess" } }))]);
    let steps = vec![
        step("done", json!({ "visible_to": ["pic_human"] })),
        step("waits", json!({ "tasks": tasks })),
        human("blocked"),
        noop("auto"),
        step("late", json!({ "deadline": "1 minute" })),
        step("sub", json!({ "sub_workflow": "inner" })),
        human("next"),
        human("never"),
    ];
    let mut definition = workflow(
        "whole",
        steps,
        vec![way("done > next"), when("done", "never", "$.outputs.done.x == 1")],
    );
    definition["start"] = json!(["done", "waits", "blocked", "auto", "late", "sub"]);
    let run = flow.begun(definition).await;
    let done = flow.do_step(run, "done", json!({ "x": 2 })).await;
    let approval = flow.approved("step_reopen", &done.to_string()).await;
    let reopened = audited(json!({ "approval_id": approval, "correction_reason": "data_error" }));
    flow.call(done, "step_reopen_for_correction", reopened, None, CHIEF).await.expect("reopened");
    flow.complete(done, json!({})).await.expect("completed");
    let waits = flow.claimed(run, "waits").await;
    flow.wait_for(waits, json!([{ "facet": "waiting_human", "of": "rita" }])).await.expect("waits");
    let blocked = flow.claimed(run, "blocked").await;
    flow.block(blocked).await;
    let job = flow.working().await;
    flow.report_failed(&job, "transient", "timeout").await;
    let late = flow.claimed(run, "late").await;
    flow.later(61_000).await;
    flow.ring().await;
    flow.call(late, "step_reengage", audited(json!({})), None, DESK).await.expect("taken up again");
    let call = chancery_store::workflow::WorkCall {
        run_kind: "step",
        run_id: blocked,
        call: "escalate",
        evidence: &json!({}),
        document: None,
        principal: "desk",
        actor_class: "pic_human",
        idempotency_key: "escalate",
        reason: Some("it lasts"),
        signed: None,
    };
    flow.store.fn_step_block_escalate(&call, None).await.expect("escalated");
    let act = chancery_store::workflow::Act {
        run_kind: "proposal",
        run_id: Uuid::now_v7(),
        call: "propose",
        evidence: &json!({}),
        principal: "petra",
        actor_class: "pic_human",
        idempotency_key: "propose",
        reason: None,
        signed: None,
    };
    let new = chancery_store::workflow::NewProposal {
        kind: "kg_edge",
        proposer_class: "kg_feedback",
        title: "An edge",
        affected_iu_ids: &[],
        action: &json!({ "edge": 1 }),
        usage: &json!([{ "kind": "read", "facts": {} }]),
    };
    flow.store.fn_proposal_create(&flow.signed(act).await, &new).await.expect("a proposal");
    flow.turn().await;
    flow
}

/// A copy of a row with other values in some columns.
fn copy(table: &str, changes: &str) -> String {
    format!(
        "insert into {table} select (jsonb_populate_record(t, jsonb_build_object({changes}))).* from {table} t limit 1"
    )
}

/// Moves without a log row, counts, facts, and evidence: as update, insert and delete.
fn forgeries() -> Vec<String> {
    let mut statements = Vec::new();
    for (table, id, state) in [
        ("workflow.workflow_run", "workflow_run_id", "state_code"),
        ("workflow.step_run", "step_run_id", "state_code"),
        ("workflow.task_run", "task_run_id", "state_code"),
        ("workflow.workflow_change_requests", "change_request_id", "proposal_state"),
        ("governance.proposal", "proposal_id", "proposal_state"),
    ] {
        let done = if state == "state_code" { "completed" } else { "approved" };
        statements.push(format!("update {table} set {state} = '{done}'"));
        statements.push(format!(
            "update {table} set {state} = '{done}', seq = seq + 1, head_hash = sha256(head_hash)"
        ));
        statements.push(format!("update {table} set started_by = 'dora'"));
        statements.push(format!("update {table} set seq = seq - 1"));
        statements.push(format!(
            "with told as (
               insert into fsm.transition_log
               select (jsonb_populate_record(l, jsonb_build_object('seq', l.seq + 1, 'log_id', gen_random_uuid(), 'to_state', '{done}',
                        'idempotency_key', 'forged', 'prev_hash', l.hash, 'hash', sha256(l.hash)))).*
                 from fsm.transition_log l join {table} r on r.{id} = l.run_id and r.seq = l.seq limit 1
               returning run_id, seq, hash, at)
             update {table} r set {state} = '{done}', seq = told.seq, head_hash = told.hash, last_transition_at = told.at
               from told where told.run_id = r.{id}"
        ));
        statements.push(copy(table, &format!("'{id}', gen_random_uuid(), '{state}', '{done}', 'seq', 0, 'head_hash', null, 'step_no', 999, 'task_no', 999, 'step_key', 'forged'")));
        statements.push(format!("delete from {table}"));
    }
    for (table, changes) in [
        (
            "workflow.workflow_run",
            &[
                "rollup_state_code = 'green'",
                "red_count = 0, yellow_count = 0",
                "completed_count = mandatory_count",
                "frozen_at = now()",
                "inputs = '{}'",
                "decisive_step_run_id = null",
            ][..],
        ),
        (
            "workflow.step_run",
            &[
                "skipped = true",
                "pic_id = 'dora'",
                "deadline = null",
                "overdue_first_at = null",
                "block_reason = null",
                "blocked_since = now()",
                "retry_count = 0",
                "cycle_no = 0",
                "output_snapshot_id = null",
                "mandatory = false",
                "rollup_class = 'none'",
                "on_critical_path = false",
                "and_open = 0",
                "event_facts = '{}'",
            ],
        ),
        ("workflow.task_run", &["skipped = true", "pic_id = 'dora'"]),
        ("workflow.workflow_version", &["definition = '{}'", "version = 99"]),
        ("workflow.workflow_step_def", &["optional = true", "pic_rule = '{}'", "deadline = null"]),
        ("workflow.workflow_step_relations", &["relation_kind = 'or'"]),
        ("workflow.workflow_step_permission", &["actor_class = 'observer'"]),
        ("workflow.workflow_task_def", &["executor_class = 'noop'"]),
        ("workflow.change_revision", &["definition = '{}'"]),
        ("workflow.relation_outcome", &["taken = not taken"]),
        ("workflow.step_run_snapshot", &["document = '{}'"]),
        (
            "workflow.step_run_correction_cycle",
            &[
                "correction_reason = 'forged'",
                "completed_at = null",
                "completion_actor_id = 'dora'",
            ],
        ),
        ("workflow.step_decision", &["principal = 'dora'"]),
        (
            "workflow.wait",
            &["resolved_at = now(), resolved_by = 'dora', proof = '{}'", "subject_ref = 'dora'"],
        ),
        ("governance.proposal", &["outcome = '{}'", "proposed_action = '{}'"]),
        ("governance.iu_usage_evidence", &["facts = '{}'"]),
    ] {
        statements.extend(changes.iter().map(|change| format!("update {table} set {change}")));
        statements.push(format!("delete from {table}"));
    }
    let fresh = "gen_random_uuid()";
    for (table, changes) in [
        (
            "workflow.workflow_version",
            format!("'workflow_def_id', {fresh}, 'version', 99, 'change_request_id', {fresh}"),
        ),
        ("workflow.change_revision", "'revision_no', 99".to_owned()),
        ("workflow.relation_outcome", "'relation_no', 99".to_owned()),
        ("workflow.step_run_snapshot", format!("'snapshot_id', {fresh}")),
        ("workflow.step_run_correction_cycle", "'cycle_no', 99".to_owned()),
        ("workflow.step_decision", format!("'decision_id', {fresh}, 'idempotency_key', 'forged'")),
        ("workflow.wait", format!("'wait_id', {fresh}, 'token_sha256', null")),
        ("governance.iu_usage_evidence", format!("'evidence_id', {fresh}")),
        ("workflow.workflow_step_relations", "'relation_no', 99, 'to_no', 99".to_owned()),
    ] {
        statements.push(copy(table, &changes));
    }
    statements
}

/// RUN-1…RUN-17, PRO-1: no state, count, fact, log row or piece of evidence is written by hand, whoever holds the pen.
#[tokio::test]
async fn nothing_of_a_run_is_written_by_hand() {
    let flow = lived_in().await;
    for table in [
        "workflow_run",
        "step_run",
        "task_run",
        "workflow_change_requests",
        "change_revision",
        "workflow_version",
        "workflow_step_def",
        "workflow_task_def",
        "workflow_step_relations",
        "workflow_step_permission",
        "relation_outcome",
        "step_run_snapshot",
        "step_run_correction_cycle",
        "step_decision",
        "wait",
    ] {
        assert!(
            flow.db.count(&format!("workflow.{table}")).await > 0,
            "{table} has a row to try it on"
        );
    }
    let before = flow.db.fingerprint().await;
    let statements = forgeries();
    let mut found = Vec::new();
    for (name, role, steps) in impostors() {
        let mut connection = match role {
            Some(role) => flow.db.connect(role).await,
            None => flow.db.superuser().await,
        };
        for step in steps {
            connection.execute(step).await.expect("who may become it");
        }
        for statement in &statements {
            match attempt(&mut connection, statement).await {
                None => found.push(format!("{name}: {statement}: went through")),
                Some(state) if is_refusal(&state) => {}
                Some(state) => found.push(format!("{name}: {statement}: {state}")),
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(before, flow.db.fingerprint().await, "nothing changed");
}

/// RUN-12: the engine's own door does not move what belongs to this room.
#[tokio::test]
async fn the_engines_door_does_not_move_a_step() {
    let (flow, run) = Flow::with(single("one", json!({}))).await;
    let id = flow.step(run, "work").await;
    for (kind, id, to, trigger) in [
        ("step", id, "in_progress", "step_claim"),
        ("workflow_run", run, "paused", "workflow_pause"),
    ] {
        let class = if kind == "step" { "pic_human" } else { "reviewer" };
        let forged = chancery_store::fsm::Move {
            run_id: id,
            run_kind: kind.to_owned(),
            from: None,
            to: to.to_owned(),
            actor_class: class.to_owned(),
            trigger_kind: "rpc".to_owned(),
            trigger_ref: trigger.to_owned(),
            evidence: json!({ "audit_ref": "A" }),
            principal: if kind == "step" { "desk" } else { "chief" }.to_owned(),
            idempotency_key: "forged".to_owned(),
            reason: None,
            signed: None,
        };
        assert_eq!(flow.refuses(flow.store.fn_state_transition_apply(&forged)).await, ["RS026"]);
    }
}
