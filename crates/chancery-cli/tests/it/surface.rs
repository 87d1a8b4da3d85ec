//! The surface that scripts and people rely on; needs no database.

use crate::place::{Place, run_it};

/// The names under "Commands:" in a help text.
fn commands_in(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    lines
        .take_while(|line| line.starts_with("  "))
        // A wrapped description is indented further than a name.
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

fn every_command(place: &Place, path: &[String], found: &mut Vec<Vec<String>>) {
    let args: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
    let help = place.done(&args).stdout;
    assert!(help.contains("Example:\n  $ chancery "), "{path:?} shows no example:\n{help}");
    assert!(help.contains("--json"), "{path:?} has no --json:\n{help}");
    found.push(path.to_vec());
    for name in commands_in(&help) {
        every_command(place, &[path, &[name]].concat(), found);
    }
}

/// CLI: `--help` shows an example each, and every command takes `--json`.
#[test]
fn the_help_of_every_command_shows_an_example() {
    let place = Place::new();
    let mut found = Vec::new();
    every_command(&place, &[], &mut found);
    let found: Vec<String> = found.iter().map(|path| path.join(" ")).collect();
    for expected in [
        "approval list",
        "approval request",
        "approval show",
        "approval vote",
        "audit export",
        "audit verify",
        "birth admit",
        "birth batch",
        "birth break-glass",
        "birth check",
        "birth protect",
        "birth release",
        "birth revoke",
        "birth status",
        "completions",
        "cutter abandon",
        "cutter cut",
        "cutter list",
        "cutter mark",
        "cutter review",
        "cutter show",
        "cutter sweep",
        "cutter verify",
        "db psql",
        "db start",
        "db status",
        "db stop",
        "db url",
        "demo",
        "doc add",
        "doc cat",
        "doc list",
        "doc units",
        "doctor",
        "kb export",
        "kb get",
        "kb import",
        "kb list",
        "kb put",
        "kb sign",
        "kb verify",
        "key export",
        "key list",
        "key new",
        "key revoke",
        "key rotate",
        "machine activate-transition",
        "machine apply",
        "machine check",
        "machine diagram",
        "machine list",
        "machine show",
        "man",
        "mcp",
        "migrate",
        "principal activate",
        "principal add",
        "principal deactivate",
        "principal list",
        "principal show",
        "proposal approve",
        "proposal carry-out",
        "proposal create",
        "proposal list",
        "proposal reject",
        "proposal show",
        "proposal submit",
        "proposal withdraw",
        "queue add",
        "queue cancel",
        "queue class list",
        "queue class put",
        "queue dead dismiss",
        "queue dead list",
        "queue dead show",
        "queue depth",
        "queue freeze",
        "queue list",
        "queue policy list",
        "queue policy put",
        "queue replay preview",
        "queue replay propose",
        "queue replay run",
        "queue replay show",
        "queue replay withdraw",
        "queue show",
        "queue thaw",
        "queue workers",
        "run history",
        "run list",
        "run move",
        "run show",
        "run start",
        "serve",
        "step block",
        "step cancel",
        "step cannot-complete",
        "step claim",
        "step complete",
        "step escalate",
        "step escalate-block",
        "step extend",
        "step fail",
        "step list",
        "step reengage",
        "step release",
        "step reopen",
        "step resume",
        "step show",
        "step unblock",
        "step wait",
        "worker",
        "workflow approve",
        "workflow cancel",
        "workflow changes",
        "workflow diff",
        "workflow list",
        "workflow merge",
        "workflow pause",
        "workflow propose",
        "workflow reject",
        "workflow resume",
        "workflow show",
        "workflow start",
        "workflow status",
        "workflow submit",
        "workflow withdraw",
    ] {
        assert!(
            found.iter().any(|name| name == expected),
            "{expected} is gone; there are {found:?}"
        );
    }
}

/// CLI: exit code 2 is wrong usage, and the reason goes to stderr.
#[test]
fn wrong_usage_ends_with_2() {
    let place = Place::new();
    let run = "01a1decd-0b7f-736d-9439-d078b0a6b934";
    for args in [
        &[][..],
        &["nonsense"],
        &["run", "move", run],
        &["run", "move", "no-uuid", "--to", "x", "--as", "a"],
        &["run", "move", run, "--to", "x", "--as", "a", "--trigger", "submit"],
        &["run", "move", run, "--to", "x"],
        &["run", "start", "--machine", "m", "--data", "{]", "--as", "a"],
        &["principal", "add", "alice", "--kind", "cat"],
        &["key", "revoke", run],
        &["db", "url", "--role", "nobody"],
        &["machine", "apply", "x.yaml", "--activate", "--no-activate"],
        &["man", "nonsense"],
        &["doc", "add", "-", "--id", "x", "--prefix", "XX", "--profile", "verse", "--as", "a"],
        &["doc", "add", "-", "--id", "x", "--prefix", "XX"],
        &["cutter", "mark", "x"],
        &["cutter", "review", "x", "--as", "a"],
        &["cutter", "review", "x", "--approve", "--reject", "--as", "a"],
        &["cutter", "review", "x", "--approve", "--preview", "--as", "a"],
        &["cutter", "abandon", "x", "--as", "a"],
        &["cutter", "sweep", "--limit", "0", "--as", "a"],
        &["queue", "add", "--kind", "k", "--as", "a"],
        &["queue", "add", "--class", "c", "--kind", "k", "--payload", "{]", "--as", "a"],
        &["queue", "add", "--class", "c", "--kind", "k", "--delay", "soon", "--as", "a"],
        &["queue", "add", "--class", "c", "--kind", "k", "--at", "noon", "--as", "a"],
        &["queue", "add", "--class", "c", "--kind", "k"],
        &["queue", "add", "--stdin", "--as", "a"],
        &["queue", "cancel", run, "--as", "a"],
        &["queue", "replay", "propose", "--reason", "r", "--as", "a"],
        &["queue", "replay", "run", run, "--as", "a"],
        &["approval", "request", "--kind", "k", "--subject", "s", "--as", "a"],
        &["approval", "request", "--kind", "k", "--subject", "s", "--title", "t"],
        &[
            "approval",
            "request",
            "--kind",
            "k",
            "--subject",
            "s",
            "--title",
            "t",
            "--expires",
            "soon",
            "--as",
            "a",
        ],
        &[
            "approval",
            "request",
            "--kind",
            "k",
            "--subject",
            "s",
            "--title",
            "t",
            "--risk",
            "none",
            "--as",
            "a",
        ],
        &[
            "approval",
            "request",
            "--kind",
            "k",
            "--subject",
            "s",
            "--title",
            "t",
            "--digest",
            "+1",
            "--as",
            "a",
        ],
        &[
            "approval",
            "request",
            "--kind",
            "k",
            "--subject",
            "s",
            "--title",
            "t",
            "--facts",
            "{]",
            "--as",
            "a",
        ],
        &["approval", "vote", run, "--as", "a"],
        &["approval", "vote", run, "--approve", "--abstain", "--as", "a"],
        &["approval", "vote", run, "--approve"],
        &["approval", "vote", "no-uuid", "--approve", "--as", "a"],
        &["approval", "list", "--state", "lost"],
        &["machine", "activate-transition", "t", "--as", "a"],
        &["machine", "activate-transition", "t", "--approval", run],
        &["kb", "put", "x", "--as", "a"],
        &["kb", "put", "x", "-"],
        &["kb", "put", "x", "-", "--expect", "-1", "--as", "a"],
        &["kb", "sign", "x"],
        &["kb", "import", "x"],
        &["birth", "admit", "--code", "c", "--as", "a"],
        &["birth", "admit", "--collection", "t", "--code", "c"],
        &["birth", "admit", "--collection", "t", "--code", "c", "--payload", "{]", "--as", "a"],
        &["birth", "admit", "--collection", "t", "--code", "c", "--payload", "[]", "--as", "a"],
        &["birth", "admit", "--collection", "t", "--code", "c", "--role", "king", "--as", "a"],
        &[
            "birth",
            "admit",
            "--collection",
            "t",
            "--code",
            "c",
            "--commit",
            "--dry-run",
            "--as",
            "a",
        ],
        &["birth", "batch", "--collection", "t", "--file", "no/such/file", "--as", "a"],
        &["birth", "batch", "--collection", "t", "--file", "-", "--as", "a"],
        &["birth", "break-glass", "t", "--reason", "r", "--as", "a"],
        &["birth", "batch", "--collection", "t", "--as", "a"],
        &["birth", "batch", "--collection", "t", "--count", "0", "--as", "a"],
        &["birth", "batch", "--collection", "t", "--count", "2", "--file", "-", "--as", "a"],
        &["birth", "protect", "t", "--enforce", "--report-only", "--as", "a"],
        &["birth", "protect", "t", "--rule", "x", "--no-rule", "--as", "a"],
        &["birth", "protect", "t", "--code", "c", "--from", "2030-01-01T00:00:00Z", "--as", "a"],
        &["birth", "protect", "t", "--code", "c"],
        &["birth", "release", "t"],
        &["birth", "revoke", run, "--as", "a"],
        &["db", "psql", "--admin", "--role", "auditor_ro"],
        &["workflow", "propose", "no/such/file.yaml", "--as", "a"],
        &["workflow", "propose", "-"],
        &["workflow", "submit", run, "--expires", "soon", "--as", "a"],
        &["workflow", "reject", run, "--as", "a"],
        &["workflow", "cancel", run, "--as", "a"],
        &["workflow", "status", "--follow"],
        &["workflow", "status", run, "--state", "paused"],
        &["workflow", "start", "letter", "--input", "{]", "--as", "a"],
        &["step", "claim", run, "draft"],
        &["step", "wait", run, "draft", "--as", "a"],
        &["step", "wait", run, "draft", "--until", "soon", "--as", "a"],
        &["step", "resume", run, "draft", "--as", "a"],
        &["step", "block", run, "draft", "--as", "a"],
        &["step", "complete", run, "draft", "--output", "{]", "--as", "a"],
        &["step", "extend", run, "draft", "--until", "tomorrow", "--as", "a"],
        &["step", "reopen", run, "--because", "data_error", "--as", "a"],
        &["proposal", "create", "--kind", "k", "--title", "t", "--as", "a"],
        &["worker", "--role", "janitor", "--as", "a"],
        &["worker", "--role", "executor"],
    ] {
        let said = place.run(args).ends_with(2);
        assert_eq!(said.stdout, "", "{said:?}");
        assert_ne!(said.stderr, "", "{args:?}");
    }
    assert!(!place.path().join("pg").exists(), "wrong usage starts no server");
}

/// CLI: the program `cutter` is `chancery cutter`.
#[test]
fn the_cutter_has_a_name_of_its_own() {
    let place = Place::new();
    let own = place.cutter(&["--help"]).ends_with(0).stdout;
    assert!(own.contains("Usage: cutter [OPTIONS] <COMMAND>"), "{own}");
    assert_eq!(commands_in(&own), commands_in(&place.done(&["cutter", "--help"]).stdout));
    for command in commands_in(&own) {
        let own = place.cutter(&[&command, "--help"]).ends_with(0).stdout;
        let same = place.done(&["cutter", &command, "--help"]).stdout;
        assert_eq!(own.replace("Usage: cutter", "Usage: chancery cutter"), same);
    }
    place.cutter(&["nonsense"]).ends_with(2);
    let said = place.cutter(&["list"]).ends_with(1);
    assert!(said.stderr.contains("chancery db start"), "{said:?}");
}

/// CLI, ADM-1: the program `dot-birth-admit` is `chancery birth admit`, with the flags of the seed.
#[test]
fn the_admission_has_a_name_of_its_own() {
    let place = Place::new();
    let own = place.dot_birth_admit(&["--help"]).ends_with(0).stdout;
    for flag in [
        "--collection <NAME>",
        "--code <CODE>",
        "--name <TEXT>",
        "--species <SPE>",
        "--role <ROLE>",
        "[possible values: governed, observed, excluded]",
        "--actor <PRINCIPAL>",
        "--approval <UUID>",
        "--payload <JSON>",
        "--dry-run",
        "--commit",
        "  $ dot-birth-admit --collection",
    ] {
        assert!(own.contains(flag), "{flag}:\n{own}");
    }
    let options = |help: &str| {
        let options = help.split_once("Options:").expect("options").1;
        let lines = options.lines().take_while(|line| *line != "Global options:");
        lines
            .filter(|line| !line.contains("--version") && !line.contains("Print version"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(options(&own), options(&place.done(&["birth", "admit", "--help"]).stdout));
    place.dot_birth_admit(&["nonsense"]).ends_with(2);
    let said =
        place.dot_birth_admit(&["--collection", "t", "--code", "c", "--actor", "a"]).ends_with(1);
    assert!(said.stderr.contains("chancery db start"), "{said:?}");
}

/// CLI: shell completions and a man page are generated.
#[test]
fn completions_and_manual_pages_are_generated() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.done(&["completions", shell]).stdout;
        for word in ["chancery", "history", "cutter", "abandon", "worker", "publication-type"] {
            assert!(script.contains(word), "{word} in {shell}");
        }
    }
    let page = place.done(&["man"]).stdout;
    assert!(page.contains(".TH CHANCERY 1") && page.contains("chancery\\-run"), "{page}");
    let page = place.done(&["man", "run", "move"]).stdout;
    assert!(
        page.contains(".TH CHANCERY\\-RUN\\-MOVE 1") || page.contains(".TH CHANCERY-RUN-MOVE 1"),
        "{page}"
    );
    assert!(page.contains("preview"), "{page}");
    let page = place.done(&["man", "cutter", "review"]).stdout;
    assert!(page.contains("manifest") && page.contains("records"), "{page}");
    let answer = place.json(&["man", "run", "move"]);
    assert_eq!(answer["name"], "chancery-run-move");
    assert_eq!(place.json(&["completions", "bash"])["shell"], "bash");
}

/// CLI: a data directory that was never made stays unmade, and the message says what to do.
#[test]
fn a_missing_database_is_not_made_by_looking() {
    let place = Place::new();
    let said = place.run(&["run", "list"]).ends_with(1);
    assert!(said.stderr.contains("chancery db start"), "{said:?}");
    let failed = place.run(&["run", "list", "--json"]).ends_with(1).json();
    assert!(failed["failed"]["message"].is_string(), "{failed}");
    let said = place.run(&["doctor"]).ends_with(1);
    assert!(said.stdout.contains("mend: run `chancery db start`"), "{said:?}");
    let status = place.json(&["db", "status"]);
    assert_eq!((&status["running"], &status["initialised"]), (&false.into(), &false.into()));
    assert!(!place.json(&["db", "stop"])["stopped"].as_bool().expect("a verdict"));
    assert!(!place.path().join("pg/data").exists(), "looking makes no cluster");
}

/// CLI: `--home` wins over `CHANCERY_HOME`.
#[test]
fn the_home_on_the_command_line_counts() {
    let (place, other) = (Place::new(), Place::new());
    let home = other.path().to_str().expect("a plain path");
    let status = place.json(&["db", "status", "--home", home]);
    assert!(status["data_dir"].as_str().is_some_and(|data| data.starts_with(home)), "{status}");
}

/// CLI: machine files are checked without a database; FSM-9.
#[test]
fn a_machine_file_is_checked_and_drawn_without_a_database() {
    let place = Place::new();
    let file = place.file(
        "purchase.yaml",
        include_str!("../../../../machines/examples/purchase_approval.yaml"),
    );
    let said = place.done(&["machine", "check", &file]);
    assert!(
        said.stdout.starts_with("purchase_approval@1.0.0 holds together: 8 states"),
        "{said:?}"
    );
    assert_eq!(place.json(&["machine", "check", &file])["invariants"], 4);
    assert!(place.done(&["machine", "diagram", &file]).stdout.contains("stateDiagram-v2"));
    let said = place.run(&["machine", "check", "no/such/file.yaml"]).ends_with(1);
    assert!(said.stderr.contains("no/such/file.yaml"), "{said:?}");
    let said = place.run(&["machine", "diagram", "no_such_file.yaml"]).ends_with(1);
    assert!(said.stderr.contains("no_such_file.yaml"), "{said:?}");
}

/// CLI: a reader that stops reading is no failure.
#[test]
fn a_closed_pipe_ends_quietly() {
    let place = Place::new();
    let binary = env!("CARGO_BIN_EXE_chancery");
    // The reader is gone before the first byte is written.
    let script = format!("exec 3> >(true); wait $!; '{binary}' completions zsh >&3; echo $?");
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &script]).env("CHANCERY_HOME", place.path());
    let said = run_it(&mut shell).ends_with(0);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("0\n", ""), "{said:?}");
}
