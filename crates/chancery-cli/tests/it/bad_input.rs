//! Bad input: each kind gets its own refusal with what and where, and changes nothing.

use serde_json::{Value, json};

use crate::place::Place;

/// The smallest machine with a birth, a move and an end.
const TICKET: &str = "\
machine: ticket
scope: custom
version: 1.0.0
description: Something to be done.
data: { type: object, properties: { title: {} } }
events:
  - { type: ticket.closed, description: It was done., schema: { type: object, properties: { minutes: { type: integer } }, additionalProperties: false } }
guards:
  - { name: titled, kind: config, rule: '$.run.data.title.type() == \"string\"', description: A ticket says what it is about. }
states:
  - { code: open, class: idle, initial: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Open }, message: { en: To do } }
  - { code: closed, class: terminal, terminal: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Closed }, message: { en: Done } }
transitions:
  - { id: birth, from: \"∅\", to: open, actors: [pic_human], trigger: { kind: rpc, ref: ticket_open } }
  - { id: close, from: open, to: closed, actors: [pic_human], trigger: { kind: rpc, ref: ticket_close }, guards: [titled], event: ticket.closed }
";

/// What is known of the run: `run show` and `run history`.
type Run = [Value; 2];
/// What is known besides it: runs, machines, principals, keys.
type Registers = [Value; 4];

/// A run that stays where it is while others try.
struct Bench<'a> {
    place: &'a Place,
    run: String,
    before: (Run, Registers),
}

impl<'a> Bench<'a> {
    fn new(place: &'a Place) -> Self {
        for (name, class) in [
            ("alice", "pic_human"),
            ("bob", "reviewer"),
            ("erin", "pic_human"),
            ("finn", "pic_human"),
        ] {
            place.done(&["principal", "add", name, "--kind", "human", "--class", class]);
            place.done(&["key", "new", name]);
        }
        place.done(&["principal", "add", "gina", "--kind", "human", "--class", "pic_human"]);
        place.done(&["principal", "deactivate", "finn"]);
        let file = place.file("ticket.yaml", TICKET);
        place.done(&["machine", "apply", &file]);
        let start = [
            "run",
            "start",
            "--machine",
            "ticket",
            "--data",
            r#"{"title": "leak"}"#,
            "--key",
            "born",
            "--as",
            "alice",
        ];
        let run = place.done(&start).stdout.trim_end().to_owned();
        let key =
            place.json(&["key", "export", "erin"])[0]["key_id"].as_str().expect("a key").to_owned();
        place.done(&["key", "revoke", &key, "--reason", "lost"]);
        let mut bench = Self { place, run, before: Default::default() };
        bench.before = (bench.run_seen(), bench.registers());
        bench
    }

    fn run_seen(&self) -> Run {
        [["run", "show", &self.run], ["run", "history", &self.run]]
            .map(|args| self.place.json(&args))
    }

    fn registers(&self) -> Registers {
        ["run", "machine", "principal", "key"].map(|noun| self.place.json(&[noun, "list"]))
    }

    /// After each attempt: the run is where it was.
    #[track_caller]
    fn the_run_is_unchanged(&self, after: &str) {
        assert_eq!(self.run_seen(), self.before.0, "the run changed after {after}");
    }

    /// After a group of attempts: nothing came into being and nothing went.
    #[track_caller]
    fn nothing_changed(&self, after: &str) {
        self.the_run_is_unchanged(after);
        assert_eq!(self.registers(), self.before.1, "something changed after {after}");
    }

    fn refused(&self, code: &str, args: &[&str]) -> Value {
        let refused = self.place.refused(code, args);
        self.the_run_is_unchanged(code);
        refused
    }

    /// A move of the run that must be refused; answers the first problem.
    fn move_refused(&self, code: &str, args: &[&str]) -> Value {
        let refused = self.refused(code, &[&["run", "move", &self.run], args].concat());
        refused["problems"][0].clone()
    }
}

/// FSM-5, FSM-7, SEC-1 and the list "bad input": every kind has its own code and changes nothing.
#[test]
fn every_kind_of_bad_input_is_refused_by_name_and_changes_nothing() {
    let place = Place::with_database();
    let bench = Bench::new(&place);
    machine_files(&bench);
    bench.nothing_changed("machine files");
    moves(&bench);
    bench.nothing_changed("moves");
    people_and_keys(&bench);
    bench.nothing_changed("people and keys");
    what_nobody_knows(&bench);
    bench.nothing_changed("what nobody knows");
}

/// FSM-8, FSM-9: a file that is no machine, or an unsound one, is refused before it reaches the database.
fn machine_files(bench: &Bench<'_>) {
    let place = bench.place;
    let malformed = |name: &str, text: &str, place_in_file: &str, what: &str| {
        let file = place.file(name, text);
        for verb in ["check", "apply"] {
            let said = place.run(&["machine", verb, &file]).ends_with(3);
            let begins = format!("refused machine_malformed: {file}:{place_in_file}: ");
            assert!(said.stderr.starts_with(&begins) && said.stderr.contains(what), "{said:?}");
            let refused =
                place.run(&["machine", verb, &file, "--json"]).ends_with(3).json()["refused"]
                    .clone();
            assert_eq!(format!("{}:{}", refused["line"], refused["column"]), place_in_file);
        }
    };
    malformed(
        "broken.yaml",
        &TICKET.replace("1.0.0", "1.0.0: 2"),
        "3:15",
        "mapping values are not allowed",
    );
    malformed(
        "word.yaml",
        &TICKET.replace("class: idle", "class: lazy"),
        "11:26",
        "unknown variant `lazy`",
    );
    malformed(
        "field.yaml",
        &TICKET.replace("scope: custom", "scoop: custom"),
        "2:1",
        "unknown field `scoop`",
    );

    let unsound = |name: &str, text: &str, rule: &str, what: &str| {
        let file = place.file(name, text);
        for verb in ["check", "apply"] {
            let said = place.run(&["machine", verb, &file]).ends_with(3);
            assert!(
                said.stderr.starts_with("refused RS020 machine_unsound: ticket@1.0.0 "),
                "{said:?}"
            );
            assert!(
                said.stderr.contains(&format!("\n  {rule}: ")) && said.stderr.contains(what),
                "{said:?}"
            );
            let refused =
                place.run(&["machine", verb, &file, "--json"]).ends_with(3).json()["refused"]
                    .clone();
            assert!(
                refused["problems"].as_array().is_some_and(|f| f.iter().any(|f| f["rule"] == rule)),
                "{refused}"
            );
        }
    };
    unsound("state.yaml", &TICKET.replace("to: closed", "to: shut"), "unknown_state", "shut");
    unsound(
        "guard.yaml",
        &TICKET.replace("guards: [titled]", "guards: [tilted]"),
        "unknown_guard",
        "tilted",
    );
    unsound("twice.yaml", &TICKET.replace("code: closed", "code: open"), "duplicate_state", "open");

    // FSM-3: a version that has runs is not edited.
    let file =
        place.file("edited.yaml", &TICKET.replace("Something to be done.", "Something else."));
    bench.refused("RS019", &["machine", "apply", &file]);
}

fn moves(bench: &Bench<'_>) {
    let close = ["--to", "closed", "--as", "alice"];
    let with = |more: &[&'static str]| [&close[..], more].concat();

    let problem = bench.move_refused("RS003", &["--to", "shut", "--as", "alice"]);
    assert_eq!(
        problem["states"].as_array().map(Vec::len),
        Some(2),
        "the states there are: {problem}"
    );
    let problem = bench.move_refused("RS005", &with(&["--trigger", "timer:ticket_close"]));
    assert_eq!(problem["expected"], "rpc:ticket_close");
    let stale = ["run", "move", &bench.run, "--to", "closed", "--from", "closed", "--as", "alice"];
    let problems = bench.refused("RS004", &stale)["problems"].clone();
    assert_eq!((&problems[1]["code"], &problems[1]["actual"]), (&json!("RS009"), &json!("open")));
    bench.move_refused("RS014", &with(&["--evidence", "[1]"]));
    bench.move_refused("RE002", &with(&["--evidence", r#"{"event": {"minutes": "ten"}}"#]));
    let problem = bench.move_refused("RS012", &with(&["--key", "born"]));
    assert!(
        problem["differs_in"].as_array().is_some_and(|fields| fields.contains(&json!("to"))),
        "{problem}"
    );

    // What is not JSON never reaches the database.
    let not_json = [&["run", "move", &bench.run][..], &with(&["--evidence", "{\"a\" 1}"])].concat();
    let said = bench.place.run(&not_json).ends_with(2);
    assert_eq!(said.stderr, "error: evidence is not JSON: line 1 column 6: expected `:`\n");
    let file = format!("@{}", bench.place.file("evidence.json", "{\n  nothing\n}"));
    let said = bench
        .place
        .run(&["run", "move", &bench.run, "--to", "closed", "--as", "alice", "--evidence", &file])
        .ends_with(2);
    assert!(said.stderr.contains("evidence.json: line 2 column 3"), "{said:?}");
    bench.the_run_is_unchanged("evidence that is not JSON");
}

/// SEC-1: who acts, in which class, with which key.
fn people_and_keys(bench: &Bench<'_>) {
    let start = ["run", "start", "--machine", "ticket", "--as", "bob"];
    assert_eq!(bench.refused("RI003", &start)["problems"][0]["actor_class"], "pic_human");
    assert_eq!(bench.move_refused("RI003", &["--to", "closed", "--as", "bob"])["principal"], "bob");
    let problem = bench.move_refused("RI006", &["--to", "closed", "--as", "erin"]);
    assert_eq!((&problem["principal"], &problem["reason"]), (&json!("erin"), &json!("lost")));
    bench.move_refused("RI002", &["--to", "closed", "--as", "finn"]);
    bench.move_refused("RI008", &["--to", "closed", "--as", "gina"]);
    bench.move_refused("RI001", &["--to", "closed", "--as", "nobody"]);

    bench.refused("RI009", &["principal", "add", "alice", "--kind", "agent"]);
    bench.refused("RI010", &["principal", "add", "Alice!", "--kind", "human"]);
    bench.refused("RI011", &["principal", "add", "hal", "--kind", "agent", "--class", "captain"]);
    let live = bench.place.json(&["key", "export", "alice"])[0]["key_id"]
        .as_str()
        .expect("a key")
        .to_owned();
    bench.refused("RI013", &["key", "revoke", &live, "--reason", " "]);
}

/// What was asked after is not there: the same words as from the database's own doors.
fn what_nobody_knows(bench: &Bench<'_>) {
    let unknown = "00000000-0000-7000-8000-000000000000";
    for args in [
        &["run", "move", unknown, "--to", "closed", "--as", "alice"][..],
        &["run", "show", unknown],
        &["run", "history", unknown],
    ] {
        let refused = bench.refused("RS001", args);
        assert_eq!(refused["problems"][0]["run_id"], unknown);
    }
    bench.refused("RS018", &["run", "start", "--machine", "nothing", "--as", "alice"]);
    bench.refused("RS018", &["machine", "show", "nothing"]);
    bench.refused(
        "RS024",
        &["run", "start", "--machine", "ticket", "--parent", unknown, "--as", "alice"],
    );
    bench.refused("RI001", &["principal", "show", "nobody"]);
    bench.refused("RI001", &["key", "new", "nobody"]);
    bench.refused("RI001", &["key", "export", "nobody"]);
    bench.refused("RI005", &["key", "revoke", unknown, "--reason", "a mistake"]);
}
