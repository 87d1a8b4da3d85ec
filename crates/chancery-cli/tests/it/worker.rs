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
    assert!(said.stderr.contains(&format!("waits for {first} (first, cut_applied)")), "{said:?}");
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

/// CUT-12: an entry that somebody holds keeps no worker from the others; it is done when it is free.
#[test]
fn an_entry_that_is_held_is_passed_over_and_done_later() {
    let place = with_people();
    let first = approved(&place, "first", "AA", FIRST);
    let second = approved(&place, "second", "BB", SECOND);
    let hold = "select 'held' from cutter_governance.decision_backlog_entry where document_id = 'first' for update;\n";
    let held = place.hold(hold);
    let mut command = place.command(&[
        "worker",
        "--role",
        "executor",
        "--as",
        "executor",
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
    // The oldest is held, and the next one is done all the same.
    assert_eq!(report()["entry_id"], second.as_str());
    assert_eq!(status(&place, "first"), "reviewed_approved");
    held.let_go();
    assert_eq!(report()["entry_id"], first.as_str());
    run_it(Command::new("kill").args(["-TERM", &child.id().to_string()])).ends_with(0);
    assert!(child.wait().expect("it ends").success());
    let mut said = String::new();
    child.stderr.take().expect("its stderr").read_to_string(&mut said).expect("text");
    assert_eq!(said.matches(&format!("{first} is held by somebody")).count(), 1, "{said}");
    assert!(said.ends_with("2 done, 0 refused, 0 failed\n"), "{said}");
    let escalations =
        "select count(*) from cutter_governance.decision_backlog_entry where kind = 'escalation'";
    assert_eq!(place.superuser(escalations).trim(), "0", "to be held is no failure");
}

/// CUT-12: an entry that an executor does not trust keeps it from no other.
#[test]
fn an_entry_that_cannot_be_trusted_keeps_nobody_waiting() {
    let place = with_people();
    let first = approved(&place, "first", "AA", FIRST);
    let second = approved(&place, "second", "BB", SECOND);
    place.superuser(
        "alter table cutter_governance.review_decision disable trigger user;
         update cutter_governance.review_decision set verdict_rationale = 'x'
          where entry_id = (select entry_id from cutter_governance.decision_backlog_entry where document_id = 'first')",
    );
    let said = place.run(&["worker", "--role", "executor", "--as", "executor", "--once"]);
    assert_eq!(said.exit, Some(1), "{said:?}");
    assert!(said.stdout.starts_with(&second) && said.stdout.lines().count() == 1, "{said:?}");
    assert!(said.stderr.contains(&first), "{said:?}");
    assert!(said.stderr.ends_with("1 done, 0 refused, 1 failed\n"), "{said:?}");
}
