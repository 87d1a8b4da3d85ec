//! Full disks, failing disks and dying processes: `state.json` is the old file or the new one, whole (ORC-5, ORC-11).

use std::env;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use nix::libc::{EDQUOT, EIO, ENOSPC};
use serde_json::json;

use super::super::*;
use super::{example, folder, run_id, stored};

const NEW: &str = "marked";

/// The state that stands on the disk, which must be a whole one.
fn on_disk(root: &Path) -> String {
    read(root, run_id()).unwrap_or_else(|error| panic!("{error}")).state
}

fn expected_after(step: Step) -> String {
    match step {
        Step::CreateNext | Step::WriteHalf | Step::WriteRest | Step::SyncNext | Step::Rename => {
            example().state
        }
        Step::SyncFolder => NEW.to_owned(),
    }
}

#[test]
fn an_error_at_any_step_leaves_a_whole_state_and_names_the_step() {
    for step in Step::ALL {
        for (errno, code) in
            [(ENOSPC, "STOP_DISK_FULL"), (EDQUOT, "STOP_DISK_FULL"), (EIO, "STOP_SIDECAR_IO")]
        {
            let (root, mut sidecar) = stored();
            sidecar.run_mut().state = NEW.to_owned();
            let mut steps = Vec::new();
            let error = sidecar
                .store_with(&mut |at| {
                    steps.push(at);
                    if at == step { Err(io::Error::from_raw_os_error(errno)) } else { Ok(()) }
                })
                .unwrap_err();
            assert_eq!(error.stop_code(), code);
            let named = match step {
                Step::CreateNext => "create ",
                Step::WriteHalf | Step::WriteRest => "write ",
                Step::SyncNext => "sync ",
                Step::Rename => "put in place ",
                Step::SyncFolder => "sync the folder of ",
            };
            assert!(error.to_string().contains(named), "{step:?}: {error}");
            assert_eq!(steps.last(), Some(&step), "nothing is done after the error");
            assert_eq!(on_disk(root.path()), expected_after(step), "{step:?} {errno}");
            assert!(!folder(root.path()).next_state().exists(), "{step:?}: left behind");
            // The trouble is over.
            sidecar.store().unwrap();
            assert_eq!(on_disk(root.path()), NEW);
        }
    }
}

/// A disk that takes only a part of the bytes, and says so or not.
#[test]
fn a_short_write_never_gets_into_place() {
    for step in [Step::WriteRest, Step::SyncNext] {
        for honest in [true, false] {
            let (root, mut sidecar) = stored();
            let next = folder(root.path()).next_state();
            sidecar.run_mut().state = NEW.to_owned();
            let error = sidecar
                .store_with(&mut |at| {
                    if at == step {
                        fs::OpenOptions::new().write(true).open(&next)?.set_len(100)?;
                        if honest {
                            return Err(io::ErrorKind::WriteZero.into());
                        }
                    }
                    Ok(())
                })
                .map_err(|error| error.stop_code());
            assert_eq!(error, Err("STOP_SIDECAR_IO"));
            assert_eq!(on_disk(root.path()), example().state);
            assert!(!next.exists());
        }
    }
}

#[test]
fn a_run_whose_first_write_failed_can_begin_again() {
    for step in Step::ALL {
        let root = tempfile::tempdir().unwrap();
        let error = Sidecar::create_with(root.path(), example(), &mut |at| {
            if at == step { Err(io::Error::from_raw_os_error(ENOSPC)) } else { Ok(()) }
        })
        .map(drop)
        .unwrap_err();
        assert_eq!(error.stop_code(), "STOP_DISK_FULL");
        let again = Sidecar::create(root.path(), example()).map(drop);
        if step == Step::SyncFolder {
            // It has begun: only the proof that it outlives a power cut is missing.
            assert_eq!(again.unwrap_err().stop_code(), "STOP_RUN_EXISTS");
            assert_eq!(on_disk(root.path()), example().state);
        } else {
            again.unwrap();
        }
    }
}

#[test]
fn what_a_failure_could_not_remove_does_not_stand_in_the_way() {
    let (root, sidecar) = stored();
    let next = folder(root.path()).next_state();
    fs::write(&next, "half a fi").unwrap();
    sidecar.store().unwrap();
    assert!(!next.exists());
    // Nor does a link that leads elsewhere: what it points at stays as it is.
    let elsewhere = root.path().join("elsewhere");
    fs::write(&elsewhere, "mine").unwrap();
    std::os::unix::fs::symlink(&elsewhere, &next).unwrap();
    sidecar.store().unwrap();
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine");
    assert_eq!(on_disk(root.path()), example().state);
}

/// What the child of a test is to do: this program again, with only that test.
const ROLE: &str = "SIDECAR_TEST_ROLE";
const ROOT: &str = "SIDECAR_TEST_ROOT";

fn role() -> Option<(String, PathBuf)> {
    let role = env::var_os(ROLE)?.into_string().unwrap();
    Some((role, env::var_os(ROOT).unwrap().into()))
}

/// The arguments that make this program run one of these tests.
fn only(test: &str) -> [String; 3] {
    [
        format!("orchestrator::sidecar::tests::failures::{test}"),
        "--exact".into(),
        "--nocapture".into(),
    ]
}

#[test]
fn a_kill_before_any_step_leaves_a_whole_state_and_no_lock() {
    if let Some((step, root)) = role() {
        let step: usize = step.parse().unwrap();
        let mut sidecar = Sidecar::open(&root, run_id()).unwrap();
        sidecar.run_mut().state = NEW.to_owned();
        let halt = || {
            writeln!(io::stdout(), "\nhere").unwrap();
            // Until the parent kills us.
            io::stdin().read_to_end(&mut Vec::new()).unwrap();
            panic!("nobody killed us");
        };
        sidecar
            .store_with(&mut |at| {
                if Step::ALL.get(step) == Some(&at) {
                    halt();
                }
                Ok(())
            })
            .unwrap();
        halt();
    }
    // One more than there are steps: the last one is killed after all of them, still holding the lock.
    for step in 0..=Step::ALL.len() {
        let (root, sidecar) = stored();
        drop(sidecar);
        let mut child = Command::new(env::current_exe().unwrap())
            .args(only("a_kill_before_any_step_leaves_a_whole_state_and_no_lock"))
            .env(ROLE, step.to_string())
            .env(ROOT, root.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "here"), "the child did not get to step {step}");
        let busy = Sidecar::open(root.path(), run_id()).map(drop).unwrap_err();
        assert_eq!(busy.stop_code(), "STOP_RUN_BUSY");
        assert!(busy.to_string().contains(&format!("process {}", child.id())), "{busy}");

        child.kill().unwrap();
        child.wait().unwrap();
        let expected = if step <= 4 { example().state } else { NEW.to_owned() };
        assert_eq!(on_disk(root.path()), expected, "killed before step {step}");
        let next = folder(root.path()).next_state();
        assert_eq!(next.exists(), (1..=4).contains(&step), "killed before step {step}");
        let again = Sidecar::open(root.path(), run_id()).unwrap();
        assert!(!next.exists(), "the half-written file is cleared away");
        assert_eq!(again.run().state, expected);
        again.store().unwrap();
    }
}

/// The child's half of the tests with a real limit: grows the run until the kernel says no.
fn grow_until_full(root: &Path) {
    let mut sidecar = Sidecar::create(root, example()).unwrap();
    let mut kept = sidecar.run().clone();
    let error = (1..1_000)
        .find_map(|size| {
            sidecar.pin("filler", json!("x".repeat(size * 1_000))).unwrap();
            let stored = sidecar.store();
            if stored.is_ok() {
                kept = sidecar.run().clone();
            }
            stored.err()
        })
        .expect("a megabyte does not fit here");
    assert_eq!(error.stop_code(), "STOP_DISK_FULL", "{error}");
    assert!(error.to_string().contains("no space left to write"), "{error}");
    assert_eq!(read(root, run_id()).unwrap(), kept, "the last state that fitted");
    assert!(!folder(root).next_state().exists(), "the half-written file keeps no room");
    drop(sidecar);
    let mut again = Sidecar::open(root, run_id()).unwrap();
    again.pin("filler", json!("")).unwrap();
    again.store().unwrap();
}

/// The same with a disk that has room, but no place for one more file.
fn make_files_until_full(root: &Path) {
    let mut sidecar = Sidecar::create(root, example()).unwrap();
    let full = (0..1_000).find_map(|n| fs::write(root.join(format!("file-{n}")), "").err());
    assert_eq!(full.map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
    sidecar.run_mut().state = NEW.to_owned();
    let error = sidecar.store().unwrap_err();
    assert_eq!(error.stop_code(), "STOP_DISK_FULL");
    assert!(error.to_string().contains("no space left to create"), "{error}");
    assert_eq!(on_disk(root), example().state);
    fs::remove_file(root.join("file-0")).unwrap();
    sidecar.store().unwrap();
    assert_eq!(on_disk(root), NEW);
}

/// Runs a test of this program as a child behind a shell that sets the stage.
fn staged(wrapper: &[&str], stage: &str, test: &str, role: &str) -> ExitStatus {
    let root = tempfile::tempdir().unwrap();
    let words = wrapper.iter().copied().chain(["sh", "-c", stage, "sh"]).collect::<Vec<_>>();
    Command::new(words[0])
        .args(&words[1..])
        .arg(env::current_exe().unwrap())
        .args(only(test))
        .env(ROLE, role)
        .env(ROOT, root.path())
        .status()
        // As the shell has it, when there is no such program.
        .unwrap_or_else(|_| ExitStatus::from_raw(127 << 8))
}

/// A limit that every machine has: the kernel takes a part of the bytes and refuses the rest.
fn under_a_file_size_limit(test: &str) -> ExitStatus {
    staged(&[], "trap '' XFSZ; ulimit -f 32; exec \"$@\"", test, "grow")
}

#[test]
fn a_file_size_limit_leaves_the_last_state() {
    if let Some((_, root)) = role() {
        return grow_until_full(&root);
    }
    let ended = under_a_file_size_limit("a_file_size_limit_leaves_the_last_state");
    assert!(ended.success(), "{ended}");
}

#[test]
fn a_disk_that_is_really_full_leaves_the_last_state() {
    const TEST: &str = "a_disk_that_is_really_full_leaves_the_last_state";
    match role() {
        Some((role, root)) if role == "grow" => return grow_until_full(&root),
        Some((_, root)) => return make_files_until_full(&root),
        None => {}
    }
    for (options, role) in [("size=256k", "grow"), ("nr_inodes=16", "files")] {
        // In a mount namespace of its own, so nothing stays mounted; without root in a user namespace too.
        let stage = format!(
            "mount -t tmpfs -o {options},mode=700 tmpfs \"${ROOT}\" || exit 75; exec \"$@\""
        );
        let ended = [&["unshare", "--mount"][..], &["unshare", "--map-root-user", "--mount"]]
            .iter()
            .map(|wrapper| staged(wrapper, &stage, TEST, role))
            // 101 is a failed test. All else but success means that nothing could be mounted.
            .find(|ended| ended.success() || ended.code() == Some(101));
        // Where nothing can be mounted, a limit on the size of files is as real.
        let ended = ended.unwrap_or_else(|| under_a_file_size_limit(TEST));
        assert!(ended.success(), "{options}: {ended}");
    }
}

/// ORC-8: two resumes at once, and one wins; as processes, not only as handles.
#[test]
fn of_many_processes_one_gets_the_run() {
    if let Some((_, root)) = role() {
        let opened = Sidecar::open(&root, run_id());
        let answer = opened.as_ref().map_or_else(Error::stop_code, |_| "won");
        writeln!(io::stdout(), "\nanswer {answer}").unwrap();
        // Nobody lets go before everybody has tried.
        io::stdin().read_to_end(&mut Vec::new()).unwrap();
        return;
    }
    let (root, sidecar) = stored();
    drop(sidecar);
    let mut children: Vec<_> = (0..6)
        .map(|_| {
            Command::new(env::current_exe().unwrap())
                .args(only("of_many_processes_one_gets_the_run"))
                .env(ROLE, "open")
                .env(ROOT, root.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut readers: Vec<_> = children
        .iter_mut()
        .map(|child| BufReader::new(child.stdout.take().unwrap()).lines())
        .collect();
    let mut answers: Vec<String> = readers
        .iter_mut()
        .map(|lines| {
            lines.find_map(|line| Some(line.unwrap().strip_prefix("answer ")?.to_owned())).unwrap()
        })
        .collect();
    for mut child in children {
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
    answers.sort();
    assert_eq!(answers, [["STOP_RUN_BUSY"; 5].as_slice(), &["won"]].concat());
}
