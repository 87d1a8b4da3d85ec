//! A runner that is killed leaves nobody behind who is in the way of the next one.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use chancery_engine::orchestrator::RunId;
use chancery_engine::orchestrator::backup::check;
use chancery_testkit::until_found;

use super::scene::Scene;
use crate::place::run_it;

/// No phase but the backup touches it.
const ONLY_DUMPED: &str = "lock table birth.departure in access exclusive mode; select 'held';\n";

/// ORC-6, ORC-11: killed while its backup is taken and gone on with at once, a run reaches its gate: the process that took the backup
/// ends with the runner, and leaves no half of a file.
#[test]
fn a_runner_killed_in_its_backup_goes_on_at_once() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = RunId::new(jiff::Timestamp::now()).to_string();
    let held = scene.place.hold(ONLY_DUMPED);
    let runner = started_until_it_dumps(&scene, &run);
    assert_eq!(helpers(&run).len(), 1, "one process takes the backup");
    killed(runner);
    gone(|| helpers(&run).is_empty(), "the process that takes the backup outlives its runner");

    let next = scene.begun(&["resume", "--run-id", &run, "--as", "executor"]);
    gone(|| helpers(&run).len() == 1, "nobody takes the backup");
    held.let_go();
    let next = next.wait_with_output().expect("it ends");
    assert_eq!(next.status.code(), Some(4), "{}", String::from_utf8_lossy(&next.stderr));
    assert_eq!(scene.state(&run), "awaiting_cut_authorization");
    only_whole_files(&scene, &run);
    scene.completed(&run);
    scene.audit_is_clean();
}

/// ORC-6, ORC-11: also a process that does not notice that its runner is gone touches nothing of the next attempt, before or after that one
/// is recorded.
#[test]
fn a_left_behind_backup_does_not_reach_the_next_one() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = RunId::new(jiff::Timestamp::now()).to_string();
    let held = scene.place.hold(ONLY_DUMPED);
    let runner = started_until_it_dumps(&scene, &run);
    let left_behind = helpers(&run)[0];
    signal("-STOP", left_behind);
    killed(runner);
    held.let_go();
    scene.resume(&run, None).ends_with(4);
    let pins = scene.sidecar(&run)["context_pins"].clone();

    signal("-CONT", left_behind);
    gone(|| helpers(&run).is_empty(), "it does not end");
    only_whole_files(&scene, &run);
    let sha256 = pins["backup_sha"].as_str().expect("a digest");
    let bytes = pins["backup_bytes"].as_u64().expect("a size");
    check(&scene.folder(&run).join("pre_write.gpg"), sha256, bytes).expect("the recorded backup");
    scene.completed(&run);
    scene.audit_is_clean();
}

/// ORC-8: a process that somebody ended says nothing about whether a backup can be taken: the run stays where it is.
#[test]
fn a_backup_that_was_cut_short_is_taken_again() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = RunId::new(jiff::Timestamp::now()).to_string();
    let held = scene.place.hold(ONLY_DUMPED);
    let runner = started_until_it_dumps(&scene, &run);
    signal("-KILL", helpers(&run)[0]);
    let said = runner.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("\nSTOP_BACKUP_CUT_SHORT: "), "{stderr}");
    assert!(stderr.contains(&format!("`cutter orchestrate resume --run-id {run}`")), "{stderr}");
    held.let_go();
    assert_eq!(scene.state(&run), "cutplan_ok");
    scene.resume(&run, None).ends_with(4);
    only_whole_files(&scene, &run);
}

fn started_until_it_dumps(scene: &Scene, run: &str) -> Child {
    let start = ["start", "policy", "--run-id", run, "--as", "executor"];
    scene.begun_and_waiting(&start, "chancery_backup")
}

fn killed(mut runner: Child) {
    runner.kill().expect("a signal");
    runner.wait().expect("it ends");
}

/// The processes that take this run's backup.
fn helpers(run: &str) -> Vec<i32> {
    let processes = fs::read_dir("/proc").expect("Linux tells").flatten();
    let takes_it = |folder: PathBuf| {
        let line = fs::read(folder.join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        words.contains(&b"take-backup".as_slice()) && words.contains(&run.as_bytes())
    };
    processes
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .filter_map(|(pid, folder)| takes_it(folder).then_some(pid))
        .collect()
}

fn signal(which: &str, pid: i32) {
    run_it(Command::new("kill").args([which, &pid.to_string()])).ends_with(0);
}

/// Waits for something that is to be so soon.
fn gone(is_so: impl Fn() -> bool, otherwise: &str) {
    until_found(otherwise, Duration::from_secs(20), || is_so().then_some(()));
}

/// Nothing in the making is left in the run's folder.
fn only_whole_files(scene: &Scene, run: &str) {
    let files = fs::read_dir(scene.folder(run)).expect("the run's folder").flatten();
    for name in files.map(|file| file.file_name().to_string_lossy().into_owned()) {
        let whole = ["state.json", "state.lock", "pre_write.gpg"].contains(&name.as_str())
            || name.starts_with("phase-") && name.ends_with(".md");
        assert!(whole, "{name} was left");
    }
}
