//! One run from its beginning to its end.

use std::fs;

use serde_json::Value;

use super::scene::Scene;

const UNITS: usize = 65;

/// ORC-1, ORC-3, ORC-4, ORC-5, ORC-8, ORC-10: a document of 65 units runs to the first gate, on after each approval, and ends with
/// every unit enacted, the ledger complete, all documents there and one line in the index. Resuming again changes nothing.
#[test]
fn a_document_is_taken_through_fourteen_states_and_two_gates() {
    let scene = Scene::new();
    scene.document("policy", UNITS);
    let run = scene.started("policy");

    // Nothing goes on without the sovereign, and asking again asks for the same.
    let asked =
        scene.orchestrate(&["approve", "--run-id", &run, "--show", "--json"]).ends_with(0).json();
    assert_eq!(asked["gate"], "SG_cut_authz");
    scene.resume(&run, None).ends_with(4);
    let again =
        scene.orchestrate(&["approve", "--run-id", &run, "--show", "--json"]).ends_with(0).json();
    assert_eq!(asked, again);
    assert_eq!(scene.one("select count(*) from iu.information_unit"), "0");

    scene.taken_on(&run, 4);
    assert_eq!(scene.state(&run), "awaiting_lifecycle_authorization");
    assert_eq!(
        scene.one("select count(*) from iu.information_unit where lifecycle_status = 'draft'"),
        UNITS.to_string()
    );
    scene.taken_on(&run, 0);
    assert_eq!(scene.state(&run), "closeout_reported");

    let counts = scene.one(
        "select concat_ws(' ', (select count(*) from iu.information_unit where lifecycle_status = 'enacted'),
                (select count(*) from iu.unit_version where lifecycle_status = 'enacted'),
                (select count(*) from cutter_governance.cut_change_set), (select count(*) from cutter_governance.cut_change_set_affected_row),
                (select count(*) from cutter_governance.verify_result where verdict = 'pass'), (select count(*) from cutter_governance.dot_pair_signature),
                (select count(*) from cutter_governance.review_decision), (select count(*) from approval.approval_use))",
    );
    assert_eq!(counts, format!("{UNITS} {UNITS} 1 {UNITS} 1 2 2 2"));
    // Enacted is immutable, for whoever asks.
    let touched = scene.one(
        "do $$ begin update iu.unit_version set body = body || '!'; exception when others then null; end $$;
         select count(*) from iu.unit_version where body like '%!'",
    );
    assert!(touched.ends_with('0'), "{touched}");

    let line = scene.one("select body from kb.revision where path like 'orchestrator/runs-index/%' order by revision desc limit 1");
    assert_eq!(line.matches(&run).count(), 1, "{line}");
    let documents = scene.one(&format!(
        "select string_agg(distinct split_part(path, '/', 3), ' ' order by split_part(path, '/', 3)) from kb.revision where path like 'orchestrator/{}/%'",
        run.to_lowercase()
    ));
    assert_eq!(
        documents,
        "01-source-pin 02-mark 03-cutplan 04-pre-write-backup 05-grant-probe 06-cut-leg-a 07-structural-verify 08-leg-b-record \
         09-write-verify 10-lifecycle-enact 11-final-orchestrator-report sg1-cut-authz-approval sg1-cut-authz-request \
         sg2-lifecycle-authz-approval sg2-lifecycle-authz-request"
    );

    the_sidecar_says_the_same(&scene, &run);
    let before = (
        scene.place.fingerprint(),
        fs::read(scene.folder(&run).join("state.json")).expect("a sidecar"),
    );
    scene.resume(&run, None).ends_with(0);
    let after = (
        scene.place.fingerprint(),
        fs::read(scene.folder(&run).join("state.json")).expect("a sidecar"),
    );
    assert!(before == after, "resuming a run that is over changed something");
    let said = scene.orchestrate(&["start", "policy", "--as", "executor"]).ends_with(3);
    assert!(said.stderr.contains("STOP_REPLAY_CONFLICT"), "{said:?}");

    let report = scene.place.json(&["audit", "verify"]);
    assert_eq!(report["ok"], true, "{report}");
}

fn the_sidecar_says_the_same(scene: &Scene, run: &str) {
    let sidecar = scene.sidecar(run);
    assert_eq!(sidecar["state"], "closeout_reported");
    assert_eq!(sidecar["mode"], "live");
    assert_eq!(sidecar["last_error"], Value::Null);
    let phases = sidecar["phases"].as_object().expect("phases");
    assert_eq!(phases.len(), 13, "eleven phases and two requests");
    for (name, phase) in phases {
        assert_eq!(phase["result"], "passed", "{name}");
        let invariants = phase["gate_invariants"].as_object().expect("invariants");
        assert!(
            !invariants.is_empty() && invariants.values().all(|holds| *holds == Value::Bool(true)),
            "{name}"
        );
    }
    assert_eq!(
        sidecar["phases"]["structural_verify"]["gate_invariants"]
            .as_object()
            .map(serde_json::Map::len),
        Some(11)
    );
    for number in 1..=11 {
        assert!(scene.folder(run).join(format!("phase-{number:02}.md")).exists(), "{number}");
    }
    assert_eq!(sidecar["consumed_approval_ids"].as_array().map(Vec::len), Some(2));
}

/// ORC-3, IG_write_verify: the verifier may be somebody else's process. The runner waits for no key that it does not have: the run
/// stays where it is until a worker with the verifier's login has recorded its verdict.
#[test]
fn a_worker_verifies_what_a_run_wrote() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    let approval = scene.approved(&run);
    let args = [
        "resume",
        "--run-id",
        &run,
        "--approval-kb-id",
        &approval,
        "--verifier",
        "alice",
        "--as",
        "executor",
    ];
    let said = scene.orchestrate(&args).ends_with(1);
    assert!(said.stderr.contains("STOP_VERIFIER"), "{said:?}");
    assert_eq!(scene.state(&run), "leg_b_recorded");

    // The executor of the direct way leaves it alone; the verifier takes it on, once.
    scene.place.done(&["worker", "--role", "executor", "--once", "--as", "executor"]);
    assert_eq!(scene.state(&run), "leg_b_recorded");
    let said = scene.place.done(&["worker", "--role", "verifier", "--once", "--as", "verifier"]);
    assert!(said.stdout.contains(&run), "{said:?}");
    assert_eq!(scene.state(&run), "write_verified");
    let said = scene.place.done(&["worker", "--role", "verifier", "--once", "--as", "verifier"]);
    assert_eq!(said.stdout, "");
    scene.resume(&run, None).ends_with(4);
    scene.taken_on(&run, 0);
    assert_eq!(scene.state(&run), "closeout_reported");

    let dry = scene
        .document("other", 3)
        .orchestrate(&["start", "other", "--mode", "dryrun", "--as", "executor"])
        .ends_with(4);
    assert_eq!(dry.stdout.trim(), "awaiting_cut_authorization");
    let listed = scene.orchestrate(&["list", "--json"]).ends_with(0).json();
    let modes: Vec<&str> =
        listed.as_array().expect("runs").iter().filter_map(|run| run["mode"].as_str()).collect();
    assert_eq!(modes, ["dryrun", "live"]);
    let name = listed[0]["run_id"].as_str().expect("a run");
    let status = scene.orchestrate(&["status", "--run-id", name]).ends_with(0);
    assert!(
        status.stdout.contains("dryrun") && status.stdout.contains("grant_probe"),
        "{status:?}"
    );
}

/// A document is cut as whoever starts the run says, in a rehearsal and in the run itself.
#[test]
fn a_run_cuts_as_was_chosen() {
    let scene = Scene::new();
    let text = "# Article 1. Scope\n\nIt applies.\n\n## Notes\n\nMore.\n";
    let file = scene.place.file("law.md", text);
    scene.place.done(&[
        "doc",
        "add",
        &file,
        "--id",
        "law",
        "--prefix",
        "LAW",
        "--profile",
        "markdown",
        "--as",
        "alice",
    ]);
    let chosen = ["--profile", "markdown", "--publication-type", "policy"];
    let dry =
        [&["start", "law", "--mode", "dryrun", "--as", "executor", "--json"][..], &chosen].concat();
    let dry =
        scene.orchestrate(&dry).ends_with(4).json()["run_id"].as_str().expect("a run").to_owned();
    scene.taken_on(&dry, 4);
    let live = [&["start", "law", "--as", "executor", "--json"][..], &chosen].concat();
    let run =
        scene.orchestrate(&live).ends_with(4).json()["run_id"].as_str().expect("a run").to_owned();
    for run in [&dry, &run] {
        let pins = scene.sidecar(run)["context_pins"].clone();
        assert_eq!(
            (&pins["profile"], &pins["publication_type"]),
            (&"markdown".into(), &"policy".into()),
            "{pins}"
        );
    }
    scene.taken_on(&run, 4);
    let units = scene.one("select string_agg(distinct section_type || ' ' || unit_kind, ',') from iu.information_unit");
    assert_eq!(units, "heading design_doc_section");
    scene.taken_on(&run, 0);
    assert_eq!(scene.place.json(&["audit", "verify"])["ok"], true);
}
