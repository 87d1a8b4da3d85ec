//! AUD-1, RUN-1…RUN-18, PRO-1: the audit proves versions, proposals and runs of workflows from their rows; whatever is changed behind
//! the triggers' back is found and named.

mod scene;

use serde_json::json;
use uuid::Uuid;

use self::scene::Scene;

const VERSION: &str = "workflow.workflow_version";
const STEP_DEF: &str = "workflow.workflow_step_def";
const TASK_DEF: &str = "workflow.workflow_task_def";
const RELATION: &str = "workflow.workflow_step_relations";
const PERMISSION: &str = "workflow.workflow_step_permission";
const REGISTRY: &str = "workflow.workflow_registry";
const CHANGE: &str = "workflow.workflow_change_requests";
const REVISION: &str = "workflow.change_revision";
const PROPOSAL: &str = "governance.proposal";
const USAGE: &str = "governance.iu_usage_evidence";
const RUN: &str = "workflow.workflow_run";
const STEP: &str = "workflow.step_run";
const TASK: &str = "workflow.task_run";
const OUTCOME: &str = "workflow.relation_outcome";
const SNAPSHOT: &str = "workflow.step_run_snapshot";
const CYCLE: &str = "workflow.step_run_correction_cycle";
const DECISION: &str = "workflow.step_decision";
const WAIT: &str = "workflow.wait";
const LOG: &str = "fsm.transition_log";
const REQUEST: &str = "approval.approval_request";
const USE: &str = "approval.approval_use";

const ALL: [&str; 20] = [
    VERSION, STEP_DEF, TASK_DEF, RELATION, PERMISSION, REGISTRY, CHANGE, REVISION, PROPOSAL, USAGE,
    RUN, STEP, TASK, OUTCOME, SNAPSHOT, CYCLE, DECISION, WAIT, REQUEST, USE,
];

/// AUD-1, RUN-1…RUN-18: whatever way a run went, it replays.
#[tokio::test]
async fn every_way_of_a_run_replays() {
    let scene = Scene::new().await;
    let report = scene.audit().await;
    assert_eq!(report.mismatches, []);
    for table in [VERSION, CHANGE, REVISION, PROPOSAL, USAGE, RUN, SNAPSHOT, CYCLE, DECISION, WAIT]
    {
        let rows = report.evidence.get(table).copied().unwrap_or_default();
        let stored = scene.db.count(table).await;
        assert_eq!(i64::try_from(rows), Ok(stored), "{table}");
        assert!(stored > 0, "{table}");
    }
    let states = scene
        .db
        .text(&format!(
            "select string_agg(concat_ws(' ', step_key, state_code, case when skipped then 'skipped' end), ', ' order by step_no)
               from workflow.step_run where workflow_run_id = '{}'",
            scene.run
        ))
        .await;
    let expected = "intake completed, small not_started skipped, large completed, extra cancelled, order completed";
    assert_eq!(states, expected);
    let runs = scene
        .db
        .text("select string_agg(state_code, ', ' order by workflow_run_id) from workflow.workflow_run")
        .await;
    assert_eq!(runs, "completed, cancelled");
}

/// AUD-1, RUN-9, RUN-12: a run that was completed, opened again with a step of its, late, and completed once more replays at every
/// stage.
#[tokio::test]
async fn a_run_that_was_completed_twice_replays() {
    let scene = Scene::empty().await;
    scene
        .completed_twice(async |stage| {
            let report = scene.audit().await;
            assert_eq!(report.mismatches, [], "{stage}");
            let state = format!("select coalesce((select state_code from workflow.step_run where workflow_run_id = '{}' and state_code = '{stage}'), '')", scene.run);
            assert_eq!(scene.db.text(&state).await, stage);
        })
        .await;
    let run = scene.db.text("select state_code from workflow.workflow_run").await;
    assert_eq!(run, "completed");
    let moves = "select string_agg(split_part(split_part(transition_id, '#', 2), ':', 1), ' ' order by seq) from fsm.transition_log where run_kind = 'workflow_run'";
    assert_eq!(scene.db.text(moves).await, "birth W1 W2 W6 W2");
}

/// AUD-1, RUN-1…RUN-18, PRO-1: evidence that was changed with its digest is named by what it does not fit.
#[tokio::test]
async fn evidence_that_was_changed_with_its_digest_is_named() {
    let scene = Scene::new().await;
    scene.keep(&ALL).await;
    let artefacts = "artefacts_are_in_the_log";
    let text = "digest_is_of_the_text";
    let approved = "proposal_was_approved";
    let output = "snapshot_kind = 'output' and document like '%amount%'";
    for (table, condition, set, named, rule) in [
        (VERSION, "true", "definition = replace(definition, 'Intake', 'Outtake')", VERSION, text),
        (VERSION, "true", "merged_by = 'reviewer'", VERSION, "version_is_what_was_approved"),
        (VERSION, "true", "version = 2", VERSION, "versions_are_numbered"),
        (VERSION, "true", "merged_at = merged_at - interval '1 day'", LOG, artefacts),
        (
            REVISION,
            "revision_no = 2",
            "definition = replace(definition, 'Intake', 'X')",
            REVISION,
            text,
        ),
        (
            REVISION,
            "revision_no = 2",
            "written_by = 'reviewer'",
            REVISION,
            "revisions_are_the_writers",
        ),
        (REVISION, "revision_no = 2", "revision_no = 3", REVISION, "revisions_are_the_writers"),
        (CHANGE, "true", "title = 'Another'", LOG, "birth_facts_are_unchanged"),
        (CHANGE, "true", "started_by = 'reviewer'", LOG, "log_agrees_with_its_rows"),
        (PROPOSAL, "true", "proposed_action = '{}'", PROPOSAL, text),
        (PROPOSAL, "true", "title = 'Another'", LOG, artefacts),
        (USAGE, "evidence_kind = 'read'", "facts = '{\"times\":4}'", LOG, artefacts),
        (
            RUN,
            "state_code = 'completed'",
            "inputs = '{\"item\":\"x\"}'",
            LOG,
            "log_agrees_with_its_rows",
        ),
        (
            RUN,
            "state_code = 'completed'",
            "workflow_class = 'urgent'",
            RUN,
            "run_is_of_its_version",
        ),
        (
            RUN,
            "state_code = 'completed'",
            "workflow_def_id = gen_random_uuid()",
            RUN,
            "run_is_of_its_version",
        ),
        (SNAPSHOT, output, "document = '{\"amount\":30}'", SNAPSHOT, "snapshot_is_of_its_move"),
        (
            SNAPSHOT,
            output,
            "document = '{\"amount\":30}', document_sha256 = sha256('{\"amount\":30}')",
            LOG,
            "log_agrees_with_its_rows",
        ),
        (
            SNAPSHOT,
            output,
            "taken_at = taken_at - interval '1 hour'",
            STEP,
            "ending_is_as_it_was_logged",
        ),
        (
            SNAPSHOT,
            "snapshot_kind = 'input' and attempt = 1",
            "attempt = 0",
            SNAPSHOT,
            "snapshot_is_of_its_move",
        ),
        (SNAPSHOT, output, "snapshot_id = gen_random_uuid()", SNAPSHOT, "row_has_an_origin"),
        (
            CYCLE,
            "true",
            "correction_reason = 'policy_change'",
            CYCLE,
            "correction_is_as_it_was_logged",
        ),
        (CYCLE, "true", "approval_id = gen_random_uuid()", LOG, artefacts),
        (
            CYCLE,
            "true",
            "completed_at = completed_at - interval '1 day'",
            CYCLE,
            "correction_is_as_it_was_logged",
        ),
        (
            DECISION,
            "true",
            "facts = '{\"deadline\":4102444800000001}'",
            STEP,
            "row_is_as_its_moves_left_it",
        ),
        (WAIT, "true", "facet = 'waiting_external'", WAIT, "wait_is_as_it_was_logged"),
        (WAIT, "true", "proof = null", WAIT, "wait_ended_with_proof"),
        (
            WAIT,
            "true",
            "resolved_at = null, resolved_by = null, proof = null",
            WAIT,
            "wait_was_over",
        ),
        (WAIT, "true", "wait_id = gen_random_uuid()", WAIT, "row_has_an_origin"),
        (REQUEST, "kind = 'step_reopen'", "kind = 'step_cancel'", REQUEST, "move_was_approved"),
        (
            REQUEST,
            "kind = 'step_cancel'",
            "kind = 'block_escalation'",
            REQUEST,
            "move_was_approved",
        ),
        (REQUEST, "kind = 'workflow_cancel'", "kind = 'step_cancel'", REQUEST, "move_was_approved"),
        (REQUEST, "kind = 'workflow_change'", "kind = 'proposal'", REQUEST, approved),
        (REQUEST, "kind = 'workflow_change'", "subject_digest = sha256('x')", REQUEST, approved),
        (REQUEST, "kind = 'workflow_change'", "proposer = 'reviewer'", REQUEST, approved),
        (REQUEST, "kind = 'proposal'", "subject_ref = 'x'", REQUEST, approved),
        (USE, "used_for_kind = 'workflow_change'", "used_by = 'reviewer'", USE, approved),
        (
            USE,
            "used_for_kind = 'step'",
            "used_for_ref = used_for_ref || 'x'",
            USE,
            "move_was_approved",
        ),
        (USE, "used_for_kind = 'workflow_run'", "used_by = 'writer'", USE, "move_was_approved"),
        (
            USE,
            "used_for_kind = 'step'",
            "approval_id = gen_random_uuid()",
            LOG,
            "move_was_approved",
        ),
    ] {
        scene.restamped(table, condition, set).await;
        scene.names(&format!("{table}: {set}"), named, rule).await;
        scene.put_back(table).await;
    }
    assert_eq!(scene.audit().await.mismatches, []);
}

/// AUD-1, RUN-1…RUN-18: what is not stamped follows from what is, and a change of it is named.
#[tokio::test]
async fn rows_that_were_changed_are_named() {
    let scene = Scene::new().await;
    scene.keep(&ALL).await;
    let merged = "definition_is_what_was_merged";
    let ending = "ending_is_as_it_was_logged";
    let left = "row_is_as_its_moves_left_it";
    let counts = "counts_are_of_the_steps";
    let ways = "ways_are_as_the_steps_ended";
    let intake = "step_key = 'intake' and completed_at is not null";
    for (table, change, named, rule) in [
        (STEP_DEF, "update T set optional = true where step_key = 'intake'", STEP_DEF, merged),
        (
            STEP_DEF,
            "update T set executor_class = 'noop' where step_key = 'order'",
            STEP_DEF,
            merged,
        ),
        (
            STEP_DEF,
            "update T set params = '{\"item\": 1}' where step_key = 'order'",
            STEP_DEF,
            merged,
        ),
        (STEP_DEF, "update T set deadline = '3 days' where step_key = 'large'", STEP_DEF, merged),
        (
            STEP_DEF,
            "update T set precondition = '$.inputs.x == 1' where step_key = 'large'",
            STEP_DEF,
            merged,
        ),
        (STEP_DEF, "update T set joins_or = 1 where step_key = 'order'", STEP_DEF, merged),
        (STEP_DEF, "delete from T where step_key = 'extra'", VERSION, merged),
        (TASK_DEF, "update T set executor_class = 'noop'", TASK_DEF, merged),
        (TASK_DEF, "delete from T", STEP_DEF, merged),
        (
            RELATION,
            "update T set relation_kind = 'and' where relation_kind = 'or'",
            RELATION,
            merged,
        ),
        (
            RELATION,
            "update T set condition = '$.outputs.intake.amount > 99' where relation_no = 1",
            RELATION,
            merged,
        ),
        (RELATION, "delete from T where relation_no = 5", VERSION, merged),
        (PERMISSION, "update T set actor_class = 'pic_human'", VERSION, merged),
        (REGISTRY, "update T set current_version = 2", REGISTRY, "registry_names_the_newest"),
        (REGISTRY, "delete from T", REGISTRY, "registry_names_the_newest"),
        (CHANGE, "update T set merged_def_id = gen_random_uuid()", CHANGE, "proposal_was_approved"),
        (CHANGE, "update T set approval_id = null", CHANGE, "proposal_was_approved"),
        (STEP, "update T set sla_breach_duration = '1 second' where INTAKE", STEP, ending),
        (
            STEP,
            "update T set sla_breach_duration = null, completed_after_deadline = false where INTAKE",
            STEP,
            ending,
        ),
        (
            STEP,
            "update T set completed_at = completed_at - interval '2 hours' where INTAKE",
            STEP,
            ending,
        ),
        (STEP, "update T set completion_actor_id = 'reviewer' where INTAKE", STEP, ending),
        (STEP, "update T set overdue_first_at = null where INTAKE", STEP, ending),
        (
            STEP,
            "update T set overdue_first_at = overdue_first_at + interval '1 minute' where INTAKE",
            STEP,
            ending,
        ),
        (STEP, "update T set deadline = deadline + interval '1 day' where INTAKE", STEP, left),
        (STEP, "update T set cycle_no = 0 where cycle_no = 1", STEP, left),
        (STEP, "update T set retry_count = 0 where retry_count = 1", STEP, left),
        (STEP, "update T set output_snapshot_id = gen_random_uuid() where INTAKE", STEP, left),
        (STEP, "update T set skipped = false where skipped", STEP, left),
        (STEP, "update T set state_code = 'in_progress' where INTAKE", STEP, "state_equals_log"),
        (STEP, "update T set state_code = 'in_progress' where INTAKE", RUN, counts),
        (STEP, "update T set rollup_class = 'gray' where INTAKE", STEP, counts),
        (STEP, "update T set mandatory = false where INTAKE", STEP, "step_is_of_its_definition"),
        (
            STEP,
            "update T set executor_class_ref = 'noop' where INTAKE",
            STEP,
            "step_is_of_its_definition",
        ),
        (STEP, "update T set step_key = 'other' where INTAKE", STEP, "step_is_of_its_definition"),
        (STEP, "update T set or_open = 1 where step_key = 'order'", STEP, ways),
        (STEP, "delete from T where step_key = 'extra'", RUN, "run_has_every_step_once"),
        (
            STEP,
            "update T set workflow_run_id = gen_random_uuid() where INTAKE",
            STEP,
            "row_has_an_origin",
        ),
        (TASK, "update T set task_key = 'other'", TASK, "task_is_of_its_definition"),
        (TASK, "update T set completion_actor_id = 'reviewer'", TASK, ending),
        (TASK, "delete from T", STEP, "step_has_its_tasks"),
        (OUTCOME, "update T set taken = false where relation_no = 1", STEP, ways),
        (OUTCOME, "update T set taken = true where relation_no = 5", OUTCOME, ways),
        (OUTCOME, "update T set taken = false where relation_no = 4", OUTCOME, ways),
        (OUTCOME, "delete from T where relation_no = 2", STEP, ways),
        (OUTCOME, "update T set workflow_run_id = 'OFF' where relation_no = 1", OUTCOME, ways),
        (RUN, "update T set red_count = red_count + 1 where state_code = 'completed'", RUN, counts),
        (RUN, "update T set completed_count = 1 where state_code = 'completed'", RUN, counts),
        (RUN, "update T set rollup_state_code = 'red' where state_code = 'completed'", RUN, counts),
        (
            RUN,
            "update T set decisive_state_code = 'failed' where state_code = 'completed'",
            RUN,
            counts,
        ),
        (
            RUN,
            "update T set frozen_at = created_at where state_code = 'completed'",
            RUN,
            "colour_stands_still_on_hold",
        ),
        (
            RUN,
            "update T set state_code = 'in_progress' where state_code = 'completed'",
            RUN,
            "state_equals_log",
        ),
        (CYCLE, "delete from T", LOG, "artefacts_are_in_the_log"),
        (
            SNAPSHOT,
            "delete from T where document like '%amount%' and snapshot_kind = 'output'",
            LOG,
            "artefacts_are_in_the_log",
        ),
        (
            SNAPSHOT,
            "update T set document = '{}' where document like '%amount%'",
            SNAPSHOT,
            "digest_is_of_the_row",
        ),
        (
            SNAPSHOT,
            "update T set run_id = gen_random_uuid() where snapshot_kind = 'input'",
            SNAPSHOT,
            "every_row_has_a_place",
        ),
        (WAIT, "delete from T", LOG, "wait_is_as_it_was_logged"),
        (DECISION, "delete from T", STEP, left),
        (USAGE, "delete from T where evidence_kind = 'read'", LOG, "artefacts_are_in_the_log"),
        (VERSION, "delete from T", LOG, "artefacts_are_in_the_log"),
    ] {
        let statement = change
            .replace("INTAKE", intake)
            .replace("OFF", &scene.off.to_string())
            .replacen(" T", &format!(" {table}"), 1);
        scene.forged(&[&statement]).await;
        scene.names(&statement, named, rule).await;
        scene.put_back(table).await;
    }
    assert_eq!(scene.audit().await.mismatches, []);
}

/// AUD-1, RUN-4: a run that was completed while a mandatory step was open is named, whatever else does not fit.
#[tokio::test]
async fn a_run_is_complete_when_its_steps_are() {
    let scene = Scene::new().await;
    scene.keep(&[RUN, LOG]).await;
    // The completion of the run is dated back to before its last step was done.
    let backdated = format!(
        "update fsm.transition_log set at = (select at from fsm.transition_log where run_id = '{}' and to_state = 'in_progress' order by seq limit 1)
          where run_id = '{}' and to_state = 'completed'",
        scene.step("order"),
        scene.run
    );
    scene.forged(&[&backdated]).await;
    scene.names("dated back", RUN, "completed_run_was_complete").await;
}

/// AUD-1: a run of more steps than are looked at together replays whole.
#[tokio::test]
async fn a_run_of_many_steps_replays() {
    let scene = Scene::empty().await;
    let count = 1_000;
    let title = json!({ "en": "S", "vi": "S" });
    let steps: Vec<_> =
        (0..count).map(|n| json!({ "key": format!("s{n}"), "title": title })).collect();
    let start: Vec<_> = (0..count).map(|n| format!("s{n}")).collect();
    let definition = json!({ "workflow": "long", "title": title, "start": start, "steps": steps, "relations": [] });
    scene.adopt(&definition).await;
    let run = Uuid::now_v7();
    scene.start(run, "long").await;
    let report = scene.audit().await;
    assert_eq!(report.mismatches, []);
    // A change, a run, and its steps, each with a birth and a move.
    assert_eq!(report.rows, 5 + 2 + 2 * count);
}
