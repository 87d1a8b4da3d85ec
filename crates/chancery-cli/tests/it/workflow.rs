//! The rows `workflow`, `step` and `proposal` of the CLI, against a host that drives the runs: RUN-3, RUN-12, RUN-14, UIW-7, PRO-1.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use chancery_testkit::until_found;
use serde_json::{Value, json};

use crate::place::{Place, run_it};

/// A host or a worker at work; killed with the value.
struct Running(Child);

impl Running {
    /// Starts it and waits for its first line.
    fn start(place: &Place, args: &[&str]) -> Self {
        let mut command = place.command(args);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("its stdout");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        Self(child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

const PEOPLE: [(&str, &str, &[&str]); 5] = [
    ("alice", "human", &["pic_human"]),
    ("bob", "human", &["pic_human", "task_pic_human", "reviewer"]),
    ("carol", "human", &["pic_human", "sovereign"]),
    ("erin", "human", &["escalation_handler"]),
    ("frank", "human", &["sovereign"]),
];

/// A place with people, a host that drives runs, and a worker for what needs nobody.
struct Scene {
    place: Place,
    _host: Running,
    _worker: Running,
}

impl Scene {
    fn new() -> Self {
        let place = Place::prepared("workflow", |place| {
            let dora = ("dora", "service", &["executor_worker"][..]);
            for (name, kind, classes) in PEOPLE.iter().copied().chain([dora]) {
                let mut args = vec!["principal", "add", name, "--kind", kind];
                for class in classes {
                    args.extend(["--class", class]);
                }
                place.done(&args);
                place.done(&["key", "new", name]);
            }
        });
        let host = Running::start(&place, &["serve", "--listen", ":0", "--json"]);
        let mut worker = place.command(&["worker", "--class", "noop", "--as", "dora"]);
        let worker = worker.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a worker");
        Self { place, _host: host, _worker: Running(worker) }
    }

    /// One word of a command that must succeed.
    fn word(&self, args: &[&str]) -> String {
        self.place.done(args).stdout.trim().to_owned()
    }

    /// A definition on its whole way, by three people; answers the version.
    fn merged(&self, file: &str) -> String {
        let change = self.word(&["workflow", "propose", file, "--as", "alice"]);
        self.place.done(&["workflow", "submit", &change, "--as", "alice"]);
        for voter in ["bob", "carol"] {
            if self.change(&change)["state"] == "review" {
                self.place.done(&["workflow", "approve", &change, "--as", voter]);
            }
        }
        self.word(&["workflow", "merge", &change, "--as", "alice"])
    }

    fn change(&self, id: &str) -> Value {
        let changes = self.place.json(&["workflow", "changes"]);
        let all = changes.as_array().expect("a list").clone();
        all.into_iter().find(|one| one["change_request_id"] == id).expect("the change")
    }

    fn status(&self, run: &str) -> Value {
        self.place.json(&["workflow", "status", run])
    }

    /// A step of a run, or nothing of it.
    fn step(&self, run: &str, key: &str) -> Value {
        self.place.json(&["step", "show", run, key])
    }

    /// Looks until a step is in a state. The host drives it there.
    fn until(&self, run: &str, key: &str, state: &str) {
        until_found(&format!("{key} is {state}"), Duration::from_secs(60), || {
            (self.step(run, key)["state_code"] == state).then_some(())
        });
    }
}

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows").join(name);
    path.to_str().expect("a plain path").to_owned()
}

const REVIEW: &str = r#"{"partner": "Acme", "value": 900}"#;

/// UIW-7, RUN-12, RUN-14: a definition enters by proposal and approval, a run of it goes from its start to its end, and what breaks a
/// rule on the way is refused and changes nothing.
#[test]
fn a_contract_goes_from_a_proposal_to_the_end_of_its_run() {
    let scene = Scene::new();
    let place = &scene.place;

    // What is no definition.
    let broken = place.file("broken.yaml", "workflow: letter\nsteps: [{]\n");
    let said = place.run(&["workflow", "propose", &broken, "--as", "alice"]).ends_with(2);
    assert!(said.stderr.contains("broken.yaml:2:"), "{said:?}");
    let looped = place.file(
        "loop.yaml",
        "workflow: letter\ntitle: {en: L, vi: L}\nsteps:\n  - {key: a, title: {en: A, vi: A}}\n  - {key: b, title: {en: B, vi: B}}\nrelations:\n  - {from: a, to: b}\n  - {from: b, to: a}\n",
    );
    let refused = place.refused("RW003", &["workflow", "propose", &looped, "--as", "alice"]);
    assert!(refused["problems"][0]["problems"].to_string().contains("cycle"), "{refused}");
    let (contract, legal) = (example("contract_review.yaml"), example("legal_check.yaml"));
    let refused = place.refused("RW003", &["workflow", "propose", &contract, "--as", "alice"]);
    assert!(refused.to_string().contains("legal_check"), "it names what is missing: {refused}");
    assert_eq!(place.json(&["workflow", "changes"]), json!([]), "nothing of it is kept");

    // The way of a proposal.
    assert_eq!(scene.merged(&legal), "1");
    let change = scene.word(&["workflow", "propose", &contract, "--as", "alice"]);
    assert_eq!(
        scene.word(&["workflow", "propose", &contract, "--as", "alice"]),
        change,
        "the same"
    );
    assert_eq!(scene.change(&change)["revision_no"], 1);
    place.refused("RS004", &["workflow", "merge", &change, "--as", "alice"]);
    assert_eq!(scene.word(&["workflow", "submit", &change, "--as", "alice"]), "review");
    assert_eq!(scene.word(&["workflow", "submit", &change, "--as", "alice"]), "review", "again");
    let approvals = place.json(&["approval", "list", "--subject", &change]);
    assert_eq!(approvals.as_array().map(Vec::len), Some(1), "asked for once: {approvals}");
    place.run(&["workflow", "approve", &change, "--as", "alice"]).ends_with(3);
    assert_eq!(scene.change(&change)["state"], "review", "who proposed it does not vote");
    let diff = place.done(&["workflow", "diff", &change]).stdout;
    assert!(diff.starts_with("contract_review is new (review)\n"), "{diff}");
    assert!(
        diff.contains("\n+ step legal\n") && diff.contains("\n+ relation draft → legal\n"),
        "{diff}"
    );
    for voter in ["bob", "carol"] {
        if scene.change(&change)["state"] == "review" {
            place.done(&[
                "workflow",
                "approve",
                &change,
                "--reason",
                "read in full",
                "--as",
                voter,
            ]);
        }
    }
    assert_eq!(scene.change(&change)["state"], "approved");
    assert_eq!(scene.word(&["workflow", "merge", &change, "--as", "alice"]), "1");
    assert_eq!(scene.word(&["workflow", "merge", &change, "--as", "alice"]), "1", "again");
    let shown = place.done(&["workflow", "show", "contract_review"]).stdout;
    assert!(shown.contains("workflow legal_check") && shown.contains("any sovereign"), "{shown}");
    place.refused("RW001", &["workflow", "show", "contract_review", "--version", "2"]);

    // A run.
    place.refused("RW001", &["workflow", "start", "nothing", "--as", "alice"]);
    place.refused("RW010", &["workflow", "start", "contract_review", "--as", "alice"]);
    let start = [
        "workflow",
        "start",
        "contract_review",
        "--input",
        REVIEW,
        "--key",
        "c-1",
        "--as",
        "alice",
    ];
    let run = scene.word(&start);
    assert_eq!(scene.word(&start), run, "the same start is the same run");
    scene.until(&run, "draft", "ready");
    place.refused("RS006", &["step", "claim", &run, "draft", "--as", "bob"]);
    place.refused("RW001", &["step", "claim", &run, "no_such_step", "--as", "alice"]);
    assert_eq!(scene.step(&run, "draft")["state_code"], "ready", "nothing happened");
    assert_eq!(scene.word(&["step", "claim", &run, "draft", "--as", "alice"]), "in_progress");
    let again = place.done(&["step", "claim", &run, "draft", "--as", "alice"]);
    assert!(again.stderr.contains("nothing was done twice"), "{again:?}");
    let complete = ["step", "complete", &run, "draft", "--as", "alice", "--output"];
    place.refused("RW008", &[&complete[..], &[r#"{"pages": 0}"#]].concat());
    place.refused("RS006", &[&complete[..], &[r#"{"pages": 201}"#]].concat());
    assert_eq!(scene.step(&run, "draft")["state_code"], "in_progress", "nothing happened");
    assert_eq!(scene.word(&[&complete[..], &[r#"{"pages": 12}"#]].concat()), "completed");

    // The branch, its tasks, and the join.
    scene.until(&run, "short_check", "ready");
    assert_eq!(scene.step(&run, "legal")["skipped"], true, "900 is a small contract");
    place.done(&["step", "claim", &run, "short_check", "--as", "bob"]);
    scene.until(&run, "short_check/terms", "ready");
    place.refused("RS006", &["step", "complete", &run, "short_check", "--as", "bob"]);
    place.done(&["step", "claim", &run, "short_check/terms", "--as", "bob"]);
    place.done(&["step", "complete", &run, "short_check/terms", "--as", "bob"]);
    scene.until(&run, "short_check/partner", "completed");
    place.done(&["step", "complete", &run, "short_check", "--as", "bob"]);

    // A wait, and its end.
    scene.until(&run, "sign", "ready");
    place.done(&["step", "claim", &run, "sign", "--as", "carol"]);
    place.run(&["step", "wait", &run, "sign", "--as", "carol"]).ends_with(2);
    assert_eq!(
        scene.word(&["step", "wait", &run, "sign", "--for", "bob", "--as", "carol"]),
        "waiting"
    );
    let yellow = scene.status(&run);
    assert_eq!(
        (&yellow["rollup_state_code"], &yellow["why"]["step"]),
        (&json!("yellow"), &json!("sign"))
    );
    assert_eq!(yellow["held_up"], json!([{ "step": "file", "by": "sign" }]));
    place.refused("RW015", &["step", "resume", &run, "sign", "--reason", "yes", "--as", "alice"]);
    let give = ["step", "resume", &run, "sign", "--reason", "the board agrees", "--as", "bob"];
    assert_eq!(scene.word(&give), "resumed");
    assert_eq!(scene.word(&give), "resumed", "given again, it is answered again");
    place.done(&["step", "complete", &run, "sign", "--as", "carol"]);
    scene.until(&run, "file", "completed");

    let completed = || Some(scene.status(&run)).filter(|now| now["state_code"] == "completed");
    let (status, _) = until_found("the run is completed", Duration::from_secs(60), completed);
    assert_eq!((&status["completed_count"], &status["mandatory_count"]), (&json!(4), &json!(4)));
    assert_eq!(
        (&status["skipped_count"], &status["optional_excluded_count"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(status["rollup_state_code"], "green");
    let file = scene.step(&run, "file");
    let given = &file["inputs_and_outputs"][0]["document"];
    assert!(given.to_string().contains("Acme") && given.to_string().contains("12"), "{given}");
    let signed = scene.step(&run, "sign");
    let by_people = signed["history"].as_array().into_iter().flatten();
    let by_people: Vec<_> = by_people.filter(|one| one["principal"] == "carol").collect();
    assert!(!by_people.is_empty() && by_people.iter().all(|one| one["signed"] == true), "{signed}");
    let followed = place.done(&["workflow", "status", &run, "--follow"]).stdout;
    assert!(
        followed.contains("completed"),
        "a run that is over is followed to its end: {followed}"
    );
    place.done(&["audit", "verify"]);
}

/// RUN-6, RUN-7, RUN-9, RUN-12, RUN-14, UIW-7: what goes wrong in a run and how it is mended; a sub-workflow; versions that overtake each
/// other.
#[test]
fn a_run_is_held_mended_and_called_off() {
    let scene = Scene::new();
    let place = &scene.place;
    scene.merged(&example("legal_check.yaml"));
    scene.merged(&example("contract_review.yaml"));

    // A sub-workflow.
    let big = r#"{"partner": "Acme", "value": 5000}"#;
    let run =
        scene.word(&["workflow", "start", "contract_review", "--input", big, "--as", "alice"]);
    scene.until(&run, "draft", "ready");
    place.done(&["step", "claim", &run, "draft", "--as", "alice"]);

    // A block, worse than it looks, and its end.
    place.refused("RS006", &["step", "block", &run, "draft", "--because", "mood", "--as", "alice"]);
    let block = ["step", "block", &run, "draft", "--because", "missing_input", "--as", "alice"];
    assert_eq!(scene.word(&block), "blocked");
    let worse =
        ["step", "escalate-block", &run, "draft", "--reason", "the client waits", "--as", "alice"];
    assert_eq!(scene.word(&worse), "red");
    assert_eq!(scene.status(&run)["rollup_state_code"], "red");
    let text = place.done(&["workflow", "status", &run]).stdout;
    assert!(text.contains("red: draft is blocked (missing_input, red)"), "{text}");
    assert_eq!(
        scene.word(&["step", "unblock", &run, "draft", "--by", "ticket 117", "--as", "alice"]),
        "in_progress"
    );
    let later = [
        "step",
        "extend",
        &run,
        "draft",
        "--until",
        "30d",
        "--reason",
        "the client was away",
        "--as",
        "bob",
    ];
    assert_eq!(scene.word(&later), "in_progress");
    place.refused(
        "RW016",
        &["step", "extend", &run, "draft", "--until", "1h", "--reason", "r", "--as", "bob"],
    );

    // On hold.
    place.refused("RS004", &["workflow", "pause", &run, "--as", "alice"]);
    assert_eq!(
        scene.word(&["workflow", "pause", &run, "--reason", "a holiday", "--as", "bob"]),
        "paused"
    );
    place.done(&[
        "step",
        "complete",
        &run,
        "draft",
        "--output",
        r#"{"pages": 3}"#,
        "--as",
        "alice",
    ]);
    assert_eq!(scene.step(&run, "legal")["state_code"], "not_started", "nothing new begins");
    assert_eq!(scene.word(&["workflow", "resume", &run, "--as", "bob"]), "in_progress");
    scene.until(&run, "legal", "in_progress");
    let sub = scene.step(&run, "legal")["sub_run"].as_str().expect("a run of its own").to_owned();
    scene.until(&sub, "read", "ready");
    place.done(&["step", "claim", &sub, "read", "--as", "bob"]);
    place.done(&[
        "step",
        "complete",
        &sub,
        "read",
        "--output",
        r#"{"opinion": "clear"}"#,
        "--as",
        "bob",
    ]);
    scene.until(&run, "legal", "completed");

    // A correction, with the approval of others.
    let draft = scene.step(&run, "draft")["run_id"].as_str().expect("its id").to_owned();
    let none = "01a1decd-0b7f-736d-9439-d078b0a6b934";
    place.refused(
        "RA002",
        &["step", "reopen", &draft, "--approval", none, "--because", "data_error", "--as", "bob"],
    );
    let ask = [
        "approval",
        "request",
        "--kind",
        "step_reopen",
        "--subject",
        &draft,
        "--title",
        "Wrong pages",
        "--as",
        "alice",
    ];
    let approval = scene.word(&ask);
    approve(&scene, &approval);
    let reopen = [
        "step",
        "reopen",
        &draft,
        "--approval",
        &approval,
        "--because",
        "data_error",
        "--as",
        "bob",
    ];
    assert_eq!(scene.word(&reopen), "in_progress");
    place.done(&[
        "step",
        "complete",
        &run,
        "draft",
        "--output",
        r#"{"pages": 4}"#,
        "--as",
        "alice",
    ]);
    let corrected = scene.step(&run, "draft");
    let outputs: Vec<&Value> = corrected["inputs_and_outputs"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|one| one["snapshot_kind"] == "output")
        .map(|one| &one["document"]["pages"])
        .collect();
    assert_eq!(outputs, [&json!(3), &json!(4)], "the first one stays");

    // What cannot be done, and a run that is called off.
    scene.until(&run, "sign", "ready");
    place.done(&["step", "claim", &run, "sign", "--as", "carol"]);
    let never = [
        "step",
        "cannot-complete",
        &run,
        "sign",
        "--declaration",
        "letter of 3 May",
        "--as",
        "carol",
    ];
    assert_eq!(scene.word(&never), "cannot_complete");
    place.refused("RA002", &["workflow", "cancel", &run, "--approval", none, "--as", "bob"]);
    let ask = [
        "approval",
        "request",
        "--kind",
        "workflow_cancel",
        "--subject",
        &run,
        "--title",
        "Not needed",
        "--as",
        "alice",
    ];
    let approval = scene.word(&ask);
    approve(&scene, &approval);
    assert_eq!(
        scene.word(&["workflow", "cancel", &run, "--approval", &approval, "--as", "bob"]),
        "cancelled"
    );
    place.refused("RW006", &["step", "claim", &run, "translate", "--as", "alice"]);

    // Two changes on one version: the second is stale.
    let text = std::fs::read_to_string(example("legal_check.yaml")).expect("the example");
    let one = place.file("one.yaml", &text.replace("Legal check", "A legal check"));
    let two = place.file("two.yaml", &text.replace("Read the draft", "Read it twice"));
    let first = scene.word(&["workflow", "propose", &one, "--as", "alice"]);
    let second = scene.word(&["workflow", "propose", &two, "--as", "carol"]);
    for (change, writer, voters) in
        [(&first, "alice", ["bob", "carol"]), (&second, "carol", ["bob", "frank"])]
    {
        place.done(&["workflow", "submit", change, "--as", writer]);
        for voter in voters {
            if scene.change(change)["state"] == "review" {
                place.done(&["workflow", "approve", change, "--as", voter]);
            }
        }
    }
    assert_eq!(scene.word(&["workflow", "merge", &first, "--as", "alice"]), "2");
    let before = place.json(&["workflow", "show", "legal_check"]);
    place.refused("RW004", &["workflow", "merge", &second, "--as", "carol"]);
    assert_eq!(place.json(&["workflow", "show", "legal_check"]), before, "nothing changed");

    // A rejected one, and one that is not about workflows.
    let third = scene.word(&["workflow", "propose", &two, "--as", "alice"]);
    place.done(&["workflow", "submit", &third, "--as", "alice"]);
    place.run(&["workflow", "reject", &third, "--as", "bob"]).ends_with(2);
    assert_eq!(
        scene.word(&["workflow", "reject", &third, "--reason", "once is enough", "--as", "bob"]),
        "rejected"
    );
    let create = [
        "proposal",
        "create",
        "--kind",
        "kg_edge",
        "--title",
        "Two units belong together",
        "--action",
        r#"{"from": "a", "to": "b"}"#,
        "--evidence",
        r#"[{"kind": "read_together", "facts": {"times": 40}}]"#,
        "--as",
        "alice",
    ];
    let proposal = scene.word(&create);
    assert_eq!(scene.word(&["proposal", "submit", &proposal, "--as", "alice"]), "review");
    for voter in ["bob", "carol"] {
        if place.json(&["proposal", "show", &proposal])["state"] == "review" {
            place.done(&["proposal", "approve", &proposal, "--as", voter]);
        }
    }
    let carry =
        ["proposal", "carry-out", &proposal, "--outcome", r#"{"edge": 7}"#, "--as", "alice"];
    assert_eq!(scene.word(&carry), "merged");
    let shown = place.json(&["proposal", "show", &proposal]);
    assert_eq!(
        (&shown["outcome"], &shown["evidence"][0]["kind"]),
        (&json!({ "edge": 7 }), &json!("read_together"))
    );
    place.done(&["audit", "verify"]);
}

/// Votes until the request stands.
fn approve(scene: &Scene, approval: &str) {
    for voter in ["carol", "bob"] {
        let state = scene.place.json(&["approval", "show", approval])["state"].clone();
        if state == "pending" {
            scene.place.done(&["approval", "vote", approval, "--approve", "--as", voter]);
        }
    }
    assert_eq!(scene.place.json(&["approval", "show", approval])["state"], "approved");
}

/// The walk of the page, run by a shell from top to bottom, ends as it says.
#[test]
fn the_page_about_runs_works_as_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page =
        std::fs::read_to_string(root.join("docs/how-to/run-a-workflow.md")).expect("the page");
    let marked = page.split("<!-- test: workflow -->\n```sh\n").skip(1);
    let blocks: Vec<&str> =
        marked.map(|rest| rest.split_once("\n```").expect("it ends").0).collect();
    assert!(blocks.len() > 5, "the walk is marked");
    let place = Place::new();
    // Whatever becomes of the walk, the host and the worker end with it.
    let script = format!("trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{}", blocks.join("\n"));
    let script = place.file("walk.sh", &script);
    let binaries = Path::new(env!("CARGO_BIN_EXE_chancery")).parent().expect("a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(binaries).chain(std::env::split_paths(&path)));
    // A step that never comes would be waited for until the end of days.
    let mut bash = Command::new("timeout");
    bash.args(["180", "bash", "-euo", "pipefail", "-m", &script])
        .current_dir(root)
        .stdin(Stdio::null());
    for variable in ["DATABASE_URL", "CHANCERY_PRINCIPAL"] {
        bash.env_remove(variable);
    }
    bash.env("CHANCERY_HOME", place.path()).env("PATH", path.expect("a path"));
    let said = run_it(&mut bash).ends_with(0);
    for shown in [
        "\n+ step legal\n",
        "yellow: sign is waiting (waiting_human)",
        "  run  completed",
        "everything fits",
    ] {
        assert!(said.stdout.contains(shown), "{shown}: {said:?}");
    }
    assert!(said.stderr.contains("refused RW008"), "{said:?}");
}
