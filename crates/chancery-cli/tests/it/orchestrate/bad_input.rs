//! Bad input and a bad world: each stops with its code, its reason and the way forward, and the run can be taken to its end.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use chancery_engine::orchestrator::RunId;
use chancery_engine::orchestrator::sidecar::Sidecar;

use super::scene::Scene;
use super::trouble::stopped;
use crate::place::{Said, run_it};

const NOBODYS: &str = "ictr-20260520T093000Z-018f4e9e-6c00-7abc-8def-0123456789ab";

/// The sidecar as this program itself would open it; holds the run's lock.
fn opened(scene: &Scene, run: &str) -> Sidecar {
    let id: RunId = run.parse().expect("a run id");
    Sidecar::open(&scene.place.path().join("runs"), id).expect("the sidecar")
}

/// ORC-2, ORC-8: a run that nobody knows, and a name that is none.
#[test]
fn a_run_that_is_not_there_is_not_begun() {
    let scene = Scene::new();
    for command in ["resume", "approve", "status", "stop", "void"] {
        let mut args = vec![command, "--run-id", NOBODYS];
        args.extend(match command {
            "resume" => vec!["--as", "executor"],
            "approve" => vec!["--as", "sofia"],
            "status" => vec![],
            _ => vec!["--reason", "x", "--as", "sofia"],
        });
        let said = scene.unchanged(NOBODYS, || scene.orchestrate(&args)).ends_with(1);
        stopped(&said, "STOP_RUN_NOT_FOUND");
        assert!(said.stderr.contains(NOBODYS), "{said:?}");
        for malformed in
            ["x", "../../etc", &NOBODYS.to_uppercase(), &NOBODYS.replace("-7abc", "-4abc")]
        {
            args[2] = malformed;
            let said = scene.orchestrate(&args).ends_with(2);
            assert!(said.stderr.contains("a run id looks like"), "{said:?}");
        }
    }
    let args = ["start", "nothing", "--as", "executor"];
    let said = scene.unchanged(NOBODYS, || scene.orchestrate(&args)).ends_with(3);
    stopped(&said, "STOP_DOCUMENT_UNKNOWN");
    let left = fs::read_dir(scene.place.path().join("runs")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "a run that was not begun leaves no folder");
}

/// ORC-5, ORC-8: of two processes one works on a run; the other says who does.
#[test]
fn a_busy_run_is_left_alone() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    let held = opened(&scene, &run);
    for args in [vec![], vec!["--rebuild-sidecar"]] {
        let resume = [&["resume", "--run-id", &run, "--as", "executor"], args.as_slice()].concat();
        let said = scene.unchanged(&run, || scene.orchestrate(&resume)).ends_with(3);
        stopped(&said, "STOP_RUN_BUSY");
        assert!(said.stderr.contains(&format!("process {}", std::process::id())), "{said:?}");
    }
    drop(held);

    // Two real ones. The first is held up in the database until the second has had its answer.
    let approval = scene.approved(&run);
    let args = ["resume", "--run-id", &run, "--approval-kb-id", &approval, "--as", "executor"];
    let held = scene.hold_runs();
    let first = scene.begun_and_waiting(&args, "cutter_exec");
    let second = scene.orchestrate(&args).ends_with(3);
    stopped(&second, "STOP_RUN_BUSY");
    assert!(second.stderr.contains(&format!("process {}", first.id())), "{second:?}");
    held.let_go();
    let first = first.wait_with_output().expect("the first ends");
    assert_eq!(first.status.code(), Some(4), "{}", String::from_utf8_lossy(&first.stderr));
    assert_eq!(scene.state(&run), "awaiting_lifecycle_authorization");
    assert_eq!(scene.one("select count(*) from iu.information_unit"), "3");
    scene.completed(&run);
}

/// ORC-5, ORC-8: a sidecar that is torn, edited, of another version or gone stops the run; what the database knows makes it again,
/// when somebody says so.
#[test]
fn a_sidecar_that_is_not_the_runs_own_is_not_used() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    let file = scene.folder(&run).join("state.json");
    let good = fs::read_to_string(&file).expect("the sidecar");
    let backup = fs::read(scene.folder(&run).join("pre_write.gpg")).expect("the backup");
    let approval = scene.approved(&run);
    let rebuild = |args: &[&str]| {
        let resume = ["resume", "--run-id", &run, "--rebuild-sidecar", "--as", "executor"];
        scene.orchestrate(&[resume.as_slice(), args].concat())
    };

    let torn = good[..good.len() / 2].to_owned();
    let edited = good.replace("awaiting_cut_authorization", "cut_leg_a_committed");
    let of_digest = good.replace("\"sidecar_sha256\": \"", "\"sidecar_sha256\": \"0");
    let version = good.replace("\"schema_version\": 1", "\"schema_version\": 2");
    let cases = [
        (Some(torn), "STOP_SIDECAR_CORRUPT", "ends too early"),
        (Some(String::new()), "STOP_SIDECAR_CORRUPT", "is empty"),
        (Some(edited), "STOP_SIDECAR_EDITED", "does not fit its digest"),
        (Some(of_digest), "STOP_SIDECAR_EDITED", "does not fit its digest"),
        (Some(version), "STOP_SIDECAR_VERSION", "schema version 2"),
        (None, "STOP_RUN_NOT_FOUND", "there is no run"),
    ];
    for (text, code, reason) in cases {
        match &text {
            Some(text) => fs::write(&file, text).expect("written"),
            None => fs::remove_dir_all(scene.folder(&run)).expect("gone"),
        }
        let said = scene.unchanged(&run, || scene.resume(&run, Some(&approval))).ends_with(1);
        stopped(&said, code);
        assert!(said.stderr.contains(reason), "{said:?}");
        if code == "STOP_SIDECAR_VERSION" {
            // It is another program's file: this one does not replace it.
            let said = scene.unchanged(&run, || rebuild(&[])).ends_with(1);
            stopped(&said, code);
        } else {
            assert!(said.stderr.contains("--rebuild-sidecar"), "{said:?}");
            rebuild(&[]).ends_with(4);
            let made = scene.sidecar(&run);
            assert_eq!(made["state"], "awaiting_cut_authorization");
            assert_eq!(made["phases"].as_object().map(serde_json::Map::len), Some(6));
        }
        if text.is_some() {
            fs::write(&file, &good).expect("written");
        }
    }

    // The folder was gone, and with it the backup: nothing is written without it.
    let said = scene.unchanged(&run, || scene.resume(&run, Some(&approval))).ends_with(1);
    stopped(&said, "STOP_BACKUP_LOST");
    fs::write(scene.folder(&run).join("pre_write.gpg"), "another file").expect("written");
    let said = scene.unchanged(&run, || scene.resume(&run, Some(&approval))).ends_with(1);
    stopped(&said, "STOP_BACKUP_LOST");
    fs::write(scene.folder(&run).join("pre_write.gpg"), &backup).expect("written");

    // Whole, with a digest that fits, and yet not what the database says.
    let mut lying = opened(&scene, &run);
    lying.pin("writer_digest", "0".repeat(64).into()).expect("a pin");
    lying.store().expect("written");
    drop(lying);
    let said = scene.unchanged(&run, || scene.resume(&run, Some(&approval))).ends_with(1);
    stopped(&said, "STOP_SIDECAR_EDITED");
    assert!(said.stderr.contains("--rebuild-sidecar"), "{said:?}");
    rebuild(&["--approval-kb-id", &approval]).ends_with(4);
    assert_eq!(scene.state(&run), "awaiting_lifecycle_authorization");

    // Ahead of the database: it was restored from an older backup, or this is another one.
    let mut ahead = opened(&scene, &run);
    ahead.run_mut().state = "lifecycle_enacted".to_owned();
    ahead.store().expect("written");
    drop(ahead);
    for said in [scene.resume(&run, None), rebuild(&[])] {
        assert_eq!(said.exit, Some(1), "{said:?}");
        stopped(&said, "STOP_DATABASE_BEHIND");
        assert!(said.stderr.contains("lifecycle_enacted"), "{said:?}");
    }
    let mut back = opened(&scene, &run);
    back.run_mut().state = "awaiting_lifecycle_authorization".to_owned();
    back.store().expect("written");
    drop(back);
    scene.completed(&run);
}

/// ORC-5, ORC-10: a disk that is full, wherever it fills up, loses nothing; the run goes on when there is room.
#[test]
fn a_full_disk_stops_a_run_and_loses_nothing() {
    let scene = Scene::new();
    // In KiB: the first state, a receipt, a later state, the backup.
    for kib in [0, 1, 4, 8] {
        let document = format!("doc{kib}");
        scene.document(&document, 3);
        let start =
            scene.place.command(&["cutter", "orchestrate", "start", &document, "--as", "executor"]);
        let said = limited(&start, kib);
        assert_eq!(said.exit, Some(1), "{said:?}");
        stopped(&said, "STOP_DISK_FULL");
        let run = scene.one(&format!(
            "select run_name from orchestrator.run where document_id = '{document}'"
        ));
        if kib == 0 {
            assert_eq!(run, "", "nothing was begun");
            assert!(said.stderr.contains(&format!("start {document}`")), "{said:?}");
            continue;
        }
        let state = scene.state(&run);
        assert!(!state.starts_with("failed_") && !state.starts_with("stopped_"), "{state}");
        scene.completed(&run);
    }
    scene.audit_is_clean();
}

/// Runs a command that can write no file longer than this.
fn limited(command: &Command, kib: u32) -> Said {
    let mut shell = Command::new("bash");
    // The limit is an error of the write, as a full disk is, and not a signal.
    shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {kib}; exec \"$@\""), "limited"]);
    shell.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    run_it(&mut shell)
}

/// ORC-9, ORC-10: the ground moved: another version of the document, another function.
#[test]
fn a_document_or_a_function_that_changed_is_drift() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    let first_gate = scene.approved(&run);

    scene.document("policy", 4);
    let said = scene.resume(&run, Some(&first_gate)).ends_with(3);
    stopped(&said, "STOP_DRIFT_SOURCE_VERSION: ");
    assert!(said.stderr.contains("source_version"), "{said:?}");
    assert_eq!(scene.one("select count(*) from iu.information_unit"), "0");
    let report = scene.paper(&run, "stop-route-report-8");
    assert!(report.contains("\"pinned\"") && report.contains("\"live\""), "the diff: {report}");
    // The sovereign acknowledges it: this run is about the version that it pinned.
    scene.resume(&run, None).ends_with(4);
    let acknowledged = scene.approved(&run);
    scene.resume(&run, Some(&acknowledged)).ends_with(4);

    let function = "iu.fn_iu_enact";
    let text = scene.one(&format!("select pg_get_functiondef('{function}'::regproc)"));
    scene.one(&text.replacen("begin", "begin -- mended", 1));
    let said = scene.resume(&run, Some(&first_gate)).ends_with(3);
    stopped(&said, "STOP_DRIFT_FUNCTIONS: ");
    assert!(said.stderr.contains("fn_iu_enact"), "{said:?}");
    assert_eq!(scene.state(&run), "stopped_drift");
    assert_eq!(scene.one("select count(*) from iu.information_unit"), "0");
    scene.one(&text);
    scene.resume(&run, None).ends_with(4);
    let acknowledged = scene.approved(&run);
    scene.resume(&run, Some(&acknowledged)).ends_with(4);
    // What the verifier's process finds is told by the runner as well.
    scene.taken_until(&run, 8);
    scene.one(&text.replacen("begin", "begin -- mended", 1));
    let said = scene.resume(&run, None).ends_with(3);
    stopped(&said, "STOP_DRIFT_FUNCTIONS: ");
    assert_eq!(scene.moves(&run).last().expect("a move")["from"], "leg_b_recorded");
    scene.one(&text);
    scene.resume(&run, None).ends_with(4);
    scene.completed(&run);

    // The newer version has a run of its own; its addresses are free where the older one's are not.
    scene.audit_is_clean();
}

/// ORC-6, ORC-10: no key for the backup, no pg_dump, a verifier without a key.
#[test]
fn an_aide_that_cannot_work_stops_the_run() {
    let scene = Scene::new();
    scene.document("policy", 3);
    scene.behind("orchestrator.backup_key", "delete from orchestrator.backup_key");
    // Known beforehand: there is no run that somebody would have to void.
    let said = scene
        .unchanged_database(|| scene.orchestrate(&["start", "policy", "--as", "executor"]))
        .ends_with(3);
    stopped(&said, "STOP_REFUSED");
    assert!(said.stderr.contains("cutter orchestrate backup-key"), "{said:?}");
    let key = scene.place.path().join("backup.asc");
    scene.place.done(&["cutter", "orchestrate", "backup-key", key.to_str().expect("a path")]);

    // It goes away under the run.
    scene.document("other", 3);
    let run = scene.held("other", "pre_write_backup_taken");
    scene.behind("orchestrator.backup_key", "create table kept as table orchestrator.backup_key");
    scene.behind("orchestrator.backup_key", "delete from orchestrator.backup_key");
    stopped(&scene.resume(&run, None).ends_with(1), "STOP_BACKUP");
    assert_eq!(scene.state(&run), "failed_backup");
    let said = scene.unchanged(&run, || scene.resume(&run, None)).ends_with(3);
    stopped(&said, "STOP_RUN_FAILED");
    scene.behind(
        "orchestrator.backup_key",
        "insert into orchestrator.backup_key table kept; drop table kept",
    );

    let run = scene.started("policy");
    let keys = scene.place.path().join("keys");
    fs::rename(keys.join("verifier"), keys.join("elsewhere")).expect("moved");
    let approval = scene.approved(&run);
    let said = scene.resume(&run, Some(&approval));
    assert_eq!(said.exit, Some(1), "{said:?}");
    stopped(&said, "STOP_VERIFIER");
    assert!(said.stderr.contains("RI008"), "{said:?}");
    assert_eq!(scene.state(&run), "leg_b_recorded", "it waits where it is");
    assert_eq!(scene.one("select count(*) from cutter_governance.verify_result"), "0");
    let again = scene.unchanged_database(|| scene.resume(&run, None)).ends_with(1);
    stopped(&again, "STOP_VERIFIER");
    fs::rename(keys.join("elsewhere"), keys.join("verifier")).expect("back");
    scene.resume(&run, None).ends_with(4);
    scene.completed(&run);
    scene.audit_is_clean();
}

/// ORC-10: every code with which a run stops has its row in the documents, and no row is about a code that there is not.
#[test]
fn every_stop_code_is_documented() {
    fn codes(text: &str, quote: char) -> BTreeSet<String> {
        let words = text.split(quote).filter(|word| word.starts_with("STOP_"));
        let plain = |word: &&str| word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        words.filter(plain).map(str::to_owned).collect()
    }
    fn sources(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let of_tests = path.file_stem().is_some_and(|name| name == "tests");
            if path.is_dir() && !of_tests {
                sources(&path, found);
            } else if path.is_file() && !of_tests {
                found.extend(codes(&fs::read_to_string(&path).expect("a source"), '"'));
            }
        }
    }
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut raised = BTreeSet::new();
    sources(&crates.join("chancery-engine/src/orchestrator"), &mut raised);
    sources(&crates.join("chancery-cli/src"), &mut raised);
    let page = fs::read_to_string(crates.join("../docs/errors/stops.md")).expect("the page");
    let rows = page.lines().filter(|line| line.starts_with("| `STOP_"));
    let told: BTreeSet<String> = rows.flat_map(|row| codes(row, '`')).collect();
    assert_eq!(told, raised);
}
