//! A whole life with one cluster: from the first command to the proof, and to the lie that the proof finds.

use std::fs;

use serde_json::{Value, json};

use crate::place::{Place, run_it};

const PURCHASE: &str = include_str!("../../../../machines/examples/purchase_approval.yaml");
const STEP: &str = include_str!("../../../../machines/step.yaml");
const ORDER: &str =
    r#"{"audit_ref": "PO-1", "facet": "supplier_stock", "event": {"order_number": "PO-1"}}"#;

/// FSM-3, FSM-4, FSM-5, FSM-6, FSM-7, FSM-8, EVT-2, SEC-1, AUD-1 and the rows `db`, `principal`, `key`, `machine`, `run`,
/// `migrate`, `doctor` of the CLI.
#[test]
fn a_purchase_from_the_first_command_to_the_proof() {
    let place = Place::new();
    the_server_starts_once(&place);
    principals_get_keys_that_can_be_replaced(&place);
    machines_are_applied_once(&place);
    let run = a_run_goes_its_way(&place);
    looking_back(&place, &run);
    a_stopped_server_starts_by_itself(&place, &run);
    an_outside_database_is_used(&place);
    the_demo_can_be_repeated(&place);
    what_somebody_changed_is_found(&place, &run);
}

fn the_server_starts_once(place: &Place) {
    let said = place.done(&["db", "start"]);
    assert!(said.stderr.contains("starting PostgreSQL"), "{said:?}");
    assert!(said.stderr.contains("applied migrations 0001_schemas"), "{said:?}");
    let again = place.json(&["db", "start"]);
    assert_eq!((&again["already_running"], &again["created"]), (&json!(true), &json!(false)));
    assert_eq!(again["migrated"]["applied"], json!([]));
    assert_eq!(
        place.json(&["migrate"])["rules_applied"],
        false,
        "a repeated migration changes nothing"
    );
    let status = place.json(&["db", "status"]);
    assert_eq!((&status["ready"], &status["installed"]), (&json!(true), &status["this_binary"]));
    assert_eq!(place.json(&["doctor"])["ok"], true);
}

fn principals_get_keys_that_can_be_replaced(place: &Place) {
    let add = |name, kind, class| {
        place.json(&["principal", "add", name, "--kind", kind, "--class", class])
    };
    for (name, kind, class) in [
        ("alice", "human", "pic_human"),
        ("bob", "human", "reviewer"),
        ("dora", "agent", "executor_worker"),
    ] {
        assert_eq!(add(name, kind, class)["actor_classes"], json!([class]));
        assert_eq!(
            add(name, kind, class)["actor_classes"],
            json!([class]),
            "the same again changes nothing"
        );
        place.done(&["key", "new", name]);
    }
    // Three, and the product itself, under whose name its loops act.
    assert_eq!(place.json(&["principal", "list"]).as_array().map(Vec::len), Some(4));
    assert_eq!(place.json(&["principal", "deactivate", "bob"])["active"], false);
    assert_eq!(place.json(&["principal", "activate", "bob"])["active"], true);

    let first = place.json(&["key", "export", "alice"])[0].clone();
    assert_eq!(first["public_key"].as_str().map(str::len), Some(64));
    let second = place.json(&["key", "rotate", "alice"]);
    assert_eq!(second["supersedes"], first["key_id"]);
    let shown = place.json(&["principal", "show", "alice"]);
    assert_eq!(
        (&shown["principal"]["live_keys"], &shown["keys"][0]["revoked_at"].is_string()),
        (&json!(1), &true)
    );
    assert!(place.done(&["principal", "show", "alice"]).stdout.contains("superseded by"));
    let listed = place.json(&["key", "list"]);
    assert!(
        listed.as_array().is_some_and(|keys| keys.iter().all(|key| key["here"] == true)),
        "{listed}"
    );
}

fn machines_are_applied_once(place: &Place) {
    let file = place.file("purchase.yaml", PURCHASE);
    assert_eq!(place.json(&["machine", "apply", &file])["outcome"], "created");
    let again = place.json(&["machine", "apply", &file]);
    assert_eq!((&again["outcome"], &again["active"]), (&json!("unchanged"), &json!(true)));

    // A version with guards that no room has.
    let next = STEP.replace("version: 1.2.0", "version: 9.0.0").replace("G-", "NEW-");
    let file = place.file("step.yaml", &next);
    let said = place.done(&["machine", "apply", &file]);
    assert!(
        said.stderr.contains("NEW-TASKS-DONE"),
        "the guards that are missing are named: {said:?}"
    );
    let refused = place.refused("RS021", &["machine", "apply", &file, "--activate"]);
    assert!(
        refused["problems"][0]["guards"].as_array().is_some_and(|guards| !guards.is_empty()),
        "{refused}"
    );
    assert_eq!(place.json(&["machine", "show", "step@9.0.0"])["active"], false);
    assert_eq!(place.json(&["machine", "show", "step"])["state_machine_id"], "step@1.2.0");

    let listed = place.json(&["machine", "list"]);
    let names: Vec<_> =
        listed.as_array().expect("a list").iter().map(|machine| &machine["name"]).collect();
    // The product's own came with the release.
    assert_eq!(
        names,
        [
            "birth_permit",
            "purchase_approval",
            "cut_request",
            "dlq_replay",
            "finding",
            "governance_candidate",
            "job",
            "orchestrator_run",
            "proposal",
            "step",
            "step",
            "task",
            "workflow_run"
        ]
    );
    assert!(
        place
            .done(&["machine", "show", "purchase_approval"])
            .stdout
            .contains("approver_is_not_requester")
    );
    // The page of the registry's machine is the page of its file.
    for name in ["purchase_approval", "step@9.0.0"] {
        let file =
            place.path().join(if name.starts_with("step") { "step.yaml" } else { "purchase.yaml" });
        let of_file = place.done(&["machine", "diagram", file.to_str().expect("a plain path")]);
        assert_eq!(place.done(&["machine", "diagram", name]).stdout, of_file.stdout);
    }
}

fn seen(place: &Place, run: &str) -> (Value, Value) {
    (place.json(&["run", "show", run]), place.json(&["run", "history", run]))
}

fn a_run_goes_its_way(place: &Place) -> String {
    let start = [
        "run",
        "start",
        "--machine",
        "purchase_approval",
        "--data",
        r#"{"amount": 900}"#,
        "--key",
        "first",
        "--as",
        "alice",
    ];
    let said = place.done(&start);
    let run = said.stdout.trim_end().to_owned();
    assert!(said.stderr.contains("∅ → draft"), "{said:?}");
    // FSM-7: a start with a key is done once.
    let again = place.json(&start);
    assert_eq!((&again["run_id"], &again["replayed"]), (&json!(run), &json!(true)));
    assert_eq!(place.json(&["run", "list"]).as_array().map(Vec::len), Some(1));
    let mut other = start;
    other[5] = r#"{"amount": 901}"#;
    place.refused("RS023", &other);

    let shown = place.done(&["run", "show", &run]).stdout;
    assert!(shown.contains("rpc:purchase_submit") && shown.contains("requester_only"), "{shown}");
    assert_eq!(
        place.done(&["run", "move", &run, "--to", "submitted", "--as", "alice"]).stdout,
        "submitted\n"
    );

    // FSM-5: every problem is named, and nothing changed. FSM-4: the preview says the same and changes nothing either.
    let before = seen(place, &run);
    let own = ["run", "move", &run, "--to", "approved", "--as", "alice"];
    let refused = place.refused("RS006", &own);
    let codes: Vec<_> =
        refused["problems"].as_array().expect("problems").iter().map(|p| &p["code"]).collect();
    assert_eq!(codes, ["RS006", "RI003"]);
    let said = place.run(&[&own[..], &["--preview", "--json"]].concat()).ends_with(3);
    assert_eq!(
        (&said.json()["ok"], &said.json()["problems"]),
        (&json!(false), &refused["problems"])
    );
    let said = place.run(&[&own[..], &["--preview"]].concat()).ends_with(3);
    assert!(said.stdout.starts_with("would be refused RS006"), "{said:?}");
    place.refused("RS004", &["run", "move", &run, "--to", "received", "--as", "alice"]);
    let approve = ["run", "move", &run, "--to", "approved", "--as", "bob"];
    let preview = place.json(&[&approve[..], &["--preview"]].concat());
    assert_eq!(
        (&preview["ok"], &preview["emitted_event_type"]),
        (&json!(true), &json!("purchase.approved"))
    );
    assert_eq!(seen(place, &run), before, "refusals and previews change nothing");

    // Who acts may also stand in the environment.
    run_it(place.command(&approve[..5]).env("CHANCERY_PRINCIPAL", "bob")).ends_with(0);
    let evidence = place.file("order.json", ORDER);
    let from_file = format!("@{evidence}");
    let order = [
        "run",
        "move",
        &run,
        "--to",
        "ordered",
        "--as",
        "dora",
        "--key",
        "order-1",
        "--evidence",
        &from_file,
    ];
    let mut unbacked = order;
    unbacked[10] = r#"{"facet": "supplier_stock", "event": {"order_number": "PO-1"}}"#;
    place.refused("RS007", &unbacked);
    assert_eq!(place.json(&order)["replayed"], false);
    // FSM-7: the same key gives the first answer again, also when what was left out has to be looked up again.
    let before = seen(place, &run);
    let again = place.json(&order);
    assert_eq!((&again["replayed"], &again["seq"]), (&json!(true), &json!(4)));
    let refused = place.refused("RS012", &unbacked);
    assert_eq!(refused["problems"][0]["differs_in"], json!(["evidence"]));
    assert_eq!(seen(place, &run), before, "a repeated request changes nothing");

    assert_eq!(
        place.done(&["run", "move", &run, "--to", "received", "--as", "alice"]).stdout,
        "received\n"
    );
    assert_eq!(
        place.json(&["run", "list", "--machine", "purchase_approval"])[0]["state"],
        "received"
    );
    assert_eq!(place.json(&["run", "list", "--machine", "other"]), json!([]));
    run
}

fn looking_back(place: &Place, run: &str) {
    let history = place.json(&["run", "history", run]);
    let history = history.as_array().expect("a list");
    let states: Vec<_> = history.iter().map(|row| &row["to"]).collect();
    assert_eq!(states, ["draft", "submitted", "approved", "ordered", "received"]);
    assert!(history.iter().all(|row| row["signed"] == true), "{history:?}");
    let told = place.done(&["run", "history", run, "--events"]).stdout;
    let events: Vec<Value> =
        told.lines().map(|line| serde_json::from_str(line).expect("an event a line")).collect();
    assert_eq!(events.len(), 5, "one event a move, none for a repeated one");
    assert!(events.iter().all(|event| event["specversion"] == "1.0" && event["subject"] == run));
    // EVT-2: each committed event has its own position.
    let positions: Vec<_> =
        events.iter().map(|event| event["sequence"].as_i64().expect("a position")).collect();
    assert!(positions.is_sorted_by(|a, b| a < b), "{positions:?}");
    let proof = place.json(&["audit", "verify"]);
    assert_eq!(
        (&proof["ok"], &proof["rows"], &proof["signatures"]),
        (&json!(true), &json!(5), &json!(5))
    );
}

fn a_stopped_server_starts_by_itself(place: &Place, run: &str) {
    assert_eq!(place.json(&["db", "stop"])["stopped"], true);
    assert_eq!(place.json(&["db", "stop"])["stopped"], false);
    let said = place.run(&["doctor"]).ends_with(1);
    assert!(
        said.stdout.contains("mend: run `chancery db start`"),
        "looking starts nothing: {said:?}"
    );
    let said = place.done(&["run", "show", run]);
    assert!(
        said.stderr.contains("starting PostgreSQL") && said.stdout.contains("received"),
        "{said:?}"
    );
}

fn an_outside_database_is_used(place: &Place) {
    let reader =
        place.done(&["db", "psql", "--", "-Atc", "select current_user, count(*) from fsm.v_run"]);
    assert_eq!(reader.stdout, "auditor_ro|1\n");
    let url = place.done(&["db", "url"]).stdout;
    assert!(url.starts_with("postgresql://chancery_app@/chancery?host=/"), "{url}");
    let secret =
        fs::read_to_string(place.path().join("secrets/chancery_app.password")).expect("a password");
    assert!(!url.contains(secret.trim()), "a password is shown only when asked for");
    assert!(place.done(&["db", "url", "--with-password"]).stdout.contains(secret.trim()));

    // The administrator's way in, in libpq's form, to a database that is not there yet.
    let admin = fs::read_to_string(place.path().join("secrets/chancery_admin.password"))
        .expect("a password");
    let socket = place.json(&["db", "status"])["socket_dir"].as_str().expect("a folder").to_owned();
    let url = format!("postgresql://chancery_admin:{}@/outside?host={socket}", admin.trim());
    let outside = |args: &[&str]| run_it(place.command(args).env("DATABASE_URL", &url));
    let said = outside(&["run", "list"]).ends_with(1);
    assert!(said.stderr.contains("run `chancery migrate`"), "{said:?}");
    let said = outside(&["db", "start"]).ends_with(0);
    assert!(said.stderr.contains("outside database"), "{said:?}");
    assert_eq!(outside(&["run", "list", "--json"]).ends_with(0).json(), json!([]));
    assert_eq!(outside(&["doctor", "--json"]).ends_with(0).json()["ok"], true);
    let said = outside(&["db", "psql", "--", "-Atc", "select current_user, current_database()"])
        .ends_with(0);
    assert_eq!(said.stdout, "auditor_ro|outside\n");
    let said = outside(&["db", "stop"]).ends_with(1);
    assert!(said.stderr.contains("not ours to stop"), "{said:?}");
    let shown = outside(&["db", "status"]).ends_with(0).stdout;
    assert!(shown.contains("/outside") && !shown.contains(admin.trim()), "{shown}");
}

fn the_demo_can_be_repeated(place: &Place) {
    let said = place.done(&["demo"]);
    for shown in ["$ chancery run start", "$ chancery audit verify", "everything fits"] {
        assert!(said.stdout.contains(shown), "{said:?}");
    }
    for code in ["refused RS006", "refused RS004", "refused RS007", "refused RW008"] {
        assert!(said.stderr.contains(code), "{code}: {said:?}");
    }
    let walked = place.json(&["demo"]);
    let exits = |exit: i64| {
        walked["steps"]
            .as_array()
            .expect("steps")
            .iter()
            .filter(|step| step["exit"] == exit)
            .count()
    };
    assert_eq!(
        (exits(3), exits(1), exits(2)),
        (5, 0, 0),
        "four refusals and one preview that says no"
    );
    let run = walked["run"].as_str().expect("a run");
    assert_eq!(place.json(&["run", "show", run])["state"], "received");
}

/// AUD-1: a flipped byte is found and named, even when a superuser took the triggers away first.
fn what_somebody_changed_is_found(place: &Place, run: &str) {
    place.superuser(&format!(
        "alter table fsm.transition_log disable trigger user;
         update fsm.transition_log set reason = 'forged' where run_id = '{run}' and seq = 3;
         alter table fsm.transition_log enable trigger user"
    ));
    let report = place.run(&["audit", "verify", "--json"]).ends_with(1).json();
    let found: Vec<_> = report["mismatches"].as_array().expect("a list").iter().collect();
    assert!(
        found.iter().all(|mismatch| mismatch["run_id"] == run && mismatch["seq"] == 3),
        "{report}"
    );
    assert!(found.iter().any(|mismatch| mismatch["rule"] == "hash_is_of_the_row"), "{report}");
    assert!(found.iter().any(|mismatch| mismatch["rule"] == "signature_is_good"), "{report}");
    assert!(place.run(&["audit", "verify"]).ends_with(1).stdout.contains("hash_is_of_the_row"));

    // `enable trigger` left them at the default, which replication and restores pass by.
    let said = place.run(&["doctor"]).ends_with(1);
    assert!(said.stdout.contains("on fsm.transition_log"), "{said:?}");
    let fixed = place.json(&["doctor", "--fix"]);
    assert!(fixed["triggers_armed"].as_i64().is_some_and(|armed| armed > 0), "{fixed}");
    assert_eq!(place.json(&["doctor"])["ok"], true);
}
