//! What stops a run, and what lets it go on: the sovereign, a cap, an exception.

use serde_json::Value;

use super::scene::Scene;
use super::trouble::stopped;
use crate::place::Said;

/// The states in which a run can be caught, and the number of the phase that reached each.
const CAUGHT: [(u8, &str); 10] = [
    (1, "source_pinned"),
    (2, "marked"),
    (3, "cutplan_ok"),
    (4, "pre_write_backup_taken"),
    (5, "grants_probed"),
    (6, "cut_leg_a_committed"),
    (7, "structural_verified"),
    (8, "leg_b_recorded"),
    (9, "write_verified"),
    (10, "lifecycle_enacted"),
];

fn stop(scene: &Scene, run: &str) {
    let said = scene.orchestrate(&[
        "stop",
        "--run-id",
        run,
        "--reason",
        "the annex is wrong",
        "--as",
        "sofia",
    ]);
    assert_eq!(said.ends_with(0).stdout, "stopped_sovereign\n");
}

/// Asks to go on, which changes nothing of the run, and gives the approval.
fn asked_and_approved(scene: &Scene, run: &str) -> String {
    let said = scene.resume(run, None).ends_with(4);
    assert!(said.stderr.contains("SG_resume_stopped"), "{said:?}");
    assert!(scene.state(run).starts_with("stopped_"));
    let named = said.stderr.split("--approval-kb-id ").nth(1).expect("the document").trim();
    let approval = scene.approved(run);
    assert_eq!(named.split_whitespace().next(), Some(approval.as_str()));
    approval
}

/// ORC-2, ORC-8, ORC-10: a run that the sovereign stops, in each of its states, goes on exactly there, with a word of the sovereign
/// for this stop, and passes every gate once.
#[test]
fn what_the_sovereign_stops_goes_on_exactly_where_it_stood() {
    let scene = Scene::new();
    scene.document("policy", 3).document("other", 3);
    let other = scene.started("other");
    stop(&scene, &other);
    // Before it asks, there is nothing to sign; asking again asks for the same.
    let said = scene.orchestrate(&["approve", "--run-id", &other, "--as", "sofia"]).ends_with(3);
    stopped(&said, "STOP_NOTHING_ASKED");
    scene.resume(&other, None).ends_with(4);
    scene.unchanged(&other, || scene.resume(&other, None)).ends_with(4);
    let others_approval = asked_and_approved(&scene, &other);

    let run = scene.started_until("policy", 1);
    let mut last = String::new();
    for (at, (_, state)) in CAUGHT.into_iter().enumerate() {
        assert_eq!(scene.state(&run), state);
        stop(&scene, &run);
        let approval = asked_and_approved(&scene, &run);
        // No other word will do: neither the last one, which is used, nor one about another run.
        if state == "cutplan_ok" {
            let said =
                scene.orchestrate(&["stop", "--run-id", &run, "--reason", "x", "--as", "sofia"]);
            assert_eq!(said.ends_with(0).stdout, "stopped_sovereign\n", "it is stopped already");
            for (wrong, differs) in [(&last, "stopped_seq"), (&others_approval, "run_id")] {
                let said = scene.unchanged(&run, || scene.resume(&run, Some(wrong))).ends_with(3);
                stopped(&said, "STOP_APPROVAL_REFUSED");
                assert!(said.stderr.contains(differs), "{said:?}");
            }
        }
        last.clone_from(&approval);
        goes_on(&scene, &run, &approval, CAUGHT.get(at + 1).map(|(phase, _)| *phase));
    }
    assert_eq!(scene.state(&run), "closeout_reported");
    let said = scene.orchestrate(&["stop", "--run-id", &run, "--reason", "late", "--as", "sofia"]);
    stopped(&said.ends_with(3), "STOP_REFUSED");

    let moves = scene.moves(&run);
    let forward =
        |one: &&Value| one["evidence"]["gate"].as_str().is_some_and(|g| g.contains("IG_"));
    assert_eq!(moves.iter().filter(forward).count(), 9, "every gate that passes by itself, once");
    let resumed: Vec<&Value> =
        moves.iter().filter(|one| one["evidence"]["gate"] == "SG_resume_stopped").collect();
    assert_eq!(resumed.len(), CAUGHT.len() + 2, "also at both sovereign gates");
    for one in resumed {
        let stop = moves.iter().find(|m| m["seq"] == one["seq"].as_i64().expect("seq") - 1);
        let stop = stop.expect("the stop before");
        assert_eq!((&stop["from"], &stop["to"]), (&one["to"], &one["from"]), "back where it was");
    }
    let counts = "select count(*) || ' ' || (select count(*) from approval.approval_use) from iu.information_unit where lifecycle_status = 'enacted'";
    assert_eq!(scene.one(counts), format!("3 {}", CAUGHT.len() + 4));
    scene.audit_is_clean();
}

/// Takes a run on with an approval until it is caught after the next phase; at a sovereign gate it is stopped once more.
fn goes_on(scene: &Scene, run: &str, approval: &str, next: Option<u8>) {
    let crosses_a_gate = matches!(next, Some(6 | 10));
    if crosses_a_gate {
        scene.resume(run, Some(approval)).ends_with(4);
        let waits = scene.state(run);
        // Stopped while the sovereign is asked: the question stands afterwards as before.
        stop(scene, run);
        let approval = asked_and_approved(scene, run);
        scene.resume(run, Some(&approval)).ends_with(4);
        assert_eq!(scene.state(run), waits);
        scene.taken_until(run, next.expect("a phase"));
        return;
    }
    let Some(phase) = next else {
        scene.resume(run, Some(approval)).ends_with(0);
        return;
    };
    let obstacle = scene.obstacle(run, phase);
    let said = scene.resume(run, Some(approval)).ends_with(1);
    stopped(&said, "STOP_SIDECAR_IO");
    std::fs::remove_dir_all(obstacle).expect("the folder goes away");
}

/// ORC-2, ORC-10: the sovereign stops a run while a phase works: the phase writes nothing, and its process says who stopped it.
#[test]
fn a_stop_reaches_a_run_that_works() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    let approval = scene.approved(&run);
    let stop = ["stop", "--run-id", &run, "--reason", "wait", "--as", "sofia"];
    let resume = ["resume", "--run-id", &run, "--approval-kb-id", &approval, "--as", "executor"];
    // The sovereign is first in the queue for the run, the phase second.
    let held = scene.hold_runs();
    let stopping = scene.begun_and_waiting(&stop, "chancery_app");
    let working = scene.begun_and_waiting(&resume, "cutter_exec");
    held.let_go();
    let stopping = stopping.wait_with_output().expect("the stop ends");
    assert_eq!(stopping.status.code(), Some(0), "{stopping:?}");
    let working = working.wait_with_output().expect("the phase ends");
    let said = String::from_utf8_lossy(&working.stderr);
    assert_eq!(working.status.code(), Some(3), "{said}");
    assert!(said.contains("\nSTOP_SOVEREIGN: "), "{said}");
    assert!(said.contains(&format!("cutter orchestrate approve --run-id {run}")), "{said}");
    assert_eq!(scene.state(&run), "stopped_sovereign");
    assert_eq!(scene.one("select count(*) from iu.information_unit"), "0");

    let go_on = asked_and_approved(&scene, &run);
    scene.resume(&run, Some(&go_on)).ends_with(4);
    scene.resume(&run, Some(&approval)).ends_with(4);
    scene.completed(&run);
    scene.audit_is_clean();
}

/// A run that is over the cap of a phase, in this state, after which nothing of the phase is there.
#[track_caller]
fn is_over_cap(scene: &Scene, run: &str, said: &Said, setting: &str, state: &str, written: &str) {
    assert_eq!(said.exit, Some(3), "{said:?}");
    stopped(said, "STOP_OVER_CAP");
    assert!(said.stderr.contains(&format!("orchestrator.cap_minutes.{setting}")), "{said:?}");
    assert_eq!(scene.state(run), "stopped_over_cap");
    assert_eq!(scene.moves(run).last().expect("a move")["from"], state);
    assert_eq!(scene.one(&format!("select count(*) from {written}")), "0", "the phase wrote");
    assert_eq!(scene.sidecar(run)["last_error"]["code"], "STOP_OVER_CAP");
}

/// ORC-7: a phase, or a run, that has no time left is stopped before it writes; it goes on when the sovereign says so and the cap
/// allows it.
#[test]
fn over_its_cap_a_run_stops_and_escalates() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let raised = |name| scene.cap(name, 5);

    scene.cap("mark", 0);
    let said = scene.orchestrate(&["start", "policy", "--as", "executor"]);
    let run = scene.one("select run_name from orchestrator.run");
    let marks = "cutter_governance.decision_backlog_entry";
    is_over_cap(&scene, &run, &said, "mark", "source_pinned", marks);
    // The sovereign's word raises no cap: the run stops again, and needs another word.
    let approval = asked_and_approved(&scene, &run);
    let said = scene.resume(&run, Some(&approval));
    is_over_cap(&scene, &run, &said, "mark", "source_pinned", marks);
    raised("mark");
    let approval = asked_and_approved(&scene, &run);
    scene.resume(&run, Some(&approval)).ends_with(4);

    scene.cap("cut_leg_a", 0);
    let first_gate = scene.approved(&run);
    let said = scene.resume(&run, Some(&first_gate));
    is_over_cap(
        &scene,
        &run,
        &said,
        "cut_leg_a",
        "awaiting_cut_authorization",
        "iu.information_unit",
    );
    raised("cut_leg_a");
    let approval = asked_and_approved(&scene, &run);
    let said = scene.resume(&run, Some(&approval)).ends_with(4);
    assert!(said.stderr.contains("SG_cut_authz"), "going on is not cutting: {said:?}");

    // The authorization of the gate was not used, so it still is one.
    scene.cap("write_verify", 0);
    let said = scene.resume(&run, Some(&first_gate));
    is_over_cap(
        &scene,
        &run,
        &said,
        "write_verify",
        "leg_b_recorded",
        "cutter_governance.verify_result",
    );
    raised("write_verify");
    let approval = asked_and_approved(&scene, &run);
    scene.resume(&run, Some(&approval)).ends_with(4);

    scene.cap("run", 0);
    let second_gate = scene.approved(&run);
    let said = scene.resume(&run, Some(&second_gate));
    let enacted = "iu.information_unit where lifecycle_status = 'enacted'";
    is_over_cap(&scene, &run, &said, "run", "awaiting_lifecycle_authorization", enacted);
    raised("run");
    let approval = asked_and_approved(&scene, &run);
    scene.resume(&run, Some(&approval)).ends_with(4);

    scene.cap("closeout", 0);
    let said = scene.resume(&run, Some(&second_gate));
    let index = "kb.revision where path like 'orchestrator/runs-index/%'";
    is_over_cap(&scene, &run, &said, "closeout", "lifecycle_enacted", index);
    raised("closeout");
    let approval = asked_and_approved(&scene, &run);
    scene.resume(&run, Some(&approval)).ends_with(0);
    assert_eq!(scene.one(&format!("select count(*) from {enacted}")), "3");
    scene.audit_is_clean();
}

/// ORC-4, ORC-8, ORC-10: what nobody foresaw stops the run, with a report that holds the whole sidecar and the exact commands that
/// lead on.
#[test]
fn an_exception_stops_a_run_with_a_report_that_leads_on() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let right = |verb: &str, function: &str| {
        let who = if verb == "revoke" { "from" } else { "to" };
        scene.one(&format!("{verb} execute on function orchestrator.{function} {who} cutter_exec"));
    };

    // A right is missing.
    right("revoke", "fn_orchestrate_mark");
    let said = scene.orchestrate(&["start", "policy", "--as", "executor"]).ends_with(1);
    stopped(&said, "STOP_EXCEPTION");
    assert!(said.stderr.contains("permission denied for function fn_orchestrate_mark"), "{said:?}");
    let run = scene.one("select run_name from orchestrator.run");
    assert_eq!(scene.state(&run), "stopped_exception");
    assert_eq!(scene.one("select count(*) from cutter_governance.decision_backlog_entry"), "0");

    let report = scene.paper(&run, "stop-route-report-3");
    let (words, block) = report.split_once("```json\n").expect("a block");
    let block: Value =
        serde_json::from_str(block.trim_end().trim_end_matches("```")).expect("JSON");
    assert_eq!(block["stop"]["code"], "STOP_EXCEPTION");
    let (dumped, kept) = (&block["sidecar"], scene.sidecar(&run));
    assert_eq!(dumped["run_id"], run);
    assert_eq!(dumped["state"], "source_pinned");
    assert_eq!(dumped["context_pins"], kept["context_pins"]);
    let fields = |value: &Value| value.as_object().expect("an object").len();
    assert_eq!(fields(dumped) + 1, fields(&kept), "every field but the file's own digest");

    // The commands of the report, as they stand, take it on.
    right("grant", "fn_orchestrate_mark");
    let commands: Vec<Vec<&str>> = words
        .lines()
        .filter_map(|line| line.strip_prefix("  cutter "))
        .map(|line| {
            line.split(' ').map(|word| if word == "SOVEREIGN" { "sofia" } else { word }).collect()
        })
        .collect();
    assert_eq!(commands.len(), 3, "{words}");
    for (command, exit) in commands.iter().zip([4, 0, 4]) {
        scene.place.cutter(command).ends_with(exit);
    }
    assert_eq!(scene.state(&run), "awaiting_cut_authorization");

    // A function fails in the middle of a phase: nothing of it stays.
    scene.one(
        "alter function cutter_governance.writer_digest(uuid, text) rename to writer_digest_gone",
    );
    let first_gate = scene.approved(&run);
    let said = scene.resume(&run, Some(&first_gate)).ends_with(1);
    assert!(said.stderr.contains("STOP_EXCEPTION"), "{said:?}");
    assert_eq!(scene.state(&run), "stopped_exception");
    assert_eq!(scene.one("select count(*) from iu.information_unit"), "0");
    scene.one(
        "alter function cutter_governance.writer_digest_gone(uuid, text) rename to writer_digest",
    );
    let approval = asked_and_approved(&scene, &run);
    scene.resume(&run, Some(&approval)).ends_with(4);

    // Not even the stop can be written: both are told, the run stays where it is.
    right("revoke", "fn_leg_b");
    right("revoke", "fn_orchestrate_halt");
    let said = scene.resume(&run, Some(&first_gate)).ends_with(1);
    stopped(&said, "STOP_EXCEPTION");
    for missing in ["fn_leg_b", "fn_orchestrate_halt"] {
        assert!(said.stderr.contains(missing), "{said:?}");
    }
    assert_eq!(scene.state(&run), "structural_verified");
    right("grant", "fn_leg_b");
    right("grant", "fn_orchestrate_halt");
    scene.completed(&run);
    scene.audit_is_clean();
}
