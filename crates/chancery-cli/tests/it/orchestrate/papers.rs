//! The documents and files of a run: whose they are, and that none of them says what is no longer so.

use serde_json::{Value, json};

use super::scene::Scene;
use super::tamper::id;
use super::trouble::stopped;

/// The runner's signatures under a document.
fn receipts(scene: &Scene, path: &str) -> String {
    scene.one(&format!(
        "select coalesce(string_agg(s.signer || '/' || s.revision, ' '), '') from kb.revision_signature s where s.path = '{path}' and s.meaning = 'receipt'"
    ))
}

/// ORC-4, ORC-10, KB-1: a stop-route report is the runner's: it signs its own at once and the sovereign's when it goes on; closeout does not
/// pass, and the audit names it, when somebody put another one beside it.
#[test]
fn stop_route_reports_are_signed_compared_and_audited() {
    let scene = Scene::new();
    scene.document("policy", 3).document("other", 3);
    let run = scene.started("policy");
    let stop = ["stop", "--run-id", &run, "--reason", "wait", "--as", "sofia"];
    scene.orchestrate(&stop).ends_with(0);
    let of_sovereign = scene.sidecar(&run)["last_error"]["report_kb_id"].clone();
    let of_sovereign = of_sovereign.as_str().expect("a report").to_owned();
    assert_eq!(receipts(&scene, &of_sovereign), "", "nobody signs for the runner");
    scene.resume(&run, None).ends_with(4);
    assert_eq!(receipts(&scene, &of_sovereign), "executor/1");
    scene.taken_on(&run, 4);

    // A newer version is drift: the runner stops by itself.
    scene.document("policy", 4);
    let approval = scene.approved(&run);
    stopped(&scene.resume(&run, Some(&approval)).ends_with(3), "STOP_DRIFT_SOURCE_VERSION: ");
    let own = scene.sidecar(&run)["last_error"]["report_kb_id"].clone();
    assert_eq!(receipts(&scene, own.as_str().expect("a report")), "executor/1");
    scene.audit_is_clean();

    scene.resume(&run, None).ends_with(4);
    scene.taken_on(&run, 4);
    scene.resume(&run, Some(&approval)).ends_with(4);
    // Somebody who can switch triggers off puts another report beside the sovereign's.
    let foreign = |path: &str| {
        scene.behind(
            "kb.revision",
            &format!(
                "insert into kb.revision (path, revision, kind, body, sha256, author, created_at, row_digest)
                 select k.path, k.revision + 1, k.kind, 'x', sha256('x'), 'executor', now(), sha256('y') from kb.revision k where k.path = '{path}' order by k.revision desc limit 1"
            ),
        );
    };
    foreign(&of_sovereign);
    let said = scene.taken_on(&run, 3);
    stopped(&said, "STOP_INVARIANT: ");
    assert!(said.stderr.contains("documents_are_as_written"), "{said:?}");
    assert_eq!(scene.state(&run), "failed_closeout");

    let whole = scene.started("other");
    scene.completed(&whole);
    foreign(
        &scene.one(
            "select path from kb.revision where path like 'orchestrator/runs-index/%' limit 1",
        ),
    );
    let said = scene.place.run(&["audit", "verify", "--json"]).ends_with(1).json();
    let found: Vec<&Value> = said["mismatches"].as_array().expect("a list").iter().collect();
    for path in [of_sovereign.as_str(), "orchestrator/runs-index/"] {
        let named = found.iter().any(|one| {
            one["rule"] == "document_is_of_its_move"
                && one["key"].as_str().is_some_and(|key| key.contains(path))
        });
        assert!(named, "{path}: {found:?}");
    }
    assert_eq!(id(&run).len(), 36);
}

/// ORC-5: a run that the sovereign stopped or voided says so in its own file as well, at once.
#[test]
fn a_sidecar_follows_the_sovereign() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    let sovereign = |verb| {
        let args = [verb, "--run-id", &run, "--reason", "the annex is wrong", "--as", "sofia"];
        scene.orchestrate(&args).ends_with(0);
        let sidecar = scene.sidecar(&run);
        assert_eq!(sidecar["state"], scene.state(&run).as_str());
        sidecar
    };
    let stopped = sovereign("stop");
    assert_eq!(stopped["last_error"]["reason"], "the annex is wrong");
    assert_eq!(sovereign("void")["state"], "voided_sovereign");
}

/// CUT-9, ORC-3: a log does not say that a phase passed whose verdict failed the run.
#[test]
fn a_failed_verdict_is_not_called_passed() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    scene.taken_until(&run, 8);
    scene.behind_the_doors("update iu.unit_version set title = title || '!'");
    let said = scene.resume(&run, None).ends_with(3);
    assert_eq!(scene.state(&run), "failed_write_verify");
    assert!(!said.stderr.contains("write_verify: passed"), "{said:?}");
    assert!(said.stderr.contains("stopped: STOP_VERIFICATION_FAILED: "), "{said:?}");
    let report = scene.sidecar(&run)["last_error"]["report_kb_id"].clone();
    assert_eq!(receipts(&scene, report.as_str().expect("a report")), "executor/1");
}

/// ORC-2: a dry run can be removed with all of its files; a live one is refused, and both are named with one word.
#[test]
fn a_dry_run_is_removed_and_a_live_one_is_not() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let start = ["start", "policy", "--mode", "dryrun", "--as", "executor", "--json"];
    let dry = scene.orchestrate(&start).ends_with(4).json()["run_id"].clone();
    let dry = dry.as_str().expect("a run");
    let approve = ["approve", "--run-id", dry, "--rationale", "read in full", "--as", "sofia"];
    scene.orchestrate(&approve).ends_with(0);
    let paper = scene.folder(dry).join("sg1-cut-authz-approval.md");
    let signed = std::fs::read_to_string(paper).expect("an approval");
    assert!(signed.contains("read in full"), "what is said is signed: {signed}");
    let live = scene.started("policy");
    let listed = scene.orchestrate(&["list", "--json"]).ends_with(0).json();
    let ids: Vec<&Value> =
        listed.as_array().expect("runs").iter().map(|run| &run["run_id"]).collect();
    assert_eq!(ids.len(), 2);
    assert!(ids.contains(&&json!(dry)) && ids.contains(&&json!(live)), "{ids:?}");
    let shown = scene.orchestrate(&["status", "--run-id", &live, "--json"]).ends_with(0).json();
    assert_eq!(
        (&shown["run"]["run_id"], &shown["run"]["run_uuid"]),
        (&json!(live), &json!(id(&live)))
    );

    let remove =
        |run: &str| scene.unchanged_database(|| scene.orchestrate(&["remove", "--run-id", run]));
    stopped(&remove(&live).ends_with(3), "STOP_NOT_A_DRY_RUN: ");
    assert!(scene.folder(&live).join("state.json").exists());
    assert_eq!(remove(dry).ends_with(0).stdout, format!("{dry}\n"));
    assert!(!scene.folder(dry).exists());
    stopped(&remove(dry), "STOP_RUN_NOT_FOUND: ");
    let runs = scene.place.path().join("runs");
    let left = std::fs::read_dir(runs).expect("a folder").flatten().count();
    assert_eq!(left, 1, "nothing is left of it");
}

/// ORC-2: of two commands about one batch, one works; the other is told so, and changes nothing.
#[test]
fn a_batch_is_worked_on_by_one_command() {
    let scene = Scene::new();
    scene.document("one", 3);
    let queue = "schema_version: 1\nbatch_id: 01a1e00f-be00-71b2-9d7d-4f2b9ded7ebd\nitems:\n  - document_id: one\n";
    let file = scene.place.file("queue.yaml", queue);
    let batch = ["batch", "--queue", &file, "--as", "executor"];
    let held =
        scene.place.hold("lock table orchestrator.run in access exclusive mode; select 'held';\n");
    let first = scene.begun_and_waiting(&batch, "cutter_exec");
    let said = scene.orchestrate(&batch).ends_with(3);
    stopped(&said, "STOP_BATCH_BUSY: ");
    assert!(said.stderr.contains("process "), "who has it: {said:?}");
    held.let_go();
    let first = first.wait_with_output().expect("it ends");
    assert_eq!(first.status.code(), Some(4), "{}", String::from_utf8_lossy(&first.stderr));
    assert_eq!(scene.one("select count(*) from orchestrator.run"), "1");
    scene.orchestrate(&batch).ends_with(4);
}
