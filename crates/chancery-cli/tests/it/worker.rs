//! Workers: they do what waits, wait for what must come first, and end when asked.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cutter::{approved, status, with_people};
use crate::place::run_it;

const FIRST: &str = "# First\n\nAlone.\n";
const SECOND: &str = "# Second\n\nAfter the first.\n";

/// CUT-11 and the row `worker` of the CLI: each role does its own duty, in the order that dependencies leave.
#[test]
fn workers_do_what_waits_and_end_when_asked() {
    let place = with_people();
    let first = approved(&place, "first", "AA", FIRST);
    let file = place.file("second.md", SECOND);
    place.done(&["doc", "add", &file, "--id", "second", "--prefix", "BB", "--as", "alice"]);
    place.done(&["cutter", "mark", "second", "--depends-on", "first", "--as", "alice"]);
    place.done(&["cutter", "sweep", "--as", "executor"]);
    place.done(&["cutter", "review", "second", "--approve", "--as", "rita"]);

    let once = |role, name| place.done(&["worker", "--role", role, "--as", name, "--once"]);
    let said = once("executor", "executor");
    assert!(said.stdout.starts_with(&first) && said.stdout.lines().count() == 1, "{said:?}");
    assert!(said.stderr.contains("waits for another entry"), "{said:?}");
    assert!(said.stderr.ends_with("1 done, 0 refused, 0 failed\n"), "{said:?}");
    assert_eq!(
        (status(&place, "first"), status(&place, "second")),
        ("cut_applied".into(), "reviewed_approved".into())
    );

    // A verifier that stays until it is asked to end.
    let mut command = place.command(&[
        "worker",
        "--role",
        "verifier",
        "--as",
        "verifier",
        "--interval",
        "1",
        "--json",
    ]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a worker");
    let mut lines = BufReader::new(child.stdout.take().expect("its stdout")).lines();
    let mut report = || -> Value {
        let line = lines.next().expect("a line").expect("a line of text");
        serde_json::from_str(&line).expect("JSON a line")
    };
    assert_eq!(report()["document_id"], "first");
    once("executor", "executor");
    let second = report();
    assert_eq!(
        (&second["document_id"], &second["status"]),
        (&"second".into(), &"verified_complete".into())
    );
    run_it(Command::new("kill").args(["-TERM", &child.id().to_string()])).ends_with(0);
    assert!(child.wait().expect("it ends").success(), "asked to end, it ends well");
    let mut said = String::new();
    child.stderr.take().expect("its stderr").read_to_string(&mut said).expect("text");
    assert!(said.ends_with("2 done, 0 refused, 0 failed\n"), "{said}");

    assert!(once("verifier", "verifier").stdout.is_empty(), "nothing waits any more");
    // Who may not cut is no executor, whatever waits.
    approved(&place, "third", "CC", "# Third\n");
    let refused =
        place.refused("RI003", &["worker", "--role", "executor", "--as", "verifier", "--once"]);
    assert_eq!(refused["problems"][0]["actor_class"], "executor_dot991");
}
